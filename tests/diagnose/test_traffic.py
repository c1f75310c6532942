"""Rates, sizes and sessions of what came in."""

from __future__ import annotations

from collections.abc import Sequence

from tests.diagnose.logged import diagnosed, text_of
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import ProductionTraffic, diagnose, traffic_of, workload_changes
from tuner.diagnose.settings import Settings
from tuner.modules.stats_rounds import StatsObject, StatsRound


def traffic(
    submitted: Sequence[int],
    opened: Sequence[int] = (),
    closed: Sequence[int] = (),
    mean: int = 200,
) -> ProductionTraffic:
    """Of an input with these counts after each 10 s."""
    rounds = []
    for n, events in enumerate(submitted):
        counters = {"submitted": events, "bytes.received": events * mean}
        if opened:
            counters |= {"sessions.opened": opened[n], "sessions.closed": closed[n]}
        source = StatsObject("imptcp", "imptcp(*/514)", counters)
        main = StatsObject("core.queue", "main Q", {"enqueued": events, "size": 0})
        usage = StatsObject("impstats", "resource-usage", {"utime": n})
        rounds.append(StatsRound(n * 10.0, (usage, source, main)))
    (host,) = diagnose(courses(rounds), Settings())
    return traffic_of(host)


def test_rates_are_those_of_the_time() -> None:
    counts = [n * 1000 for n in range(20)]
    found = traffic([*counts, counts[-1] + 9000, counts[-1] + 9000])
    assert (found.p50, found.p95, found.peak) == (100, 100, 900)
    assert (found.mean_bytes, found.step_s, found.sessions) == (200, 10, None)


def test_sessions_that_were_open_before_show_when_they_close() -> None:
    # Ten at first, then three more.
    assert traffic([1, 2, 3, 4], [50, 53, 53, 54], [40, 40, 41, 50]).sessions == 13
    # With resetCounters: those of a round alone, and seven closed that nobody saw opened.
    resets = traffic([900, 800, 700, 600, 500], [5, 3, 3, 1, 0], [0, 0, 2, 9, 3])
    assert resets.sessions == 11
    assert traffic([1, 2, 3], [5, 5, 5], [5, 5, 5]).sessions is None


def test_a_workload_takes_what_fits_it() -> None:
    assert workload_changes(traffic([0, 1234, 2000])) == {
        "workload.rate": 124,
        "workload.message_bytes.mean": 200,
    }
    odd = traffic([0, 10, 20], [0, 900, 900], [0, 0, 0], mean=90)
    assert workload_changes(odd) == {"workload.rate": 1, "workload.connections": 512}
    assert workload_changes(traffic([0, 0, 0]))["workload.rate"] == 1


def test_the_flood_of_a_log_is_found_again() -> None:
    found = traffic_of(diagnosed(text_of("healthy-durable")))
    assert 440 <= found.p50 <= 520
    assert found.sessions == 4
    assert found.mean_bytes is not None
    assert 240 <= found.mean_bytes <= 250


def test_the_part_of_each_action_goes_into_a_workload_that_has_several() -> None:
    rounds = [
        StatsRound(
            n * 10.0,
            (
                StatsObject("imptcp", "imptcp(*/514)", {"submitted": n * 1000}),
                StatsObject("core.action", "logs", {"processed": n * 990}),
                StatsObject("core.action", "stats", {"processed": n * 10}),
            ),
        )
        for n in range(5)
    ]
    (host,) = diagnose(courses(rounds), Settings())
    came = traffic_of(host)
    assert came.shares == {"logs": 0.99, "stats": 0.01}
    told = workload_changes(came, ("logs", "stats", "action[logs]"))
    assert told["workload.shares"] == {"logs": 0.99, "stats": 0.01}
    assert "workload.shares" not in workload_changes(came, ("logs",))
