"""Knobs of a profile as dimensions of a space: order, special levels, what needs what, costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.search.space import Dimension
from tuner.space.knob import Cost, Knob


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
    found = []
    for need in knob.needs:
        parent = numbers[need.path]
        levels = enumerate(knobs[parent].levels)
        found.append((parent, frozenset(i for i, level in levels if level in need.levels)))
    return tuple(found)
