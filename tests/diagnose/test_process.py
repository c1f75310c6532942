"""What is wrong with rsyslogd's process: memory that grows, starts that follow one another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnose.worlds import CALM, ES, USAGE, Counters, World, made, only, queue
from tuner.diagnose.finding import Cause, Certainty

# Two hours.
LONG = 721


def memory(kib: Callable[[int], int]) -> World:
    return {**CALM, USAGE: lambda n: {"utime": n, "stime": n, "maxrss": kib(n)}}


def test_memory_that_grows_all_the_time_is_told() -> None:
    found = only(memory(lambda n: 100_000 + 60 * n), number=LONG)
    assert (found.cause, found.certainty) == (Cause.MEMORY, Certainty.LIKELY)
    assert "maxrss grew from 102 to 140 MiB, 21 MiB an hour" in found.evidence


@pytest.mark.parametrize(
    "kib",
    [
        lambda n: 100_000,
        # The warm-up, then nothing.
        lambda n: 100_000 + 3000 * min(n, 70),
        # Three bursts, each higher than those before.
        lambda n: 100_000 + 30_000 * (n // 200),
        # All the time, and hardly.
        lambda n: 100_000 + 10 * n,
    ],
    ids=("steady", "warm-up", "bursts", "little"),
)
def test_memory_that_grows_at_times_is_no_finding(kib: Callable[[int], int]) -> None:
    assert made(memory(kib), number=LONG).findings == ()


def test_memory_that_grows_for_minutes_is_no_finding() -> None:
    assert made(memory(lambda n: 100_000 + 3000 * n), number=100).findings == ()


def test_memory_that_queues_take_is_their_finding() -> None:
    grows = {**memory(lambda n: 100_000 + 60 * n), ES: queue(1000, 900)}
    assert {one.cause for one in made(grows, number=LONG).findings} == {Cause.SLOW_OUTPUT}


def test_memory_counts_since_the_last_start() -> None:
    def usage(n: int) -> Counters:
        since = n if n < 360 else n - 360
        return {"utime": since, "stime": since, "maxrss": 100_000 + (120 * n if n < 360 else 0)}

    assert made({**CALM, USAGE: usage}, number=LONG).findings == ()


def limiters(an_hour: int) -> World:
    key = ("imuxsock", "imuxsock")
    return {
        **CALM,
        key: lambda n: {"submitted": n, "ratelimit.numratelimiters": 50 + n * an_hour // 360},
    }


def test_rate_limiters_that_are_never_freed_are_told() -> None:
    found = only(limiters(9000), number=LONG)
    assert (found.cause, found.certainty) == (Cause.MEMORY, Certainty.CERTAIN)
    assert "grew by 18,000, 9,000 an hour" in found.evidence
    assert made(limiters(300), number=LONG).findings == ()


def starting(at: set[int]) -> World:
    def since(n: int) -> int:
        return n - max((one for one in at if one <= n), default=0)

    return {
        USAGE: lambda n: {"utime": since(n), "stime": since(n), "nvcsw": since(n)},
        ("core.queue", "main Q"): lambda n: {"size": 7, "enqueued": since(n) * 100, "maxqsize": 7},
    }


def test_a_loop_of_restarts_is_found_in_a_long_log_and_maintenance_is_none() -> None:
    loop = starting({4000, 4012, 4024, 4036})
    (found,) = [one for one in made(loop, number=8640).findings if one.cause is Cause.RESTARTS]
    assert found.span == (40_000.0, 40_360.0)
    assert "began anew 4 times, one after 120 s; its queues held 28 events" in found.evidence
    daily = starting({1000, 3000, 5000, 7000})
    assert Cause.RESTARTS not in {one.cause for one in made(daily, number=8640).findings}
