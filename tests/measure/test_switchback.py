"""The statistics of pairs in a drawn order, against what is known of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tuner.measure.switchback import (
    EARLY,
    FEWEST_PAIRS,
    PairDifference,
    at_the_end,
    early,
    pairs_for,
    shown_by,
    sigma_of,
    slope_of,
)


def pairs_of(effect: float, number: int, seed: int, slope: float = 0.0) -> list[PairDifference]:
    drawn = np.random.default_rng(seed)
    loads = drawn.normal(0.0, 0.3, number)
    figures = effect + slope * loads + drawn.normal(0.0, 0.05, number)
    return [PairDifference(*pair) for pair in zip(figures, loads, strict=True)]


def test_the_load_is_taken_off_and_the_interval_narrows_by_it() -> None:
    ratio = at_the_end(pairs_of(math.log(0.9), 16, 1, slope=-0.5), 0.0)
    raw = at_the_end([PairDifference(d, 0.0) for d, _ in pairs_of(math.log(0.9), 16, 1, -0.5)], 0.0)
    assert ratio.low < 0.9 < ratio.high
    assert ratio.shows_less
    assert ratio.high - ratio.low < 0.6 * (raw.high - raw.low)


def test_equal_sides_are_told_apart_in_four_percent_of_trials() -> None:
    shown = [at_the_end(pairs_of(0.0, 8, seed), 0.0) for seed in range(400)]
    assert sum(ratio.shows_less or ratio.shows_more for ratio in shown) <= 0.06 * 400


def test_the_exact_p_of_six_pairs_that_agree_is_that_of_their_orders() -> None:
    agreeing = [PairDifference(-0.5 - 0.01 * number, 0.0) for number in range(FEWEST_PAIRS)]
    assert at_the_end(agreeing, 0.0).p == pytest.approx(2 ** (1 - FEWEST_PAIRS))


def test_looking_after_each_pair_shows_no_difference_that_is_not_there() -> None:
    wrong = 0
    for seed in range(300):
        pairs = pairs_of(0.0, 24, seed)
        looks = (early(pairs[:n], 0.0, 0.05) for n in range(FEWEST_PAIRS, 25))
        wrong += any(ratio.shows_less or ratio.shows_more for ratio in looks)
    assert wrong <= 0.02 * 300


def test_a_large_gain_is_shown_before_the_end_and_few_pairs_are_no_bound() -> None:
    pairs = pairs_of(math.log(0.6), 24, 2)
    whole = early(pairs, 0.0, 0.05)
    assert whole.shows_less
    assert whole.p < EARLY
    assert whole.low < 0.6 < whole.high
    assert early(pairs[:4], 0.0, 0.05).high == math.inf


def test_ten_pairs_that_agree_end_a_trial_however_large_their_difference() -> None:
    for effect in (0.1, 0.5, 0.9):
        pairs = pairs_of(math.log(effect), 10, 3)
        assert early(pairs, 0.0, 0.07).shows_less
        assert not early(pairs[:9], 0.0, 0.07).shows_less


def test_slope_and_noise_come_from_blocks_of_one_side() -> None:
    drawn = np.random.default_rng(3)
    loads = np.exp(drawn.normal(8.0, 0.5, 200))
    figures = 12 * (loads / 3000) ** -0.4 * np.exp(drawn.normal(0.0, 0.02, 200))
    slope = slope_of(list(figures), list(loads))
    sigma = sigma_of(list(figures), list(loads), slope)
    assert slope == pytest.approx(-0.4, abs=0.02)
    assert sigma == pytest.approx(0.02 * math.sqrt(2), rel=0.15)
    steady = slope_of([10.0, 11.0, 9.0, 10.5], [1000.0, 1000.1, 999.9, 1000.0])
    assert abs(steady) < 0.01, "a load that hardly varied explains nothing"


def test_a_plan_promises_what_its_pairs_show() -> None:
    assert shown_by(FEWEST_PAIRS - 1, 0.1) is None
    promised = shown_by(9, 0.08)
    assert promised is not None
    assert pairs_for(promised, 0.08) == 9
    drawn = np.random.default_rng(4)
    shown = [
        at_the_end([PairDifference(d, x) for d, x in zip(
            drawn.normal(-math.log1p(promised), 0.08, 9), drawn.normal(0, 0.1, 9), strict=True
        )], 0.0).shows_less
        for _ in range(200)
    ]  # fmt: skip
    assert 0.65 < sum(shown) / 200 < 0.95
