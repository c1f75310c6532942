"""Is a window steady?  Whether a warm-up ends in it, its halves agree, and it does not drift."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tuner.measure.window import Poll

_BATCH = 5
_HALVES_APART = 0.05
_DRIFT = 0.10


@dataclass(frozen=True)
class Steadiness:
    """Whether a window came to a steady state in its first half, and how level it is.

    `halves` is the rate of the late half over that of the early one; `drift` the change that the
    straight line through the rates makes over the window, as a share of their mean.
    """

    reached: bool
    halves: float
    drift: float

    @property
    def steady(self) -> bool:
        """Whether a steady state was reached in the first half, and the whole is level."""
        level = abs(self.halves - 1) <= _HALVES_APART or abs(self.drift) <= _DRIFT
        return self.reached and level


def steadiness(samples: Sequence[Poll]) -> Steadiness:
    """Judge the samples of a window by MSER-5 (White, "An effective truncation heuristic for bias
    reduction in simulation output", Simulation 69, 1997), its halves and the drift of all of it.

    MSER-5 cuts off as much of the beginning as makes the standard error of the rest smallest; when
    that is all of the first half, no steady state was reached.  Nothing is really cut off: a window
    that stalls in its second half would look like one whose fast first half was the warm-up.
    """
    rates = _batch_rates(samples)
    if len(rates) < 4:
        return Steadiness(reached=False, halves=0.0, drift=0.0)
    middle = len(rates) // 2
    early, late = float(np.mean(rates[:middle])), float(np.mean(rates[middle:]))
    line = np.polyfit(np.arange(len(rates)), rates, 1)
    mean = float(np.mean(rates))
    return Steadiness(
        reached=_mser(rates) < middle,
        halves=late / early if early > 0 else 0.0,
        drift=float(line[0]) * (len(rates) - 1) / mean if mean > 0 else 0.0,
    )


def _batch_rates(samples: Sequence[Poll]) -> list[float]:
    """Events per second over batches of five polls."""
    edges = samples[::_BATCH]
    return [
        (late.indexed - early.indexed) / (late.at_s - early.at_s)
        for early, late in itertools.pairwise(edges)
        if late.at_s > early.at_s
    ]


def _mser(rates: Sequence[float]) -> int:
    """The number of leading values whose removal makes the standard error of the rest smallest."""
    values = np.array(rates)
    count = len(values)
    errors = [
        float(np.sum((values[cut:] - values[cut:].mean()) ** 2)) / (count - cut) ** 2
        for cut in range(count // 2 + 1)
    ]
    return int(np.argmin(errors))
