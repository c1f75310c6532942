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
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from tuner.search.space import Floats

SAMPLES = 10
MOVES = 2
# Of the samples that propose, this many more take every knob for equally important, at length
# scales a little below the prior's median (whitened).
_EQUALLY_RELEVANT = 5
_LEVEL = -0.5
_JITTER = 1e-8
# Larger than the squares of the values made white can sum up to; what it is does not matter.
_BORDER = 1e15
_BLOCK = 100
_DRIFT_S = 600.0
# Prior medians and spreads of the logarithms of: signal, additive part, own part, drift.
_AMPLITUDES = ((0.0, 0.7), (-0.7, 1.0), (-1.6, 0.7), (-3.5, 1.0))
_MEAN_SD = 1.0
# Length scales in units of a knob's whole range, times the root of the number of knobs (reference:
# Hvarfner, Hellsten, Nardi 2024: what grows with the dimension keeps the prior from overfitting);
# a knob that only a share of the events passes counts as that share, and its scale is longer by it.
_LENGTH_MEDIAN = 0.6
_LENGTH_SPREAD = 1.0


@dataclass(frozen=True)
class Data:
    """What a process is conditioned on, standardised: features, values, noise variances, times.

    `shift` is the standard deviation of what shifts the values of some trials, all by as much; it
    is 0 where nothing does, and at what is predicted.  `beside` is 1 for each two values of one
    machine and else 0: each machine drifts by itself and is off by something, of standard deviation
    `apart`, which is 0 where there is only one.  `shares` are those of the knobs.
    """

    x: Floats
    columns: NDArray[np.int64]
    same: Floats
    y: Floats
    noise: Floats
    shift: Floats
    at_s: Floats
    beside: Floats
    apart: float
    shares: Floats

    @cached_property
    def squared(self) -> Floats:
        """The squared distances among the points, a row for each knob."""
        return self.distances(self.x, self.x)

    def distances(self, x: Floats, y: Floats) -> Floats:
        """The squared distances of points to others, a row for each knob."""
        by_knob = np.empty((self.dimensions, len(x), len(y)))
        for knob in range(self.dimensions):
            own_columns = self.columns == knob
            by_knob[knob] = cdist(x[:, own_columns], y[:, own_columns], "sqeuclidean")
        return by_knob.reshape(self.dimensions, -1)

    @cached_property
    def linear(self) -> Floats:
        """What the covariances are sums of beside the smooth part, a row for each: each knob's own
        effect, what is the points' own, the drift, and what is known beforehand."""
        apart = np.abs(self.at_s[:, np.newaxis] - self.at_s) / _DRIFT_S
        fixed = _MEAN_SD**2 + np.outer(self.shift, self.shift) + np.diag(self.noise + _JITTER)
        fixed += self.apart**2 * self.beside
        rows = np.stack([self.same, np.exp(-apart) * self.beside, fixed]).reshape(3, -1)
        return np.vstack([_alike(self.squared), rows])

    @property
    def dimensions(self) -> int:
        """The number of knobs."""
        return len(self.shares)


def drawn(dimensions: int, rng: np.random.Generator) -> Floats:
    """Hyperparameters drawn from the prior, whitened: a row for each sample."""
    return rng.standard_normal((SAMPLES, dimensions + len(_AMPLITUDES)))


def equally_relevant(z: Floats, dimensions: int) -> Floats:
    """A few of the samples as if every knob mattered the same.

    Where another stage of a pipeline is the bottleneck, a knob seems to matter nothing until it is
    the one that matters most; the data then say that all is known, and these do not believe it.
    """
    level = z[:_EQUALLY_RELEVANT].copy()
    level[:, :dimensions] = _LEVEL
    return level


def moved(z: Floats, data: Data, rng: np.random.Generator, moves: int = MOVES) -> Floats:
    """The samples after a few steps of elliptical slice sampling (Murray, Adams, MacKay 2010)."""
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


def _scales(z: Floats, knob_shares: Floats) -> _Scales:
    d, together = len(knob_shares), np.sqrt((knob_shares**2).sum())
    lengths = np.exp(np.log(_LENGTH_MEDIAN * together) + _LENGTH_SPREAD * z[:, :d])
    weights = knob_shares**2 / lengths**2
    squares = [
        np.exp(2 * (median + spread * z[:, d + at]))
        for at, (median, spread) in enumerate(_AMPLITUDES)
    ]
    shares = weights / weights.sum(axis=1, keepdims=True)
    return _Scales(weights, shares, *squares)


def _smooth(scales: _Scales, squared: Floats) -> Floats:
    """The covariances of the smooth part, a row for each sample and a column for each pair of
    points; `squared` has a row for each knob."""
    distance = np.sqrt(3 * (scales.weights @ squared))
    mixed = np.exp(-distance)
    distance += 1
    mixed *= distance
    mixed *= scales.signal[:, np.newaxis]
    return np.asarray(mixed)


def _alike(squared: Floats) -> Floats:
    return np.asarray(np.exp(-2.0 * squared))


def _factored(scales: _Scales, data: Data) -> tuple[Floats, Floats]:
    """For each sample the Cholesky factor of the covariance of the data, and the values that it
    makes white."""
    k, n = len(scales.weights), len(data.y)
    additive = scales.shares * scales.additive[:, np.newaxis]
    parts = np.column_stack([additive, scales.own, scales.drift, np.ones(k)])
    whole = _smooth(scales, data.squared)
    whole += parts @ data.linear
    # With the values as one more row, the factor's last row is the values made white.
    bordered = np.full((k, n + 1, n + 1), _BORDER)
    bordered[:, :n, :n] = whole.reshape(k, n, n)
    bordered[:, n, :n] = data.y
    lower = np.linalg.cholesky(bordered)
    return lower[:, :n, :n], lower[:, n, :n]


def log_likelihood(z: Floats, data: Data) -> Floats:
    """The logarithm of the marginal likelihood of each sample, but for a constant."""
    lower, white = _factored(_scales(z, data.shares), data)
    diagonal = np.arange(len(data.y))
    return np.asarray(
        -(white**2).sum(axis=1) / 2 - np.log(lower[:, diagonal, diagonal]).sum(axis=1)
    )


@dataclass(frozen=True)
class Posterior:
    """The process after the data, for each sample: means and variances of log(EPS).

    `lower` has the factors of the data's covariances, `weights` what each value counts for.
    """

    scales: _Scales
    data: Data
    lower: Floats
    weights: Floats

    @classmethod
    def of(cls, z: Floats, data: Data) -> Posterior:
        """Condition on the data."""
        scales = _scales(z, data.shares)
        lower, white = _factored(scales, data)
        pairs = zip(lower, white, strict=True)
        weights = [solve_triangular(factor, y, lower=True, trans=1) for factor, y in pairs]
        return cls(scales, data, lower, np.array(weights))

    @property
    def shift_mean(self) -> float:
        """What shifts some of the values, in its standard deviations; the mean of the samples."""
        return float((self.weights @ self.data.shift).mean())

    @cached_property
    def at_measured(self) -> tuple[Floats, Floats]:
        """Means and variances at the data, their own part included, without drift and noise."""
        return self._at(self.data.x, self.data.same)

    @cached_property
    def means_at_measured(self) -> Floats:
        """Those means alone."""
        x, same = self.data.x, self.data.same
        parts = [self._means(self.between(x[part], x, same[part])) for part in _blocks(len(x))]
        return np.hstack(parts)

    def at_new(self, x: Floats) -> tuple[Floats, Floats]:
        """Means and variances at points that were not measured."""
        return self._at(x, np.zeros((len(x), len(self.data.y))))

    def _at(self, x: Floats, same: Floats) -> tuple[Floats, Floats]:
        means, variances = [], []
        for part in _blocks(len(x)):
            across = self.between(x[part], self.data.x, same[part])
            means.append(self._means(across))
            variances.append(self._variances(across))
        return np.hstack(means), np.hstack(variances)

    def explained(self, x: Floats) -> Floats:
        """What the data explain at points that were not measured, made white: for each sample a
        column for each point, whose products are covariances."""
        return np.concatenate(
            [self._white(self.between(x[part], self.data.x)) for part in _blocks(len(x))], axis=2
        )

    def between(self, x: Floats, y: Floats, same: Floats | None = None) -> Floats:
        """The covariances of points with others before any data: for each sample a row for each
        of `x`."""
        scales, squared = self.scales, self.data.distances(x, y)
        additive = scales.shares * scales.additive[:, np.newaxis]
        across = _smooth(scales, squared)
        across += additive @ _alike(squared)
        alike = 0.0 if same is None else same.ravel()
        across += _MEAN_SD**2 + scales.own[:, np.newaxis] * alike
        return across.reshape(len(across), len(x), len(y))

    def _means(self, across: Floats) -> Floats:
        return np.asarray((across @ self.weights[:, :, np.newaxis])[:, :, 0])

    def _white(self, across: Floats) -> Floats:
        pairs = zip(self.lower, across, strict=True)
        return np.array([solve_triangular(factor, rows.T, lower=True) for factor, rows in pairs])

    def _variances(self, across: Floats) -> Floats:
        explained = (self._white(across) ** 2).sum(axis=1)
        return np.asarray(np.maximum(self._prior[:, np.newaxis] - explained, 1e-12))

    @property
    def _prior(self) -> Floats:
        scales = self.scales
        return np.asarray(scales.signal + scales.additive + scales.own + _MEAN_SD**2)


def _blocks(count: int) -> list[slice]:
    """Parts of so many points that are small enough for a processor's cache."""
    return [slice(at, at + _BLOCK) for at in range(0, count, _BLOCK)]


def expected_improvement(means: Floats, variances: Floats, best: Floats) -> Floats:
    """The expected improvement over each sample's best, averaged over the samples."""
    sd = np.sqrt(variances)
    scaled = (means - best[:, np.newaxis]) / sd
    density = np.exp(-(scaled**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray((sd * (scaled * ndtr(scaled) + density)).mean(axis=0))
