"""Accounting by counters: what the engine counted, against what was sent."""

from __future__ import annotations

import pytest

from tuner.engine.delivery import DeliveryCheck, check_by_counters


@pytest.mark.parametrize(
    ("indexed", "found", "lost", "duplicated"),
    [
        (100, 100, 0, 0),
        (97, 97, 3, 0),
        (104, 104, 0, 4),
        (100, 98, 2, 0),  # counted by the engine, and then not there
        (98, 100, 2, 0),
        (103, 100, 0, 3),
        (103, 98, 2, 3),
        (0, 0, 100, 0),
    ],
)
def test_where_counters_disagree_the_worse_counts(
    indexed: int, found: int, lost: int, duplicated: int
) -> None:
    assert check_by_counters(100, indexed, found) == DeliveryCheck(lost, duplicated, (), ())
