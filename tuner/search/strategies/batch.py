"""Where to measure next while other points are under way, one proposal after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tuner.search.space import Floats, Point, Space
from tuner.search.strategies.process import Posterior, expected_improvement


@dataclass
class Batch:
    """Candidates, and what is believed of them as more and more points are under way.

    A point under way is taken to show what is believed of it: means stay, and there is less to
    learn near it (GP-BUCB: Desautels, Krause, Burdick 2014, JMLR 15:4053-4103).  Each proposal of a
    batch takes one more rank of the candidates' covariances, and no new process.
    """

    space: Space
    posterior: Posterior
    among: NDArray[np.int64]
    _under_way: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._x = self.space.features(self.among)
        self._means, self._variances = self.posterior.at_new(self._x)
        self._best = self.posterior.means_at_measured.max(axis=1)

    def gains(self, under_way: Sequence[Point]) -> Floats:
        """The expected improvement at each candidate; none at one that is under way itself."""
        new = [one for one in dict.fromkeys(under_way) if one not in self._under_way]
        if new and not self._under_way:
            self._begin(new)
        else:
            for point in new:
                self._add(self._numbers[point])
        self._under_way += new
        gains = expected_improvement(self._means, self._variances, self._best)
        gains[[self._numbers[one] for one in self._under_way if one in self._numbers]] = 0.0
        return gains

    def continues(self, under_way: Sequence[Point]) -> bool:
        """Whether what is under way is what was, and proposals of this batch."""
        known = set(under_way)
        before = known.issuperset(self._under_way)
        return before and (not self._under_way or known <= {*self._under_way, *self._numbers})

    @cached_property
    def _numbers(self) -> dict[Point, int]:
        return {tuple(row): number for number, row in enumerate(self.among.tolist())}

    @cached_property
    def _noise(self) -> float:
        """That of a trial like the others."""
        return float(np.median(self.posterior.data.noise))

    def _begin(self, points: list[Point]) -> None:
        """The points that are under way before the first proposal, at once."""
        x = self.space.features(np.array(points))
        self._white = self.posterior.explained(self._x)
        white = self.posterior.explained(x)
        own = self.posterior.between(x, x, np.eye(len(x)))
        apart = own - white.transpose(0, 2, 1) @ white + self._noise * np.eye(len(x))
        across = self.posterior.between(x, self._x) - white.transpose(0, 2, 1) @ self._white
        self._learn(np.linalg.solve(np.linalg.cholesky(apart), across))

    def _add(self, number: int) -> None:
        """One more of the candidates."""
        x, white = self._x[[number]], self._white[:, :, [number]]
        across = self.posterior.between(x, self._x) - white.transpose(0, 2, 1) @ self._white
        spread = np.sqrt(self._variances[:, number] + self._noise)
        self._learn(across / spread[:, np.newaxis, np.newaxis])

    def _learn(self, rows: Floats) -> None:
        self._white = np.concatenate([self._white, rows], axis=1)
        left = self._variances - (rows**2).sum(axis=1)
        self._variances = np.asarray(np.maximum(left, 1e-12))
