"""A Gaussian process whose hyperparameters are sampled, not fitted.

What is modelled is log(EPS): a smooth part (Matern 3/2 over all knobs, a length scale for each), an
additive part (each knob's own effect), a part of each configuration's own (what no smooth function
explains), slow drift in time, a shift that some of the trials have in common, and noise whose size
is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tuner.search.space import Floats

PARTICLES = 10
_MOVES = 2
# Of the particles that propose, this many more take every knob for equally important, at length
# scales a little below the prior's median (whitened).
_LEVELLED = 5
_LEVEL = -0.5
_JITTER = 1e-8
# Larger than the squares of the values made white can sum up to; what it is does not matter.
_BORDER = 1e15
_DRIFT_S = 600.0
# Prior medians and spreads of the logarithms of: signal, additive part, own part, drift.
_AMPLITUDES = ((0.0, 0.7), (-0.7, 1.0), (-1.6, 0.7), (-3.5, 1.0))
_MEAN_SD = 1.0
# Length scales in units of a knob's whole range, times the root of the number of knobs (reference:
# Hvarfner, Hellsten, Nardi 2024: what grows with the dimension keeps the prior from overfitting).
_LENGTH_MEDIAN = 0.6
_LENGTH_SPREAD = 1.0


@dataclass(frozen=True)
class Data:
    """What a process is conditioned on, standardised: features, values, noise variances, times.

    `shift` is the standard deviation of what shifts the values of some trials, all by as much; it
    is 0 where nothing does, and at what is predicted.
    """

    x: Floats
    columns: NDArray[np.int64]
    same: Floats
    y: Floats
    noise: Floats
    shift: Floats
    at_s: Floats

    @cached_property
    def squared(self) -> Floats:
        """The squared distances among the points, a row for each knob."""
        return _by_knob(self.x, self)

    @cached_property
    def alike(self) -> Floats:
        """The covariances of each knob's own effect, a row for each knob."""
        return _alike(self.squared)

    @property
    def dimensions(self) -> int:
        """The number of knobs."""
        return int(self.columns[-1]) + 1


def drawn(dimensions: int, rng: np.random.Generator) -> Floats:
    """Hyperparameters drawn from the prior, whitened: a row for each particle."""
    return rng.standard_normal((PARTICLES, dimensions + len(_AMPLITUDES)))


def levelled(z: Floats, dimensions: int) -> Floats:
    """A few of the particles as if every knob mattered the same.

    Where another stage of a pipeline is the bottleneck, a knob seems to matter nothing until it is
    the one that matters most; the data then say that all is known, and these do not believe it.
    """
    level = z[:_LEVELLED].copy()
    level[:, :dimensions] = _LEVEL
    return level


def moved(z: Floats, data: Data, rng: np.random.Generator, moves: int = _MOVES) -> Floats:
    """The particles after a few steps of elliptical slice sampling (Murray, Adams, MacKay 2010)."""
    likelihoods = log_likelihood(z, data)
    for _ in range(moves):
        z, likelihoods = _slice(z, likelihoods, data, rng)
    return z


def _slice(
    z: Floats, likelihoods: Floats, data: Data, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    beside = rng.standard_normal(z.shape)
    threshold = likelihoods + np.log(rng.uniform(size=len(z)))
    angle = rng.uniform(0, 2 * np.pi, len(z))
    low, high = angle - 2 * np.pi, angle.copy()
    after, reached = z.copy(), likelihoods.copy()
    pending = np.arange(len(z))
    for _ in range(30):
        turn = angle[pending, np.newaxis]
        tried = z[pending] * np.cos(turn) + beside[pending] * np.sin(turn)
        new = log_likelihood(tried, data)
        good = new > threshold[pending]
        after[pending[good]], reached[pending[good]] = tried[good], new[good]
        pending = pending[~good]
        if not len(pending):
            break
        below = angle[pending] < 0
        low[pending] = np.where(below, angle[pending], low[pending])
        high[pending] = np.where(below, high[pending], angle[pending])
        angle[pending] = rng.uniform(low[pending], high[pending])
    return after, reached


@dataclass(frozen=True)
class _Scales:
    weights: Floats
    shares: Floats
    signal: Floats
    additive: Floats
    own: Floats
    drift: Floats


def _scales(z: Floats, data: Data) -> _Scales:
    d = data.dimensions
    lengths = np.exp(np.log(_LENGTH_MEDIAN * np.sqrt(d)) + _LENGTH_SPREAD * z[:, :d])
    weights = 1 / lengths**2
    squares = [
        np.exp(2 * (median + spread * z[:, d + at]))
        for at, (median, spread) in enumerate(_AMPLITUDES)
    ]
    shares = weights / weights.sum(axis=1, keepdims=True)
    return _Scales(weights, shares, *squares)


def _smooth(scales: _Scales, squared: Floats, alike: Floats, n: int) -> Floats:
    """The covariance of the smooth and additive parts with the data, for each particle.

    `squared` and `alike` have a row for each knob and a column for each pair of points.
    """
    distance = np.sqrt(3 * (scales.weights @ squared))
    mixed = (1 + distance) * np.exp(-distance)
    mixed *= scales.signal[:, np.newaxis]
    mixed += (scales.shares * scales.additive[:, np.newaxis]) @ alike
    return (mixed + _MEAN_SD**2).reshape(len(scales.weights), -1, n)


def _by_knob(x: Floats, data: Data) -> Floats:
    d = data.dimensions
    by_knob = np.empty((d, len(x), len(data.x)))
    for knob in range(d):
        of = data.columns == knob
        by_knob[knob] = _squared(x[:, of], data.x[:, of])
    return by_knob.reshape(d, -1)


def _alike(squared: Floats) -> Floats:
    return np.asarray(np.exp(-2.0 * squared))


def _squared(a: Floats, b: Floats) -> Floats:
    if a.shape[1] == 1:
        return (a - b.T) ** 2
    cross = (a**2).sum(axis=1)[:, np.newaxis] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.maximum(cross, 0.0))


def _covariance(z: Floats, data: Data) -> tuple[_Scales, Floats]:
    scales = _scales(z, data)
    apart = np.abs(data.at_s[:, np.newaxis] - data.at_s) / _DRIFT_S
    whole = _smooth(scales, data.squared, data.alike, len(data.y))
    whole += scales.own[:, np.newaxis, np.newaxis] * data.same
    whole += scales.drift[:, np.newaxis, np.newaxis] * np.exp(-apart)
    whole += np.outer(data.shift, data.shift)
    n = np.arange(len(data.y))
    whole[:, n, n] += data.noise + _JITTER
    return scales, whole


def log_likelihood(z: Floats, data: Data) -> Floats:
    """The logarithm of the marginal likelihood of each particle, but for a constant."""
    _, whole = _covariance(z, data)
    n = len(data.y)
    # With the values as one more row, the factor's last row is the values made white.
    bordered = np.full((len(z), n + 1, n + 1), _BORDER)
    bordered[:, :n, :n] = whole
    bordered[:, n, :n] = data.y
    lower = np.linalg.cholesky(bordered)
    white, each = lower[:, n, :n], np.arange(n)
    return np.asarray(-(white**2).sum(axis=1) / 2 - np.log(lower[:, each, each]).sum(axis=1))


@dataclass(frozen=True)
class Posterior:
    """The process after the data, for each particle: means and variances of log(EPS)."""

    scales: _Scales
    data: Data
    inverse: Floats
    weights: Floats

    @classmethod
    def of(cls, z: Floats, data: Data) -> Posterior:
        """Condition on the data."""
        scales, whole = _covariance(z, data)
        inverse = np.asarray(np.linalg.inv(whole), dtype=np.float64)
        return cls(scales, data, inverse, inverse @ data.y)

    @property
    def shift_mean(self) -> float:
        """What shifts some of the values, in its standard deviations; the mean of the particles."""
        return float((self.weights @ self.data.shift).mean())

    def at_measured(self) -> tuple[Floats, Floats]:
        """Means and variances at the data, their own part included, without drift and noise."""
        own = self.scales.own[:, np.newaxis, np.newaxis] * self.data.same
        data = self.data
        return self._at(_smooth(self.scales, data.squared, data.alike, len(data.y)) + own)

    def at_new(self, x: Floats) -> tuple[Floats, Floats]:
        """Means and variances at points that were not measured."""
        squared = _by_knob(x, self.data)
        return self._at(_smooth(self.scales, squared, _alike(squared), len(self.data.y)))

    def _at(self, across: Floats) -> tuple[Floats, Floats]:
        means = np.einsum("kcn,kn->kc", across, self.weights)
        explained = np.einsum("kcn,kcn->kc", across @ self.inverse, across)
        scales = self.scales
        prior = scales.signal + scales.additive + scales.own + _MEAN_SD**2
        return means, np.maximum(prior[:, np.newaxis] - explained, 1e-12)


def expected_improvement(means: Floats, variances: Floats, best: Floats) -> Floats:
    """The expected improvement over each particle's best, averaged over the particles."""
    sd = np.sqrt(variances)
    scaled = (means - best[:, np.newaxis]) / sd
    density = np.exp(-(scaled**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray((sd * (scaled * ndtr(scaled) + density)).mean(axis=0))
