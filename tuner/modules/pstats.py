"""The counters of impstats that we know, as records; pure.

rsyslogd's counters explain and never score: `enqueued` counts what is discarded later, `processed`
what is handed to a queue and not what is delivered, `submitted` what is tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tuner.modules.stats_rounds import StatsObject, last_objects, rounds


@dataclass(frozen=True)
class QueueCounters:
    """One queue: messages in it, those under way included, and counts since the start.

    `full` counts waits for room, `discarded_full` and `discarded_nf` messages thrown away because
    the queue was full or nearly so.  `disk_bytes` is what segmented files take (8.2608 and later;
    rsyslog's int ends at 2 GiB), None for other queues.
    """

    size: int
    enqueued: int
    full: int
    discarded_full: int
    discarded_nf: int
    maxqsize: int
    disk_bytes: int | None = None


@dataclass(frozen=True)
class ActionCounters:
    """One action: messages submitted to it, failed ones, and how often it was suspended.

    `batches` is what rsyslog 8.2602 and later count, None before; `rate_dropped` what its own rate
    limit threw away (8.2610).
    """

    processed: int
    failed: int
    suspended: int
    batches: int | None = None
    rate_dropped: int = 0


@dataclass(frozen=True)
class ElasticsearchCounters:
    """All omelasticsearch actions together; `failed_es` counts batches with a failed item.

    `requests` are bulk requests, and `requests_ms` how long rsyslogd waited for all of them: what
    8.2610 counts, None before.
    """

    submitted: int = 0
    failed_http: int = 0
    failed_httprequests: int = 0
    failed_check_conn: int = 0
    failed_es: int = 0
    requests: int | None = None
    requests_ms: int | None = None


@dataclass(frozen=True)
class ResourceUsage:
    """What rsyslogd used: microseconds of CPU, peak memory in KiB, context switches."""

    utime_us: int = 0
    stime_us: int = 0
    maxrss_kib: int = 0
    nvcsw: int = 0
    nivcsw: int = 0


@dataclass(frozen=True)
class Snapshot:
    """The counters of a round that we know, at `at` (seconds since 1970, whole ones)."""

    at: float
    queues: Mapping[str, QueueCounters]
    actions: Mapping[str, ActionCounters]
    omelasticsearch: ElasticsearchCounters
    usage: ResourceUsage


def snapshots(text: str) -> tuple[Snapshot, ...]:
    """The complete rounds in a text whose lines say their time, oldest first."""
    return tuple(_snapshot(one.at, one.objects) for one in rounds(text) if one.at is not None)


def last_figures(text: str) -> Snapshot | None:
    """The last figures of each object in the end of a file that impstats wrote, in any of its
    formats, with or without brackets; None without any."""
    objects = last_objects(text)
    return _snapshot(0, objects) if objects else None


def within(every: Iterable[Snapshot], first_s: float, last_s: float) -> tuple[Snapshot, ...]:
    """The snapshots of a span of time, both ends in seconds since 1970."""
    return tuple(one for one in every if first_s <= one.at <= last_s)


def _snapshot(at: float, objects: Iterable[StatsObject]) -> Snapshot:
    queues: dict[str, QueueCounters] = {}
    actions: dict[str, ActionCounters] = {}
    engine, usage = ElasticsearchCounters(), ResourceUsage()
    for one in objects:
        match one.origin:
            case "core.queue":
                queues[one.name] = _queue(one.counters)
            case "core.action":
                actions[one.name] = _action(one.counters)
            case "omelasticsearch":
                engine = _elasticsearch(one.counters)
            case "impstats" if one.name == "resource-usage":
                usage = _usage(one.counters)
            case _:
                continue
    return Snapshot(at, queues, actions, engine, usage)


# A counter that the release does not have is 0, or None where that would say something.
def _queue(one: Mapping[str, int]) -> QueueCounters:
    return QueueCounters(
        size=one.get("size", 0),
        enqueued=one.get("enqueued", 0),
        full=one.get("full", 0),
        discarded_full=one.get("discarded.full", 0),
        discarded_nf=one.get("discarded.nf", 0),
        maxqsize=one.get("maxqsize", 0),
        disk_bytes=one.get("disk.usage"),
    )


def _action(one: Mapping[str, int]) -> ActionCounters:
    return ActionCounters(
        processed=one.get("processed", 0),
        failed=one.get("failed", 0),
        suspended=one.get("suspended", 0),
        batches=one.get("batchesprocessed"),
        rate_dropped=one.get("ratelimit.dropped", 0),
    )


def _elasticsearch(one: Mapping[str, int]) -> ElasticsearchCounters:
    return ElasticsearchCounters(
        submitted=one.get("submitted", 0),
        failed_http=one.get("failed.http", 0),
        failed_httprequests=one.get("failed.httprequests", 0),
        failed_check_conn=one.get("failed.checkConn", 0),
        failed_es=one.get("failed.es", 0),
        requests=one.get("requests.count"),
        requests_ms=one.get("requests.time_ms"),
    )


def _usage(one: Mapping[str, int]) -> ResourceUsage:
    return ResourceUsage(
        utime_us=one.get("utime", 0),
        stime_us=one.get("stime", 0),
        maxrss_kib=one.get("maxrss", 0),
        nvcsw=one.get("nvcsw", 0),
        nivcsw=one.get("nivcsw", 0),
    )
