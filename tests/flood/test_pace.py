from __future__ import annotations

from itertools import pairwise

import pytest

from tuner.flood.pace import (
    BURST_S,
    CATCH_UP,
    GRAIN_S,
    STEP_S,
    OpenLoop,
    Runs,
    SendingPace,
    bursts,
    fixed,
    ramp,
)


def run(
    pace: SendingPace | OpenLoop, seconds: float, stalls: dict[int, float] | None = None
) -> list[tuple[float, int]]:
    """Follow a pace on a clock of its own; a stall keeps the nth wait going for longer."""
    now_s, sent, last_s, sends = 0.0, 0, 0.0, []
    for turn in range(1_000_000):
        if now_s > seconds:
            break
        allowance = pace.allowance(sent, last_s, now_s)
        if allowance.messages:
            sent += allowance.messages
            last_s = now_s
            sends.append((now_s, allowance.messages))
        elif allowance.wait_s is None:
            break
        else:
            assert allowance.wait_s > 0
            now_s += allowance.wait_s + (stalls or {}).get(turn, 0.0)
    return sends


@pytest.mark.parametrize("rate", [1.0, 7.5, 100.0, 1234.0, 98_765.0, 1_000_000.0])
def test_the_rate_is_kept_in_small_bursts(rate: float) -> None:
    sends = run(SendingPace(limit=10**9, per_second=rate), 10.0)
    assert sum(messages for _, messages in sends) == pytest.approx(10 * rate, abs=1 + rate * STEP_S)
    assert max(messages for _, messages in sends) <= max(1.0, rate * BURST_S)


def test_the_limit_is_exact() -> None:
    assert (
        sum(messages for _, messages in run(SendingPace(limit=12_345, per_second=5000.0), 10.0))
        == 12_345
    )
    assert SendingPace(limit=10).allowance(3, 0.0, 0.0).messages == 7
    assert SendingPace(limit=10).allowance(10, 0.0, 0.0).wait_s is None


def test_a_stall_is_made_up_for_without_a_wall() -> None:
    rate = 10_000.0
    sends = run(SendingPace(limit=10**9, per_second=rate), 5.0, stalls={100: 1.0})
    assert sum(messages for _, messages in sends) == pytest.approx(5 * rate, rel=0.01)
    for (start_s, _), (end_s, messages) in pairwise(sends):
        assert messages <= rate * BURST_S
        assert messages <= rate * CATCH_UP * (end_s - start_s) + 1


def test_a_new_rate_forgets_old_debts_but_for_a_step() -> None:
    pace = SendingPace(limit=100_000, per_second=1000.0).steered(100_000, 100.0, sent=40, now_s=7.0)
    assert pace.allowance(40, 0.0, 7.0).messages <= 1000.0 * STEP_S
    assert pace.allowance(40, 0.0, 8.0 - 0.05).messages <= 100


def test_steering_often_costs_no_rate() -> None:
    pace, sent, last_s = SendingPace(), 0, 0.0
    for turn in range(100_000):
        now_s = turn * 0.0001
        if turn % 100 == 0:
            pace = pace.steered(10**9, 1000.0 + turn % 7, sent, now_s)
        allowance = pace.allowance(sent, last_s, now_s)
        if allowance.messages:
            sent, last_s = sent + allowance.messages, now_s
    assert sent == pytest.approx(10_030, rel=0.01)


def test_the_same_rate_goes_on_unless_the_limit_had_halted_it() -> None:
    pace = SendingPace(limit=100, per_second=100.0, base=5, since_s=1.0)
    assert pace.steered(200, 100.0, sent=50, now_s=7.0) == SendingPace(200, 100.0, 5, 1.0)
    assert pace.steered(200, 100.0, sent=100, now_s=7.0) == SendingPace(200, 100.0, 100, 7.0)


def test_no_rate_at_all_sends_nothing() -> None:
    assert SendingPace(limit=10, per_second=0.0).allowance(0, 0.0, 99.0).messages == 0


@pytest.mark.parametrize("rate", [3.0, 100.0, 4567.0, 250_000.0])
def test_an_open_loop_sends_each_message_when_it_is_due_or_just_after(rate: float) -> None:
    pace = OpenLoop(fixed(rate), 10**9, first=0, start_s=0.0)
    sent = 0
    for now_s, messages in run(pace, 5.0):
        oldest_s = now_s - pace.intended_s(sent)
        assert -1e-6 <= oldest_s <= GRAIN_S + 1e-6
        sent += messages
        assert pace.intended_s(sent - 1) <= now_s + 1e-6
    assert sent == pytest.approx(5 * rate, abs=2 + rate * GRAIN_S)


def test_an_open_loop_makes_up_for_a_stall_at_once() -> None:
    sends = run(OpenLoop(fixed(1000.0), 10**9, 0, 0.0), 5.0, stalls={101: 1.0})
    assert max(messages for _, messages in sends) > 900
    assert sum(messages for _, messages in sends) == pytest.approx(5000, abs=10)


def test_what_is_due_but_did_not_fit_goes_at_once() -> None:
    pace = OpenLoop(bursts(10_000, 1.0), 10**9, 0, start_s=5.0)
    assert pace.allowance(4000, last_s=5.0, now_s=5.0001).messages == 6000


def test_an_open_loop_ends_with_its_limit_its_schedule_or_its_time() -> None:
    assert OpenLoop(fixed(10.0), 25, 0, 0.0).allowance(25, 0.0, 99.0).wait_s is None
    ended = OpenLoop(ramp(10.0, 0.0, 2.0), 10**9, first=100, start_s=0.0)
    assert ended.allowance(110, 0.0, 99.0).wait_s is None
    assert ended.due(99.0) == 110
    assert OpenLoop(fixed(10.0), 10**9, 0, 0.0, until_s=1.0).due(99.0) == 11


def test_runs_wait_for_the_end_of_the_one_before() -> None:
    runs = Runs(messages=100, times=3, pause_s=1.0)
    assert runs.allowance(0, 0.0, 7.0).messages == 100
    assert runs.allowance(40, 7.0, 7.0).messages == 60
    assert runs.allowance(100, 8.0, 8.25).wait_s == pytest.approx(0.75)
    assert runs.allowance(100, 8.0, 9.0).messages == 100
    assert runs.allowance(300, 9.0, 99.0).wait_s is None
