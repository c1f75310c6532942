"""Statistics of a switchback: pairs of blocks of time, one of each side, in a drawn order; pure.

A difference is the logarithm of B over A within a pair.  Where the sides are the same, the order
that was drawn decides its sign alone: all that is inferred here rests on that, and on no form that
the noise has (Bojinov, Simchi-Levi and Zhao 2020, arXiv 2009.00148).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from tuner.measure.contrast import Numbers, exchanges, share_as_far

EARLY, AT_THE_END = 0.01, 0.035
"""Of the 5 % of trials that may tell equal sides apart, so many are for those that end early, and
for those that go on to their end; the rest is room for the noise of what follows each other."""
FEWEST_PAIRS = 6
"""With fewer the exact test cannot reach 3.5 %."""
_POWER = 0.8
_PAIRS_FOR_A_SLOPE = 12
# A claim needs the exact test beside the interval, and a slope that is estimated: by so much a
# change that 80 % of trials show exceeds what Student's t alone promises (600 simulations each).
_BY_BOTH, _BY_BOTH_OF_FEWEST = 1.1, 1.2
# Slopes of half as much are usual: an event costs less CPU where more share a batch.
_USUAL_SLOPE = 0.5
# The evidence is strongest after about so many pairs (Howard et al. 2021, Ann Stat 49:1055, 3.5).
_BEST_AFTER = 16
# What is staked on the sign of a difference: with ten alike the bar of 1 % is reached.
_STAKE = 0.9
# How far from the mean a difference may be that is not ruled out: to a factor of 20.
_STEPS = np.linspace(0.0, 3.0, 1501)[1:]


class PairDifference(NamedTuple):
    """The logarithms of B over A in one pair: of the figure that is compared, and of the load."""

    figure: float
    load: float


@dataclass(frozen=True)
class SwitchbackRatio:
    """B over A: the ratio, the interval that holds whenever the trial is looked at (`is_early`) or
    at its planned end, and the p that belongs to it."""

    ratio: float
    low: float
    high: float
    p: float
    pairs: int
    is_early: bool

    @property
    def shows_less(self) -> bool:
        """Whether B is shown to be below A."""
        return self.high < 1.0 and self.p < self._level

    @property
    def shows_more(self) -> bool:
        """Whether B is shown to be above A."""
        return self.low > 1.0 and self.p < self._level

    @property
    def _level(self) -> float:
        return EARLY if self.is_early else AT_THE_END


def slope_of(figures: Sequence[float], loads: Sequence[float]) -> float:
    """By how much the logarithm of a figure changes with that of the load, from blocks of one side,
    oldest first: by the differences of neighbours, and drawn towards 0 where the load hardly
    varied.  0 with less than three blocks."""
    if len(figures) < 3:
        return 0.0
    y, x = np.diff(np.log(figures)), np.diff(np.log(loads))
    noise = float((y**2).mean())
    return float((x * y).sum() / ((x**2).sum() + noise / _USUAL_SLOPE**2 + 1e-12))


def sigma_of(figures: Sequence[float], loads: Sequence[float], slope: float) -> float:
    """The standard deviation of a pair's difference without what the load explains, from blocks of
    one side; NaN with less than two."""
    if len(figures) < 2:
        return math.nan
    left = np.diff(np.log(figures)) - slope * np.diff(np.log(loads))
    return float(np.sqrt((left**2).mean()))


def early(pairs: Sequence[PairDifference], slope: float, sigma: float) -> SwitchbackRatio:
    """The ratio with an interval that covers in 99 % of trials however often one looks.

    The sum S of differences whose signs are drawn, with V, that of their squares, gives
    exp(lS - l²V/2), which is expected to be 1 at most whatever l is (de la Peña 1999, Ann Probab
    27:537); l is mixed over a normal distribution (Howard et al. 2021, proposition 5).  Of a large
    difference V grows as S does, so that half of the evidence comes from the signs alone: a stake
    of `_STAKE` on either, a game that is fair (Ville 1939).  `slope` and `sigma` are known before
    the first pair.
    """
    apart = np.array([pair.figure - slope * pair.load for pair in pairs])
    spread = _BEST_AFTER * sigma**2 / (2 * math.log(1 / EARLY)) + 1e-12

    mean = float(apart.mean())
    tried = mean + np.concatenate(([-mean], _STEPS, -_STEPS))
    totals = (apart[:, None] - tried).sum(axis=0)
    squares = ((apart[:, None] - tried) ** 2).sum(axis=0) + spread
    by_size = 0.5 * np.log(spread / squares) + totals**2 / (2 * squares)
    ups = (apart[:, None] > tried).sum(axis=0)
    win, loss = math.log1p(_STAKE), math.log1p(-_STAKE)
    downs = len(apart) - ups
    either = np.logaddexp(ups * win + downs * loss, downs * win + ups * loss)
    evidence = np.logaddexp(by_size - math.log(2), either - math.log(4))
    none, above, below = evidence[0], evidence[1 : 1 + len(_STEPS)], evidence[1 + len(_STEPS) :]
    return SwitchbackRatio(
        math.exp(mean), math.exp(mean - _first(below)), math.exp(mean + _first(above)),
        min(1.0, math.exp(-none)), len(pairs), is_early=True,
    )  # fmt: skip


def _first(evidence: Numbers) -> float:
    """How far from the mean the evidence first reaches the bar; infinity where it never does."""
    reached = evidence >= math.log(1 / EARLY)
    return float(_STEPS[int(reached.argmax())]) if reached.any() else math.inf


def at_the_end(pairs: Sequence[PairDifference], slope: float) -> SwitchbackRatio:
    """The ratio with the interval of Student's t at 96.5 %, and the exact p of the order that was
    drawn.

    What the load explains is taken off: with few pairs by the `slope` that was known before the
    first, with more by one that is estimated anew under every order (analysis of covariance).
    """
    figures = np.array([pair.figure for pair in pairs])
    loads = np.array([pair.load for pair in pairs])
    signs, number = exchanges(len(pairs)), len(pairs)
    is_estimated = number >= _PAIRS_FOR_A_SLOPE
    of_figures, of_loads = signs * figures, signs * loads
    apart = of_loads - of_loads.mean(axis=1, keepdims=True)
    squares = (apart**2).sum(axis=1) + 1e-18
    slopes = (apart * of_figures).sum(axis=1) / squares if is_estimated else slope
    means: Numbers = of_figures.mean(axis=1) - slopes * of_loads.mean(axis=1)
    middle, freedom = float(means[0]), number - 1 - is_estimated
    left = figures - middle - np.broadcast_to(slopes, means.shape)[0] * loads
    behind = 1 / number + is_estimated * float(loads.mean()) ** 2 / float(squares[0])
    error = math.sqrt(float((left**2).sum()) / freedom * behind)
    half = float(stdtrit(freedom, 1 - AT_THE_END / 2)) * error
    return SwitchbackRatio(
        math.exp(middle), math.exp(middle - half), math.exp(middle + half),
        share_as_far(means), number, is_early=False,
    )  # fmt: skip


def shown_by(pairs: int, sigma: float) -> float | None:
    """The smallest change, as a fraction, that so many pairs show with 80 % power where their
    differences have that standard deviation; None where they can show nothing."""
    if pairs < FEWEST_PAIRS or math.isnan(sigma):
        return None
    freedom = pairs - 1 - (pairs >= _PAIRS_FOR_A_SLOPE)
    quantiles = float(stdtrit(freedom, 1 - AT_THE_END / 2)) + float(stdtrit(freedom, _POWER))
    more = _BY_BOTH_OF_FEWEST if pairs == FEWEST_PAIRS else _BY_BOTH
    return math.expm1(more * quantiles * sigma / math.sqrt(pairs))


def pairs_for(change: float, sigma: float) -> int | None:
    """How many pairs show such a change with 80 % power; None for more than 1,000."""
    return next(
        (
            pairs for pairs in range(FEWEST_PAIRS, 1001)
            if (least := shown_by(pairs, sigma)) is not None and least <= change
        ),
        None,
    )  # fmt: skip
