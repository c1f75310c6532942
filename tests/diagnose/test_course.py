"""Counters over time: resets, starts, wrapped counts, late rounds, and as many rounds as there
are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from tests.diagnose.logged import course_of, diagnosed, text_of
from tuner.diagnose.course import CounterCourse, StatsSeries, courses
from tuner.diagnose.diagnosis import diagnose
from tuner.diagnose.finding import Cause
from tuner.diagnose.settings import Settings
from tuner.modules.stats_rounds import StatsObject, StatsRound

Counters = Mapping[str, int]


def round_of(at: float, queue: Counters, usage: Counters | None = None) -> StatsRound:
    return StatsRound(
        at,
        (
            StatsObject("impstats", "resource-usage", usage or {"utime": int(at), "nvcsw": 1}),
            StatsObject("core.queue", "main Q", queue),
        ),
    )


def course(rounds: Iterable[StatsRound]) -> CounterCourse:
    (one,) = courses(rounds)
    return one


def main_queue(one: CounterCourse) -> StatsSeries:
    return one.objects["core.queue", "main Q"]


def test_counts_grow_from_round_to_round() -> None:
    made = course(round_of(n * 10, {"enqueued": 100 + n * 50, "size": n}) for n in range(4))
    assert main_queue(made).growth["enqueued"] == (50, 50, 50)
    assert main_queue(made).level["size"] == (1, 2, 3)
    assert made.rates(main_queue(made).growth["enqueued"]) == (5, 5, 5)
    assert not made.has_resets
    assert not made.starts


def test_resets_are_seen_and_the_sums_are_those_that_were_written() -> None:
    values = (70, 90, 40, 0, 60, 30)
    made = course(round_of(n * 10, {"enqueued": value}) for n, value in enumerate(values))
    assert made.has_resets
    assert main_queue(made).growth["enqueued"] == values[1:]


def test_an_object_that_is_made_anew_is_no_reset() -> None:
    """As those of a target that rsyslogd connects to again."""

    def of(n: int) -> StatsObject:
        return StatsObject("omfwd", "TCP-a-514", {"bytes.sent": 100 * (n if n < 4 else n - 4)})

    made = course(
        StatsRound(one.at, (*one.objects, of(n)))
        for n in range(8)
        for one in [round_of(n * 10, {"enqueued": n * 5})]
    )
    assert not made.has_resets
    assert main_queue(made).growth["enqueued"] == (5,) * 7
    assert made.objects["omfwd", "TCP-a-514"].total("bytes.sent") == 600


def test_a_start_is_no_reset_and_what_was_counted_since_counts() -> None:
    rounds = [
        round_of(n * 10, {"enqueued": value}, {"utime": utime})
        for n, (value, utime) in enumerate([(100, 50), (150, 60), (30, 5), (50, 9)])
    ]
    made = course(rounds)
    assert not made.has_resets
    assert list(made.starts) == [20]
    assert main_queue(made).growth["enqueued"] == (50, 30, 20)
    assert [step.has_start for step in made.steps] == [False, True, False]


def test_what_was_counted_since_a_start_counts_even_where_it_is_more_than_before() -> None:
    rounds = [
        round_of(n * 10, {"enqueued": value}, {"utime": utime})
        for n, (value, utime) in enumerate([(100, 50), (150, 60), (160, 5)])
    ]
    assert list(main_queue(course(rounds)).growth["enqueued"]) == [50, 160]


@pytest.mark.parametrize("width", [2**31, 2**32, 2**64])
def test_a_count_that_ran_out_of_bits_goes_on(width: int) -> None:
    values = (width - 300, width - 100, 100)
    made = course(round_of(n * 10, {"enqueued": value}) for n, value in enumerate(values))
    assert main_queue(made).growth["enqueued"] == (200, 200)
    assert not made.has_resets


def test_late_rounds_and_a_clock_that_was_set_are_noted() -> None:
    times = [0, 10, 20, 55, 65, 40, 50]
    made = course(round_of(at, {"enqueued": n}, {"utime": n}) for n, at in enumerate(times))
    assert made.gaps.interval_s == 10
    assert (made.gaps.late, made.gaps.longest_s) == (1, 35)
    assert list(made.clock_sets) == [40]
    assert [step.seconds for step in made.steps] == [10, 10, 35, 10, 10, 10]


def test_two_rounds_in_a_second_are_one_step() -> None:
    made = course(round_of(at, {"enqueued": n * 7}) for n, at in enumerate([0, 10, 10, 20]))
    assert main_queue(made).growth["enqueued"] == (14, 7)


def test_what_appears_later_counts_from_its_first_round() -> None:
    late = StatsObject("core.queue", "late", {"enqueued": 5, "size": 3})
    rounds = [round_of(n * 10, {"enqueued": n}) for n in range(4)]
    rounds[2:] = [StatsRound(one.at, (*one.objects, late)) for one in rounds[2:]]
    series = course(rounds).objects["core.queue", "late"]
    assert list(series.growth["enqueued"]) == [0, 5, 0]
    assert list(series.level["size"]) == [0, 3, 3]


def test_what_stood_before_a_log_that_begins_within_a_round_is_no_growth() -> None:
    early = StatsObject("imptcp", "imptcp(*/514)", {"submitted": 9_000_000})
    rounds = [round_of(n * 10, {"enqueued": n}) for n in range(3)]
    rounds[1:] = [StatsRound(one.at, (early, *one.objects)) for one in rounds[1:]]
    series = course(rounds).objects["imptcp", "imptcp(*/514)"]
    assert list(series.growth["submitted"]) == [0, 0]


def test_a_long_log_keeps_sums_and_peaks_in_few_steps() -> None:
    rounds = 20_000
    made = course(
        round_of(n * 10, {"enqueued": n * 3, "size": 900 if n == 777 else 1}) for n in range(rounds)
    )
    series = main_queue(made)
    assert 1000 < len(made.steps) < 5000
    assert series.total("enqueued") == 3 * (rounds - 1)
    assert series.highest("size") == 900
    assert made.seconds == 10 * (rounds - 1)
    assert made.steps[-1].end == 10 * (rounds - 1)
    assert len(series.growth["enqueued"]) == len(series.level["size"]) == len(made.steps)


def test_hosts_have_courses_of_their_own() -> None:
    rounds = [
        StatsRound(one.at, one.objects, host)
        for n in range(3)
        for one in [round_of(n * 10, {"enqueued": n})]
        for host in ("a", "b")
    ]
    assert [one.host for one in courses(rounds)] == ["a", "b"]


def test_a_log_with_resets_gives_what_one_without_gives() -> None:
    """The same queue and output, with and without resetCounters."""
    for name in ("slow-engine", "slow-engine-reset"):
        made = diagnosed(text_of(name))
        assert made.course.has_resets == name.endswith("reset")
        assert sum(made.came) == 4800
        (found,) = made.findings
        assert found.cause is Cause.SLOW_OUTPUT


def test_a_round_that_ends_in_the_middle_costs_no_event() -> None:
    text = text_of("healthy")
    lines = text.splitlines(keepends=True)
    begins = [n for n, line in enumerate(lines) if line.endswith(": BEGIN\n")]
    cut = "".join(lines[: begins[9] + 3] + lines[begins[10] :])
    made = course_of(cut)
    assert made.gaps.cut == 1
    (whole,) = diagnose([made], Settings())
    assert sum(whole.came) == 30_000
    assert whole.findings == ()
