"""The Gaussian process by itself."""

from __future__ import annotations

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
    return process.Data(SPACE.features(levels), SPACE.columns, same, y, noise, shift, times)


def test_the_likelihood_is_that_of_a_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    data = data_of(rng.integers(0, 9, (12, KNOBS)), rng.standard_normal(12))
    z = process.drawn(KNOBS, rng)
    precision = process.Posterior.of(z, data).inverse
    squares = np.einsum("i,kij,j->k", data.y, precision, data.y)
    expected = np.linalg.slogdet(precision)[1] / 2 - squares / 2
    assert process.log_likelihood(z, data) == pytest.approx(expected)
