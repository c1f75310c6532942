"""What a strategy believes of one quantity that every trial measures: log(EPS), or a margin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tuner.search.space import Floats, Point, Space
from tuner.search.strategies import process

# In standard deviations from the median.
_SQUEEZED_BELOW = 0.3


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
    _particles: Floats = field(init=False)
    _posterior: process.Posterior = field(init=False)
    _centre: float = 0.0
    _scale: float = 1.0

    def tell(self, point: Point, value: float, se: float, at_s: float) -> None:
        """Learn one value and its standard error."""
        self.points.append(point)
        self._values.append(value)
        self._errors.append(se)
        self._at_s.append(at_s)
        rng = np.random.default_rng([*self.seed, len(self.points)])
        if len(self.points) == 1:
            self._particles = process.drawn(len(self.space.dimensions), rng)
        data = self._data()
        self._particles = process.moved(self._particles, data, rng)
        self._posterior = process.Posterior.of(self._particles, data)

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
        """The values standardised; their scale is that of the squeezed values."""
        values, errors = np.array(self._values), np.array(self._errors)
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
        features = self.space.features(points)
        times = np.array(self._at_s)
        return process.Data(features, self.space.columns, same, y, noise, times)
