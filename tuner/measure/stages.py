"""How busy each stage of the pipeline was over the window, as shares from 0 to 1, and what was
effective beside what was configured: queues, workers, threads, bulk requests; pure.

The path of an event: sender, input threads, main queue and its workers, action queue and its
workers, engine.  A Direct action queue does not count: the main queue's workers do its work.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.engine.bulk_times import BulkLatency
from tuner.host.usage import Load
from tuner.lab.loads import LoadCounts
from tuner.measure.counters import Growth, Window
from tuner.measure.speed import Speed, speed_of
from tuner.modules.pstats import Snapshot, within
from tuner.modules.registry import INPUTS
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, backlog_marks, measured_path
from tuner.render.rulesets import counted_action, counter_names
from tuner.script.counted import worker_thread
from tuner.space.knob import path_of


@dataclass(frozen=True)
class CountedQueue:
    """A queue as rsyslog's counters and threads call it, each copy by one of `names`, and as the
    profile does."""

    names: tuple[str, ...]
    placed: PlacedQueue

    path: str

    @property
    def room(self) -> int:
        """The messages that all copies together hold."""
        return self.placed.copies * self.placed.size


def counted_queues(profile: Profile) -> tuple[CountedQueue, ...]:
    """The queues between the inputs and the measured output of `profile` as bound, the inputs'
    first; a Direct action queue does not count."""
    first, *later = measured_path(profile)
    path = (first, *(queue for queue in later if not queue.is_direct))
    return tuple(
        CountedQueue(counter_names(profile, queue), queue, path_of(profile, queue))
        for queue in path
    )


_INPUT_THREADS = re.compile("|".join(name for module in INPUTS for name in module.thread_names))


def is_of_input(thread: str) -> bool:
    """Whether a thread of that name takes events in."""
    return _INPUT_THREADS.match(thread) is not None


@dataclass(frozen=True)
class CoreCounts:
    """Where it ran: our cores, the engine's, and whether those are the same ones."""

    cores: float
    engine_cores: float
    engine_is_here: bool


@dataclass(frozen=True)
class Pool:
    """The workers of one queue and what stood in it; shares of a worker's time, from 0 to 1.

    `cpu` and `runnable` (ready to run, but no core was free) are means over the workers, `busiest`
    is the CPU of the busiest.  `held` is the share of all events under way that were in the queue,
    those in the workers' hands included, `fill` that of its room; None without impstats.
    `path` is where the profile writes the queue.
    """

    path: str
    workers: int
    configured: int
    cpu: float
    busiest: float
    runnable: float
    held: float | None
    fill: float | None

    @property
    def waiting(self) -> float:
        """The share of a worker's time that went into waiting for something other than a core."""
        return max(0.0, 1.0 - self.cpu - self.runnable)

    @property
    def workers_waiting(self) -> float:
        """How many workers waited at any moment, on average."""
        return self.workers * self.waiting


@dataclass(frozen=True)
class LoadStage:
    """A sender on a machine of its own: the share of the machine's `cores` that was in use, and how
    fast these were, where that was probed; the sender's share of one core, and of the time in which
    its sockets were full."""

    name: str
    machine_cpu: float
    cores: float
    speed: Speed | None
    sender_cpu: float
    sender_blocked: float


@dataclass(frozen=True)
class Stages:
    """The whole pipeline over the window.

    `sender_cpu` and `input_cpu` (its busiest thread) are shares of one core, `sender_blocked` the
    share of time in which every socket was full, `backlog_kept` the share of samples in which every
    worker had enough to do.  `shipper_cpu`, `receiver_cpu` (of what a base forwards to),
    `machine_cpu` and `io_wait` are shares of our `cores`,
    `engine_cpu` is one of the `engine_cores`, in full also where those are ours.  `bulk_ms` is the
    mean time of a bulk request where it is known.  `output` is the name of the output, and
    `rate_is_fixed` says that the sender was told how fast to send.  `loads` are the machines of the
    senders, where they are not ours.
    """

    window_s: float
    cores: float
    output: str
    rate_is_fixed: bool
    sender_cpu: float
    sender_blocked: float
    backlog_kept: float
    input_cpu: float
    main: Pool
    action: Pool | None
    bulk_ms: float | None
    shipper_cpu: float
    engine_cpu: float
    engine_cores: float
    engine_is_here: bool
    machine_cpu: float
    io_wait: float
    rejected: int
    index_throttled_ms: int
    merge_throttled_ms: int
    receiver_cpu: float = 0.0
    loads: tuple[LoadStage, ...] = ()

    @property
    def sender_here(self) -> float:
        """The senders' share of one of our cores, 0 when they run elsewhere."""
        return 0.0 if self.loads else self.sender_cpu

    @property
    def bulk_workers(self) -> Pool:
        """The workers that send the bulks: the action's, or the main queue's where it is Direct."""
        return self.main if self.action is None else self.action

    @property
    def engine_here(self) -> float:
        """The engine's share of our cores, 0 when it runs elsewhere."""
        used = self.engine_cpu * self.engine_cores / self.cores
        return used if self.engine_is_here else 0.0

    @property
    def others_cpu(self) -> float:
        """The share of our cores that went to none of sender, rsyslogd, engine and receiver."""
        ours = self.sender_here / self.cores + self.shipper_cpu + self.engine_here
        ours += self.receiver_cpu
        return max(0.0, self.machine_cpu - ours)


def stages_of(window: Window, profile: Profile, machines: CoreCounts) -> Stages:
    """The shares of each stage of `profile`, as it was bound."""
    growth, polls = window.growth, window.whole
    window_s, loads = growth.passed_s, growth.loads
    low = backlog_marks(profile).low
    core_s = window_s * machines.cores
    inputs = [load for name, load in loads.items() if is_of_input(name)]
    first, *later = counted_queues(profile)
    bulk = window.bulk
    return Stages(
        window_s=window_s,
        cores=machines.cores,
        output=profile.measured.name,
        rate_is_fixed=profile.workload.rate != "max",
        sender_cpu=growth.sender_cpu_s / window_s,
        sender_blocked=min(1.0, growth.sender_blocked_s / window_s),
        backlog_kept=statistics.fmean(poll.backlog >= low for poll in polls),
        input_cpu=max((load.busiest for load in inputs), default=0.0),
        main=_pool(first, loads, window),
        action=_pool(later[-1], loads, window) if later else None,
        bulk_ms=bulk.p50_ms if bulk is not None else None,
        shipper_cpu=growth.shipper_cpu_s / core_s,
        engine_cpu=growth.engine_cpu_s / (window_s * machines.engine_cores),
        engine_cores=machines.engine_cores,
        engine_is_here=machines.engine_is_here,
        machine_cpu=min(1.0, growth.machine.taken_s(window_s, machines.cores) / core_s),
        io_wait=max(0.0, growth.machine.io_wait_s) / core_s,
        rejected=growth.rejected,
        index_throttled_ms=growth.index_throttled_ms,
        merge_throttled_ms=growth.merge_throttled_ms,
        receiver_cpu=growth.receiver_cpu_s / core_s,
        loads=tuple(_load(name, counts) for name, counts in growth.load_hosts.items()),
    )


def _load(name: str, counts: LoadCounts) -> LoadStage:
    host = counts.host
    passed_s = max(host.at_s, 1e-9)
    return LoadStage(
        name,
        machine_cpu=min(1.0, host.machine.taken_s(passed_s, host.cores) / (passed_s * host.cores)),
        cores=host.cores,
        speed=speed_of(host.probe),
        sender_cpu=counts.sender_cpu_s / passed_s,
        sender_blocked=min(1.0, counts.sender_blocked_s / passed_s),
    )


def _pool(queue: CountedQueue, loads: Mapping[str, Load], window: Window) -> Pool:
    threads = dict.fromkeys(worker_thread(name) for name in queue.names)
    pool_loads = [loads[name] for name in threads if name in loads]
    count = sum(load.count for load in pool_loads)
    size = _mean_size(queue.names, window)
    polls = window.whole
    backlog = statistics.fmean(poll.backlog for poll in polls)
    return Pool(
        path=queue.path,
        workers=count,
        configured=queue.placed.copies * queue.placed.workers,
        cpu=sum(load.cpu for load in pool_loads) / max(1, count),
        busiest=max((load.busiest for load in pool_loads), default=0.0),
        runnable=sum(load.runnable for load in pool_loads) / max(1, count),
        held=None if size is None or backlog < 1 else min(1.0, size / backlog),
        fill=None if size is None or queue.room == 0 else size / queue.room,
    )


def _mean_size(names: Sequence[str], window: Window) -> float | None:
    """Messages in all copies of a queue and, where they have one, in their parts on disk; None
    without impstats."""
    # A snapshot is written within the second after the moment it names.
    last_s = window.after.epoch_s - 1.0
    inside = within(window.snapshots, window.before.epoch_s, last_s)
    parts = [part for name in names for part in (name, f"{name}[DA]")]
    sizes = [
        sum(snapshot.queues[part].size for part in parts if part in snapshot.queues)
        for snapshot in inside
        if names[0] in snapshot.queues
    ]
    return statistics.fmean(sizes) if sizes else None


_WORTH_NAMING = 0.01


@dataclass(frozen=True)
class QueueUse:
    """A queue as configured (`size` and `batch` in messages, `workers`), the most messages that it
    held since rsyslogd started, in memory and in its part on disk (None without impstats, or
    without such a part), the workers that ran, the mean of the batches that they took (None where
    rsyslogd does not count them), and the messages that it discarded."""

    name: str
    size: int
    most_held: int | None
    batch: int
    workers: int
    running: int
    batch_mean: float | None = None
    most_on_disk: int | None = None
    discarded: int = 0


@dataclass(frozen=True)
class ThreadUse:
    """The threads of rsyslogd that share a name, and their CPU microseconds per event."""

    name: str
    count: int
    cpu_us: float


@dataclass(frozen=True)
class Effective:
    """What really ran over the window.

    `bulk` tells how long the engine took for a bulk request, `bulks_per_second` and
    `events_per_bulk` what rsyslog sent: by the engine, or where that does not say by rsyslogd
    (8.2610); None where neither does.  `refreshes` counts those of the window.  `bulk_waited_ms` is
    the mean time that rsyslogd waited for the answer to a bulk request, by its own count.
    """

    queues: tuple[QueueUse, ...]
    threads: tuple[ThreadUse, ...]
    bulk: BulkLatency | None
    bulks_per_second: float | None
    events_per_bulk: float | None
    refreshes: int
    bulk_waited_ms: float | None = None


def effective(window: Window, profile: Profile) -> Effective:
    """What ran over the window, for `profile` as bound."""
    growth, polls = window.growth, window.whole
    events = polls[-1].indexed - polls[0].indexed
    ends = _ends(window)
    per_second, per_bulk, waited_ms = _requests(ends) or (None, None, None)
    if growth.bulk is not None:
        requests = growth.bulk.requests
        per_second = requests / growth.passed_s
        per_bulk = events / requests if requests else None
    return Effective(
        queues=tuple(
            _queue(queue, name, window, _batch_mean(ends, queue, profile))
            for queue in counted_queues(profile)
            for name in queue.names
        ),
        threads=_threads(growth, events),
        bulk=window.bulk,
        bulks_per_second=per_second,
        events_per_bulk=per_bulk,
        refreshes=growth.refreshes,
        bulk_waited_ms=waited_ms,
    )


_Ends = tuple[Snapshot, Snapshot]


def _ends(window: Window) -> _Ends | None:
    """rsyslogd's own counters at both ends of a window; None where no two rounds are a second
    apart, for they tell whole ones."""
    inside = within(window.snapshots, window.before.epoch_s, window.after.epoch_s)
    return (inside[0], inside[-1]) if inside and inside[-1].at > inside[0].at else None


def _requests(ends: _Ends | None) -> tuple[float, float, float] | None:
    """By rsyslogd's own count, the bulk requests of a second, the events of one, and the
    milliseconds that it waited for one; None where there were none, or it does not count them:
    before 8.2610."""
    if ends is None:
        return None
    before, after = (snapshot.omelasticsearch for snapshot in ends)
    if before.requests is None or before.requests_ms is None:
        return None
    requests = (after.requests or 0) - before.requests
    if requests <= 0:
        return None
    events, waited_ms = after.submitted - before.submitted, after.requests_ms or 0
    per_second = requests / (ends[1].at - ends[0].at)
    return per_second, events / requests, (waited_ms - before.requests_ms) / requests


def _batch_mean(ends: _Ends | None, queue: CountedQueue, profile: Profile) -> float | None:
    """The mean batch of an output's queue."""
    if ends is None or queue.placed.path[0] != "outputs":
        return None
    name = counted_action(profile, int(queue.placed.path[1]))
    before, after = (snapshot.actions.get(name) for snapshot in ends)
    if before is None or after is None or before.batches is None or after.batches is None:
        return None
    batches = after.batches - before.batches
    return (after.processed - before.processed) / batches if batches > 0 else None


def _queue(queue: CountedQueue, name: str, window: Window, batch_mean: float | None) -> QueueUse:
    last = window.snapshots[-1].queues if window.snapshots else {}
    memory, disk = last.get(name), last.get(f"{name}[DA]")
    return QueueUse(
        name=name,
        size=queue.placed.size,
        most_held=None if memory is None else memory.maxqsize,
        batch=queue.placed.batch,
        workers=queue.placed.workers,
        running=len(window.after.threads.get(worker_thread(name), ())),
        batch_mean=batch_mean,
        most_on_disk=None if disk is None else disk.maxqsize,
        discarded=sum(part.discarded_full + part.discarded_nf for part in (memory, disk) if part),
    )


def _threads(growth: Growth, events: int) -> tuple[ThreadUse, ...]:
    """The threads that used a hundredth of a core or more, the busiest first."""
    uses = [
        ThreadUse(name, load.count, load.cpu * growth.passed_s * 1e6 / max(1, events))
        for name, load in growth.loads.items()
        if load.cpu >= _WORTH_NAMING
    ]
    return tuple(sorted(uses, key=lambda use: use.cpu_us, reverse=True))
