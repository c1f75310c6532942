"""Small surfaces for the tests of strategies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist

from tuner.search.space import Dimension, Observation, Point, Points, Space, Strategy

SIGMA = 0.02
Truth = Callable[[Point], float]


# The most points of a pool that a proposal is chosen from.
_MOST = 1200


@dataclass(frozen=True)
class PooledSpace(Space):
    """A space of which only the points of a pool exist, as the rows of a table."""

    pool: tuple[Point, ...] = ()

    def random_points(self, count: int, rng: np.random.Generator) -> Points:
        rows = np.array(self.pool, dtype=np.int64)
        return rows[rng.permutation(len(rows))[:count]]

    def candidates(self, elites: Sequence[Point], rng: np.random.Generator) -> Points:
        """All of a small pool; else the nearest to each elite, and some from everywhere."""
        rows = np.array(self.pool, dtype=np.int64)
        if len(rows) <= _MOST or not elites:
            return rows[rng.permutation(len(rows))[:_MOST]]
        x, near = self.features(rows), _MOST // 2 // len(elites)
        numbers = {int(at) for at in rng.permutation(len(rows))[: _MOST // 2]}
        for centre in self.features(np.array(elites)):
            gaps = ((x - centre) ** 2).sum(axis=1)
            numbers |= set(np.argpartition(gaps, near)[:near].tolist())
        return rows[sorted(numbers)]

    def turned(self, point: Point, rng: np.random.Generator) -> Points:
        """The nearest there are."""
        rows = np.array(self.pool, dtype=np.int64)
        gaps = cdist(self.features(super().turned(point, rng)), self.features(rows))
        nearest: Points = rows[gaps.argmin(axis=1)]
        return nearest


def pool_of(space: Space) -> tuple[Point, ...] | None:
    """The only points that exist in a space; None where all do."""
    return space.pool if isinstance(space, PooledSpace) else None


def line(levels: int = 40) -> Space:
    return Space((Dimension("x", levels, True),), lambda _: True)


def hill(point: Point) -> float:
    """The best of `line` is at 29."""
    return -(((point[0] - 29) / 10) ** 2)


def mixed() -> Space:
    """Two ordered knobs, a category, and a knob that is active only with its last level."""
    return Space(
        (
            Dimension("a", 6, True, start=1),
            Dimension("b", 6, True, special=frozenset({0})),
            Dimension("c", 3, False, start=1),
            Dimension("d", 4, True, start=2, needs=((2, frozenset({2})),)),
        ),
        lambda point: point[0] + point[1] < 9,
    )


def slope(point: Point) -> float:
    return 0.1 * point[0] + 0.05 * point[1] + (0.2 if point[2] == 2 else 0.0)


# Events a second where the settings that act together are all right, and where all are wrong, which
# is better than anything between; one more setting gives 40 %.
_ALL_RIGHT, _ALL_WRONG, _BETWEEN, _ALONE = 4350.0, 2400.0, (700.0, 1000.0), 1.4


@dataclass(frozen=True)
class Valley:
    """Settings of two levels, of which two or three must be turned at once: each alone costs more
    than half of the rate.  `knobs` are those, with the one that helps alone as the last; the others
    have no effect."""

    space: Space
    knobs: tuple[int, ...]
    logs: Mapping[tuple[int, ...], float]

    @classmethod
    def drawn(cls, together: int, idle: int, rng: np.random.Generator) -> Valley:
        """One with so many of each."""
        right = rng.integers(2, size=together)
        logs: dict[tuple[int, ...], float] = {
            levels: math.log(rng.uniform(*_BETWEEN)) for levels in product((0, 1), repeat=together)
        }
        logs[tuple(right.tolist())] = math.log(_ALL_RIGHT)
        logs[tuple((1 - right).tolist())] = math.log(_ALL_WRONG)
        count = together + 1 + idle
        knobs = rng.permutation(count)[: together + 1].tolist()
        dimensions = tuple(Dimension(f"knob {at}", 2, False) for at in range(count))
        return cls(Space(dimensions, lambda _: True, trial_s=15.0), tuple(knobs), logs)

    def truth(self, point: Point) -> float:
        """The logarithm of the rate."""
        *together, alone = (point[knob] for knob in self.knobs)
        return self.logs[tuple(together)] + math.log(_ALONE) * alone

    @property
    def best(self) -> float:
        """That of the best point."""
        return math.log(_ALL_RIGHT * _ALONE)

    def from_wrong(self) -> Space:
        """The space of a search that starts where all are wrong."""
        wrong = next(levels for levels, log in self.logs.items() if log == math.log(_ALL_WRONG))
        starts = dict(zip(self.knobs, wrong, strict=False))
        dimensions = enumerate(self.space.dimensions)
        return replace(
            self.space,
            dimensions=tuple(replace(one, start=starts.get(at, 0)) for at, one in dimensions),
        )


def points_asked(strategy: Strategy, truth: Truth, trials: int, seed: int = 0) -> list[Point]:
    """The points that a strategy asks for in that many trials."""
    rng = np.random.default_rng(seed)
    asked = []
    for trial in range(trials):
        proposal = strategy.ask()
        if proposal is None:
            break
        asked.append(proposal.point)
        value = truth(proposal.point) + SIGMA * rng.standard_normal()
        strategy.tell(Observation(proposal.point, value, SIGMA, 10.0 * trial))
    return asked
