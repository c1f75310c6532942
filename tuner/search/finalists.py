"""The last trials of a search: which of the good points to measure again, and which to choose.

The same for every strategy; what is believed of the points is the strategy's own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import ndtr

from tuner.search.space import Belief, Observation, Point

# A point that may well break a guardrail is not recommended.
_SAFE = 0.5
_LOOK_AHEAD = 2


def choose(beliefs: Sequence[Belief]) -> Point | None:
    """The point with the best mean among those that keep the guardrails; None without any.

    The means are shrunken ones, so a point measured once cannot win by luck alone.
    """
    safe = recommendable(beliefs)
    return max(safe, key=lambda one: one.mean).point if safe else None


def recommendable(beliefs: Sequence[Belief]) -> list[Belief]:
    """Those of the points that likely keep the guardrails."""
    return [one for one in beliefs if one.safe >= _SAFE]


def next_replication(
    beliefs: Sequence[Belief], sigma: float, left: int, takes_s: Callable[[Point], float]
) -> Point | None:
    """The point whose next measurement is worth most for each second that it takes, by the
    knowledge gradient.

    What counts is by how much the mean of the point then chosen is expected to rise when this one
    is measured again, looking ahead at most two measurements, with noise of `sigma` each
    (reference: Frazier, Powell, Dayanik 2008; looking further than one: Chick, Frazier 2012).
    None when there is nothing to choose between, or no trial left.
    """
    safe = recommendable(beliefs)
    if left <= 0 or len(safe) < 2:
        return None
    runs = min(_LOOK_AHEAD, left)
    means = np.array([one.mean for one in safe])
    variances = np.array([one.sd for one in safe]) ** 2
    moved = variances / np.sqrt(variances + max(sigma, 1e-9) ** 2 / runs)
    gaps = np.array([abs(mean - np.delete(means, at).max()) for at, mean in enumerate(means)])
    scaled = gaps / np.maximum(moved, 1e-12)
    gains = moved * (np.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi) - scaled * ndtr(-scaled))
    seconds = np.array([takes_s(one.point) for one in safe])
    return safe[int(np.argmax(gains / seconds))].point


def shrunken(observations: Sequence[Observation], sigma: float) -> list[Belief]:
    """Means shrunken towards the mean of all points, for strategies without a model of their own.

    The points are taken as drawn from one normal distribution, whose variance is what is left of
    the variance of the means without their noise (empirical Bayes: Morris 1983).
    """
    runs_at: dict[Point, list[float]] = defaultdict(list)
    for one in observations:
        runs_at[one.point].append(one.log_value if one.feasible else math.nan)
    values = {point: runs for point, runs in runs_at.items() if not np.isnan(runs).any()}
    if not values:
        return []
    counts = np.array([len(runs) for runs in values.values()])
    means = np.array([float(np.mean(runs)) for runs in values.values()])
    centre = float(means.mean())
    noise = max(sigma, 1e-9) ** 2 / counts
    spread = max(float(np.var(means) - noise.mean()), 1e-6)
    kept = spread / (spread + noise)
    beliefs = [
        Belief(point, centre + share * (mean - centre), math.sqrt(share * variance), int(count))
        for point, share, mean, variance, count in zip(
            values, kept, means, noise, counts, strict=True
        )
    ]
    return sorted(beliefs, key=lambda one: -one.mean)
