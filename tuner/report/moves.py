"""What one point of a search changed of another, in a few words; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.search.study import BASELINE, Changes
from tuner.space.knob import Level, level_text

_MOST = 3
_LEAST_NAME = 6

Levels = Mapping[str, Level]
"""The settings of a search with their levels as written, in the order in which they are named."""


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


def move(best: Changes, changes: Changes, written: Levels) -> Move:
    """The shorter way to a point: from the best so far, or from the profile as written."""
    ways = (
        Move(False, steps(BASELINE, changes, written)),
        Move(True, steps(best, changes, written)),
    )
    return min(ways if best != BASELINE else ways[:1], key=lambda way: len(way.steps))


def steps(before: Changes, after: Changes, written: Levels) -> tuple[SettingChange, ...]:
    """What differs between two points."""
    old, new = dict(before), dict(after)
    found = (
        SettingChange(path, old.get(path, level), new.get(path, level))
        for path, level in written.items()
    )
    return tuple(step for step in found if step.before != step.after)


def step_text(step: SettingChange, names: Mapping[str, str], room: int | None = None) -> str:
    """A step as `refresh_interval 5s -> 30s`.  Where there is little room the value before and then
    the name give way, and never the value after."""
    name, after = names[step.path], level_text(step.after)
    whole = f"{name} {level_text(step.before)} -> {after}"
    if room is None or len(whole) <= room:
        return whole
    keep = max(_LEAST_NAME, room - len(f" -> {after}"))
    return f"{name if len(name) <= keep else f'{name[: keep - 2]}..'} -> {after}"


def steps_text(
    found: Sequence[SettingChange],
    names: Mapping[str, str],
    room: int | None = None,
    most: int = _MOST,
) -> str:
    """At most so many steps, as many as there is room for but one at least, and how many more there
    are: `workerThreads 2 -> 4, refresh_interval 5s -> 30s, 4 more`."""
    texts = [step_text(step, names) for step in found]
    for count in range(min(most, len(texts)), 0, -1):
        text = ", ".join(texts[:count]) + _more(len(texts) - count)
        if room is None or len(text) <= room:
            return text
    if not texts or room is None:
        return ""
    more = _more(len(texts) - 1)
    return step_text(found[0], names, room - len(more)) + more


def steps_lines(
    found: Sequence[SettingChange], names: Mapping[str, str], room: int, most: int
) -> list[str]:
    """All steps, each whole, in at most so many lines; the last of them says how many more there
    are than fit."""
    lines: list[str] = []
    left = list(found)
    while left and len(lines) < most - 1:
        texts = [step_text(step, names, room - 1) for step in left]
        fits = [count for count in range(1, len(left)) if len(", ".join(texts[:count])) < room]
        count = len(left) if len(", ".join(texts)) <= room else max(fits, default=1)
        left = left[count:]
        lines.append(", ".join(texts[:count]) + ("," if left else ""))
    return [*lines, steps_text(left, names, room, len(left))] if left else lines


def _more(count: int) -> str:
    return f", {count} more" if count else ""
