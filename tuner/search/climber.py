"""A first, honest climber: recipes, then neighbours of the incumbent, the incumbent re-measured.

It knows nothing of rsyslog: points in, points out, `ask` and `tell`.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field

from tuner.measure.measurement import Measurement, Outcome
from tuner.profile.knobs import Knob, Level, level_text
from tuner.search.recipes import RECIPES, changes_of
from tuner.search.study import BASELINE, Changes

_ANCHOR_EVERY = 5


@dataclass(frozen=True)
class Proposal:
    """A point to measure and why."""

    changes: Changes
    why: str


@dataclass
class Climber:
    """Climbs on log(EPS) over the knobs, from the profile as written.

    `is_valid` says whether a point is a valid profile; points that are not are never proposed.
    """

    knobs: tuple[Knob, ...]
    is_valid: Callable[[Changes], bool]
    rng: random.Random
    _seen: dict[Changes, list[float]] = field(default_factory=dict)
    _closed: set[Changes] = field(default_factory=set)
    _challenger: Changes | None = None
    _asked: int = 0
    _incumbent: Changes = BASELINE

    def ask(self) -> Proposal | None:
        """The next point, or None when every neighbour of the incumbent has been measured."""
        self._asked += 1
        if self._challenger is not None:
            return Proposal(self._challenger, "again, it may be the best")
        if self._asked % _ANCHOR_EVERY == 0 and self._seen:
            return Proposal(self._incumbent, "the best so far, again")
        return self._recipe() or self._neighbour()

    def tell(self, changes: Changes, outcome: Outcome) -> None:
        """Learn an outcome; a point that failed is never asked for again."""
        if not isinstance(outcome, Measurement):
            self._closed.add(changes)
            self._seen.pop(changes, None)
            self._challenger = None
            if changes == self._incumbent:
                self._incumbent = self._best()
            return
        self._seen.setdefault(changes, []).append(math.log(outcome.eps))
        self._race(changes)

    @property
    def best(self) -> Changes:
        """The point with the best mean so far."""
        return self._incumbent

    def best_challenger(self) -> Changes | None:
        """The best point other than the profile as written; None when none was measured.

        The incumbent comes first: it was measured at least twice, any other point may be lucky.
        """
        if self._incumbent != BASELINE:
            return self._incumbent
        others = [point for point in self._seen if point != BASELINE]
        return max(others, key=self._mean) if others else None

    def _race(self, changes: Changes) -> None:
        """A point that looks better than the incumbent is measured twice before it replaces it."""
        if changes == self._incumbent:
            self._challenger = None
            self._incumbent = self._best_of_repeated()
            return
        better = self._mean(changes) > self._mean(self._incumbent)
        if better and len(self._seen[changes]) == 1:
            self._challenger = changes
            return
        self._challenger = None
        if better:
            self._incumbent = changes

    def _mean(self, changes: Changes) -> float:
        values = self._seen.get(changes)
        return statistics.fmean(values) if values else -math.inf

    def _best(self) -> Changes:
        return max(self._seen, key=self._mean, default=BASELINE)

    def _best_of_repeated(self) -> Changes:
        repeated = [point for point, values in self._seen.items() if len(values) > 1]
        return max([*repeated, self._incumbent], key=self._mean)

    def _recipe(self) -> Proposal | None:
        for recipe in RECIPES:
            point = changes_of(recipe, self.knobs)
            if self._is_new(point):
                return Proposal(point, f"recipe: {recipe.name}")
        return None

    def _neighbour(self) -> Proposal | None:
        """A neighbour of the incumbent: one knob one level up or down, in random order."""
        moves = [
            (knob, level)
            for knob in self.knobs
            for level in _beside(knob, dict(self._incumbent).get(knob.path, knob.current))
        ]
        self.rng.shuffle(moves)
        for knob, level in moves:
            point = moved(self._incumbent, knob, level)
            if self._is_new(point):
                beside = "" if self._incumbent == BASELINE else "best so far, but "
                return Proposal(point, f"{beside}{knob.path} = {level_text(level)}")
        return None

    def _is_new(self, point: Changes) -> bool:
        if point in self._seen or point in self._closed or point == BASELINE:
            return False
        if not self.is_valid(point):
            self._closed.add(point)
            return False
        return True


def moved(point: Changes, knob: Knob, level: Level) -> Changes:
    """`point` with one knob at `level`; at the profile's own level the knob is no change."""
    values = dict(point)
    values[knob.path] = level
    if level == knob.current:
        del values[knob.path]
    return tuple(sorted(values.items()))


def _beside(knob: Knob, level: Level) -> list[Level]:
    place = knob.levels.index(level)
    return [knob.levels[at] for at in (place - 1, place + 1) if 0 <= at < len(knob.levels)]
