"""What the trace of an overload shows, and whether a pipeline falls behind."""

from __future__ import annotations

import pytest

from tests.measure.paced import paced
from tuner.measure.measurement import TracePoint
from tuner.measure.sustain import overload_of, overload_plan
from tuner.measure.window import Poll, kept_up, rise

PLAN = overload_plan(10_000.0, 10.0)


def trace(capacity: float, room: float = 1e9) -> tuple[TracePoint, ...]:
    """A pipeline that indexes so many a second, of at most `room` events that it takes."""
    moments, sent, indexed = [], 0.0, 0.0
    for tick in range(71):
        at_s = tick / 2
        due = PLAN.pacing.schedule.due(at_s)
        indexed = min(sent, indexed + capacity / 2)
        sent = min(due, indexed + room)
        moments.append(TracePoint(at_s, due, int(sent), int(indexed)))
    return tuple(moments)


def test_the_schedule_is_calm_then_too_much_then_calm() -> None:
    schedule = overload_plan(10_000.0, 10.0).pacing.schedule
    assert schedule.due(4.9) - schedule.due(3.9) == 5_000
    assert schedule.due(9.0) - schedule.due(8.0) == 15_000
    assert schedule.due(30.0) - schedule.due(29.0) == 5_000
    assert PLAN.pacing.judged_from_s == 5.0


def test_recovery_takes_as_long_as_the_spare_capacity_needs() -> None:
    """Ten seconds of 5,000 too many are 50,000 events, worked off at 5,000 a second."""
    seen = overload_of(PLAN, paced(trace(10_000.0)))
    assert seen.recovered_s is not None
    assert 8.5 <= seen.recovered_s <= 11.0
    assert 50_000 <= seen.most_behind <= 65_000
    assert seen.most_unsent == 0


def test_what_the_pipeline_does_not_take_waits_with_the_senders() -> None:
    seen = overload_of(PLAN, paced(trace(10_000.0, room=20_000.0)))
    assert seen.most_unsent >= 25_000
    assert seen.recovered_s is not None


def test_a_pipeline_that_stays_behind_has_not_recovered() -> None:
    assert overload_of(PLAN, paced(trace(5_200.0))).recovered_s is None


def test_falling_behind_is_seen_through_batches() -> None:
    level = [Poll(n / 10, 1000 * (n - n % 7), 1000 * n) for n in range(100)]
    losing = [Poll(n / 10, 950 * (n - n % 7), 1000 * n) for n in range(100)]
    assert rise([(level[0].at_s, level[0].backlog)]) == 0.0
    assert kept_up(level) == pytest.approx(10_000, abs=100)
    assert kept_up(losing) == pytest.approx(9_500, abs=100)
