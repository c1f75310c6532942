"""Small surfaces for the tests of strategies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tuner.search.space import Dimension, Observation, Point, Space, Strategy

SIGMA = 0.02
Truth = Callable[[Point], float]


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
