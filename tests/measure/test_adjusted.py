"""What the machine's speed explains of a comparison, and when that counts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

import numpy as np
import pytest

from tests.benchmarks.adjusted_coverage import PUBLISHED, compared, resampled, simulated
from tuner.measure.contrast import BySpeed, Counts, counted_sigma
from tuner.measure.paired import Comparison, compare, least

NOISE = 0.146
COMPARISONS = 600


@functools.cache
def comparisons(
    correlation: float, pairs: int, moved: float = 0.0, gain: float = 0.0
) -> tuple[Comparison, ...]:
    draw = simulated(np.random.default_rng(3), NOISE, correlation)
    return tuple(compared(draw, pairs, COMPARISONS, gain, moved))


def share(facts: Iterable[bool]) -> float:
    return sum(facts) / COMPARISONS


def by_speeds(found: Iterable[Comparison]) -> list[BySpeed]:
    return [one.by_speed for one in found if one.by_speed is not None]


def told_apart(found: Iterable[Comparison]) -> float:
    return share(one.shows_more or one.shows_less for one in found)


@pytest.mark.parametrize("pairs", [6, 8])
@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.85])
def test_equal_ones_are_seldom_told_apart_and_the_truth_is_covered(
    correlation: float, pairs: int
) -> None:
    found = comparisons(correlation, pairs)
    assert told_apart(found) <= 0.06
    assert share(one.low <= 1.0 <= one.high for one in found) >= 0.93


@pytest.mark.parametrize("moved", [0.02, -0.03])
def test_settings_may_move_the_probe_a_little(moved: float) -> None:
    found = comparisons(0.85, 8, moved)
    assert told_apart(found) <= 0.06
    assert share(one.low <= 1.0 <= one.high for one in found) >= 0.93


def test_where_settings_move_the_probe_the_raw_ratio_counts() -> None:
    found = comparisons(0.85, 8, moved=0.5)
    counts = [one.counts for one in by_speeds(found)]
    assert counts.count(Counts.MOVED) > 0.7 * COMPARISONS
    assert Counts.ADJUSTED not in counts
    assert told_apart(found) <= 0.06
    each = next(one for one in found if one.by_speed and one.by_speed.counts is Counts.MOVED)
    assert each.by_speed is not None
    assert (each.ratio, each.low) == (each.by_speed.raw.ratio, each.by_speed.raw.low)
    assert each.by_speed.moved > 1.2


@pytest.mark.parametrize("pairs", [6, 8])
@pytest.mark.parametrize("moved", [0.05, -0.1, 0.12, 0.2])
def test_settings_that_move_the_probe_unnoticed_claim_no_more_than_others(
    moved: float, pairs: int
) -> None:
    """Though the adjusted ratio alone would claim it, and its interval not cover."""
    found = comparisons(0.85, pairs, moved)
    wrong = [one for one in by_speeds(found) if not one.adjusted.low <= 1 <= one.adjusted.high]
    assert len(wrong) > 0.07 * COMPARISONS
    assert told_apart(found) <= 0.06
    assert share(one.low <= 1.0 <= one.high for one in found) >= 0.93


def test_the_interval_that_counts_holds_the_adjusted_one_and_the_direction_of_the_raw_one() -> None:
    found = comparisons(0.85, 8, gain=math.log(1.2))
    adjusted = [one for one in found if one.by_speed and one.by_speed.counts is Counts.ADJUSTED]
    wider = [one for one in adjusted if one.by_speed and one.low < one.by_speed.adjusted.low]
    assert len(adjusted) > 0.7 * COMPARISONS
    assert len(wider) > 0.3 * COMPARISONS
    for one in adjusted:
        assert one.by_speed is not None
        assert one.ratio == one.by_speed.adjusted.ratio
        raw, own = one.by_speed.raw, one.by_speed.adjusted
        assert one.sigma == counted_sigma(raw.sigma, own.sigma)
        assert one.detectable is not None
        assert own.detectable is not None
        assert own.detectable <= one.detectable <= max(own.detectable, raw.detectable or 0.0)
        assert one.low <= one.by_speed.adjusted.low
        assert one.high >= one.by_speed.adjusted.high
        if one.shows_more:
            assert one.by_speed.raw.p < 0.08
            assert one.by_speed.raw.ratio > 1


def test_raw_and_adjusted_that_point_opposite_ways_show_nothing() -> None:
    apart = [
        one
        for one in comparisons(0.85, 8)
        if one.by_speed is not None
        and one.by_speed.counts is Counts.ADJUSTED
        and (one.by_speed.raw.ratio - 1) * (one.by_speed.adjusted.ratio - 1) < 0
    ]
    assert len(apart) > 20
    assert {one.p for one in apart} == {1.0}


@pytest.mark.parametrize("moved", [0.0, 0.12, 0.3])
def test_the_ratio_is_that_of_the_averages_raw_and_adjusted(moved: float) -> None:
    for one in comparisons(0.85, 8, moved, gain=0.3):
        assert one.by_speed is not None
        for each in (one, one.by_speed.raw, one.by_speed.adjusted):
            assert each.averages[1] / each.averages[0] == pytest.approx(each.ratio)


def test_where_it_is_suspected_both_must_show_it() -> None:
    for one in comparisons(0.85, 8, moved=0.12, gain=0.3):
        if one.by_speed is not None and one.by_speed.counts is Counts.BOTH:
            both = one.by_speed.raw, one.by_speed.adjusted
            assert one.ratio == min((each.ratio for each in both), key=lambda r: abs(math.log(r)))
            assert one.low == min(each.low for each in both)
            assert one.shows_more == all(each.low > 1 and each.p < 0.05 for each in both)


def test_a_probe_that_sees_the_noise_makes_the_interval_shorter_and_gains_shown() -> None:
    found = comparisons(0.85, 8, gain=math.log(1.2))
    lengths = [
        [math.log(one.high / one.low) for one in (each.raw, each.adjusted)]
        for each in by_speeds(found)
    ]
    raw, adjusted = np.mean(np.square(lengths), axis=0) ** 0.5
    assert adjusted < 0.68 * raw
    raw_only = share(one.raw.low > 1 and one.raw.p < 0.05 for one in by_speeds(found))
    assert share(one.shows_more for one in found) > raw_only + 0.1


@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"{PUBLISHED} is not there")
def test_equal_published_runs_are_seldom_told_apart() -> None:
    found = compared(resampled(np.random.default_rng(5), PUBLISHED), 8, COMPARISONS)
    assert told_apart(found) <= 0.06
    assert share(one.low <= 1.0 <= one.high for one in found) >= 0.93


RATES = [100.0, 110, 90, 105, 95, 100, 98, 104]


def test_what_the_speed_explains_wholly_is_taken_off() -> None:
    rng = np.random.default_rng(1)
    speeds = rng.normal(0, 0.2, (2, 8))
    a, b = np.exp(1.5 * speeds), 1.3 * np.exp(1.5 * speeds)
    found = compare(a[0].tolist(), b[1].tolist(), (), (speeds[0].tolist(), speeds[1].tolist()))
    assert found.by_speed is not None
    assert found.by_speed.slope == pytest.approx(1.5)
    assert found.by_speed.adjusted.ratio == pytest.approx(1.3, rel=0.01)
    assert abs(found.by_speed.raw.ratio - 1.3) > 0.02


def test_a_machine_of_steady_speed_leaves_the_raw_ratio() -> None:
    slower = [0.97 * one for one in RATES[::-1]]
    raw = compare(RATES, slower)
    assert compare(RATES, slower, (), ([0.0] * 8, [0.0] * 8)) == raw
    hardly = [0.001 * one for one in range(8)]
    found = compare(RATES, slower, (), (hardly, hardly[::-1]))
    assert found.by_speed is not None
    assert found.by_speed.counts is Counts.STEADY
    assert (found.ratio, found.low, found.p) == (raw.ratio, raw.low, raw.p)


@pytest.mark.parametrize(
    ("moved", "counts"),
    [
        # Chance explains a little more than what the settings are allowed, or a little less.
        (0.026, Counts.STEADY), (0.027, Counts.ADJUSTED),
        # Beyond t of 80 %, and of 99.9 %, with seven degrees of freedom.
        (0.038, Counts.ADJUSTED), (0.040, Counts.BOTH), (0.147, Counts.BOTH),
        (0.150, Counts.MOVED), (-0.038, Counts.ADJUSTED), (-0.040, Counts.BOTH),
        (-0.150, Counts.MOVED),
    ],
)  # fmt: skip
def test_how_far_settings_seem_to_move_the_probe_decides_what_counts(
    moved: float, counts: Counts
) -> None:
    """In eight pairs whose differences vary by 0.05 either way."""
    apart = [moved + 0.05 * (-1) ** at for at in range(8)]
    found = compare(RATES, [1.1 * one for one in RATES[::-1]], (), ([0.0] * 8, apart))
    assert found.by_speed is not None
    assert found.by_speed.counts is counts
    assert found.by_speed.moved == pytest.approx(math.exp(moved))


def test_too_few_pairs_have_no_slope() -> None:
    few = compare(RATES[:3], RATES[3:6], (), ([0.1, 0.2, 0.3], [0.3, 0.1, 0.2]))
    assert few.by_speed is None


def test_runs_of_pairs_with_restarts_are_adjusted_as_well() -> None:
    rng = np.random.default_rng(2)
    speeds = rng.normal(0, 0.2, (2, 10))
    rates = np.exp(speeds + rng.normal(0, 0.01, (2, 10)))
    turns = [(at % 2 == 1, at % 2 == 0) for at in range(10)]
    a, b = rates[0].tolist(), (1.2 * rates[1]).tolist()
    found = compare(a, b, turns, (speeds[0].tolist(), speeds[1].tolist()))
    assert found.by_speed is not None
    assert found.by_speed.adjusted.low <= 1.2 <= found.by_speed.adjusted.high
    assert found.by_speed.adjusted.sigma < 0.5 * found.by_speed.raw.sigma


def test_the_smaller_of_two_is_the_smaller_raw_and_adjusted() -> None:
    one, two = comparisons(0.85, 8)[:2]
    both = least([one, two])
    assert one.by_speed
    assert two.by_speed
    assert both.by_speed
    assert both.by_speed.raw.low == min(one.by_speed.raw.low, two.by_speed.raw.low)
    assert both.by_speed.adjusted.ratio == min(
        one.by_speed.adjusted.ratio, two.by_speed.adjusted.ratio
    )
