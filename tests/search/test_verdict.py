"""What a verdict claims of its comparisons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tuner.measure.paired import Comparison
from tuner.search.verdict import Claim, Verdict

EPS = Comparison(
    8, ratio=1.244, low=1.10, high=1.41, p=0.031, least_p=0.008, detectable=0.15, sigma=0.1
)
PAID = Comparison(
    8, ratio=1.180, low=1.12, high=1.24, p=0.008, least_p=0.008, detectable=0.08, sigma=0.05
)


def test_the_claim_is_the_smaller_gain_with_the_smaller_bounds() -> None:
    """Once it was the ratio whose lower bound is smaller: +24.4 % beside +18.0 %."""
    claimed = Verdict(Claim.IMPROVED, (), eps=EPS, paid=PAID).claimed
    assert claimed is not None
    assert (claimed.ratio, claimed.low, claimed.high) == (1.180, 1.10, 1.24)
    assert (claimed.p, claimed.detectable) == (0.031, 0.15)
    assert claimed.shows_more


def test_the_claim_of_two_that_agree_is_either() -> None:
    assert Verdict(Claim.IMPROVED, (), eps=EPS, paid=EPS).claimed == EPS


@pytest.mark.parametrize("worse", [replace(EPS, low=0.98), replace(EPS, p=0.06)])
def test_no_gain_is_shown_where_one_rate_does_not_show_it(worse: Comparison) -> None:
    claimed = Verdict(Claim.NOT_SHOWN, (), eps=worse, paid=PAID).claimed
    assert claimed is not None
    assert not claimed.shows_more


def test_nothing_is_claimed_without_a_comparison() -> None:
    assert Verdict(Claim.UNFINISHED, ()).claimed is None
