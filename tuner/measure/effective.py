"""What was effective beside what was configured: queues, workers, threads, bulk requests; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tuner.engine.bulk_times import BulkLatency
from tuner.lab.impstats import Snapshot
from tuner.measure.counters import Growth, Window
from tuner.measure.stages import CountedQueue, counted_queues, worker_thread
from tuner.profile.model import Profile

_WORTH_NAMING = 0.01


@dataclass(frozen=True)
class QueueUse:
    """A queue as configured (`size` and `batch` in messages, `workers`), the most messages that it
    held since rsyslogd started (None when nobody counted), and the workers that ran."""

    name: str
    size: int
    most_held: int | None
    batch: int
    workers: int
    running: int


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
    `events_per_bulk` what rsyslog sent; None where the engine does not say.  `refreshes` counts
    those of the window.
    """

    queues: tuple[QueueUse, ...]
    threads: tuple[ThreadUse, ...]
    bulk: BulkLatency | None
    bulks_per_second: float | None
    events_per_bulk: float | None
    refreshes: int


def effective(window: Window, profile: Profile) -> Effective:
    """What ran over the window, for `profile` as bound."""
    growth, polls = window.growth, window.whole
    events = polls[-1].indexed - polls[0].indexed
    requests = None if growth.bulk is None else growth.bulk.requests
    return Effective(
        queues=tuple(
            _queue(queue, name, window) for queue in counted_queues(profile) for name in queue.names
        ),
        threads=_threads(growth, events),
        bulk=window.bulk,
        bulks_per_second=None if requests is None else requests / growth.passed_s,
        events_per_bulk=events / requests if requests else None,
        refreshes=growth.refreshes,
    )


def most_held(name: str, snapshots: Sequence[Snapshot]) -> int | None:
    """The most messages that were in a queue, those in its part on disk not included."""
    held = [one.queues[name].maxqsize for one in snapshots if name in one.queues]
    return max(held, default=None)


def _queue(queue: CountedQueue, name: str, window: Window) -> QueueUse:
    threads = window.after.threads.get(worker_thread(name))
    return QueueUse(
        name=name,
        size=queue.placed.size,
        most_held=most_held(name, window.snapshots),
        batch=queue.placed.batch,
        workers=queue.placed.workers,
        running=threads.count if threads is not None else 0,
    )


def _threads(growth: Growth, events: int) -> tuple[ThreadUse, ...]:
    """The threads that used a hundredth of a core or more, the busiest first."""
    uses = [
        ThreadUse(name, load.count, load.cpu * growth.passed_s * 1e6 / max(1, events))
        for name, load in growth.loads.items()
        if load.cpu >= _WORTH_NAMING
    ]
    return tuple(sorted(uses, key=lambda use: use.cpu_us, reverse=True))
