"""What makes a measurement doubtful, and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.profile.examples import small
from tuner.engine.counters import IndexCounters
from tuner.flood.spec import Punctuality
from tuner.host.machine import CoreTime
from tuner.host.usage import Usage
from tuner.measure.counters import Counters, Window
from tuner.measure.doubts import of_end, of_machine, of_pace
from tuner.measure.measurement import Delivery, Doubt, DoubtKind
from tuner.measure.settle import Settled
from tuner.modules.pstats import (
    ElasticsearchCounters,
    QueueCounters,
    ResourceUsage,
    Snapshot,
)

INDEX = IndexCounters(0, 0, 0, 0, 0, 1, 1024)
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


def test_a_quiet_machine_raises_no_doubt() -> None:
    assert kinds(list(of_machine(later(), 0.05))) == []


def test_other_work_and_a_greedy_hypervisor_disturb() -> None:
    (busy,) = of_machine(later(), 0.4)
    (stolen,) = of_machine(later(stolen_s=1.5), 0.05)
    assert (busy.kind, busy.figure) == (DoubtKind.DISTURBED, "40% of the cores")
    assert (stolen.kind, stolen.figure) == (
        DoubtKind.DISTURBED,
        "the hypervisor took 1.5 core-seconds away",
    )


def test_a_clock_that_was_set_is_noticed() -> None:
    (doubt,) = of_machine(later(clock_s=13.0), None)
    assert doubt.kind is DoubtKind.CLOCK
    assert doubt.figure == "it went +3.00 s in 10.0 s"


def punctual(late: int) -> Punctuality:
    return Punctuality(10_000, late, 0.7, 0, 0.0)


def test_a_pace_that_was_missed_is_noticed_from_one_percent_on() -> None:
    assert kinds(list(of_pace(None))) == []
    assert kinds(list(of_pace(punctual(100)))) == []
    (doubt,) = of_pace(punctual(500))
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
    assert kinds(list(of_end(ENDED, settled(1_000_002, 1_000_000, 201.0), small()))) == []
    (queue,) = of_end(ENDED, settled(1_020_000, 1_000_000, 201.0), small())
    (action,) = of_end(ENDED, settled(1_000_002, 985_000, 201.0), small())
    assert queue.figure == "the main queue took 1,020,000, sent 1,000,000"
    assert action.figure == "omelasticsearch submitted 985,000, sent 1,000,000"


def test_counters_from_before_the_end_are_not_compared() -> None:
    assert kinds(list(of_end(ENDED, settled(400_000, 390_000, 199.0), small()))) == []
