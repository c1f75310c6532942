"""Points drawn at random: the rival that the search must beat, and a fast stand-in for it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from tuner.search.space import Belief, Observation, Point, Proposal, Space, Strategy
from tuner.search.strategies.gaussian import Gaussian

NAMES = ("default", "random")
_TRIES = 1000


class RandomPoints:
    """Measures the start, then points drawn at random, never one twice."""

    def __init__(self, space: Space, seed: int, sigma: float) -> None:
        self._space = space
        self._seed = seed
        self._sigma = sigma
        self._told: list[Observation] = []

    def ask(self, under_way: Sequence[Point] = ()) -> Proposal | None:
        """The start, then a random valid point that was not measured."""
        asked = [*(observation.point for observation in self._told), *under_way]
        if not asked:
            return Proposal(self._space.start, "the start")
        rng = np.random.default_rng([self._seed, len(asked)])
        point = draw(self._space, set(asked), rng)
        return None if point is None else Proposal(point, "at random")

    def tell(self, observation: Observation) -> None:
        """Learn what a trial showed."""
        self._told.append(observation)

    def beliefs(self) -> list[Belief]:
        """The shrunken means of the points measured."""
        return shrunken(self._told, self._sigma)


def draw(space: Space, measured: set[Point], rng: np.random.Generator) -> Point | None:
    """A random valid point that was not measured; None when none turned up."""
    for _ in range(_TRIES):
        point = tuple(space.random_points(1, rng)[0].tolist())
        if point not in measured and space.is_valid(point):
            return point
    return None


def shrunken(observations: Sequence[Observation], sigma: float) -> list[Belief]:
    """Means shrunken towards the mean of all points.

    The points are taken as drawn from one normal distribution, whose variance is what is left of
    the variance of the means without their noise (empirical Bayes: Morris 1983).
    """
    runs_at: dict[Point, list[float]] = defaultdict(list)
    for seen in observations:
        runs_at[seen.point].append(seen.log_value if seen.feasible else math.nan)
    values = {point: runs for point, runs in runs_at.items() if not np.isnan(runs).any()}
    if not values:
        return []
    counts = np.array([len(runs) for runs in values.values()])
    means = np.array([float(np.mean(runs)) for runs in values.values()])
    centre = float(means.mean())
    noise = max(sigma, 1e-9) ** 2 / counts
    spread = max(float(np.var(means) - noise.mean()), 1e-6)
    shares = spread / (spread + noise)
    beliefs = [
        Belief(point, centre + share * (mean - centre), math.sqrt(share * variance), int(count))
        for point, share, mean, variance, count in zip(
            values, shares, means, noise, counts, strict=True
        )
    ]
    return sorted(beliefs, key=lambda belief: -belief.mean)


def strategy(name: str, space: Space, seed: int, sigma: float) -> Strategy:
    """The strategy of searches (`default`), or `random` points."""
    return Gaussian(space, seed, sigma) if name == "default" else RandomPoints(space, seed, sigma)
