"""rsyslog's own counters: switched on in a lab's configuration, and read back.

They explain a measurement and never score one: `enqueued` counts what is discarded later,
`processed` what is handed to a queue and not what is delivered, `submitted` what is tried again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tuner.host.process import open_given
from tuner.render.quoting import Emitted, quote

INTERVAL_S = 1


@dataclass(frozen=True)
class QueueCounters:
    """One queue: messages in it, those under way included, and counts since the start.

    `full` counts waits for room, `discarded_full` and `discarded_nf` messages thrown away because
    the queue was full or nearly so.
    """

    size: int
    enqueued: int
    full: int
    discarded_full: int
    discarded_nf: int
    maxqsize: int


@dataclass(frozen=True)
class ActionCounters:
    """One action: messages submitted to it, failed ones, and how often it was suspended.

    `batches` is what rsyslog 8.2602 and later count, None before.
    """

    processed: int
    failed: int
    suspended: int
    batches: int | None = None


@dataclass(frozen=True)
class ElasticsearchCounters:
    """All omelasticsearch actions together; `failed_es` counts batches with a failed item."""

    submitted: int = 0
    failed_http: int = 0
    failed_httprequests: int = 0
    failed_check_conn: int = 0
    failed_es: int = 0


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
    """All counters as one round of impstats wrote them, at `at` (seconds since 1970, whole ones).

    They are read one after the other, so they may differ by what happened in between.
    """

    at: float
    queues: Mapping[str, QueueCounters]
    actions: Mapping[str, ActionCounters]
    omelasticsearch: ElasticsearchCounters
    usage: ResourceUsage


def impstats_section(path: Path) -> Emitted:
    """The statement that makes rsyslogd append its counters to `path` once a second.

    It can stand at the end of a configuration.  The interval is the shortest there is.
    """
    return Emitted(
        f'module(load="impstats" interval={quote(INTERVAL_S)} format="json" resetCounters="off"'
        f' log.syslog="off" log.file={quote(str(path))} bracketing="on")\n'
    )


def read(path: Path) -> tuple[Snapshot, ...]:
    """The complete rounds in the file, oldest first; none when there is no file yet."""
    try:
        with open_given(path) as file:
            text = file.read().decode(errors="replace")
    except OSError:
        return ()
    return tuple(_snapshots(text.splitlines()))


def last_figures(text: str) -> Snapshot | None:
    """The last figures of each object in the end of a file that impstats wrote, in any of its
    formats, with or without brackets; None without any."""
    figures = [
        one
        for _, _, each in (line.partition(": ") for line in text.splitlines())
        for one in (_objects(each.removeprefix("@cee:").strip()) or _legacy(each))
    ]
    return _snapshot(0, figures) if figures else None


def within(snapshots: Iterable[Snapshot], first_s: float, last_s: float) -> tuple[Snapshot, ...]:
    """The snapshots of a span of time, both ends in seconds since 1970."""
    return tuple(one for one in snapshots if first_s <= one.at <= last_s)


def _snapshots(lines: Iterable[str]) -> Iterator[Snapshot]:
    """Each line is `ctime: text`; a round stands between BEGIN and END (rsyslog.md 4.1)."""
    begun_at: float | None = None
    objects: list[Mapping[str, object]] = []
    for line in lines:
        head, _, text = line.partition(": ")
        if text == "BEGIN":
            begun_at, objects = _seconds(head), []
        elif text == "END" and begun_at is not None:
            yield _snapshot(begun_at, objects)
            begun_at = None
        elif text.startswith("{"):
            objects += _objects(text)


def _seconds(ctime: str) -> float | None:
    """`Fri Nov 20 23:57:42 2026`, local time, as seconds since 1970."""
    try:
        return datetime.strptime(ctime, "%a %b %d %H:%M:%S %Y").timestamp()
    except ValueError:
        return None


def _objects(text: str) -> list[Mapping[str, object]]:
    """The object on a line, or nothing when the line is cut."""
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        return []
    if not isinstance(parsed, dict):
        return []
    # json-elasticsearch has ! for dots.
    return [{key.replace("!", "."): value for key, value in parsed.items()}]


def _legacy(text: str) -> list[Mapping[str, object]]:
    """`main Q: origin=core.queue size=0 enqueued=5 `: the object on a line of the oldest format."""
    name, origin, rest = text.rpartition(": origin=")
    if not origin:
        return []
    where, *pairs = rest.split()
    numbers = (pair.partition("=") for pair in pairs)
    counts = {key: int(value) for key, _, value in numbers if value.isdigit()}
    return [{"name": name, "origin": where, **counts}]


def _snapshot(at: float, objects: Iterable[Mapping[str, object]]) -> Snapshot:
    queues: dict[str, QueueCounters] = {}
    actions: dict[str, ActionCounters] = {}
    engine, usage = ElasticsearchCounters(), ResourceUsage()
    for one in objects:
        name = str(one.get("name"))
        match one.get("origin"):
            case "core.queue":
                queues[name] = _queue(one)
            case "core.action":
                actions[name] = _action(one)
            case "omelasticsearch":
                engine = _elasticsearch(one)
            case "impstats" if name == "resource-usage":
                usage = _usage(one)
            case _:
                continue
    return Snapshot(at, queues, actions, engine, usage)


def _queue(one: Mapping[str, object]) -> QueueCounters:
    return QueueCounters(
        size=_number(one, "size"),
        enqueued=_number(one, "enqueued"),
        full=_number(one, "full"),
        discarded_full=_number(one, "discarded.full"),
        discarded_nf=_number(one, "discarded.nf"),
        maxqsize=_number(one, "maxqsize"),
    )


def _action(one: Mapping[str, object]) -> ActionCounters:
    batches = _number(one, "batchesprocessed") if "batchesprocessed" in one else None
    return ActionCounters(
        _number(one, "processed"), _number(one, "failed"), _number(one, "suspended"), batches
    )


def _elasticsearch(one: Mapping[str, object]) -> ElasticsearchCounters:
    return ElasticsearchCounters(
        submitted=_number(one, "submitted"),
        failed_http=_number(one, "failed.http"),
        failed_httprequests=_number(one, "failed.httprequests"),
        failed_check_conn=_number(one, "failed.checkConn"),
        failed_es=_number(one, "failed.es"),
    )


def _usage(one: Mapping[str, object]) -> ResourceUsage:
    return ResourceUsage(
        utime_us=_number(one, "utime"),
        stime_us=_number(one, "stime"),
        maxrss_kib=_number(one, "maxrss"),
        nvcsw=_number(one, "nvcsw"),
        nivcsw=_number(one, "nivcsw"),
    )


def _number(one: Mapping[str, object], name: str) -> int:
    """The counter, 0 when this release does not have it."""
    value = one.get(name)
    return value if isinstance(value, int) else 0
