"""The engine's ceiling: what makes a combination count."""

from __future__ import annotations

import pytest

from tuner.engine.feed import Fed
from tuner.measure.ceiling import Combination, imbalance


def test_an_account_that_balances_is_no_objection() -> None:
    assert imbalance(Fed(5000, 5000, 1.0, None), 5000, 5000) is None


@pytest.mark.parametrize(
    ("sent", "acknowledged", "arrived", "found"),
    [(6000, 5000, 5000, 5000), (5000, 5000, 4999, 4999), (5000, 5000, 5000, 5001),
     (5000, 5000, 6000, 6000)],
)  # fmt: skip
def test_one_counter_that_differs_is_an_objection_with_all_of_them(
    sent: int, acknowledged: int, arrived: int, found: int
) -> None:
    said = imbalance(Fed(sent, acknowledged, 1.0, None), arrived, found)
    assert said == (
        f"{sent:,} sent, {acknowledged:,} acknowledged, {arrived:,} indexed, {found:,} found"
    )


def test_a_combination_says_what_it_reached_or_why_it_does_not_count() -> None:
    assert str(Combination(1, 1000, 81_234.5, 900.0, 12.0, 0.4, 0.0)) == (
        "1 client, bulks of 1,000: 81,234 EPS"
    )
    assert str(Combination(4, 5000, 0.0, 0.0, 0.0, 0.0, 0.0, "HTTP 429: no")) == (
        "4 clients, bulks of 5,000: invalid: HTTP 429: no"
    )
