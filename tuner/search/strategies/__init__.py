"""Ways to search, all behind the interface of tuner.search.space.Strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from tuner.search.space import Space, Strategy

StrategyName = Literal["default", "random"]
NAMES = get_args(StrategyName)


def strategy(name: str, space: Space, seed: int, sigma: float) -> Strategy:
    """The strategy of that name; `sigma` is the noise of one trial's logarithm."""
    # The names alone, which options have, need none of it.
    from tuner.search.strategies.gaussian import Gaussian
    from tuner.search.strategies.random_points import RandomPoints

    match name:
        case "default":
            return Gaussian(space, seed, sigma)
        case "random":
            return RandomPoints(space, seed, sigma)
        case _:
            raise ValueError(f"no strategy {name}; there are {', '.join(NAMES)}")
