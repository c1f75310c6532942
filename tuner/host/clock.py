"""How the clock of another machine stands to ours, from questions and answers; pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

_KEPT = 64


@dataclass(frozen=True)
class ClockOffset:
    """What to add to a time of the other machine for one of ours, and by how much that may be
    wrong at most, in seconds."""

    offset_s: float = 0.0
    error_s: float = 0.0


@dataclass(frozen=True)
class ClockSample:
    """A question that we asked and the answer that we heard, by our clock, and what the other one
    said meanwhile."""

    asked_s: float
    theirs_s: float
    heard_s: float

    @property
    def round_trip_s(self) -> float:
        """From the question to the answer."""
        return self.heard_s - self.asked_s


def offset_of(samples: Iterable[ClockSample]) -> ClockOffset:
    """The offset that the fastest answer shows: their clock was read within its round trip, in the
    middle for all that is known, so half of it is the error (RFC 5905, section 8)."""
    best = min(samples, key=lambda one: one.round_trip_s)
    middle_s = (best.asked_s + best.heard_s) / 2
    return ClockOffset(middle_s - best.theirs_s, best.round_trip_s / 2)


class PeerClock:
    """The last 64 samples of another machine's clock: clocks drift, so older ones do not count."""

    def __init__(self) -> None:
        self._samples: deque[ClockSample] = deque(maxlen=_KEPT)

    def add(self, sample: ClockSample) -> None:
        """Note an answer."""
        self._samples.append(sample)

    @property
    def samples(self) -> int:
        """How many there are."""
        return len(self._samples)

    def offset(self) -> ClockOffset:
        """What the samples show, of which there must be one."""
        return offset_of(tuple(self._samples))
