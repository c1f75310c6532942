"""What each change of a winner gave, and which knobs made no difference; pure.

An effect is measured where fresh pairs ran with and without the change; else it is estimated by
regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.measure.paired import Comparison
from tuner.search.guess import EffectRatio, Guess, guess
from tuner.search.shrink import Attempt
from tuner.search.study import Axis, Study
from tuner.search.verdict import Claim, Verdict
from tuner.space.knob import Level

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
    others = [axis for axis in axes if axis.path not in dict(changes)]
    alike = [axis.path for axis in others if _makes_no_difference(axis, estimates)]
    slower = [
        axis.path for axis in others if _is_slower(axis, estimates) and axis.path not in alike
    ]
    unclear = [axis.path for axis in others if axis.path not in {*alike, *slower}]
    return Explained(effects, tuple(alike), tuple(slower), tuple(unclear))


def _effect(path: str, level: Level, verdict: Verdict, estimates: Guess, *, undone: bool) -> Effect:
    """By the attempt that undid the least beside this change; by the confirmation where it is the
    only change; else by the guess."""
    attempts = [one for one in verdict.attempts if path in one.undone]
    if attempts:
        closest = min(attempts, key=lambda one: len(one.undone))
        together = tuple(one for one in closest.undone if one != path)
        pairs = closest.comparison.pairs
        return Effect(path, level, _of_doing(closest), pairs, together, undone)
    if len(verdict.chosen) == 1 and verdict.paid is not None:
        return Effect(path, level, _as_estimate(verdict.paid), verdict.paid.pairs)
    return Effect(path, level, estimates.of(path, level), undone=undone)


def _of_doing(attempt: Attempt) -> EffectRatio:
    """What making the changes gives, where undoing them was measured."""
    undoing = attempt.comparison
    return EffectRatio(1 / undoing.ratio, 1 / undoing.high, 1 / undoing.low)


def _as_estimate(comparison: Comparison) -> EffectRatio:
    return EffectRatio(comparison.ratio, comparison.low, comparison.high)


def _makes_no_difference(axis: Axis, estimates: Guess) -> bool:
    effects = _tried(axis, estimates)
    return bool(effects) and all(one.low >= 1 - SAME and one.high <= 1 + SAME for one in effects)


def _is_slower(axis: Axis, estimates: Guess) -> bool:
    effects = _tried(axis, estimates)
    return bool(effects) and all(one.high < 1.0 for one in effects)


def _tried(axis: Axis, estimates: Guess) -> Sequence[EffectRatio]:
    """The effects of the levels that were tried often enough; none unless the level as written was
    as well."""
    often = [level for level in axis.levels if estimates.tried.get((axis.path, level), 0) >= OFTEN]
    if axis.current not in often:
        return []
    return [estimates.of(axis.path, level) for level in often if level != axis.current]
