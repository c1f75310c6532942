"""The Gaussian process by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tuner.search.space import Dimension, Floats, Space
from tuner.search.strategies import process

KNOBS = 4
SPACE = Space(tuple(Dimension(f"knob {at}", 9, True) for at in range(KNOBS)), lambda _: True)


def data_of(levels: NDArray[np.int64], y: Floats) -> process.Data:
    same = (levels[:, np.newaxis] == levels).all(axis=2).astype(float)
    noise, times = np.full(len(y), 0.01), np.linspace(0.0, 600.0, len(y))
    shift = np.where(np.arange(len(y)) % 3 == 0, 0.5, 0.0)
    x, beside = SPACE.features(levels), np.ones((len(y), len(y)))
    return process.Data(x, SPACE.columns, same, y, noise, shift, times, beside, 0.0, SPACE.shares)


def test_the_likelihood_is_that_of_a_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    data = data_of(rng.integers(0, 9, (12, KNOBS)), rng.standard_normal(12))
    z = process.drawn(KNOBS, rng)
    lower = process.Posterior.of(z, data).lower
    precision = np.linalg.inv(lower @ lower.transpose(0, 2, 1))
    squares = np.einsum("i,kij,j->k", data.y, precision, data.y)
    expected = np.linalg.slogdet(precision)[1] / 2 - squares / 2
    assert process.log_likelihood(z, data) == pytest.approx(expected)


def test_the_posterior_is_that_of_a_normal_distribution() -> None:
    """By the covariance of all, measured or not, with what shifts a third of the values."""
    rng = np.random.default_rng(0)
    levels, y = rng.integers(0, 9, (12, KNOBS)), rng.standard_normal(12)
    data, z = data_of(levels, y), process.drawn(KNOBS, rng)
    new = rng.integers(0, 9, (150, KNOBS))
    means, variances = process.Posterior.of(z, data).at_new(SPACE.features(new))
    # New points, told with errors that make them say nothing, at another time and with no shift.
    joint = data_of(np.vstack([levels, new]), np.concatenate([y, np.zeros(len(new))]))
    noise = np.concatenate([data.noise, np.full(len(new), 1e9)])
    shift = np.concatenate([data.shift, np.zeros(len(new))])
    at_s = np.concatenate([data.at_s, np.full(len(new), 1e7)])
    whole = process.Posterior.of(
        z, replace(joint, noise=noise, shift=shift, at_s=at_s, same=np.eye(len(noise)))
    )
    assert whole.at_measured[0][:, len(y) :] == pytest.approx(means, abs=1e-4)
    assert whole.at_measured[1][:, len(y) :] == pytest.approx(variances, abs=1e-4)
    assert whole.means_at_measured == pytest.approx(whole.at_measured[0])
