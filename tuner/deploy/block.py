"""A block of a trial in production: the time that one side ran on a host, by its own counters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tuner.diagnose.collector import dropped_events
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import Diagnosed, diagnose
from tuner.diagnose.outputs import is_away
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import Settings
from tuner.modules.queue import QueueType
from tuner.modules.stats_rounds import StatsRound

# Of omelasticsearch and of actions: what was not delivered, or not at once.
_FAILURES = ("failed", "failed.http", "failed.httprequests", "failed.checkConn", "failed.es")
_REJECTIONS = ("response.bulkrejection",)


class Side(Enum):
    """What runs: the configuration that the host had, or the candidate."""

    A = "A"
    B = "B"


@dataclass(frozen=True)
class BlockFigures:
    """What the counters of a host say of a block: seconds that they cover, events that came in, CPU
    seconds and peak memory of rsyslogd, the highest share of a queue, events that were thrown away,
    attempts that failed, bulk items that the engine rejected, seconds in which an output was
    away, datagrams that the kernel dropped, and events that waited at the end in queues that a
    restart empties: neither on disk nor saved there."""

    seconds: float
    events: int
    cpu_s: float
    memory_bytes: int
    queue_share: float
    discarded: int
    failed: int
    rejected: int
    away_s: float
    udp_drops: int = 0
    waiting: int = 0

    @property
    def per_second(self) -> float:
        """Events a second."""
        return self.events / self.seconds if self.seconds > 0 else 0.0

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU per event."""
        return 1e6 * self.cpu_s / self.events if self.events else 0.0

    @property
    def is_measured(self) -> bool:
        """Whether there was anything to compare: events, and CPU that was counted."""
        return self.events > 0 and self.cpu_s > 0


def block_figures(
    rounds: Iterable[StatsRound], settings: Settings, udp_drops: int = 0
) -> BlockFigures | None:
    """The figures of these rounds of one rsyslogd; None with less than two, or where it does not
    count its CPU or what comes in."""
    daemons = diagnose(courses(rounds, is_since_start=False), settings)
    return None if len(daemons) != 1 else _figures(daemons[0], udp_drops)


def _survives(queue: QueueCourse) -> bool:
    """Whether what waits in a queue is there after a restart, too."""
    parameters = queue.parameters
    if parameters is None:
        return False
    return parameters.type is QueueType.DISK or bool(parameters.save_on_shutdown)


def _figures(daemon: Diagnosed, udp_drops: int) -> BlockFigures | None:
    course = daemon.course
    if course.is_single or course.cpu_s is None or course.usage is None:
        return None
    if not daemon.counts_arrivals:
        return None
    counting = [*course.objects_of("core.action"), *course.objects_of("omelasticsearch")]
    shares = (
        max(queue.size) / queue.parameters.size
        for queue in daemon.queues
        if queue.parameters is not None and queue.parameters.size is not None
    )
    return BlockFigures(
        seconds=course.seconds,
        events=round(sum(daemon.came)),
        cpu_s=sum(course.cpu_s),
        memory_bytes=1024 * course.usage.highest("maxrss"),
        queue_share=max(shares, default=0.0),
        discarded=sum(queue.lost for queue in daemon.queues) + dropped_events(course),
        failed=sum(series.total(name) for series in counting for name in _FAILURES),
        rejected=sum(series.total(name) for series in counting for name in _REJECTIONS),
        away_s=course.lasted(n for n, away in enumerate(is_away(course)) if away),
        udp_drops=udp_drops,
        waiting=round(sum(queue.size[-1] for queue in daemon.queues if not _survives(queue))),
    )
