"""Small surfaces for the tests of strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

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
