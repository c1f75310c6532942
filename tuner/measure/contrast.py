"""How far apart two sides of runs are, with and without what the machine's speed explains, and what
other labels would make of the same runs; pure.

The runs are taken as pairs or, where the two of a pair are no equals, each by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Numbers = NDArray[np.float64]

_MOST_ENUMERATED = 1 << 16
_DRAWN = 1 << 14


@dataclass(frozen=True)
class Fit:
    """The mean difference of B and A with its standard error, the degrees of freedom of that, and
    the exact two-sided p of no difference."""

    difference: float
    error: float
    freedom: float
    p: float


@dataclass(frozen=True)
class Contrast:
    """The runs of A before those of B, so many of each; as pairs in order, or each by itself.

    Where A and B are the same, their labels are arbitrary: within each pair, or among all runs.
    """

    of_a: int
    of_b: int
    paired: bool

    @property
    def runs_behind(self) -> float:
        """The variance of a run over that of the difference of both means."""
        return self.of_a * self.of_b / (self.of_a + self.of_b)

    def differences(self, values: Numbers) -> Numbers:
        """The mean difference under each labelling of the runs; the first is that of the true
        labels.  Beyond some 65,000 labellings 16,383 are drawn beside it, which keeps the test
        exact (Phipson and Smyth 2010, Stat Appl Genet Mol Biol 9:39)."""
        if self.paired:
            apart = values[self.of_a :] - values[: self.of_a]
            means: Numbers = exchanges(self.of_a) @ apart / self.of_a
            return means
        sums: Numbers = _halves(self.of_a, self.of_b) @ values
        between: Numbers = sums / self.of_b - (values.sum() - sums) / self.of_a
        return between

    def squares(self, values: Numbers) -> float:
        """The squared deviations of runs that no difference of the sides explains; of pairs only
        what is left of the differences within them."""
        a, b = values[: self.of_a], values[self.of_a :]
        if self.paired:
            apart = b - a
            return float(((apart - apart.mean()) ** 2).sum()) / 2
        return float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())

    @property
    def freedom(self) -> int:
        """The degrees of freedom of those squares."""
        return self.of_a - 1 if self.paired else self.of_a + self.of_b - 2

    def fit(self, values: Numbers) -> Fit:
        """Student's t (1908) on the difference, and the permutation test beside it."""
        differences = self.differences(values)
        variance = self.squares(values) / self.freedom / self.runs_behind
        return Fit(
            float(differences[0]), math.sqrt(variance), self.freedom, share_as_far(differences)
        )

    @property
    def least_p(self) -> float:
        """The p of a difference however clear: that of the true labels and, where the sides are as
        many, of the opposite ones."""
        if self.paired:
            return 2.0 ** (1 - self.of_a)
        return (2 if self.of_a == self.of_b else 1) / math.comb(self.of_a + self.of_b, self.of_a)


def share_as_far(differences: Numbers) -> float:
    """How many of the differences are as far from 0 as the first."""
    return float(np.mean(np.abs(differences) >= abs(differences[0]) - 1e-12))


@lru_cache(maxsize=4)
def exchanges(pairs: int) -> Numbers:
    """Ways to exchange the sides of pairs, a row each; the first exchanges none."""
    if 2**pairs <= _MOST_ENUMERATED:
        return np.array(list(itertools.product((1.0, -1.0), repeat=pairs)))
    drawn = np.random.default_rng(0).choice((1.0, -1.0), (_DRAWN, pairs))
    drawn[0] = 1.0
    return drawn


@lru_cache(maxsize=4)
def _halves(of_a: int, of_b: int) -> Numbers:
    """Ways to choose the runs of B, a row each with 1 for such a run; the first is the true one."""
    runs = of_a + of_b
    if math.comb(runs, of_b) <= _MOST_ENUMERATED:
        chosen = np.array(list(itertools.combinations(reversed(range(runs)), of_b)))
    else:
        chosen = np.random.default_rng(0).random((_DRAWN, runs)).argsort(axis=1)[:, :of_b]
        chosen[0] = range(of_a, runs)
    rows: Numbers = np.zeros((len(chosen), runs))
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


SIGNIFICANT = 0.05
_POWER = 0.8
# Beyond so many pairs nobody waits for an answer.
MOST_PAIRS = 1000

# A claim needs the exact test beside the interval, which costs power: of six pairs all must agree.
# By how much the gain that is shown in 80 % of comparisons exceeds what Student's t alone promises,
# as tests/benchmarks/power_of_the_rule.py found it (20,000 comparisons each, normal noise, standard
# error 0.005); less than 1 % where nothing stands here.
_OF_PAIRS: Mapping[int, float] = {6: 1.26, 7: 1.07, 8: 1.04, 9: 1.03, 10: 1.015, 11: 1.015}
_OF_RUNS: Mapping[int, float] = {7: 1.34, 8: 1.22, 9: 1.035, 10: 1.03, 11: 1.015, 12: 1.01}


# Where noise is estimated, some estimates are too low, and too small a gain is promised by them: by
# this quantile of Student's t, over that of known noise, a gain is larger that 80 % of comparisons
# show.  From three degrees of freedom on it is what the whole rule takes, within 2 %, and with
# fewer it is a little more (tests/benchmarks/noise_promise.py).
_UNSURE = 0.94


def unsure(known_by: float) -> float:
    """By how much a gain must be larger to be detected as often as is promised, where its noise was
    estimated by so many degrees of freedom."""
    return float(stdtrit(known_by, _UNSURE) / ndtri(_UNSURE)) if known_by < math.inf else 1.0


def detectable(
    contrast: Contrast, error: float, freedom: float, known_by: float = math.inf
) -> float | None:
    """The smallest gain, as a fraction, that runs like these show with 80 % power, where the
    logarithm of their ratio has this standard error, itself `known_by` so many degrees of freedom;
    None where they can show nothing."""
    if contrast.least_p >= SIGNIFICANT:
        return None
    scale = float(stdtrit(freedom, 1 - SIGNIFICANT / 2)) + float(stdtrit(freedom, _POWER))
    if contrast.paired:
        scale *= _OF_PAIRS.get(contrast.of_a, 1.0)
    else:
        scale *= _OF_RUNS.get(contrast.of_a + contrast.of_b, 1.0)
    return math.expm1(scale * error * unsure(known_by))


def detectable_by(
    pairs: int, sigma: float, *, restarting: bool = False, known_by: float = math.inf
) -> float | None:
    """The smallest gain, as a fraction, that so many pairs show with 80 % power, where `sigma` is
    the standard deviation of a run's logarithm, `known_by` so many degrees of freedom; None where
    they can show nothing.

    Where the engine restarts in each pair, half of the runs count.
    """
    a, b = ((pairs + 1) // 2, pairs // 2) if restarting else (pairs, pairs)
    contrast = Contrast(a, b, paired=not restarting)
    error = sigma / math.sqrt(contrast.runs_behind)
    return detectable(contrast, error, contrast.freedom, known_by)


def pairs_to_detect(
    gain: float, sigma: float, fewest: int, *, restarting: bool = False, known_by: float = math.inf
) -> int | None:
    """How many pairs, `fewest` at least, show such a gain with 80 % power where `sigma` is the
    standard deviation of a run's logarithm, `known_by` so many degrees of freedom; None for more
    than 1000."""
    for pairs in range(fewest, MOST_PAIRS + 1):
        least = detectable_by(pairs, sigma, restarting=restarting, known_by=known_by)
        if least is not None and least <= gain:
            return pairs
    return None


# What settings do to the probe is no noise of the machine: by so much of a rate, as a standard
# deviation, they are allowed to move it.
_ALLOWED = 0.02
# Moves that are not noticed bias the adjusted ratio one way, so the raw one must show the same
# direction, at 4 %.  Nothing weaker than 5 % holds for every move: where its size is not known, the
# runs tell no more than the raw ratio does.  At 5 % this rule told equal settings apart in 5.5 % of
# comparisons of ten pairs, at 4 % in 4.8 %.
_ONE_DIRECTION = 0.08
# Where a move is certain the adjusted ratio is of no use and the raw one counts alone.  In between
# both must show it, over a range that is wide enough for the two sides of it not to add up.
_SUSPICIOUS, _CERTAIN = 0.2, 0.001
# The gain that the raw ratio shows in one direction, over the one that it detects by itself.
_LEANING_DETECTS = 0.9
_LEAST_BY_CHANCE = 0.5
_FEWEST_FREE = 3


class Counts(Enum):
    """Which of the two is claimed, and why."""

    ADJUSTED = "adjusted counts"
    BOTH = "the smaller counts: the settings may move the probe"
    MOVED = "raw counts: the settings move the probe"
    STEADY = "raw counts: the machine's speed hardly varied"


@dataclass(frozen=True)
class Estimate:
    """A ratio with its 95 % interval, the exact two-sided p, what such runs can detect (None:
    nothing), and the standard deviation of a run's logarithm.  `averages` are the geometric means
    of A and of B: the ratio is that of the second to the first."""

    averages: tuple[float, float]
    ratio: float
    low: float
    high: float
    p: float
    detectable: float | None
    sigma: float


@dataclass(frozen=True)
class BySpeed:
    """The same runs with and without what the machine's speed explains.

    `counts` says which of them may be claimed.  `slope` is by how much the logarithm of a run's
    figure rises for what the probe is expected to explain of a rate, `moved` the ratio of B's speed
    to A's in those terms.
    """

    raw: Estimate
    adjusted: Estimate
    slope: float
    moved: float
    counts: Counts


_Number = TypeVar("_Number", int, float)


def largest(needs: Sequence[_Number | None]) -> _Number | None:
    """The gain that all of several can detect, or the pairs that suffice for all; None where
    nothing does for one."""
    numbers = [number for number in needs if number is not None]
    return max(numbers) if len(numbers) == len(needs) else None


def estimate(
    contrast: Contrast, fit: Fit, logs: Numbers, significant: float = SIGNIFICANT
) -> Estimate:
    """A fit of logarithms as a ratio, with the interval that belongs to a level."""
    half = float(stdtrit(fit.freedom, 1 - significant / 2)) * fit.error
    a, b = logs[: contrast.of_a], logs[contrast.of_a :]
    return Estimate(
        averages=(math.exp(a.mean()), math.exp(b.mean())),
        ratio=math.exp(fit.difference),
        low=math.exp(fit.difference - half),
        high=math.exp(fit.difference + half),
        p=fit.p,
        detectable=detectable(contrast, fit.error, fit.freedom, known_by=fit.freedom),
        sigma=fit.error * math.sqrt(contrast.runs_behind),
    )


def adjust(contrast: Contrast, logs: Numbers, speeds: Numbers) -> tuple[BySpeed, Estimate] | None:
    """Analysis of covariance on the logarithms of runs, and what may be claimed of it: `speeds` is
    what the probe is expected to explain of each.  None with too few runs to estimate a slope, or
    where the speed never varies.

    The slope is that within settings, by the squares of all runs without those between the sides.
    It is estimated anew under every labelling, and all else that enters is the same under all of
    them: so where labels are arbitrary, of figures and speeds together, the test is exact.

    Only as much of the sides' difference in speed is taken off as chance explains beside what the
    settings are allowed, as in a model with a random effect; where that is less than half, the raw
    one counts.  The rule looks at speeds alone, never at figures.  Where the settings move the
    probe, the adjusted one is biased; where they only seem to, the raw one is, because chance gave
    one side the faster machine.  So the raw one counts where that is certain, both must show it
    where it is suspected, and elsewhere the raw one must show at least the direction.

    By tests/benchmarks/adjusted_coverage.py, whatever the settings do to the probe, equal ones are
    told apart in 5 % of comparisons at most, as by the raw ratio, and the interval covers.
    """
    if contrast.freedom < _FEWEST_FREE or float(np.ptp(speeds)) == 0.0:
        return None
    of_raw, of_speed, apart = contrast.fit(logs), contrast.fit(speeds), speeds - speeds.mean()
    fit, slope, by_chance = _adjusted(contrast, logs - logs.mean(), apart)
    raw = estimate(contrast, of_raw, logs)
    adjusted = estimate(contrast, fit, logs - by_chance * slope * apart)
    counts = _counts(of_speed, by_chance)
    counted = raw
    if counts is Counts.BOTH:
        counted = _of_both(
            min(raw, adjusted, key=lambda ratio: abs(math.log(ratio.ratio))), raw, adjusted
        )
    elif counts is Counts.ADJUSTED:
        direction = _direction(estimate(contrast, of_raw, logs, _ONE_DIRECTION))
        is_opposite = (raw.ratio > 1) is not (adjusted.ratio > 1)
        counted = _of_both(adjusted, direction, adjusted)
        counted = replace(counted, p=1.0) if is_opposite else counted
    return BySpeed(raw, adjusted, slope, math.exp(of_speed.difference), counts), counted


def _direction(raw: Estimate) -> Estimate:
    """A raw ratio as evidence of a direction alone: of the two ends of its interval one counts."""
    gain = raw.detectable
    return replace(
        raw,
        p=raw.p * SIGNIFICANT / _ONE_DIRECTION,
        detectable=None if gain is None else math.expm1(_LEANING_DETECTS * math.log1p(gain)),
        sigma=_LEANING_DETECTS * raw.sigma,
    )


def counted_sigma(raw: float, adjusted: float) -> float:
    """The noise of a run's logarithm by which such pairs show gains, from that with and without
    what the machine's speed explains."""
    return max(_LEANING_DETECTS * raw, adjusted)


def _of_both(ratio: Estimate, raw: Estimate, adjusted: Estimate) -> Estimate:
    """What both show: a ratio within both intervals, and the weaker evidence."""
    return replace(
        ratio,
        low=min(raw.low, adjusted.low),
        high=max(raw.high, adjusted.high),
        p=max(raw.p, adjusted.p),
        detectable=largest((raw.detectable, adjusted.detectable)),
        sigma=max(raw.sigma, adjusted.sigma),
    )


def _counts(of_speed: Fit, by_chance: float) -> Counts:
    apart = abs(of_speed.difference) / math.hypot(of_speed.error, _ALLOWED)
    if by_chance < _LEAST_BY_CHANCE:
        return Counts.STEADY
    if apart > float(stdtrit(of_speed.freedom, 1 - _CERTAIN / 2)):
        return Counts.MOVED
    suspicious = apart > float(stdtrit(of_speed.freedom, 1 - _SUSPICIOUS / 2))
    return Counts.BOTH if suspicious else Counts.ADJUSTED


def _adjusted(contrast: Contrast, logs: Numbers, speeds: Numbers) -> tuple[Fit, float, float]:
    """The fit without what the speeds explain, the slope, and the share of the sides' difference in
    speed that chance explains; from deviations from the mean of all runs."""
    runs = contrast.runs_behind
    of_logs, of_speeds = contrast.differences(logs), contrast.differences(speeds)
    squares = speeds @ speeds - runs * of_speeds**2
    slopes = (speeds @ logs - runs * of_speeds * of_logs) / squares
    by_chance = float(np.mean(of_speeds**2))
    by_chance /= by_chance + _ALLOWED**2
    differences = of_logs - by_chance * slopes * of_speeds
    slope = float(slopes[0])
    # Of a slope from pairs and from the runs between them, only that of the pairs costs freedom.
    freedom = contrast.freedom - contrast.squares(speeds) / float(squares[0])
    variance = contrast.squares(logs - slope * speeds) / freedom
    of_slope = (by_chance * float(of_speeds[0])) ** 2 / float(squares[0])
    error = math.sqrt(variance * (1 / runs + of_slope) + by_chance * (slope * _ALLOWED) ** 2)
    fit = Fit(float(differences[0]), error, freedom, share_as_far(differences))
    return fit, slope, by_chance
