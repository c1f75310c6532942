"""Settings that can help against a bottleneck, as far as they have room to move; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from tuner.profile.knobs import Knob


class Way(Enum):
    """Which way along the levels of a knob helps."""

    UP = 1
    DOWN = -1


@dataclass(frozen=True)
class Remedy:
    """A setting that can help: its path, with placeholders for what profiles name differently.

    Without a `way` it is no knob of the search but advice to whoever owns the profile.
    """

    path: str
    way: Way | None = None


def more(path: str) -> Remedy:
    """A knob that helps when it goes up."""
    return Remedy(path, Way.UP)


def less(path: str) -> Remedy:
    """A knob that helps when it goes down."""
    return Remedy(path, Way.DOWN)


def advice(path: str) -> Remedy:
    """A setting that no search turns."""
    return Remedy(path)


def open_paths(
    remedies: Sequence[Remedy], places: Mapping[str, str], knobs: Sequence[Knob]
) -> tuple[str, ...]:
    """The paths that can still be followed, in order: advice, and those of `knobs` that are not at
    their end already.  `places` fills the placeholders."""
    known = {knob.path: knob for knob in knobs}
    found = [(remedy.path.format_map(places), remedy.way) for remedy in remedies]
    return tuple(path for path, way in found if way is None or _has_room(known.get(path), way))


def _has_room(knob: Knob | None, way: Way) -> bool:
    if knob is None:
        return False
    return knob.current != knob.levels[-1 if way is Way.UP else 0]
