from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.errors import BadUsage
from tuner.flood.pace import Leg, Runs, Schedule, Timeline, bursts, fixed, ramp, runs, steps
from tuner.flood.spec import Order, line_of, order_of

RATES = st.floats(0.1, 200_000.0)
TIMES = st.floats(0.01, 100.0)
SCHEDULES = st.one_of(
    st.builds(fixed, RATES),
    st.builds(ramp, RATES, RATES, TIMES),
    st.builds(steps, st.lists(st.tuples(RATES, TIMES), min_size=1, max_size=4)),
    st.builds(bursts, st.integers(1, 10_000), TIMES),
    st.builds(runs, st.integers(1, 10_000), RATES, st.integers(1, 5), TIMES),
)


@given(SCHEDULES, st.integers(0, 100_000))
def test_a_message_is_due_when_it_is_intended_and_not_before(
    schedule: Schedule, number: int
) -> None:
    if schedule.total is not None:
        number %= schedule.total
    intended_s = schedule.intended_s(number)
    assert schedule.due(intended_s) > number
    before_s = intended_s * (1 - 1e-6) - 1e-6
    assert schedule.due(before_s) <= number
    assert schedule.intended_s(number + 1) >= intended_s


@given(SCHEDULES, TIMES, TIMES)
def test_what_is_due_only_grows_up_to_the_total(
    schedule: Schedule, one_s: float, other_s: float
) -> None:
    early_s, late_s = sorted((one_s, other_s))
    assert schedule.due(early_s) <= schedule.due(late_s)
    assert schedule.due(-1.0) == 0
    if schedule.total is not None:
        assert schedule.due(1e12) == schedule.total


def test_a_fixed_rate_has_even_distances() -> None:
    schedule = fixed(250.0)
    assert [schedule.intended_s(number) for number in (0, 1, 250, 1000)] == [0, 0.004, 1, 4]
    assert schedule.due(0.0) == 1
    assert schedule.due(3.999) == 1000
    assert schedule.total is None


def test_a_ramp_grows_evenly_and_stays() -> None:
    schedule = ramp(0.0, 1000.0, 10.0)
    assert [schedule.due(at_s) for at_s in (1.0, 2.0, 5.0)] == [51, 201, 1251]
    assert schedule.due(9.9999) == 5000
    assert schedule.due(11.0) == pytest.approx(6000, abs=1)
    assert schedule.intended_s(5000) == pytest.approx(10.0)


def test_a_ramp_down_to_nothing_ends() -> None:
    schedule = ramp(1000.0, 0.0, 10.0)
    assert schedule.total == 5000
    assert schedule.due(5.0) == 3751
    assert schedule.intended_s(5000) == 10.0


def test_steps_follow_each_other() -> None:
    schedule = steps([(100.0, 2.0), (10.0, 5.0), (1000.0, 1.0)])
    assert schedule.total == 1250
    assert [schedule.intended_s(number) for number in (199, 200, 249, 250)] == pytest.approx(
        [1.99, 2.0, 6.9, 7.0]
    )


def test_bursts_are_due_at_once_each_time() -> None:
    schedule = bursts(1000, 0.1)
    assert [schedule.due(at_s) for at_s in (0.0, 0.099, 0.1, 3 * 0.1)] == [1000, 1000, 2000, 4000]
    assert schedule.intended_s(2999) == pytest.approx(0.2)
    assert schedule.total is None


def test_the_published_runs_take_their_time() -> None:
    schedule = runs(10_000, 9860.0, times=10, pause_s=1.0)
    assert schedule.total == 100_000
    run_s = 10_000 / 9860.0
    assert schedule.intended_s(10_000) == pytest.approx(run_s + 1.0)
    assert schedule.due(run_s + 0.5) == 10_000
    assert schedule.intended_s(99_999) == pytest.approx(10 * run_s + 9.0, abs=0.001)


@pytest.mark.parametrize(
    "make",
    [
        lambda: fixed(0.0),
        lambda: fixed(math.inf),
        lambda: ramp(-1.0, 5.0, 1.0),
        lambda: ramp(0.0, 0.0, 1.0),
        lambda: ramp(1.0, 5.0, math.nan),
        lambda: steps([]),
        lambda: steps([(5.0, 0.0)]),
        lambda: bursts(5, 0.0),
        lambda: Schedule((Leg(None, 5.0, 5.0), Leg(1.0, 5.0, 5.0))),
        lambda: Schedule((Leg(None, 5.0, 5.0),), cycles=None),
        lambda: Runs(0, 1, 1.0),
        lambda: Runs(1, 1, -1.0),
    ],
)
def test_a_pace_that_cannot_be_is_refused(make: Any) -> None:
    with pytest.raises(BadUsage):
        make()


@given(SCHEDULES)
def test_an_order_survives_its_line(schedule: Schedule) -> None:
    for order in (Order(5, schedule=schedule), Order(7, runs=Runs(5, 2, 0.5)), Order(stop=True)):
        assert order_of(line_of(order)) == order


def test_a_timeline_puts_the_schedule_on_the_clock() -> None:
    timeline = Timeline(fixed(100.0), first=50, start_s=1000.0)
    assert timeline.intended_s(150) == pytest.approx(1001.0)
