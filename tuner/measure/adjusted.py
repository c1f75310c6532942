"""A comparison without what the machine's speed explains, and whether that one counts; pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from scipy.special import stdtrit

from tuner.measure.contrast import SIGNIFICANT, Contrast, Fit, Numbers, detectable, share_as_far

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


def largest(gains: Sequence[float | None]) -> float | None:
    """What all of several can detect; None where one detects nothing."""
    detected = [gain for gain in gains if gain is not None]
    return max(detected) if len(detected) == len(gains) else None


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
