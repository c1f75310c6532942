"""What was effective beside what was configured: queues, workers, threads, bulk requests; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.engine.bulk_times import BulkLatency
from tuner.measure.counters import Growth, Window
from tuner.measure.stages import CountedQueue, counted_queues
from tuner.modules.pstats import Snapshot, within
from tuner.profile.model import Profile
from tuner.render.rulesets import counted_action
from tuner.script.counted import worker_thread

_WORTH_NAMING = 0.01


@dataclass(frozen=True)
class QueueUse:
    """A queue as configured (`size` and `batch` in messages, `workers`), the most messages that it
    held since rsyslogd started (None without impstats), the workers that ran, and the mean of
    the batches that they took (None where rsyslogd does not count them)."""

    name: str
    size: int
    most_held: int | None
    batch: int
    workers: int
    running: int
    batch_mean: float | None = None


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


def most_held(name: str, snapshots: Sequence[Snapshot]) -> int | None:
    """The most messages that were in a queue, those in its part on disk not included."""
    held = [snapshot.queues[name].maxqsize for snapshot in snapshots if name in snapshot.queues]
    return max(held, default=None)


def _queue(queue: CountedQueue, name: str, window: Window, batch_mean: float | None) -> QueueUse:
    threads = window.after.threads.get(worker_thread(name))
    return QueueUse(
        name=name,
        size=queue.placed.size,
        most_held=most_held(name, window.snapshots),
        batch=queue.placed.batch,
        workers=queue.placed.workers,
        running=threads.count if threads is not None else 0,
        batch_mean=batch_mean,
    )


def _threads(growth: Growth, events: int) -> tuple[ThreadUse, ...]:
    """The threads that used a hundredth of a core or more, the busiest first."""
    uses = [
        ThreadUse(name, load.count, load.cpu * growth.passed_s * 1e6 / max(1, events))
        for name, load in growth.loads.items()
        if load.cpu >= _WORTH_NAMING
    ]
    return tuple(sorted(uses, key=lambda use: use.cpu_us, reverse=True))
