"""How the rate grows with the number of machines: Gunther's universal scalability law.

X(n) = rate n / (1 + contention (n - 1) + coherency n (n - 1)): N. J. Gunther, Guerrilla Capacity
Planning (Springer 2007), chapters 4 to 6; with the rate of one as a coefficient to fit, as in the R
package usl (github.com/smoeding/usl).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Three coefficients go through any three levels, so a fourth is the first that can contradict them.
LEAST_LEVELS = 4
# The share of the variation between levels that a law has to explain.
_LEAST_EXPLAINED = 0.95


@dataclass(frozen=True)
class Level:
    """Events per second that so many machines carried."""

    machines: int
    eps: float


@dataclass(frozen=True)
class Law:
    """The universal scalability law with its coefficients; `explained` is the share of the
    variation between the levels that it accounts for (R squared)."""

    rate: float
    contention: float
    coherency: float
    explained: float

    def eps(self, machines: float) -> float:
        """Events per second that so many machines carry."""
        waits = self.contention * (machines - 1)
        return self.rate * machines / (1 + waits + self.coherency * machines * (machines - 1))

    @property
    def most_machines(self) -> float:
        """Where the rate is highest; infinite without coherency delay."""
        if self.coherency == 0:
            return math.inf
        return max(1.0, math.sqrt((1 - self.contention) / self.coherency))


@dataclass(frozen=True)
class Scaling:
    """What `levels` say: a law, or None and why a fit is not justified."""

    levels: tuple[Level, ...]
    law: Law | None
    why_not: str | None

    @property
    def eps_each(self) -> float:
        """Events per second of each machine, at the largest level."""
        largest = max(self.levels, key=lambda level: level.machines)
        return largest.eps / largest.machines


def scaling(levels: Sequence[Level]) -> Scaling:
    """Fit the law to what was measured, where that is justified."""
    seen = tuple(sorted(levels, key=lambda level: level.machines))
    distinct = len({level.machines for level in seen})
    if distinct < LEAST_LEVELS:
        return Scaling(
            seen,
            None,
            f"{distinct} levels are too few for a law with three coefficients, which needs "
            f"{LEAST_LEVELS}",
        )
    law = _fitted(seen)
    if law.explained < _LEAST_EXPLAINED:
        return Scaling(
            seen,
            None,
            f"the law explains only {max(0.0, law.explained):.0%} of the variation between the "
            f"levels, {_LEAST_EXPLAINED:.0%} is required",
        )
    return Scaling(seen, law, None)


@dataclass(frozen=True)
class Split:
    """So many groups of so many machines."""

    groups: int
    machines: int


def split(law: Law, eps: float) -> Split:
    """The fewest groups, each a share of the stream, that carry `eps` events per second, and the
    fewest machines of each: one group, unless the rate peaks below `eps`."""
    high = _enough(law, eps)
    groups = max(1, math.ceil(eps / law.eps(high) - 1e-9))
    wanted = min(eps / groups, law.eps(high))
    low = 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if law.eps(middle) >= wanted else (middle + 1, high)
    return Split(groups, low)


def _enough(law: Law, eps: float) -> int:
    """The number of machines with the highest rate; where more always carry more, one that carries
    `eps`, or is as good as at the limit that the rate nears."""
    if math.isinf(law.most_machines):
        if law.contention == 0:
            return math.ceil(eps / law.rate) + 1
        return math.ceil(1e6 / law.contention)
    below = max(1, math.floor(law.most_machines))
    return max((below, below + 1), key=law.eps)


def _fitted(levels: Sequence[Level]) -> Law:
    """Least squares with no coefficient below 0; contention is a share, so it stays below 1."""
    import numpy as np
    from scipy.optimize import least_squares

    machines = np.array([level.machines for level in levels], dtype=float)
    eps = np.array([level.eps for level in levels], dtype=float)
    unit = float(eps.max())

    def misses(guess: np.ndarray) -> np.ndarray:
        law = Law(float(guess[0]), float(guess[1]), float(guess[2]), 0.0)
        return np.array([law.eps(n) for n in machines]) - eps / unit

    found = least_squares(
        misses,
        x0=[float(eps[0] / unit / machines[0]), 0.01, 1e-4],
        bounds=([0.0, 0.0, 0.0], [math.inf, 1.0, math.inf]),
        x_scale=[1.0, 0.01, 1e-4],
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    varies = float(np.sum((eps / unit - np.mean(eps / unit)) ** 2))
    explained = 1 - 2 * float(found.cost) / varies if varies > 0 else 0.0
    rate, contention, coherency = (float(one) for one in found.x)
    return Law(rate * unit, contention, coherency, explained)
