"""What a trial changed, in a few words; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.search.study import BASELINE, Changes
from tuner.space.knob import Knob, Level, level_text

_MOST = 3
_LONGEST_LEVEL = 12


@dataclass(frozen=True)
class SettingChange:
    """A setting with its level before and after."""

    path: str
    before: Level
    after: Level


@dataclass(frozen=True)
class Move:
    """What takes the best point so far, or else the profile as written, to another point."""

    from_best: bool
    steps: tuple[SettingChange, ...]


def move(best: Changes, changes: Changes, knobs: Sequence[Knob]) -> Move:
    """The shorter way to a point, the most promising settings first: from the best so far, or from
    the profile as written."""
    ways = (Move(False, steps(BASELINE, changes, knobs)), Move(True, steps(best, changes, knobs)))
    return min(ways if best != BASELINE else ways[:1], key=lambda way: len(way.steps))


def steps(before: Changes, after: Changes, knobs: Sequence[Knob]) -> tuple[SettingChange, ...]:
    """What differs between two points, the most promising settings first."""
    old, new = dict(before), dict(after)
    ranked = sorted(knobs, key=lambda knob: knob.rank)
    found = (
        SettingChange(knob.path, old.get(knob.path, knob.current), new.get(knob.path, knob.current))
        for knob in ranked
    )
    return tuple(step for step in found if step.before != step.after)


def step_text(step: SettingChange, names: Mapping[str, str]) -> str:
    """A step as `refresh_interval 5s -> 30s`, long levels cut."""
    return f"{names[step.path]} {_level(step.before)} -> {_level(step.after)}"


def steps_text(
    found: Sequence[SettingChange],
    names: Mapping[str, str],
    room: int | None = None,
    most: int = _MOST,
) -> str:
    """At most so many steps, as many as there is room for but one at least, and how many more there
    are: `workerThreads 2 -> 4, refresh_interval 5s -> 30s, 4 more`."""
    texts = [step_text(step, names) for step in found]
    most = min(most, len(texts))
    while True:
        more = len(texts) - most
        text = ", ".join(texts[:most]) + (f", {more} more" if more else "")
        if room is None or len(text) <= room or most <= 1:
            return text
        most -= 1


def _level(level: Level) -> str:
    text = level_text(level)
    return text if len(text) <= _LONGEST_LEVEL else f"{text[: _LONGEST_LEVEL - 3]}..."
