from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import BadUsage
from tuner.flood.flood import (
    SpreadTimeline,
    granted,
    merged,
    on_our_clock,
    parts_of,
    runs_of,
    shared,
)
from tuner.flood.pace import Runs, Schedule, Timeline, bursts, fixed, ramp, runs, steps
from tuner.flood.spec import FloodProgress, FloodSpec, Punctuality, Transport
from tuner.lab.loads import ClockOffset
from tuner.profile.workload import MessageSizes

SPEC = FloodSpec(Transport(("10.0.0.1:514",)), 5, MessageSizes(244), 1, "0a1b2c3d", count=1001)
SCHEDULES = st.sampled_from(
    [
        fixed(900.0),
        ramp(10.0, 1000.0, 5.0),
        steps([(100.0, 1.0), (700.0, 2.0)]),
        bursts(7, 0.5),
        runs(100, 1000.0, 3, 0.5),
    ]
)


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_shares_are_all_and_equal(total: int, senders: int) -> None:
    shares = shared(total, senders)
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1


def test_the_parts_of_a_flood_are_the_flood() -> None:
    first, second = parts_of(SPEC, 2)
    assert (first.connections, second.connections) == (3, 2)
    assert (first.count, second.count) == (501, 500)
    assert [(one.sender, one.senders) for one in (first, second)] == [(0, 2), (1, 2)]
    assert [one.connections for one in parts_of(SPEC, 7)] == [1] * 7


@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=1, max_size=6),
    st.integers(0, 10_000),
)
def test_a_limit_is_hard_and_taken_by_those_who_have_the_least_left(
    senders: list[tuple[int, int]], limit: int
) -> None:
    before = [max(pair) for pair in senders]
    sent = [min(pair) for pair in senders]
    after = granted(before, sent, limit)
    assert all(new >= old for new, old in zip(after, before, strict=True))
    assert sum(after) == max(limit, sum(before))
    left = [may - did for may, did in zip(after, sent, strict=True)]
    for new, old, has in zip(after, before, left, strict=True):
        assert new == old or has <= min(left) + 1


def test_a_slow_sender_keeps_no_other_from_sending() -> None:
    granted_so_far = granted((0, 0), (0, 0), 1000)
    assert granted_so_far == (500, 500)
    assert granted(granted_so_far, (0, 500), 1500) == (500, 1000)


def progress(sent: int, at_s: float, error: str | None = None) -> FloodProgress:
    return FloodProgress(
        sent, 0.5, 1.0, at_s - 2.0, at_s - 1.0, False, error, at_s,
        Punctuality(100, 2, 0.25, 0, at_s - 3.0),
    )  # fmt: skip


def test_progress_is_brought_to_our_clock_and_merged() -> None:
    first = on_our_clock(progress(10, 1005.0), ClockOffset(-1000.0, 0.01))
    second = progress(32, 6.0, "south: broken")
    both = merged([first, second])
    assert (both.sent, both.counts, both.events.total) == (42, (10, 32), 42)
    assert (both.cpu_seconds, both.blocked_seconds) == (1.0, 1.0)
    assert (both.first_send_s, both.last_send_s, both.at_s) == (3.0, 5.0, 5.0)
    assert both.error == "south: broken"
    assert both.punctuality == Punctuality(200, 4, 0.25, 0, 2.0)


def test_senders_that_have_sent_nothing_have_no_times() -> None:
    nothing = FloodProgress(0, 0.0, 0.0, None, None, False, None, 1.0)
    both = merged([nothing, nothing])
    assert (both.first_send_s, both.last_send_s, both.punctuality) == (None, None, None)


@given(SCHEDULES, st.integers(1, 5), st.floats(0, 20))
def test_parts_of_a_schedule_are_the_schedule(whole: Schedule, senders: int, at_s: float) -> None:
    parts = [Schedule(whole.legs, whole.cycles, one, senders) for one in range(senders)]
    assert sum(part.due(at_s) for part in parts) == whole.due(at_s)
    if whole.total is not None:
        assert sum(part.total or 0 for part in parts) == whole.total
    for message in range(10):
        sender, turn = message % senders, message // senders
        assert parts[sender].intended_s(turn) == whole.intended_s(message)


def test_a_number_was_due_when_its_sender_had_it_to_send() -> None:
    whole = fixed(1000.0)
    parts = tuple(
        Timeline(Schedule(whole.legs, whole.cycles, one, 2), 0, 10.0 + one) for one in range(2)
    )
    timeline = SpreadTimeline(whole, 0, 10.0, 0.001, parts)
    assert timeline.intended_s(0) == 10.0
    assert timeline.intended_s(999) == pytest.approx(10.0 + 1.998)
    assert timeline.intended_s(1000) == pytest.approx(11.0 + 0.001)
    assert timeline.intended_s(2000) == pytest.approx(10.0 + 2.0)


def test_runs_need_a_message_for_each() -> None:
    assert [one.messages for one in runs_of(Runs(5, 3, 0.1), 2)] == [3, 2]
    with pytest.raises(BadUsage):
        runs_of(Runs(1, 3, 0.1), 2)
