"""What the strategies of other libraries have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from tests.search.random_points import draw, shrunken
from tuner.search.space import Belief, Dimension, Observation, Point, Proposal, Space

Handle = TypeVar("Handle")


class Rival(ABC, Generic[Handle]):
    """A library that is asked and told; a `Handle` is what it knows its own proposal by."""

    def __init__(self, space: Space, seed: int, sigma: float) -> None:
        self._space = space
        self._seed = seed
        self._sigma = sigma
        self._told: list[Observation] = []
        self._asked: tuple[Proposal, Handle | None] | None = None

    def ask(self, under_way: Sequence[Point] = ()) -> Proposal | None:
        """The start, then what the library proposes; the same until something is told."""
        if not self._told:
            return Proposal(self._space.start, "the start")
        if self._asked is None:
            self._asked = self._proposed()
        return self._asked[0] if self._asked else None

    def tell(self, observation: Observation) -> None:
        """Learn what a trial showed."""
        handle: Handle | None = None
        if self._asked is not None and self._asked[0].point == observation.point:
            handle = self._asked[1]
        self._asked = None
        self._told.append(observation)
        self._learn(observation, handle)

    def beliefs(self) -> list[Belief]:
        """The shrunken means of the points measured."""
        return shrunken(self._told, self._sigma)

    @abstractmethod
    def _proposed(self) -> tuple[Proposal, Handle | None] | None:
        """The next point, and the library's handle of it where it has one."""

    @abstractmethod
    def _learn(self, observation: Observation, handle: Handle | None) -> None:
        """Tell the library of the last one told, with its handle if it proposed the point."""

    def _rng(self) -> np.random.Generator:
        """Seeded anew for every proposal, so that what was told decides."""
        return np.random.default_rng([self._seed, len(self._told)])

    def _drawn(self) -> tuple[Proposal, None] | None:
        """A point at random that was not measured, and that the library knows nothing of."""
        return without_handle(
            draw(self._space, {one.point for one in self._told}, self._rng()), "at random"
        )


def without_handle(point: Point | None, why: str) -> tuple[Proposal, None] | None:
    """What is proposed where the library does not know its own proposal; None without a point."""
    return None if point is None else (Proposal(point, why), None)


def value(dimension: Dimension, level: int) -> int | float:
    """What stands for a level: where it lies, or its number."""
    return float(dimension.positions[level]) if dimension.positions else int(level)


def values(space: Space, point: Point) -> dict[str, int | float]:
    """A point by the names of its dimensions."""
    each = zip(space.dimensions, point, strict=True)
    return {one.name: value(one, level) for one, level in each}


def proposed(space: Space, given: Mapping[str, Any]) -> Point:
    """The point that lies nearest to what a library proposes by the names of the dimensions."""
    levels = [_level(one, given[one.name]) for one in space.dimensions]
    settled = space.canonical(np.array([levels]))[0]
    return tuple(int(level) for level in settled)


def _level(dimension: Dimension, given: int | float) -> int:
    if not dimension.positions:
        return int(given)
    return int(np.argmin(np.abs(np.array(dimension.positions) - float(given))))
