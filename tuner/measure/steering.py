"""Saturation without waste: how fast to send, so that the backlog stays between two marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.flood.flood import Flood
from tuner.measure.window import Poll, slope
from tuner.profile.backlog import BacklogMarks

_CORRECTION_S = 0.4
_RATE_SPAN_S = 1.5


@dataclass(frozen=True)
class Steering:
    """What the sender may do: a total of messages, and messages per second (None: no limit)."""

    limit: int
    per_second: float | None


def saturate(flood: Flood, marks: BacklogMarks) -> Callable[[Sequence[Poll]], None]:
    """What to do after each poll of a flood that shall go as fast as the pipeline takes it."""

    def each(samples: Sequence[Poll]) -> None:
        order = steer(samples, marks)
        flood.steer(order.limit, order.per_second)

    return each


def steer(samples: Sequence[Poll], marks: BacklogMarks) -> Steering:
    """Follow the observed rate and pull the backlog towards three quarters of the way up.

    The limit is hard: whatever the rate, no more than the high mark is ever outstanding.
    """
    latest = samples[-1]
    limit = latest.indexed + marks.high
    recent = [sample for sample in samples if latest.at_s - sample.at_s <= _RATE_SPAN_S]
    observed = slope(recent)
    if observed <= 0:
        return Steering(limit, None)
    target = marks.low + 0.75 * (marks.high - marks.low)
    correction = (target - latest.backlog) / _CORRECTION_S
    return Steering(limit, max(0.1 * observed, observed + correction))
