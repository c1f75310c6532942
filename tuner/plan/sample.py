"""A sample of a user's own log lines."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

# gzip(1)'s default.
_LEVEL = 6


@dataclass(frozen=True)
class Sample:
    """The mean size of a line in bytes, its end left out, and how many times smaller gzip makes
    the text."""

    name: str
    lines: int
    message_bytes: float
    gzip_ratio: float


def sample_of(text: bytes, name: str) -> Sample | None:
    """What the lines of `text` show; None when there is none."""
    lines = [line for line in text.split(b"\n") if line]
    if not lines:
        return None
    return Sample(
        name=name,
        lines=len(lines),
        message_bytes=sum(map(len, lines)) / len(lines),
        gzip_ratio=len(text) / len(gzip.compress(text, _LEVEL)),
    )
