"""Freshness from what searches found, against events whose delays are known."""

from __future__ import annotations

import pytest

from tuner.measure.freshness import Arrivals
from tuner.measure.measurement import Percentiles

# Blocks of ten events each, due once a second.
DUE = {number: float(number) / 10 for number in range(0, 100, 10)}


def test_events_count_from_when_they_were_due_until_they_were_found() -> None:
    arrivals = Arrivals()
    for first, due_s in DUE.items():
        arrivals.add(due_s + 0.5, {first: 10})
    assert arrivals.freshness_s(DUE) == Percentiles(0.5, 0.5, 0.5, 0.5)
    assert arrivals.found == 100


def test_a_search_that_finds_no_more_than_before_changes_nothing() -> None:
    arrivals = Arrivals()
    arrivals.add(1.0, {0: 10})
    arrivals.add(9.0, {0: 10})
    assert arrivals.freshness_s(DUE) == Percentiles(1.0, 1.0, 1.0, 1.0)


def test_the_late_part_of_a_block_is_late() -> None:
    """One event in ten comes nine seconds later: the 95th percentile sees it, the median does
    not."""
    arrivals = Arrivals()
    arrivals.add(1.0, {0: 9})
    arrivals.add(10.0, {0: 10})
    fresh = arrivals.freshness_s(DUE)
    assert fresh is not None
    assert (fresh.p50, fresh.p95, fresh.max) == (1.0, 10.0, 10.0)


def test_events_that_came_in_another_order_are_told_apart() -> None:
    arrivals = Arrivals()
    arrivals.add(5.0, {10: 10})
    arrivals.add(6.0, {0: 10, 10: 10})
    fresh = arrivals.freshness_s(DUE)
    assert fresh is not None
    assert (fresh.p50, fresh.max) == (4.0, 6.0)


def test_blocks_that_are_not_judged_do_not_count() -> None:
    arrivals = Arrivals()
    arrivals.add(100.0, {0: 10, 90: 10})
    fresh = arrivals.freshness_s({90: 9.0})
    assert fresh is not None
    assert fresh.max == pytest.approx(91.0)


def test_nothing_found_has_no_percentiles() -> None:
    assert Arrivals().freshness_s(DUE) is None


def test_a_percentile_is_reached_by_at_least_that_share_of_the_events() -> None:
    arrivals = Arrivals()
    for at_s, events in ((0.1, 98), (5.0, 99), (9.0, 100)):
        arrivals.add(at_s, {0: events})
    assert arrivals.freshness_s({0: 0.0}) == Percentiles(0.1, 0.1, 5.0, 9.0)
