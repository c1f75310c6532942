"""How the clock of another machine stands to ours, from questions and answers; pure."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

_KEPT = 64


@dataclass(frozen=True)
class ClockOffset:
    """What to add to a time of the other machine for one of ours, and by how much that may be
    wrong at most, in seconds."""

    offset_s: float = 0.0
    error_s: float = 0.0


class PeerClock:
    """Another machine's clock by its last 64 answers: clocks drift, so older ones do not count."""

    def __init__(self) -> None:
        self._offsets: deque[ClockOffset] = deque(maxlen=_KEPT)

    def add(self, asked_s: float, theirs_s: float, heard_s: float) -> None:
        """Note an answer: when we asked and heard it by our clock, and what theirs said meanwhile.

        Their clock was read within the round trip, in the middle for all that is known, so half of
        it is the error (RFC 5905, section 8).
        """
        middle_s = (asked_s + heard_s) / 2
        self._offsets.append(ClockOffset(middle_s - theirs_s, (heard_s - asked_s) / 2))

    @property
    def samples(self) -> int:
        """How many answers count."""
        return len(self._offsets)

    def offset(self) -> ClockOffset:
        """What the fastest answer shows, of which there must be one."""
        return min(self._offsets, key=lambda offset: offset.error_s)
