"""Ways to search, all behind the interface of tuner.search.space.Strategy."""

from __future__ import annotations

from typing import Literal, get_args

from tuner.search.space import Space, Strategy
from tuner.search.strategies.gaussian import Gaussian
from tuner.search.strategies.random_points import RandomPoints

StrategyName = Literal["default", "random"]
NAMES = get_args(StrategyName)


def strategy(name: str, space: Space, seed: int, sigma: float) -> Strategy:
    """The strategy of that name; `sigma` is the noise of one trial's logarithm."""
    match name:
        case "default":
            return Gaussian(space, seed, sigma)
        case "random":
            return RandomPoints(space, seed, sigma)
        case _:
            raise ValueError(f"no strategy {name}; there are {', '.join(NAMES)}")
