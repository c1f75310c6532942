"""What a strategy believes of one quantity that every trial measures: log(EPS), or a margin."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tuner.search.space import Floats, Observation, Point, Space
from tuner.search.strategies import process

# In standard deviations from the median.
_SQUEEZED_BELOW = 0.3
# An engine that has just restarted is slower than it will be, as a logarithm: by 14 and 17 % in the
# pairs of two searches (Elasticsearch 8.19, 2 cores).  How much so here, its trials show; beside
# what all restarts have in common each has a part of its own.
_RESTART_SHIFT, _RESTART_SHIFT_SD, _RESTART_OWN_SD = -0.15, 0.1, 0.05


@dataclass
class Model:
    """A Gaussian process over a space, told one value after the other.

    Its state is a pure function of the seed and of what it was told.  With `squeezed`, values
    below about the upper third count less the lower they are: how bad the bad ones are says little
    about where the best one lies.
    """

    space: Space
    seed: list[int]
    squeezed: bool = False
    points: list[Point] = field(default_factory=list)
    _values: list[float] = field(default_factory=list)
    _errors: list[float] = field(default_factory=list)
    _at_s: list[float] = field(default_factory=list)
    _restarted: list[bool] = field(default_factory=list)
    _particles: Floats = field(init=False)
    _posterior: process.Posterior = field(init=False)
    _shift: float = _RESTART_SHIFT
    _centre: float = 0.0
    _scale: float = 1.0

    def tell(
        self, point: Point, value: float, se: float, at_s: float, *, just_restarted: bool = False
    ) -> None:
        """Learn one value and its standard error; what it would be without the restart of the
        engine just before it is what is believed."""
        self.points.append(point)
        self._restarted.append(just_restarted)
        self._values.append(value)
        self._errors.append(se)
        self._at_s.append(at_s)
        rng = np.random.default_rng([*self.seed, len(self.points)])
        if len(self.points) == 1:
            self._particles = process.drawn(len(self.space.dimensions), rng)
        data = self._data()
        self._particles = process.moved(self._particles, data, rng)
        self._posterior = process.Posterior.of(self._particles, data)
        self._shift = _RESTART_SHIFT + _RESTART_SHIFT_SD * self._posterior.shift_mean

    def at_measured(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation at every point told, in the order told."""
        means, variances = self._posterior.at_measured()
        return self._unscaled(means, variances)

    def expected_improvement(self, among: NDArray[np.int64]) -> Floats:
        """The expected improvement over the best mean so far, at points not measured."""
        level = process.levelled(self._particles, len(self.space.dimensions))
        hedged = np.vstack([self._particles, level])
        known = process.Posterior.of(hedged, self._posterior.data)
        best = known.at_measured()[0].max(axis=1)
        return process.expected_improvement(*known.at_new(self.space.features(among)), best)

    def above(self, among: NDArray[np.int64], limit: float) -> Floats:
        """How probable it is at each point, not measured, that the value is above the limit."""
        means, variances = self._posterior.at_new(self.space.features(among))
        scaled = (means - (limit - self._centre) / self._scale) / np.sqrt(variances)
        return np.asarray(ndtr(scaled).mean(axis=0))

    def _unscaled(self, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
        spread = np.sqrt(variances.mean(axis=0) + means.var(axis=0))
        return self._centre + self._scale * means.mean(axis=0), self._scale * spread

    def _data(self) -> process.Data:
        """The values standardised, without the shift of restarts as far as it is known; their scale
        is that of the squeezed values."""
        restarted = np.array(self._restarted, dtype=float)
        values = np.array(self._values) - self._shift * restarted
        errors = np.hypot(self._errors, _RESTART_OWN_SD * restarted)
        centre = float(np.median(values))
        spread = max(float(values.std()), float(errors.min()), 1e-6)
        y, slope = (values - centre) / spread, np.ones(len(values))
        if self.squeezed:
            low = np.maximum(_SQUEEZED_BELOW - y, 0.0)
            y, slope = y + low - np.log1p(low), 1 / (1 + low)
        points = np.array(self.points)
        same = (points[:, np.newaxis, :] == points).all(axis=2).astype(float)
        self._centre, self._scale = centre, spread
        noise = (errors / spread * slope) ** 2
        moved = restarted / spread * slope
        y -= (_RESTART_SHIFT - self._shift) * moved
        shift = _RESTART_SHIFT_SD * moved
        features = self.space.features(points)
        times = np.array(self._at_s)
        return process.Data(features, self.space.columns, same, y, noise, shift, times)


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
