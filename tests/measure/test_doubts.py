"""What makes a measurement doubtful, and what does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.profile.examples import small
from tests.profile.test_base import loaded
from tuner.engine.status import IndexCounters
from tuner.flood.spec import Punctuality
from tuner.host.usage import CoreTime, Usage
from tuner.measure.counters import Counters, Window
from tuner.measure.measurement import Delivery, Doubt, DoubtKind
from tuner.measure.settle import Settled
from tuner.measure.stages import counted_queues
from tuner.measure.summary import end_doubts, machine_doubts, pace_doubts, window_doubts
from tuner.measure.window import Poll, steadiness
from tuner.modules.pstats import (
    ElasticsearchCounters,
    QueueCounters,
    ResourceUsage,
    Snapshot,
)
from tuner.profile.placement import backlog_marks

INDEX = IndexCounters(0, 0, 0, 0, 1, 1024)
AT_FIRST = Counters(
    at_s=100.0,
    epoch_s=1_800_000_000.0,
    threads={},
    machine=CoreTime(50.0, 0.0, 0.0),
    shipper_cpu_s=0.0,
    sender_cpu_s=0.0,
    sender_blocked_s=0.0,
    engine_cpu_s=0.0,
    rejected=0,
    index_throttled_ms=0,
    merge_throttled_ms=0,
    refreshes=0,
    bulk=None,
)


def later(passed_s: float = 10.0, clock_s: float = 10.0, stolen_s: float = 0.0) -> Window:
    machine = CoreTime(AT_FIRST.machine.busy_s + 15.0, 5.0, 0.0, stolen_s)
    at_s, epoch_s = AT_FIRST.at_s + passed_s, AT_FIRST.epoch_s + clock_s
    return Window(AT_FIRST, replace(AT_FIRST, at_s=at_s, epoch_s=epoch_s, machine=machine), ())


def kinds(doubts: Sequence[Doubt]) -> list[DoubtKind]:
    return [doubt.kind for doubt in doubts]


LOW = backlog_marks(small()).low


def polled(
    seconds: float = 10.0, *, starved: float = 0.0, rate: Callable[[float], float] = lambda _: 1e4
) -> list[Poll]:
    """Ten polls a second; in the first `starved` of them less is under way than workers need."""
    indexed, found, count = 0.0, list[Poll](), round(10 * seconds) + 1
    for number in range(count):
        ahead = LOW - 1 if number < round(starved * count) else LOW
        found.append(Poll(100 + number / 10, int(indexed), int(indexed) + ahead))
        indexed += rate(number / 10) / 10
    return found


def said_of_window(
    samples: Sequence[Poll],
    changes: Mapping[str, object] | None = None,
    *,
    blocked_s: float = 0.0,
    refreshes: int = 0,
) -> list[tuple[DoubtKind, str]]:
    epoch_s = AT_FIRST.epoch_s + 10
    ended = replace(
        AT_FIRST, at_s=110.0, epoch_s=epoch_s, sender_blocked_s=blocked_s, refreshes=refreshes
    )
    window = Window(AT_FIRST, ended, samples)
    found = window_doubts(window, steadiness(samples), small(changes or {}))
    return [(one.kind, one.figure) for one in found]


def test_a_window_of_a_level_rate_raises_no_doubt() -> None:
    assert said_of_window(polled()) == []


@pytest.mark.parametrize(("seconds", "doubts"), [(1.8, 1), (1.9, 0)])
def test_fewer_than_twenty_samples_are_few(seconds: float, doubts: int) -> None:
    samples = polled(seconds)
    said = said_of_window(samples)
    assert ((DoubtKind.FEW_SAMPLES, f"{len(samples)} samples") in said) is bool(doubts)


def test_a_rate_that_falls_is_told_with_by_how_much() -> None:
    ((kind, figure),) = said_of_window(polled(rate=lambda at_s: 20_000 - 1000 * at_s))
    assert kind is DoubtKind.UNSTEADY
    assert figure == "late/early half 0.72, drift -63%"


@pytest.mark.parametrize(
    ("starved", "changes", "blocked_s", "doubted"),
    [
        (0.2, {}, 0.0, False),
        (0.3, {}, 0.0, True),
        # Told its rate, the sender is not expected to keep workers busy.
        (0.3, {"workload.rate": 9000}, 0.0, False),
        # It had more than the pipeline took.
        (0.3, {}, 5.0, False),
        (0.3, {}, 4.9, True),
    ],
)
def test_workers_that_were_often_without_work_mean_that_the_sender_set_the_rate(
    starved: float, changes: Mapping[str, object], blocked_s: float, doubted: bool
) -> None:
    said = said_of_window(polled(starved=starved), changes, blocked_s=blocked_s)
    assert said == ([(DoubtKind.SENDER_LIMITED, "in 30% of the samples")] if doubted else [])


@pytest.mark.parametrize(
    ("interval", "refreshes", "doubted"),
    [("5s", 3, False), ("6s", 3, True), ("6s", 0, False), ("-1", 3, False)],
)
def test_a_window_that_is_short_beside_the_refresh_interval_is_doubted(
    interval: str, refreshes: int, doubted: bool
) -> None:
    settings = {"outputs[logs].index.settings.refresh_interval": interval}
    said = said_of_window(polled(), settings, refreshes=refreshes)
    figure = "10.0 s, refresh_interval 6 s"
    assert said == ([(DoubtKind.SHORT_WINDOW, figure)] if doubted else [])


def test_a_quiet_machine_raises_no_doubt() -> None:
    assert kinds(list(machine_doubts(later(), 0.05))) == []


def test_other_work_and_a_greedy_hypervisor_disturb() -> None:
    (busy,) = machine_doubts(later(), 0.4)
    (stolen,) = machine_doubts(later(stolen_s=1.5), 0.05)
    assert (busy.kind, busy.figure) == (DoubtKind.DISTURBED, "40% of the cores")
    assert (stolen.kind, stolen.figure) == (
        DoubtKind.DISTURBED,
        "the hypervisor took 1.5 core-seconds away",
    )


def test_a_clock_that_was_set_is_noticed() -> None:
    (doubt,) = machine_doubts(later(clock_s=13.0), None)
    assert doubt.kind is DoubtKind.CLOCK
    assert doubt.figure == "it went +3.00 s in 10.0 s"


def punctual(late: int) -> Punctuality:
    return Punctuality(10_000, late, 0.7, 0, 0.0)


def test_a_pace_that_was_missed_is_noticed_from_one_percent_on() -> None:
    assert kinds(list(pace_doubts(None))) == []
    assert kinds(list(pace_doubts(punctual(100)))) == []
    (doubt,) = pace_doubts(punctual(500))
    assert doubt.kind is DoubtKind.PACE_MISSED
    assert doubt.figure == "5.0% more than 50 ms late, by up to 0.7 s"


def settled(enqueued: int, submitted: int, at_s: float) -> Settled:
    snapshot = Snapshot(
        at_s,
        {"main Q": QueueCounters(0, enqueued, 0, 0, 0, 900)},
        {},
        ElasticsearchCounters(submitted=submitted),
        ResourceUsage(),
    )
    return Settled(
        drained_at_s=110.0,
        durable_at_s=110.5,
        merged_at_s=None,
        engine_cpu_ms=0,
        shipper=Usage(0.0, 0),
        index=INDEX,
        delivery=Delivery(1_000_000, 1_000_000, 1_000_000, 0, 0),
        snapshots=(snapshot,),
        complaint=None,
    )


# The last event was indexed 200 s after 1970.
ENDED = Window(AT_FIRST, replace(AT_FIRST, at_s=110.0, epoch_s=200.0), ())


def test_rsyslogs_own_counters_are_compared_once_all_is_delivered() -> None:
    assert kinds(list(end_doubts(ENDED, settled(1_000_002, 1_000_000, 201.0), small()))) == []
    (queue,) = end_doubts(ENDED, settled(1_020_000, 1_000_000, 201.0), small())
    fewer = replace(settled(1_000_002, 985_000, 201.0), documents=1_000_000)
    (action,) = end_doubts(ENDED, fewer, small())
    assert queue.figure == "the main queue took 1,020,000, sent 1,000,000"
    assert action.figure == "omelasticsearch submitted 985,000, sent 1,000,000"


@pytest.mark.parametrize(
    ("changes", "submitted", "figure"),
    [
        (None, 999_001, None),
        (None, 998_999, "omelasticsearch submitted 998,999, sent 1,000,000"),
        ("two outputs", 2_000_000, None),
        ("two outputs", 1_000_000, "omelasticsearch submitted 1,000,000, sent 1,000,000 "
         "(for 2 outputs)"),
    ],
)  # fmt: skip
def test_what_was_submitted_is_what_each_output_should_have(
    changes: str | None, submitted: int, figure: str | None
) -> None:
    documents = 2_000_000 if changes else 1_000_000
    seen = replace(settled(1_000_000, submitted, 201.0), documents=documents)
    found = end_doubts(ENDED, seen, small())
    assert [one.figure for one in found] == ([] if figure is None else [figure])


def test_a_base_submits_what_its_filters_let_through(tmp_path: Path) -> None:
    base = loaded(tmp_path).profile
    seen = replace(settled(1_000_000, 600_000, 201.0), documents=600_000)
    (last,), (entry, *_) = seen.snapshots, counted_queues(base)
    queues = {entry.names[0]: QueueCounters(0, 1_000_000, 0, 0, 0, 9)}
    seen = replace(seen, snapshots=(replace(last, queues=queues),))
    assert list(end_doubts(ENDED, seen, base)) == []


def test_lanes_take_it_together() -> None:
    lanes = small({"lanes": {"count": 2, "queue": {"size": 50_000}}})
    seen = settled(0, 1_000_000, 201.0)
    (last,), (entry, *_) = seen.snapshots, counted_queues(lanes)
    counted = [QueueCounters(0, taken, 0, 0, 0, 9) for taken in (500_000, 400_000)]
    queues = dict(zip(entry.names, counted, strict=True))
    found = end_doubts(ENDED, replace(seen, snapshots=(replace(last, queues=queues),)), lanes)
    assert [one.figure for one in found] == ["the lanes together took 900,000, sent 1,000,000"]


def test_counters_from_before_the_end_are_not_compared() -> None:
    assert kinds(list(end_doubts(ENDED, settled(400_000, 390_000, 199.0), small()))) == []
