"""The documents that reached the sink first, kept as they came."""

from __future__ import annotations

import threading

MOST_BYTES = 64 * 1024**2


class Kept:
    """The action and document lines of the first `documents` that arrive, byte for byte.

    It keeps `most_bytes` at the most; its methods may be called from any thread.
    """

    def __init__(self, documents: int = 0, most_bytes: int = MOST_BYTES) -> None:
        self._lock = threading.Lock()
        self._documents_left = documents
        self._bytes_left = most_bytes
        self._parts: list[bytes] = []

    @property
    def lines(self) -> bytes:
        """What is kept, as the body of one bulk request."""
        with self._lock:
            return b"".join(self._parts)

    def add(self, body: bytes) -> None:
        """Keep what there is room for of a bulk body."""
        if self._documents_left == 0:
            return
        with self._lock:
            end, documents = _fitting(body, self._documents_left, self._bytes_left)
            self._parts.append(body[:end])
            self._bytes_left -= end
            # The first document that does not fit ends it: what is kept has no gaps.
            self._documents_left = self._documents_left - documents if end == len(body) else 0


def _fitting(body: bytes, documents: int, most_bytes: int) -> tuple[int, int]:
    """Where the last of the first documents ends that fit, and how many these are."""
    end = 0
    for number in range(documents):
        document_at = body.find(b"\n", end) + 1
        next_at = body.find(b"\n", document_at) + 1
        if next_at == 0 or document_at == 0 or next_at > most_bytes:
            return end, number
        end = next_at
    return end, documents
