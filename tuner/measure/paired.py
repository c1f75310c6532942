"""Statistics of interleaved pairs: how much better, and how sure.

Rates are compared by the logarithm of their ratio, because effects are ratios and noise is
multiplicative.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

_SIGNIFICANT = 0.05
FEWEST_PAIRS = 6
"""With fewer the exact test cannot reach 0.05."""
FEWEST_RESTARTING = 8
"""The same where an engine restarts between the sides, and its effect is estimated as well."""
_FEWEST_FITTED = 4


@dataclass(frozen=True)
class Comparison:
    """The ratio B/A over n pairs with its 95 % interval.

    `p` is the exact two-sided probability of a difference as large when there is none, `least_p`
    what it is for a difference however clear; `detectable` the smallest gain (as a fraction) that n
    such pairs show with 80 % power.
    `restarting` tells of pairs in which the engine restarted before one side.  `restarted` is the
    rate of such a run over that of any other, where the pairs show it: the ratio is free of it.
    """

    pairs: int
    ratio: float
    low: float
    high: float
    p: float
    least_p: float
    detectable: float
    restarting: bool = False
    restarted: float | None = None

    @property
    def better(self) -> bool:
        """Whether the whole interval lies above 1."""
        return self.low > 1.0

    @property
    def enough(self) -> bool:
        """Whether such pairs can show anything."""
        return self.least_p < _SIGNIFICANT

    @property
    def fewest(self) -> int:
        """How many pairs would suffice where these do not."""
        return max(fewest_pairs(restarting=self.restarting), self.pairs + 1)

    @property
    def shows_more(self) -> bool:
        """Whether B is shown to be above A: the interval alone covers too seldom where the noise is
        skewed, so that the exact test must agree."""
        return self.better and self.p < _SIGNIFICANT

    @property
    def shows_less(self) -> bool:
        """Whether B is shown to be below A, likewise."""
        return self.high < 1.0 and self.p < _SIGNIFICANT


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
    ratio = pick(one.ratio for one in comparisons)
    return replace(
        next(one for one in comparisons if one.ratio == ratio),
        low=pick(one.low for one in comparisons),
        high=pick(one.high for one in comparisons),
        p=max(one.p for one in comparisons),
        least_p=max(one.least_p for one in comparisons),
        detectable=max(one.detectable for one in comparisons),
    )


class Pairs(NamedTuple):
    """What both sides of each pair showed, and whether the engine restarted just before the run of
    B (1), of A (-1), or before both or none (0)."""

    a: Sequence[float]
    b: Sequence[float]
    restarts: Sequence[int] = ()


def fewest_pairs(*, restarting: bool) -> int:
    """How many pairs can show anything, where an engine restarts between their sides or not."""
    return FEWEST_RESTARTING if restarting else FEWEST_PAIRS


def compare(a: Sequence[float], b: Sequence[float], restarts: Sequence[int] = ()) -> Comparison:
    """Compare B with A, pair by pair; needs at least two pairs of positive values.

    An engine that has just started is slow, so where `restarts` (see `Pairs`) vary over four pairs
    or more their effect is estimated beside the ratio, as that of the period in a crossover trial
    (Hills and Armitage 1979, Br J Clin Pharmacol 8:7-20).

    The interval is Student's t on the mean log-ratio (reference: Student 1908; for n from 6 to 10
    pairs it covers better than a bootstrap).
    """
    if len(a) != len(b) or len(a) < 2:
        raise ValueError("a comparison needs at least two pairs")
    logs = [math.log(after / before) for before, after in zip(a, b, strict=True)]
    n = len(logs)
    restarting = len(set(restarts)) > 1
    fitted = restarting and n >= _FEWEST_FITTED
    used = restarts if fitted else ()
    mean, slope, error = _fit(logs, used)
    freedom = n - 2 if fitted else n - 1
    half = float(stdtrit(freedom, 0.975)) * error
    power = (float(stdtrit(freedom, 0.975)) + float(stdtrit(freedom, 0.8))) * error
    return Comparison(
        pairs=n,
        ratio=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        p=sign_flip_p(logs, used),
        least_p=_least_p(n, tuple(used)),
        detectable=math.exp(power) - 1.0,
        restarting=restarting,
        restarted=math.exp(slope) if fitted else None,
    )


def _fit(logs: Sequence[float], restarts: Sequence[int]) -> tuple[float, float, float]:
    """The mean log-ratio, how it changes with a restart before B, and the standard error of the
    mean; by least squares, without the second where no restarts are given."""
    n = len(logs)
    if not restarts:
        return statistics.fmean(logs), 0.0, statistics.stdev(logs) / math.sqrt(n)
    y, x = np.asarray(logs), np.asarray(restarts, dtype=float)
    slope = float((x - x.mean()) @ y / ((x - x.mean()) @ x))
    mean = float(y.mean() - slope * x.mean())
    residuals = y - mean - slope * x
    leverage = float(x @ x / (n * (x @ x) - x.sum() ** 2))
    return mean, slope, math.sqrt(float(residuals @ residuals) / (n - 2) * leverage)


def sign_flip_p(differences: Sequence[float], restarts: Sequence[int] = ()) -> float:
    """Exact two-sided p of the mean under all sign flips; up to 16 differences.

    Its floor is 2/2^n: five pairs cannot reach 0.05, six reach 0.031.  With more than 16
    differences the first 16 are used, whose floor of 0.00003 is far below any threshold.

    With `restarts` only those flips count that leave a restart before A as often as before B: that
    is the permutation test of the two orders, whose floor is 2/70 with eight pairs.
    """
    used = np.asarray(differences[:16])
    x = np.asarray([*restarts[:16]] or [0] * len(used), dtype=float)
    signs = _flips(tuple(x))
    # The mean with the effect of restarts taken out, times a constant.
    size = x @ x or 1.0
    means = size * (signs @ used) - x.sum() * (x @ used)
    return float(np.mean(np.abs(means) >= abs(means[0]) - 1e-12))


@lru_cache(maxsize=32)
def _least_p(count: int, restarts: tuple[int, ...]) -> float:
    """The p of so many differences that are all the same."""
    return sign_flip_p([1.0] * count, restarts)


@lru_cache(maxsize=4)
def _flips(restarts: tuple[float, ...]) -> NDArray[np.float64]:
    """Every way to give signs to that many differences that keeps the sum of the restarts, a row
    each; the first flips none."""
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(restarts))), dtype=float)
    kept: NDArray[np.float64] = signs[signs @ np.asarray(restarts) == sum(restarts)]
    return kept
