"""What impstats writes, in each of its formats, as records; pure.

rsyslogd's counters explain and never score: `enqueued` counts what is discarded later, `processed`
what is handed to a queue and not what is delivered, `submitted` what is tried again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

# Prometheus's format (8.2506) tells whose counter it is in a comment before the sample.
_HELP = re.compile(r'# HELP (\S+) rsyslog stats: origin="(.*?)" object="(.*)", counter="(.*)"')
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\S+")


@dataclass(frozen=True)
class StatsObject:
    """One object that counts: `core.queue`, `core.action`, a module, by its name; its counters by
    the names that the format json has for them."""

    origin: str
    name: str
    counters: Mapping[str, int]


@dataclass(frozen=True)
class StatsRound:
    """All objects as one round of impstats wrote them, at `at` (seconds since 1970, whole ones;
    None where the lines do not say).

    They are read one after the other, so they may differ by what happened in between.
    """

    at: float | None
    objects: tuple[StatsObject, ...]


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


def rounds(text: str) -> tuple[StatsRound, ...]:
    """The complete rounds in a text of any format, oldest first: what stands between BEGIN and END.

    Without such brackets a round ends where an object comes again at another time, or the text
    ends.
    """
    found: list[StatsRound] = []
    begun: StatsRound | None = None
    in_brackets = False
    for at, content in _lines(text):
        if content == "BEGIN":
            begun, in_brackets = StatsRound(at, ()), True
        elif content == "END":
            found += [begun] if begun is not None else []
            begun = None
        elif begun is not None and in_brackets:
            begun = replace(begun, objects=(*begun.objects, *content))
        elif not in_brackets:
            if begun is None or (at != begun.at and _counted(begun.objects) & _counted(content)):
                found += [begun] if begun is not None else []
                begun = StatsRound(at, ())
            begun = replace(begun, objects=(*begun.objects, *content))
    if begun is not None and begun.objects and not in_brackets:
        found.append(begun)
    return tuple(replace(one, objects=_merged(one.objects)) for one in found)


def _counted(objects: str | Iterable[StatsObject]) -> set[tuple[str, str, str]]:
    every = () if isinstance(objects, str) else objects
    return {(one.origin, one.name, counter) for one in every for counter in one.counters}


def last_objects(text: str) -> tuple[StatsObject, ...]:
    """Each object as it last stands in a text, such as the end of a file, complete or not."""
    every: dict[tuple[str, str], StatsObject] = {}
    for _, content in _lines(text):
        for one in content if not isinstance(content, str) else ():
            key = (one.origin, one.name)
            old = every[key].counters if key in every else {}
            every[key] = replace(one, counters={**old, **one.counters})
    return tuple(every.values())


def _lines(text: str) -> Iterator[tuple[float | None, str | tuple[StatsObject, ...]]]:
    """Each line that says something: its time, and BEGIN, END or the objects on it."""
    helps: Mapping[str, tuple[str, str, str]] = {}
    at: float | None = None
    for line in text.splitlines():
        sample = helps.get(line.partition(" ")[0])
        if sample is not None:
            yield at, _sample(line, sample)
            continue
        head, _, content = line.partition(": ")
        content = content.removeprefix("@cee:").strip()
        if content in {"BEGIN", "END"}:
            yield _seconds(head), content
        elif (help_ := _HELP.fullmatch(content)) is not None:
            name, *of = help_.groups()
            at, helps = _seconds(head), {name: (of[0], of[1], of[2])}
        else:
            read = _of_json if content.startswith("{") else _of_legacy
            objects = tuple(read(content))
            if objects:
                yield _seconds(head), objects


def _seconds(head: str) -> float | None:
    """`Fri Nov 20 23:57:42 2026`, local time, or the time that a line of a log begins with."""
    try:
        if _ISO.match(head):
            return float(int(datetime.fromisoformat(head.split()[0]).timestamp()))
        return datetime.strptime(head, "%a %b %d %H:%M:%S %Y").timestamp()
    except ValueError:
        return None


def _sample(line: str, of: tuple[str, str, str]) -> tuple[StatsObject, ...]:
    origin, name, counter = of
    value = line.rpartition(" ")[2]
    return (StatsObject(origin, name, {counter: int(value)}),) if value.isdigit() else ()


def _of_json(content: str) -> Iterator[StatsObject]:
    """The object on a line, or all of a round (zabbix); nothing where the line is cut."""
    try:
        parsed = json.loads(content)
    except json.JSONDecodeError:
        return
    if "origin" in parsed:
        yield _object(parsed)
        return
    for several in parsed.values():
        if isinstance(several, list):
            yield from (_object(one) for one in several if isinstance(one, dict))


def _object(parsed: Mapping[str, object]) -> StatsObject:
    """Numbers of dynamic statistics stand one deeper; json-elasticsearch has ! for dots."""
    inner = parsed.get("values")
    every = {**parsed, **(inner if isinstance(inner, dict) else {})}
    counters = {
        key.replace("!", "."): value for key, value in every.items() if isinstance(value, int)
    }
    return StatsObject(str(parsed.get("origin")), str(parsed.get("name")), counters)


def _of_legacy(content: str) -> Iterator[StatsObject]:
    """`main Q: origin=core.queue size=0 enqueued=5 `: the object on a line of the oldest format."""
    name, origin, rest = content.rpartition(": origin=")
    if origin:
        where, *pairs = rest.split()
        numbers = (pair.rpartition("=") for pair in pairs)
        counters = {key: int(value) for key, _, value in numbers if value.isdigit()}
        yield StatsObject(where, name, counters)


def _merged(objects: Iterable[StatsObject]) -> tuple[StatsObject, ...]:
    """The counters of an object together, which Prometheus's format has one by one."""
    every: list[StatsObject] = []
    for one in objects:
        last = every[-1] if every else None
        if last is not None and (last.origin, last.name) == (one.origin, one.name):
            every[-1] = replace(one, counters={**last.counters, **one.counters})
        else:
            every.append(one)
    return tuple(every)
