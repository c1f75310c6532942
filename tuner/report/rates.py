"""The rates of a measurement that a search's report speaks of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tuner.measure.measurement import Measurement
from tuner.search.verdict import Verdict


@dataclass(frozen=True)
class Rate:
    """Events per second over one stretch of a run, and that stretch in words."""

    over: str
    of: Callable[[Measurement], float]


STEADY = Rate("over the steady window", lambda run: run.eps)
PAID = Rate("with the work paid for that was put off past the window", lambda run: run.eps_paid)


def claimed_rate(verdict: Verdict) -> Rate:
    """The rate that a claim rests on: the one that gained less."""
    return PAID if verdict.claimed is not verdict.eps else STEADY
