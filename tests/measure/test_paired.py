"""Pairs compared, and the statistics behind it on simulated noise whose truth is known."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from tuner.measure.contrast import detectable_by, pairs_to_detect
from tuner.measure.paired import Comparison, compare, least, most

Noise = NDArray[np.float64]
Shape = Callable[[np.random.Generator, tuple[int, ...]], Noise]

COMPARISONS = 1000
PAIRS = (6, 10)


def normal(rng: np.random.Generator, size: tuple[int, ...]) -> Noise:
    return rng.normal(0.0, 1.0, size)


def student_t(rng: np.random.Generator, size: tuple[int, ...]) -> Noise:
    """Student's t with 3 degrees of freedom, of standard deviation 1."""
    return rng.standard_t(3, size) / math.sqrt(3)


def outliers(rng: np.random.Generator, size: tuple[int, ...]) -> Noise:
    """One in twenty is five times as wide."""
    return normal(rng, size) * np.where(rng.random(size) < 0.05, 5.0, 1.0)


SHAPES = (normal, student_t, outliers)


def simulated(
    ratio: float | Noise, noise: float, shape: Shape, pairs: int, seed: int = 7
) -> list[Comparison]:
    """1,000 comparisons whose true ratios are known; the seed makes them the same every time."""
    drawn = shape(np.random.default_rng(seed), (2, COMPARISONS, pairs))
    a, b = np.exp(noise * drawn)
    b *= np.broadcast_to(ratio, COMPARISONS)[:, None]
    return [compare(*both) for both in zip(a.tolist(), b.tolist(), strict=True)]


def share(facts: Iterable[bool]) -> float:
    """How many of the comparisons it is true of."""
    return sum(facts) / COMPARISONS


def test_the_ratio_is_the_mean_of_the_log_ratios() -> None:
    found = compare([100.0, 100.0], [50.0, 200.0])
    assert found.ratio == pytest.approx(1.0)
    assert found.low < 1.0 < found.high


def test_the_ratio_is_that_of_the_averages() -> None:
    rng = np.random.default_rng(4)
    a, b = np.exp(rng.normal(0, 0.2, (2, 10))).tolist()
    turns = [(at % 2 == 1, at % 2 == 0) for at in range(10)]
    found = [compare(a, b), compare(a, b, turns), least([compare(b, a), compare(a, b)])]
    for one in found:
        assert one.averages[1] / one.averages[0] == pytest.approx(one.ratio)
    assert found[0].averages[0] == pytest.approx(statistics.geometric_mean(a))


def test_equal_gains_in_every_pair_are_shown() -> None:
    found = compare([100, 110, 90, 105, 95, 100], [131, 142, 118, 136, 124, 129])
    assert found.better
    assert 1.28 < found.ratio < 1.32
    assert found.p == pytest.approx(2 / 2**6)


def test_noise_without_a_gain_is_not_better() -> None:
    found = compare([100, 110, 90, 105, 95, 100], [104, 101, 99, 96, 102, 98])
    assert not found.better
    assert found.p > 0.5
    assert (found.detectable or 0.0) > 0.05


@pytest.mark.parametrize("gap", [1.0, 1.03, 1.1])
@pytest.mark.parametrize("common", [0.0, 0.9])
def test_the_smaller_of_two_ratios_lies_within_the_smaller_bounds(
    gap: float, common: float
) -> None:
    """Whether the two rates share their noise or not, and are equal or not."""
    rng = np.random.default_rng(5)
    shared, own, other = normal(rng, (3, COMPARISONS, 8))
    logs = math.log(1.2) + 0.07 * np.stack([own, other]) * math.sqrt(1 - common**2)
    one, two = np.exp(logs + 0.07 * common * shared) * np.array([1.0, gap])[:, None, None]
    even = [1.0] * 8
    found = [
        least([compare(even, first), compare(even, second)])
        for first, second in zip(one.tolist(), two.tolist(), strict=True)
    ]
    assert share(each.low <= 1.2 <= each.high for each in found) >= 0.93
    assert share(each.low > 1.2 for each in found) <= 0.035


def test_the_larger_of_two_ratios_is_what_is_below_one_at_least() -> None:
    low, high = (compare([1.0] * 6, [share + 0.01 * at for at in range(6)]) for share in (0.6, 0.8))
    both = most([high, low])
    assert (both.ratio, both.high, both.p) == (high.ratio, high.high, high.p)
    assert both.averages == high.averages
    assert both == most([low, high])


def test_five_pairs_cannot_reach_five_percent() -> None:
    clear = compare([1.0] * 5, [2.0, 2.1, 2.2, 2.1, 2.0])
    assert clear.p == clear.least_p == pytest.approx(0.0625)
    assert not clear.shows_more


def test_many_pairs_stay_fast() -> None:
    assert compare([1.0] * 40, [2.0, 2.1] * 20).p < 0.001


def test_a_comparison_needs_two_pairs() -> None:
    with pytest.raises(ValueError, match="two pairs"):
        compare([1.0], [2.0])


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("noise", [0.03, 0.05, 0.10, 0.15])
def test_intervals_cover_the_truth_as_often_as_they_say(
    noise: float, shape: Shape, pairs: int
) -> None:
    found = simulated(1.2, noise, shape, pairs)
    assert share(one.low <= 1.2 <= one.high for one in found) >= 0.93


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("shape", SHAPES)
def test_two_equal_ones_are_seldom_told_apart(shape: Shape, pairs: int) -> None:
    found = simulated(1.0, 0.10, shape, pairs)
    assert share(one.better or one.high < 1.0 for one in found) <= 0.07


def promised(equal: Iterable[Comparison]) -> Noise:
    """The ratios that pairs say such pairs detect."""
    return np.array([1 + one.detectable for one in equal if one.detectable is not None])


@pytest.mark.parametrize("pairs", [6, 8, 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_smallest_detectable_gain_is_shown_four_times_out_of_five(
    shape: Shape, pairs: int
) -> None:
    """What each comparison says of others like it, though it knows the noise by its pairs alone.
    Where the noise has heavy tails, most pairs are without an outlier, and say a little less than
    the mean."""
    ratios = promised(simulated(1.0, 0.05, shape, pairs))
    found = simulated(ratios, 0.05, shape, pairs, seed=11)
    least_share = 0.77 if shape is normal else 0.71
    assert least_share <= share(one.shows_more for one in found) <= 0.85


def test_what_pairs_detect_and_how_many_it_takes() -> None:
    """By both t of nine degrees of freedom, 2.262 and 0.883, and 1.5 % for the exact test."""
    ten = math.expm1(1.015 * (2.262 + 0.883) * 0.05 / math.sqrt(5))
    assert detectable_by(10, 0.05) == pytest.approx(ten, rel=1e-3)
    # Half of ten runs of each side, with eight degrees of freedom and 3 %.
    half = math.expm1(1.03 * (2.306 + 0.889) * 0.05 / math.sqrt(2.5))
    assert detectable_by(10, 0.05, restarting=True) == pytest.approx(half, rel=1e-3)
    assert pairs_to_detect(ten + 1e-3, 0.05, 6) == 10
    assert pairs_to_detect(ten - 1e-3, 0.05, 6) == 11
    assert pairs_to_detect(ten, 0.05, 30) == 30
    assert pairs_to_detect(half + 1e-3, 0.05, 6, restarting=True) == 10
    assert pairs_to_detect(1e-4, 0.05, 6) is None


def test_too_few_pairs_detect_nothing() -> None:
    assert detectable_by(5, 0.05) is None
    assert detectable_by(6, 0.05, restarting=True) is None
    assert compare([100.0, 101.0], [120.0, 121.0]).detectable is None


def restarting(
    ratio: float | Noise,
    noise: float,
    shape: Shape,
    pairs: int,
    losses: tuple[float, float],
    seed: int = 7,
) -> list[Comparison]:
    """1,000 comparisons of sides that take turns, so that the engine restarts before the second run
    of each pair, which loses so much of its rate, A and B each their own share."""
    drawn = shape(np.random.default_rng(seed), (2, COMPARISONS, pairs))
    a, b = np.exp(noise * drawn)
    b *= np.broadcast_to(ratio, COMPARISONS)[:, None]
    found = []
    for number, (before, after) in enumerate(zip(a, b, strict=True)):
        second_is_b = np.array([True, False] * pairs)[number % 2 :][:pairs]
        first = np.where(second_is_b, before, before * (1 - losses[0]))
        second = np.where(second_is_b, after * (1 - losses[1]), after)
        flags = [(not is_b, bool(is_b)) for is_b in second_is_b]
        found.append(compare(first.tolist(), second.tolist(), flags))
    return found


@pytest.mark.parametrize("pairs", [8, 10])
def test_the_same_holds_for_pairs_with_restarts(pairs: int) -> None:
    ratios = promised(restarting(1.0, 0.05, normal, pairs, (0.2, 0.1)))
    found = restarting(ratios, 0.05, normal, pairs, (0.2, 0.1), seed=12)
    assert 0.77 <= share(one.shows_more for one in found) <= 0.84


LOSSES = [(0.0, 0.0), (0.3, 0.3), (0.2, 0.1), (0.0, 0.2), (0.05, 0.0)]


@pytest.mark.parametrize("pairs", [8, 11])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("losses", LOSSES)
def test_what_restarts_cost_either_side_is_no_part_of_the_ratio(
    losses: tuple[float, float], shape: Shape, pairs: int
) -> None:
    found = restarting(1.2, 0.05, shape, pairs, losses)
    assert share(one.low <= 1.2 <= one.high for one in found) >= 0.93
    assert share(one.shows_more for one in found) >= 0.75
    each = [one.restarted for one in found if one.restarted is not None]
    for side, loss in enumerate(losses):
        assert statistics.fmean(1 - one[side] for one in each) == pytest.approx(loss, abs=0.01)


@pytest.mark.parametrize("pairs", [8, 11])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("losses", LOSSES)
def test_restarts_tell_no_equal_ones_apart(
    losses: tuple[float, float], shape: Shape, pairs: int
) -> None:
    """With 20 % lost on one side and 10 % on the other, half of these comparisons once claimed a
    difference between equal settings."""
    found = restarting(1.0, 0.05, shape, pairs, losses)
    assert share(one.shows_more or one.shows_less for one in found) <= 0.06


B_AFTER, A_AFTER, NEITHER = (False, True), (True, False), (False, False)


def test_eight_pairs_with_restarts_can_show_what_six_cannot() -> None:
    a, b = [100.0, 101, 99, 100, 102, 100, 98, 100], [120.0, 121, 119, 120, 122, 120, 118, 120]
    turns = [B_AFTER, A_AFTER] * 4
    assert not compare(a[:6], b[:6], turns[:6]).enough
    found = compare(a, b, turns)
    assert found.p == found.least_p == pytest.approx(2 / 70)
    assert found.shows_more
    # What would suffice where these do not: as many as a restart in each needs, and one more.
    assert [compare(a[:n], b[:n], turns[:n]).fewest for n in (6, 8)] == [8, 9]
    assert [compare(a[:n], b[:n]).fewest for n in (4, 8)] == [6, 9]


def test_six_pairs_without_restarts_are_compared_as_pairs() -> None:
    a, b = [100.0, 110, 90, 105, 95, 100, 50], [131.0, 142, 118, 136, 124, 129, 130]
    flags = [NEITHER] * 6 + [A_AFTER]
    found, alone = compare(a, b, flags), compare(a[:6], b[:6])
    assert (found.pairs, found.ratio, found.low, found.p) == (6, alone.ratio, alone.low, alone.p)


def test_no_restart_before_any_run_changes_nothing() -> None:
    a, b = [100.0, 110, 90, 105, 95, 100], [131.0, 142, 118, 136, 124, 129]
    assert compare(a, b, [NEITHER] * 6) == compare(a, b)


@pytest.mark.parametrize("flags", [[B_AFTER] * 8, [(True, True)] * 8])
def test_nothing_is_shown_where_a_side_always_follows_a_restart(
    flags: list[tuple[bool, bool]],
) -> None:
    """Its loss cannot be told from its settings."""
    a, b = [100.0 + one for one in range(8)], [50.0 + one for one in range(8)]
    found, pairs = compare(a, b, flags), compare(a, b)
    assert not found.enough
    assert not found.shows_less
    assert (found.p, found.least_p, found.detectable, found.restarted) == (1.0, 1.0, None, None)
    assert (found.ratio, found.low, found.high) == (pairs.ratio, pairs.low, pairs.high)
