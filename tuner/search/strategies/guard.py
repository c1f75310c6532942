"""How probable it is that a point keeps every guardrail, and does not fail."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tuner.search.space import Floats, Observation, Point, Space
from tuner.search.strategies.model import Model

# Trials that went well count 1 and those that failed -1, each with this error.
_DOUBT = 0.4


class Guard:
    """Models the margins as they are told, and failures that no margin foretold."""

    def __init__(self, space: Space, seed: int, sigma: float) -> None:
        self._space = space
        self._seed = seed
        self._sigma = sigma
        self._margins: dict[str, Model] = {}
        self._failures: Model | None = None
        self._told: list[Observation] = []

    def tell(self, observation: Observation) -> None:
        """Learn whether a trial went well, and its margins."""
        self._told.append(observation)
        for name, margin in observation.margins:
            seed = [self._seed, zlib.crc32(name.encode())]
            model = self._margins.setdefault(name, Model(self._space, seed))
            model.tell(observation.point, margin, self._sigma, observation.at_s)
        if self._failures is not None:
            self._learn(self._failures, observation)
        elif _is_unforetold(observation):
            self._failures = Model(self._space, [self._seed, 99])
            for one in self._told:
                self._learn(self._failures, one)

    def safe(self, among: NDArray[np.int64]) -> Floats:
        """The probability for each of the points, not measured."""
        probable = np.ones(len(among))
        for model in (*self._margins.values(), self._failures):
            if model is not None:
                probable = probable * model.above(among, 0.0)
        return probable

    def kept(self, points: Sequence[Point]) -> dict[Point, float]:
        """The probability for each of the points, measured or not; 1 before anything was told."""
        if not self._told or not points:
            return dict.fromkeys(points, 1.0)
        likely = self.safe(np.array(points)).tolist()
        return dict(zip(points, likely, strict=True)) | self.safe_at_measured()

    def safe_at_measured(self) -> dict[Point, float]:
        """The probability for each point told: by its margins, and none after a failure."""
        safe = {one.point: 1.0 for one in self._told}
        for model in self._margins.values():
            means, sds = model.at_measured()
            here = dict(zip(model.points, ndtr(means / np.maximum(sds, 1e-9)), strict=True))
            safe |= {point: safe[point] * float(here.get(point, 1.0)) for point in safe}
        return safe | {one.point: 0.0 for one in self._told if not one.feasible}

    def _learn(self, failures: Model, one: Observation) -> None:
        if one.feasible or _is_unforetold(one):
            failures.tell(one.point, 1.0 if one.feasible else -1.0, _DOUBT, one.at_s)


def _is_unforetold(one: Observation) -> bool:
    """Whether a trial failed though it kept every guardrail that it told of."""
    return not one.feasible and all(margin >= 0 for _, margin in one.margins)
