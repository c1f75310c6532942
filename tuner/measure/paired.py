"""Statistics of interleaved pairs: how much better, and how sure.

Rates are compared by the logarithm of their ratio, because effects are ratios and noise is
multiplicative.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np

from tuner.measure.contrast import (
    SIGNIFICANT,
    BySpeed,
    Contrast,
    Estimate,
    adjust,
    estimate,
    largest,
)
from tuner.measure.enough import FEWEST_PAIRS, fewest_pairs

_FEWEST_RUNS = 2


@dataclass(frozen=True, kw_only=True)
class Comparison(Estimate):
    """The ratio B/A over n pairs, of the runs that count.

    `least_p` is what `p` is for a difference however clear; `detectable` the smallest gain (as a
    fraction) that n such pairs show with 80 % power.
    `restarting` tells of pairs in which the engine restarted before one side.  `restarted` is the
    rate of such a run over that of any other, of A and of B: the ratio is free of it.
    `by_speed` has it raw and adjusted by the machine's speed, of which one counts here.
    """

    pairs: int
    least_p: float
    restarting: bool = False
    restarted: tuple[float, float] | None = None
    by_speed: BySpeed | None = None

    @property
    def better(self) -> bool:
        """Whether the whole interval lies above 1."""
        return self.low > 1.0

    @property
    def is_adjusted(self) -> bool:
        """Whether the ratio is the one without what the machine's speed explains."""
        return self.by_speed is not None and self.ratio == self.by_speed.adjusted.ratio

    @property
    def enough(self) -> bool:
        """Whether such pairs can show anything."""
        return self.least_p < SIGNIFICANT

    @property
    def fewest(self) -> int:
        """How many pairs would suffice where these do not."""
        return max(fewest_pairs(restarting=self.restarting), self.pairs + 1)

    @property
    def shows_more(self) -> bool:
        """Whether B is shown to be above A: the interval alone covers too seldom where the noise is
        skewed, so that the exact test must agree."""
        return self.better and self.p < SIGNIFICANT

    @property
    def shows_less(self) -> bool:
        """Whether B is shown to be below A, likewise."""
        return self.high < 1.0 and self.p < SIGNIFICANT


def least(comparisons: Sequence[Comparison]) -> Comparison:
    """The smallest ratio of several, by the same pairs, with its interval and p.

    That all are above 1 is shown at 5 % where each is: an intersection-union test, whose p is the
    largest (Berger 1982, Technometrics 24:295-300).  The smaller of two ratios then lies between
    the smaller lower bound and the smaller upper bound at least as often as each ratio lies within
    its own, though not outside either end as often: where the two are equal, the bounds exchange
    misses below for as many misses above.
    """
    return _combined(comparisons, min)


def most(comparisons: Sequence[Comparison]) -> Comparison:
    """The largest ratio of several likewise, for what is claimed to be below 1."""
    return _combined(comparisons, max)


def _combined(
    comparisons: Sequence[Comparison], pick: Callable[[Iterable[float]], float]
) -> Comparison:
    """The comparison by the outermost ratio and bounds, and the weakest evidence."""
    first = comparisons[0]
    by_speeds = [pairs.by_speed for pairs in comparisons if pairs.by_speed is not None]
    by_speed = None
    if len(by_speeds) == len(comparisons):
        # Of the same runs the same rule says which counts.
        by_speed = replace(
            by_speeds[0],
            raw=_outermost([by_speed.raw for by_speed in by_speeds], pick),
            adjusted=_outermost([by_speed.adjusted for by_speed in by_speeds], pick),
        )
    return replace(first, **asdict(_outermost(comparisons, pick)), by_speed=by_speed)


def _outermost(estimates: Sequence[Estimate], pick: Callable[[Iterable[float]], float]) -> Estimate:
    ratio = pick(interval.ratio for interval in estimates)
    return Estimate(
        averages=next(interval.averages for interval in estimates if interval.ratio == ratio),
        ratio=ratio,
        low=pick(interval.low for interval in estimates),
        high=pick(interval.high for interval in estimates),
        p=max(interval.p for interval in estimates),
        detectable=largest([interval.detectable for interval in estimates]),
        sigma=max(interval.sigma for interval in estimates),
    )


Speeds = tuple[Sequence[float], Sequence[float]]
"""What the probe is expected to explain of the logarithm of each run's rate, of A and of B."""


class Pairs(NamedTuple):
    """What both sides of each pair showed, the machine that it ran on, whether the engine restarted
    just before the run of A, and of B, and how fast the machine was in each, None where that is not
    known of all."""

    a: Sequence[float]
    b: Sequence[float]
    machines: Sequence[str] = ()
    restarts: Sequence[tuple[bool, bool]] = ()
    speeds: Speeds | None = None


def compare(
    a: Sequence[float],
    b: Sequence[float],
    restarts: Sequence[tuple[bool, bool]] = (),
    speeds: Speeds | None = None,
) -> Comparison:
    """Compare B with A, pair by pair; needs at least two pairs of positive values.

    The interval is Student's t on the mean log-ratio (reference: Student 1908; for n from 6 to 10
    pairs it covers better than a bootstrap).

    An engine that has just started is slow, and heap and buffers decide how slow, so each side has
    a loss of its own.  Of pairs in which the engine restarts before one side the ratios show only
    the sum of both losses, and the gain with half their difference: equal settings that lose 20 %
    and 10 % look 6 % apart.  It is the carry-over of a crossover trial, and to test for it first
    and then trust the pairs misleads (Freeman 1989, Stat Med 8:1421-1432).  So runs just after a
    restart do not count.  Where six pairs are without one, those are compared; else the other
    runs, each by itself, with the permutation test of their labels.

    With `speeds` the comparison is that which counts of the raw one and of the one without what
    they explain, see `tuner.measure.contrast`.
    """
    if len(a) != len(b) or len(a) < 2:
        raise ValueError("a comparison needs at least two pairs")
    flags = restarts or ((False, False),) * len(a)
    chosen = _chosen(flags)
    contrast = chosen.contrast
    logs = np.log([*(a[at] for at in chosen.of_a), *(b[at] for at in chosen.of_b)])
    by_speed, counted = None, estimate(contrast, contrast.fit(logs), logs)
    if speeds is not None and chosen.settles:
        of_runs = [*(speeds[0][at] for at in chosen.of_a), *(speeds[1][at] for at in chosen.of_b)]
        by_speed, counted = adjust(contrast, logs, np.asarray(of_runs)) or (None, counted)
    if not chosen.settles:
        counted = replace(counted, p=1.0, detectable=None)
    return Comparison(
        **vars(counted),
        pairs=contrast.of_a if contrast.paired else len(a),
        least_p=contrast.least_p if chosen.settles else 1.0,
        restarting=len(set(flags)) > 1,
        restarted=_restarted(a, b, flags) if chosen.settles else None,
        by_speed=by_speed,
    )


@dataclass(frozen=True)
class _Chosen:
    """Which runs count, by their numbers, and whether they can settle anything."""

    of_a: Sequence[int]
    of_b: Sequence[int]
    paired: bool
    settles: bool = True

    @property
    def contrast(self) -> Contrast:
        return Contrast(len(self.of_a), len(self.of_b), self.paired)


def _chosen(flags: Sequence[tuple[bool, bool]]) -> _Chosen:
    """The runs that count: of pairs without a restart, of all runs without one or, where there are
    too few, of all pairs, which settle nothing then."""
    numbers = range(len(flags))
    without = [at for at in numbers if not any(flags[at])]
    if len(without) == len(numbers) or len(without) >= FEWEST_PAIRS:
        return _Chosen(without, without, paired=True)
    of_a, of_b = ([at for at in numbers if not flags[at][side]] for side in (0, 1))
    if min(len(of_a), len(of_b)) < _FEWEST_RUNS:
        return _Chosen(numbers, numbers, paired=True, settles=False)
    return _Chosen(of_a, of_b, paired=False)


def _restarted(
    a: Sequence[float], b: Sequence[float], flags: Sequence[tuple[bool, bool]]
) -> tuple[float, float] | None:
    """The rate of a run just after a restart over that of the others, of A and of B; None where
    there are not both."""
    shares = []
    for side, after in zip((a, b), zip(*flags, strict=True), strict=True):
        just, later = (
            [math.log(rate) for rate, flag in zip(side, after, strict=True) if flag is wanted]
            for wanted in (True, False)
        )
        if not just or not later:
            return None
        shares.append(math.exp(statistics.fmean(just) - statistics.fmean(later)))
    return shares[0], shares[1]
