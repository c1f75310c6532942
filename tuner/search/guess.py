"""What each knob seems to do, by all trials of a search together: a guess, never a claim; pure.

Logarithms of rates are taken as a sum of what the knobs give, which a Bayesian ridge regression
fits: weights drawn from one normal distribution, its width from the trials themselves (reference:
MacKay 1992, "Bayesian interpolation").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from tuner.measure.measurement import Measurement
from tuner.measure.metrics import restarted
from tuner.search.space import Floats
from tuner.search.study import SCORED, Axis, Changes, Trial
from tuner.space.knob import Level

# The variance of a trial's noise over that of a weight.  At most 1: a few trials in which nothing
# seems to matter must not prove that nothing does.
_RIDGES = np.logspace(-3, 0, 31)
_FEWEST = 3


@dataclass(frozen=True)
class EffectRatio:
    """A factor on the rate, with its 95 % interval."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Guess:
    """What the levels of each knob seem to give beside those of the profile as written.

    `tried` counts the trials in which a knob had a level; with less than three trials there is
    nothing but that.
    """

    axes: tuple[Axis, ...]
    tried: Mapping[tuple[str, Level], int]
    _fit: _Fit | None

    def of(self, path: str, level: Level) -> EffectRatio:
        """The effect of a level, as a factor on the rate."""
        if self._fit is None:
            return EffectRatio(1.0, 0.0, math.inf)
        mean, half = self._fit.effect(_row(self.axes, ((path, level),), after_restart=False))
        return EffectRatio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def guess(trials: Sequence[Trial], axes: Sequence[Axis]) -> Guess:
    """From all trials that a search learnt from, those of its calibration included."""
    measured = [
        (dict(trial.changes), trial.outcome)
        for trial in trials
        if trial.phase in SCORED and isinstance(trial.outcome, Measurement)
    ]
    levels = [(axis.path, axis.current) for axis in axes]
    tried = Counter(
        (path, changes.get(path, current)) for changes, _ in measured for path, current in levels
    )
    if len(measured) < _FEWEST:
        return Guess(tuple(axes), tried, None)
    rows = np.array(
        [
            _row(axes, tuple(changes.items()), after_restart=restarted(run))
            for changes, run in measured
        ]
    )
    return Guess(tuple(axes), tried, _fitted(rows, np.log([run.eps_paid for _, run in measured])))


def effects_of(trials: Sequence[Trial], axes: Sequence[Axis], changes: Changes) -> dict[str, float]:
    """What each of the changes seems to give, as a logarithm, to rank them."""
    estimates = guess(trials, axes)
    return {path: math.log(estimates.of(path, level).ratio) for path, level in changes}


def _row(axes: Sequence[Axis], changes: Changes, *, after_restart: bool) -> Floats:
    """Settings as numbers, zero as written: for each knob how far its level lies from the one as
    written, and a column for each level of its own, so that levels that are near each other give
    half of what they give in common.  A run just after a restart of the engine is slower by
    something that is not its settings'."""
    levels = dict(changes)
    parts = [_part(axis, levels.get(axis.path, axis.current)) for axis in axes]
    return np.concatenate([*parts, [float(after_restart)]])


def _part(axis: Axis, level: Level) -> Floats:
    written, at = axis.levels.index(axis.current), axis.levels.index(level)
    part = np.zeros(1 + len(axis.levels))
    if at != written:
        part[0] = (at - written) / max(written, len(axis.levels) - 1 - written)
        part[1 + at] = 1.0
    return part


@dataclass(frozen=True)
class _Fit:
    """Means and covariance of the weights, and how many standard deviations are 95 %."""

    weights: Floats
    covariance: Floats
    reach: float

    def effect(self, row: Floats) -> tuple[float, float]:
        """The mean at a row, and half of its interval."""
        variance = float(row @ self.covariance @ row)
        return float(row @ self.weights), self.reach * math.sqrt(max(variance, 0.0))


def _fitted(rows: Floats, values: Floats) -> _Fit:
    """The ridge that explains the values best, and what it makes of them; at least two values."""
    centred, about = rows - rows.mean(axis=0), values - values.mean()
    left, singular, right = np.linalg.svd(centred, full_matrices=False)
    explained = left.T @ about
    unexplained = float(about @ about - explained @ explained)
    free = len(values) - 1
    squares = singular[:, None] ** 2
    shrinks = _RIDGES / (squares + _RIDGES)
    variances = (((explained[:, None] ** 2) * shrinks).sum(axis=0) + max(unexplained, 0.0)) / free
    variances = np.maximum(variances, 1e-12)
    evidence = -free / 2 * np.log(variances) + np.log(shrinks).sum(axis=0) / 2
    best = int(np.argmax(evidence))
    ridge, variance = float(_RIDGES[best]), float(variances[best])
    weights = right.T @ (singular / (singular**2 + ridge) * explained)
    known = right.T * (singular**2 / (singular**2 + ridge)) @ right
    covariance = variance / ridge * (np.eye(len(weights)) - known)
    return _Fit(weights, covariance, float(stdtrit(free, 0.975)))
