from __future__ import annotations

import numpy as np
import pytest

from tuner.measure.paired import compare, sign_flip_p


def test_the_ratio_is_the_mean_of_the_log_ratios() -> None:
    found = compare([100.0, 100.0], [50.0, 200.0])
    assert found.ratio == pytest.approx(1.0)
    assert found.low < 1.0 < found.high


def test_equal_gains_in_every_pair_are_shown() -> None:
    found = compare([100, 110, 90, 105, 95, 100], [131, 142, 118, 136, 124, 129])
    assert found.better
    assert 1.28 < found.ratio < 1.32
    assert found.p == pytest.approx(2 / 2**6)


def test_noise_without_a_gain_is_not_better() -> None:
    found = compare([100, 110, 90, 105, 95, 100], [104, 101, 99, 96, 102, 98])
    assert not found.better
    assert found.p > 0.5
    assert found.detectable > 0.05


def test_five_pairs_cannot_reach_five_percent() -> None:
    assert sign_flip_p([1.0] * 5) == pytest.approx(0.0625)


def test_many_pairs_stay_fast() -> None:
    assert sign_flip_p([1.0] * 40) < 0.001


def test_a_comparison_needs_two_pairs() -> None:
    with pytest.raises(ValueError, match="two pairs"):
        compare([1.0], [2.0])


@pytest.mark.parametrize("noise", [0.03, 0.10])
def test_intervals_cover_the_truth_as_often_as_they_say(noise: float) -> None:
    """1,000 simulated comparisons of six pairs; the seed makes the count the same every time."""
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1000):
        a = np.exp(rng.normal(0.0, noise, 6))
        b = 1.2 * np.exp(rng.normal(0.0, noise, 6))
        found = compare(list(a), list(b))
        covered += found.low <= 1.2 <= found.high
    assert covered >= 930
