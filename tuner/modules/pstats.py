"""The counters of impstats that we know, as records; pure.

rsyslogd's counters explain and never score: `enqueued` counts what is discarded later, `processed`
what is handed to a queue and not what is delivered, `submitted` what is tried again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TypeVar

from tuner.modules.stats_rounds import StatsObject, rounds


@dataclass(frozen=True)
class QueueCounters:
    """One queue: messages in it, those under way included, and counts since the start.

    `full` counts waits for room, `discarded_full` and `discarded_nf` messages thrown away because
    the queue was full or nearly so.
    """

    size: int = 0
    enqueued: int = 0
    full: int = 0
    discarded_full: int = 0
    discarded_nf: int = 0
    maxqsize: int = 0


@dataclass(frozen=True)
class ActionCounters:
    """One action: messages submitted to it, failed ones, and how often it was suspended.

    `batches` is what rsyslog 8.2602 and later count, None before.
    """

    processed: int = 0
    failed: int = 0
    suspended: int = 0
    batches: int | None = None


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
    return tuple(_snapshot(item.at, item.objects) for item in rounds(text) if item.at is not None)


def within(taken: Iterable[Snapshot], first_s: float, last_s: float) -> tuple[Snapshot, ...]:
    """The snapshots of a span of time, both ends in seconds since 1970."""
    return tuple(snapshot for snapshot in taken if first_s <= snapshot.at <= last_s)


def _snapshot(at: float, objects: Iterable[StatsObject]) -> Snapshot:
    queues: dict[str, QueueCounters] = {}
    actions: dict[str, ActionCounters] = {}
    engine, usage = ElasticsearchCounters(), ResourceUsage()
    for item in objects:
        match item.origin:
            case "core.queue":
                queues[item.name] = _record(QueueCounters, item)
            case "core.action":
                actions[item.name] = _record(ActionCounters, item)
            case "omelasticsearch":
                engine = _record(ElasticsearchCounters, item)
            case "impstats" if item.name == "resource-usage":
                usage = _record(ResourceUsage, item)
            case _:
                continue
    return Snapshot(at, queues, actions, engine, usage)


# rsyslog's names of counters that are not those of the fields.
_NAMES = {
    "discarded_full": "discarded.full", "discarded_nf": "discarded.nf",
    "batches": "batchesprocessed",
    "failed_http": "failed.http", "failed_httprequests": "failed.httprequests",
    "failed_check_conn": "failed.checkConn", "failed_es": "failed.es",
    "requests": "requests.count", "requests_ms": "requests.time_ms",
    "utime_us": "utime", "stime_us": "stime", "maxrss_kib": "maxrss",
}  # fmt: skip
_Record = TypeVar("_Record", QueueCounters, ActionCounters, ElasticsearchCounters, ResourceUsage)


def _record(kind: type[_Record], item: StatsObject) -> _Record:
    """The counters of an object; one that the release does not have is 0, or None where that would
    say something."""
    names = {field.name: _NAMES.get(field.name, field.name) for field in fields(kind)}
    counted = {field: item.counters[name] for field, name in names.items() if name in item.counters}
    return kind(**counted)
