"""From counters at the ends of a window to shares."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.profile.examples import small
from tuner.engine.bulk_times import BulkLatency
from tuner.host.usage import CoreTime, ThreadTime
from tuner.lab.loads import LoadCounts, MachineCounts
from tuner.lab.probe import Pieces
from tuner.measure.counters import Counters, Window
from tuner.measure.stages import CoreCounts, counted_queues, stages_of
from tuner.measure.window import Poll
from tuner.modules.pstats import ElasticsearchCounters, QueueCounters, ResourceUsage, Snapshot
from tuner.profile.placement import backlog_marks
from tuner.script.counted import worker_thread

HERE = CoreCounts(cores=2, engine_cores=2, engine_is_here=True)
EPOCH_S = 1_795_231_550.0


def threads(*each: tuple[float, float]) -> dict[int, ThreadTime]:
    return {number: ThreadTime(cpu, runnable) for number, (cpu, runnable) in enumerate(each)}


BEFORE = Counters(
    at_s=100.0,
    epoch_s=EPOCH_S,
    threads={
        "in:imptcp": threads((1.0, 0.0)),
        "rs:main Q:Reg": threads((2.0, 0.5)),
        "rs:logs queue:R": threads((1.0, 0.0)),
    },
    machine=CoreTime(busy_s=500.0, idle_s=300.0, io_wait_s=10.0),
    shipper_cpu_s=8.0,
    sender_cpu_s=0.5,
    sender_blocked_s=0.0,
    engine_cpu_s=60.0,
    rejected=1,
    index_throttled_ms=100,
    merge_throttled_ms=0,
    refreshes=0,
    bulk=None,
)
AFTER = Counters(
    at_s=110.0,
    epoch_s=EPOCH_S + 10,
    threads={
        "in:imptcp": threads((2.0, 0.0)),
        "imptcp/w0": threads((4.0, 0.0)),
        "rs:main Q:Reg": threads((5.0, 1.5)),
        "rs:logs queue:R": threads((5.0, 1.0), (2.0, 1.0)),
    },
    machine=CoreTime(busy_s=518.0, idle_s=302.0, io_wait_s=11.0),
    shipper_cpu_s=14.0,
    sender_cpu_s=0.9,
    sender_blocked_s=2.0,
    engine_cpu_s=71.0,
    rejected=4,
    index_throttled_ms=600,
    merge_throttled_ms=70,
    refreshes=2,
    bulk=None,
)


def snapshot(at: float, **sizes: int) -> Snapshot:
    names = {"main": "main Q", "logs": "logs queue", "disk": "logs queue[DA]"}
    queues = {names[name]: QueueCounters(size, 0, 0, 0, 0, 0) for name, size in sizes.items()}
    return Snapshot(EPOCH_S + at, queues, {}, ElasticsearchCounters(), ResourceUsage())


SAMPLES = [Poll(100.0 + step, step * 50_000, step * 50_000 + 40_000) for step in range(11)]
SNAPSHOTS = [
    snapshot(-1, main=90_000, logs=0),
    snapshot(2, main=4_000, logs=30_000),
    snapshot(5, main=8_000, logs=24_000, disk=6_000),
    snapshot(10, main=90_000, logs=0),
]
BULK = BulkLatency(12.0, 20.0, 25.0, 30.0, 100, None, "sampled")
SEEN = Window(BEFORE, AFTER, SAMPLES, (), SNAPSHOTS, sampled=BULK)


def test_cpu_becomes_shares_of_cores() -> None:
    stages = stages_of(SEEN, small(), HERE)
    assert stages.window_s == 10.0
    assert stages.sender_cpu == pytest.approx(0.04)
    assert stages.sender_blocked == pytest.approx(0.2)
    assert stages.shipper_cpu == pytest.approx(0.3)
    assert stages.engine_cpu == pytest.approx(0.55)
    assert stages.machine_cpu == pytest.approx(0.9)
    assert stages.others_cpu == pytest.approx(0.9 - 0.02 - 0.3 - 0.55)
    assert stages.io_wait == pytest.approx(0.05)
    assert (stages.rejected, stages.index_throttled_ms, stages.merge_throttled_ms) == (3, 500, 70)


def test_the_busiest_input_thread_counts_whatever_its_name() -> None:
    assert stages_of(SEEN, small(), HERE).input_cpu == pytest.approx(0.4)


def test_workers_are_found_by_the_name_of_their_queue() -> None:
    stages = stages_of(SEEN, small(), HERE)
    assert (stages.main.workers, stages.main.configured) == (1, 1)
    assert stages.main.cpu == pytest.approx(0.3)
    assert stages.main.runnable == pytest.approx(0.1)
    assert stages.main.waiting == pytest.approx(0.6)
    action = stages.bulk_workers
    assert (action.workers, action.configured) == (2, 2)
    assert action.cpu == pytest.approx(0.3)
    assert action.busiest == pytest.approx(0.4)
    assert action.workers_waiting == pytest.approx(2 * 0.6)


def test_only_snapshots_of_the_window_count_and_a_queues_disk_part_is_part_of_it() -> None:
    stages = stages_of(SEEN, small(), HERE)
    assert stages.main.held == pytest.approx(6_000 / 40_000)
    assert stages.bulk_workers.held == pytest.approx(30_000 / 40_000)
    assert stages.bulk_workers.fill == pytest.approx(30_000 / 50_000)


def test_without_snapshots_nothing_is_claimed_of_the_queues() -> None:
    stages = stages_of(replace(SEEN, snapshots=()), small(), HERE)
    assert stages.main.held is None
    assert stages.main.fill is None


def test_a_direct_action_has_no_workers_of_its_own() -> None:
    direct = small({"outputs[logs].queue": {"type": "Direct"}})
    stages = stages_of(SEEN, direct, HERE)
    assert stages.action is None
    assert stages.bulk_workers is stages.main


def test_an_engine_elsewhere_uses_none_of_our_cores() -> None:
    stages = stages_of(SEEN, small(), CoreCounts(cores=2, engine_cores=8, engine_is_here=False))
    assert stages.engine_cpu == pytest.approx(11 / 80)
    assert stages.others_cpu == pytest.approx(0.9 - 0.02 - 0.3)


@pytest.mark.parametrize(
    ("thread", "is_input"),
    [
        ("w1/from-the-net", True), ("w12/imtcp", True), ("tcpsrv/w0", True), ("imudp(w0)", True),
        ("imudp", False), ("rs:w0/logs", False), ("ld-linux-x86-64", False),
    ],
)  # fmt: skip
def test_threads_that_take_events_in_are_told_by_their_names(thread: str, is_input: bool) -> None:
    """Seen on 8.2610: imtcp's workers are called by the name of their input."""
    threads_after = {**AFTER.threads, thread: threads((9.0, 0.0))}
    window = replace(SEEN, after=replace(AFTER, threads=threads_after))
    window = replace(
        window, before=replace(BEFORE, threads={**BEFORE.threads, thread: threads((0.0, 0.0))})
    )
    assert stages_of(window, small(), HERE).input_cpu == pytest.approx(0.9 if is_input else 0.4)


def test_the_kernel_cuts_thread_names() -> None:
    assert worker_thread("main Q") == "rs:main Q:Reg"
    assert worker_thread("logs queue") == "rs:logs queue:R"


@pytest.mark.parametrize(("idle_s", "busy", "others"), [(12.0, 0.74, 0.0), (0.0, 1.0, 0.13)])
def test_what_others_leave_of_the_machine_is_all_that_a_quota_is_worth(
    idle_s: float, busy: float, others: float
) -> None:
    """A quota of two cores, of which the group used 14.8 of 20 core-seconds."""
    grown = replace(AFTER.machine, busy_s=500.0 + 14.8, idle_s=300.0 + idle_s)
    window = replace(SEEN, after=replace(AFTER, machine=grown))
    stages = stages_of(window, small(), HERE)
    assert stages.machine_cpu == pytest.approx(busy)
    assert stages.others_cpu == pytest.approx(others)


def counts(at_s: float, busy_s: float, pieces: int) -> MachineCounts:
    """Of a machine that idles for half as long again as it is busy."""
    machine = CoreTime(busy_s, 1.5 * busy_s, 0.0)
    return MachineCounts(at_s, 4.0, machine, Pieces(pieces, 0.2, 0.1))


def test_load_hosts_are_told_by_their_own_clocks() -> None:
    """In 5 s of its own four cores one was busy for 8 s, its sender for 2 s."""
    hosts = counts(50.0, 10.0, 0), counts(55.0, 18.0, 50)
    loads = [LoadCounts(host, cpu_s, 1.0 + at) for at, (host, cpu_s) in
             enumerate(zip(hosts, (3.0, 5.0), strict=True))]  # fmt: skip
    before = replace(BEFORE, load_hosts={"north": loads[0]})
    after = replace(AFTER, load_hosts={"north": loads[1], "new": loads[1]}, receiver_cpu_s=2.0)
    stages = stages_of(replace(SEEN, before=before, after=after), small(), HERE)
    (north,) = stages.loads
    assert (north.name, north.cores) == ("north", 4.0)
    assert north.machine_cpu == pytest.approx(8 / 20)
    assert north.speed is not None
    assert (north.sender_cpu, north.sender_blocked) == pytest.approx((2 / 5, 1 / 5))
    assert stages.receiver_cpu == pytest.approx(2 / 20)
    # The sender used nothing of this machine, the receiver did.
    assert stages.others_cpu == 0.0
    assert stages.machine_cpu == pytest.approx(0.9)


def test_a_machine_is_full_at_most() -> None:
    hosts = counts(50.0, 10.0, 0), counts(55.0, 40.0, 50)
    before, after = (
        replace(AFTER, load_hosts={"north": LoadCounts(host, 0.0, 0.0)}) for host in hosts
    )
    full = stages_of(replace(SEEN, before=replace(before, at_s=100.0), after=after), small(), HERE)
    assert full.loads[0].machine_cpu == 1.0


def test_all_copies_of_a_queue_are_one_stage() -> None:
    lanes = small({"lanes": {"count": 2, "queue": {"size": 50_000, "workerThreads": 3}}})
    (entry, _) = counted_queues(lanes)
    assert len(entry.names) == 2
    assert entry.room == 100_000
    sizes = [QueueCounters(size, 0, 0, 0, 0, 0) for size in (9_000, 3_000)]
    lone = replace(SNAPSHOTS[1], queues=dict(zip(entry.names, sizes, strict=True)))
    two = {worker_thread(name): threads((2.0, 1.0)) for name in entry.names}
    seen = replace(SEEN, after=replace(AFTER, threads=two), snapshots=(lone,))
    main = stages_of(seen, lanes, HERE).main
    assert (main.path, main.workers, main.configured) == ("lanes.queue", 2, 6)
    assert (main.cpu, main.busiest, main.runnable) == pytest.approx((0.2, 0.2, 0.1))
    assert main.held == pytest.approx(12_000 / 40_000)
    assert main.fill == pytest.approx(12_000 / 100_000)


def test_a_rate_that_the_user_gave_and_an_idle_window_are_told() -> None:
    told = stages_of(SEEN, small({"workload.rate": 9000}), HERE)
    assert told.rate_is_fixed
    assert not stages_of(SEEN, small(), HERE).rate_is_fixed
    assert told.output == "logs"
    assert told.bulk_ms == 12.0
    # In six of eleven samples less was under way than the workers need, in the others as much.
    low = backlog_marks(small()).low
    short = [replace(one, sent=one.indexed + low - (at < 6)) for at, one in enumerate(SAMPLES)]
    assert stages_of(replace(SEEN, samples=short), small(), HERE).backlog_kept == 5 / 11
    still = [replace(one, sent=one.indexed) for one in SAMPLES]
    assert stages_of(replace(SEEN, samples=still), small(), HERE).main.held is None
