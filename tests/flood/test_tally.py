from __future__ import annotations

from dataclasses import replace

import pytest

from tuner.flood.pace import OpenLoop, fixed
from tuner.flood.sender import Lateness

PACE = OpenLoop(fixed(1000.0), 10**9, first=0, start_s=100.0)
LATER = 10**9


def test_messages_on_time_are_not_late() -> None:
    lateness = Lateness(PACE)
    lateness.count((0, 100), 100.1)
    lateness.count((100, 200), 100.2)
    seen = lateness.punctuality([(200, LATER)], 100.2)
    assert (seen.offered, seen.late) == (201, 51 + 51)
    assert seen.max_late_s == pytest.approx(0.1)
    assert (seen.first, seen.start_s) == (0, 100.0)


def test_small_delays_do_not_count() -> None:
    lateness = Lateness(PACE)
    for turn in range(100):
        lateness.count((10 * turn, 10 * turn + 10), 100.0 + 0.01 * turn + 0.049)
    seen = lateness.punctuality([(1000, LATER)], 101.0)
    assert (seen.late, seen.kept) == (0, True)
    assert 0.04 < seen.max_late_s < 0.05


def test_what_still_waits_counts_as_late() -> None:
    lateness = Lateness(PACE)
    lateness.count((0, 100), 100.1)
    seen = lateness.punctuality([(40, 50), (100, LATER)], 101.0)
    assert seen.late == 51 + 10 + (951 - 100)
    assert seen.max_late_s == pytest.approx(0.96)
    assert not seen.kept


def test_a_part_of_a_range_can_be_late() -> None:
    lateness = Lateness(PACE)
    lateness.count((0, 100), 100.0991)
    assert lateness.punctuality([], 100.1).late == 50


def test_nothing_becomes_due_or_later_after_the_end() -> None:
    lateness = Lateness(PACE)
    lateness.count((0, 1001), 101.0)
    lateness.stop(replace(PACE, until_s=101.0))
    seen = lateness.punctuality([(1001, LATER)], 200.0)
    assert seen.offered == 1001
    assert seen.max_late_s == pytest.approx(1.0)


def test_one_percent_of_late_messages_is_tolerated() -> None:
    lateness = Lateness(PACE)
    lateness.count((0, 10), 100.0 + 0.5)
    lateness.stop(replace(PACE, until_s=100.9991))
    assert lateness.punctuality([], 200.0).kept
    lateness.count((10, 11), 100.5)
    assert not lateness.punctuality([], 200.0).kept
