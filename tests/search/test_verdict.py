"""What a verdict claims of its comparisons."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from tests.measure.factory import measured
from tuner.measure.measurement import Measurement
from tuner.measure.paired import Comparison
from tuner.measure.speed import Speed
from tuner.search.verdict import Claim, Pair, Verdict, compared

EPS = Comparison(
    pairs=8,
    averages=(50_000.0, 62_200.0),
    ratio=1.244,
    low=1.10,
    high=1.41,
    p=0.031,
    least_p=0.008,
    detectable=0.15,
    sigma=0.1,
)
PAID = Comparison(
    pairs=8,
    averages=(50_000.0, 59_000.0),
    ratio=1.180,
    low=1.12,
    high=1.24,
    p=0.008,
    least_p=0.008,
    detectable=0.08,
    sigma=0.05,
)


def test_the_claim_is_the_smaller_gain_with_the_smaller_bounds() -> None:
    """Once it was the ratio whose lower bound is smaller: +24.4 % beside +18.0 %."""
    claimed = Verdict(Claim.IMPROVED, (), (EPS, PAID)).claimed
    assert claimed is not None
    assert (claimed.ratio, claimed.low, claimed.high) == (1.180, 1.10, 1.24)
    assert (claimed.p, claimed.detectable) == (0.031, 0.15)
    assert claimed.shows_more


def test_the_claim_of_two_that_agree_is_either() -> None:
    assert Verdict(Claim.IMPROVED, (), (EPS, EPS)).claimed == EPS


@pytest.mark.parametrize("worse", [replace(EPS, low=0.98), replace(EPS, p=0.06)])
def test_no_gain_is_shown_where_one_rate_does_not_show_it(worse: Comparison) -> None:
    claimed = Verdict(Claim.NOT_SHOWN, (), (worse, PAID)).claimed
    assert claimed is not None
    assert not claimed.shows_more


def test_nothing_is_claimed_without_a_comparison() -> None:
    assert Verdict(Claim.UNFINISHED, ()).claimed is None


def probed_pairs(seed: int, slower: float = 0.0) -> list[Pair]:
    """Eight pairs of a gain of 20 % on a machine of varying speed; the second side's settings make
    the probe so much slower."""
    rng = random.Random(seed)

    def run(rate: float, extra: float = 0.0) -> Measurement:
        slow = rng.gauss(0, 0.06)
        pieces = math.exp(slow + extra)
        speed = Speed(900 * pieces, 180 * pieces)
        return measured(rate * math.exp(rng.gauss(0, 0.03) - 2.4 * slow), speed=speed)

    return [Pair(run(50_000), run(60_000, slower)) for _ in range(8)]


def shown(pairs: list[Pair]) -> tuple[bool, bool]:
    """Whether the raw ratio shows the gain, and what counts does."""
    both = compared(pairs, lambda run: run.eps)
    assert both is not None
    assert both.by_speed is not None
    return both.by_speed.raw.low > 1 and both.by_speed.raw.p < 0.05, both.shows_more


def test_a_gain_that_the_noise_hides_is_shown_without_what_the_probe_explains() -> None:
    raw, counted = zip(*(shown(probed_pairs(seed)) for seed in range(100)), strict=True)
    assert sum(counted) > 55
    assert sum(raw) < sum(counted) - 5


def test_settings_that_slow_the_probe_claim_nothing_that_the_raw_ratio_does_not_show() -> None:
    for seed in range(50):
        raw, counted = shown(probed_pairs(seed, slower=0.2))
        assert raw or not counted


def test_sizes_are_not_adjusted() -> None:
    sizes = compared(probed_pairs(1), lambda run: run.eps, by_speed=False)
    assert sizes is not None
    assert sizes.by_speed is None
