"""What each change of a winner gave, and which knobs made no difference; pure.

An effect is measured where fresh pairs ran with and without the change; else it is estimated by
regression from all trials of a search together: a guess, never a claim.  Logarithms of rates are
taken as a sum of what the knobs give, which a Bayesian ridge regression fits: weights drawn from
one normal distribution, its width from the trials themselves (reference: MacKay 1992, "Bayesian
interpolation").
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
from tuner.search.study import SCORED, Axis, Changes, Study, Trial
from tuner.search.verdict import Claim, Verdict
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


# What counts as no difference, and how often a level must have been tried to say so.
SAME = 0.02
OFTEN = 2
"""A level that was tried this often can be judged."""


@dataclass(frozen=True)
class Effect:
    """What changing `path` to `level` gave, as a factor on the rate with the work paid for
    that was put off past the window.

    `pairs` measured it, together with the changes of `together`; without pairs it is estimated.  An
    `undone` change is not part of what is recommended.
    """

    path: str
    level: Level
    estimate: EffectRatio
    pairs: int = 0
    together: tuple[str, ...] = ()
    undone: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether fresh pairs show that it helps."""
        return self.pairs > 0 and self.estimate.low > 1.0


@dataclass(frozen=True)
class Explained:
    """The effect of each change, and of the knobs that stay as written those that made less than
    2 % difference, those that were slower at all other levels, and those not tried enough to tell;
    all of these by the guess."""

    effects: tuple[Effect, ...]
    alike: tuple[str, ...]
    slower: tuple[str, ...]
    unclear: tuple[str, ...]


def explain(study: Study, verdict: Verdict) -> Explained:
    """What a study shows of each knob; of changes only where the verdict recommends them."""
    axes = study.header.space
    estimates = guess(study.trials, axes)
    searched = {axis.path for axis in axes}
    chosen = verdict.chosen if verdict.claim is Claim.IMPROVED else ()
    changes = [one for one in chosen if one[0] in searched]
    kept = dict(verdict.changes)
    effects = tuple(
        _effect(path, level, verdict, estimates, undone=path not in kept) for path, level in changes
    )
    tried = {axis.path: _tried(axis, estimates) for axis in axes if axis.path not in dict(changes)}
    alike = [
        path
        for path, ratios in tried.items()
        if ratios and all(one.low >= 1 - SAME and one.high <= 1 + SAME for one in ratios)
    ]
    slower = [
        path
        for path, ratios in tried.items()
        if ratios and path not in alike and all(one.high < 1.0 for one in ratios)
    ]
    unclear = [path for path in tried if path not in {*alike, *slower}]
    return Explained(effects, tuple(alike), tuple(slower), tuple(unclear))


def _effect(path: str, level: Level, verdict: Verdict, estimates: Guess, *, undone: bool) -> Effect:
    """By the attempt that undid the least beside this change; by the confirmation where it is the
    only change; else by the guess."""
    attempts = [one for one in verdict.attempts if path in one.undone]
    if attempts:
        closest = min(attempts, key=lambda one: len(one.undone))
        together = tuple(one for one in closest.undone if one != path)
        undoing = closest.comparison
        doing = EffectRatio(1 / undoing.ratio, 1 / undoing.high, 1 / undoing.low)
        return Effect(path, level, doing, undoing.pairs, together, undone)
    if len(verdict.chosen) == 1 and (paid := verdict.paid) is not None:
        return Effect(path, level, EffectRatio(paid.ratio, paid.low, paid.high), paid.pairs)
    return Effect(path, level, estimates.of(path, level), undone=undone)


def _tried(axis: Axis, estimates: Guess) -> Sequence[EffectRatio]:
    """The effects of the levels that were tried often enough; none unless the level as written was
    as well."""
    often = [level for level in axis.levels if estimates.tried.get((axis.path, level), 0) >= OFTEN]
    if axis.current not in often:
        return []
    return [estimates.of(axis.path, level) for level in often if level != axis.current]
