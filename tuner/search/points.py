"""Between the knobs of a profile and the space of a strategy: changes to points and back."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tuner.search.finalists import choose, recommendable
from tuner.search.space import Belief, Dimension, Point, Space
from tuner.search.study import BASELINE, Changes, Trial
from tuner.space.knob import Cost, Knob, Level

# Rates this close are the same: then what costs less, and changes less, is preferred.
_SAME = 0.01
_CHEAPER = 0.98


@dataclass(frozen=True)
class Knobs:
    """The knobs that a search turns, as the dimensions of a space; whatever they are turned to,
    the `repairs` are made as well."""

    knobs: tuple[Knob, ...]
    repairs: Changes = BASELINE

    @cached_property
    def start(self) -> Point:
        """The profile as written."""
        return self.point(BASELINE)

    def changes(self, point: Point) -> Changes:
        """What differs from the profile as written at a point; nothing at the start."""
        levels: dict[str, Level] = {
            knob.path: knob.levels[level]
            for knob, level in zip(self.knobs, point, strict=True)
            if knob.levels[level] != knob.current
        }
        return self._repaired(levels) if levels else BASELINE

    def point(self, changes: Changes) -> Point:
        """Where the profile with these changes is; changes of other knobs are not looked at."""
        changed = dict(changes)
        levels = ((knob, changed.get(knob.path, knob.current)) for knob in self.knobs)
        return tuple(knob.levels.index(level) for knob, level in levels)

    def known(self, changes: Changes) -> Changes:
        """Those of the changes that are of these knobs, with the repairs."""
        paths = {knob.path for knob in self.knobs}
        levels = {path: level for path, level in changes if path in paths}
        return self._repaired(levels) if levels else BASELINE

    def _repaired(self, levels: Mapping[str, Level]) -> Changes:
        return tuple(sorted({**levels, **dict(self.repairs)}.items()))

    def space(
        self,
        is_valid: Callable[[Changes], bool],
        trial_s: float,
        move_s: Mapping[Cost, float],
        machines: int = 1,
    ) -> Space:
        """The space of a strategy; `trial_s` is what a trial takes in seconds, `move_s` what a
        move of a kind takes beyond that, with so many machines at once."""
        return Space(
            dimensions(self.knobs, move_s),
            lambda point: is_valid(self.changes(point)),
            trial_s=trial_s,
            machines=machines,
        )


def preferred(beliefs: Sequence[Belief], knobs: Knobs, trials: Sequence[Trial]) -> Changes | None:
    """The changes to confirm: those with the best rate and, among rates within 1 %, the least CPU
    per event, then the fewest changes.  None where nothing but the profile as written was found.
    """
    others = [one for one in recommendable(beliefs) if one.point != knobs.start]
    best = choose(others)
    if best is None:
        return None
    (top,) = [one.mean for one in others if one.point == best]
    tied = [knobs.changes(one.point) for one in others if one.mean >= top - _SAME]
    cheapest = min(_cpu_us(trials, changes) for changes in tied)
    cheap = [one for one in tied if _cpu_us(trials, one) * _CHEAPER <= cheapest]
    return min(cheap, key=len)


def _cpu_us(trials: Sequence[Trial], changes: Changes) -> float:
    """Mean CPU of rsyslogd and the engine per event, in microseconds."""
    measured = [trial.measurement for trial in trials if trial.changes == changes]
    costs = [one.shipper_cpu_us + one.engine_cpu_us for one in measured if one is not None]
    return statistics.fmean(costs) if costs else float("inf")


def dimensions(knobs: Sequence[Knob], move_s: Mapping[Cost, float]) -> tuple[Dimension, ...]:
    """A dimension for each knob, in their order; `move_s` gives the seconds that a move of a kind
    takes beyond those of a trial, none where it says nothing."""
    numbers: dict[str, int] = {knob.path: number for number, knob in enumerate(knobs)}
    return tuple(
        Dimension(
            name=knob.path,
            size=len(knob.levels),
            ordered=knob.ordered,
            start=knob.levels.index(knob.current),
            positions=knob.positions,
            special=knob.special,
            needs=_needs(knob, knobs, numbers),
            move_s=move_s.get(knob.cost, 0.0),
        )
        for knob in knobs
    )


def _needs(
    knob: Knob, knobs: Sequence[Knob], numbers: Mapping[str, int]
) -> tuple[tuple[int, frozenset[int]], ...]:
    """Which dimensions must have which levels for this one to be active."""
    parents = []
    for need in knob.needs:
        parent = numbers[need.path]
        levels = enumerate(knobs[parent].levels)
        parents.append((parent, frozenset(i for i, level in levels if level in need.levels)))
    return tuple(parents)
