"""The state of an engine: its version and nodes, its limits and its counters.

Measured indices get only the requests `_stats`, `_nodes/stats`, `_refresh` and `_count`, the last
two only after a trial: a search or count during one would switch on the refresh of an idle shard.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tuner.engine.client import EngineClient, EngineRefused, at, number_at, object_at
from tuner.errors import JobFailed, Unreachable

_POLL_S = 0.25
_VERSION = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}[0-9A-Za-z.+_-]{0,30}")
_LONGEST_NAME = 40
SILENCE_S = 3.0
"""How long a busy engine may take to answer a short request."""


_PRESSURE = ("indexing_pressure", "memory")
_PROCESSORS = ("os", "allocated_processors")


def _number(
    client: EngineClient, path: str, keys: tuple[str, ...], timeout_s: float | None = None
) -> int:
    """One number from an answer, at the path `keys`."""
    return number_at(client.get(f"{path}?filter_path={'.'.join(keys)}", timeout_s), *keys)


def _per_node(client: EngineClient, path: str, *counters: tuple[str, ...]) -> list[list[int]]:
    """For each counter, a path of keys, its values on all nodes."""
    filters = ",".join(f"nodes.*.{'.'.join(keys)}" for keys in counters)
    nodes = object_at(client.get(f"/_nodes/{path}?filter_path={filters}"), "nodes").values()
    return [[number_at(node, *keys) for node in nodes] for keys in counters]


@dataclass(frozen=True)
class EngineFacts:
    """Name, version and size of an engine; `processors` is the sum over its nodes of what each may
    use, by CPU affinity, control group or `node.processors`."""

    distribution: str
    version: str
    data_nodes: int
    processors: int


def facts(client: EngineClient) -> EngineFacts:
    """Distribution, version and data nodes.

    Elasticsearch's minimal distributions answer `GET /` with 405 from 8.17 on, so the version
    comes from `_nodes/_local`; only OpenSearch names itself under `GET /`.
    """
    nodes = object_at(client.get("/_nodes/_local?filter_path=nodes.*.version"), "nodes")
    version = str(at(next(iter(nodes.values()), None), "version"))
    if _VERSION.fullmatch(version) is None:
        raise JobFailed(f"{client.url} answers, but not like Elasticsearch or OpenSearch")
    try:
        distribution = at(client.get("/"), "version", "distribution")
    except EngineRefused:
        distribution = None
    return EngineFacts(
        distribution=str(distribution or "elasticsearch")[:_LONGEST_NAME],
        version=version,
        data_nodes=_number(client, "/_cluster/health", ("number_of_data_nodes",)),
        processors=sum(*_per_node(client, "os", _PROCESSORS)),
    )


def answers(client: EngineClient) -> bool:
    """Whether the engine answers the version probe."""
    try:
        client.get("/_nodes/_local?filter_path=nodes.*.version", SILENCE_S)
    except (Unreachable, EngineRefused):
        return False
    return True


def node_count(client: EngineClient) -> int:
    """How many nodes the engine's cluster has; 0 if the engine does not answer."""
    try:
        return len(object_at(client.get("/_nodes?filter_path=nodes.*.name", SILENCE_S), "nodes"))
    except (Unreachable, EngineRefused):
        return 0


def lost_shards(client: EngineClient, pattern: str, patience_s: float) -> str | None:
    """A message if shards of `pattern` have no copy left after `patience_s` seconds, None if each
    has one."""
    path = f"/_cluster/health/{pattern}?level=indices"
    deadline = time.monotonic() + patience_s
    while True:
        health = client.get(path)
        indices = object_at(health, "indices").values()
        shards = sum(number_at(index, "number_of_shards") for index in indices)
        lost = shards - number_at(health, "active_primary_shards")
        if lost == 0 or time.monotonic() > deadline:
            message = f"the index is red: no copy is left of {lost} of its {shards} shards"
            return message if lost else None
        time.sleep(_POLL_S)


@dataclass(frozen=True)
class EngineLimits:
    """Limits in bytes, each the smallest over all nodes; None if no node reports it.

    `request` is `http.max_content_length`, above which a node answers 413.  `pressure` is
    `indexing_pressure.memory.limit`, the bytes of all bulks under way above which it answers 429.
    """

    request: int | None
    pressure: int | None


def limits(client: EngineClient) -> EngineLimits:
    """The limits that every node can take, as the nodes report them, defaults included."""
    room, pressure = ("http", "max_content_length_in_bytes"), (*_PRESSURE, "limit_in_bytes")
    sizes = (
        *_per_node(client, "http", room),
        *_per_node(client, "stats/indexing_pressure", pressure),
    )
    return EngineLimits(*(min(filter(None, values), default=None) for values in sizes))


@dataclass(frozen=True)
class IndexCounters:
    """Counters of the primaries since the indices were created, times in milliseconds."""

    indexed: int
    throttle_ms: int
    merge_throttled_ms: int
    refreshes: int
    segments: int
    store_bytes: int


def indexed(client: EngineClient, pattern: str, timeout_s: float | None = None) -> int:
    """Documents indexed into the primaries of `pattern` so far; exact and immediate."""
    counter = ("_all", "primaries", "indexing", "index_total")
    return _number(client, f"/{pattern}/_stats/indexing", counter, timeout_s)


def index_counters(client: EngineClient, pattern: str) -> IndexCounters:
    """The counters of the indices of `pattern`."""
    metrics = "indexing,merge,refresh,segments,store"
    answer = client.get(f"/{pattern}/_stats/{metrics}?filter_path=_all.primaries")
    primaries = object_at(answer, "_all", "primaries")
    return IndexCounters(
        indexed=number_at(primaries, "indexing", "index_total"),
        throttle_ms=number_at(primaries, "indexing", "throttle_time_in_millis"),
        merge_throttled_ms=number_at(primaries, "merges", "total_throttled_time_in_millis"),
        refreshes=number_at(primaries, "refresh", "total"),
        segments=number_at(primaries, "segments", "count"),
        store_bytes=number_at(primaries, "store", "size_in_bytes"),
    )


def refreshes(client: EngineClient, pattern: str, timeout_s: float | None = None) -> int:
    """How many external refreshes, which make documents searchable, have run so far."""
    counter = ("_all", "primaries", "refresh", "external_total")
    return _number(client, f"/{pattern}/_stats/refresh", counter, timeout_s)


_CPU = ("process", "cpu", "total_in_millis")
_REJECTED = (
    ("thread_pool", "write", "rejected"),
    (*_PRESSURE, "total", "coordinating_rejections"),
    (*_PRESSURE, "total", "primary_rejections"),
)


@dataclass(frozen=True)
class NodeCounters:
    """CPU milliseconds of all nodes, and their rejections: tasks of the write thread pools, and
    operations beyond `indexing_pressure.memory.limit`."""

    cpu_ms: int
    rejected: int


@dataclass(frozen=True)
class BulkWork:
    """What all nodes did for bulk requests since they started: operations, one for each request and
    shard, and the milliseconds that they took; 0 of both where an engine does not count them
    (Elasticsearch does since 7.8)."""

    operations: int
    took_ms: int


_BULKS = (("indices", "bulk", "total_operations"), ("indices", "bulk", "total_time_in_millis"))


def bulk_work(client: EngineClient) -> BulkWork:
    """What the nodes of an engine did for bulk requests so far."""
    fields = ",".join(f"nodes.*.{'.'.join(keys)}" for keys in _BULKS)
    answer = client.get(f"/_nodes/stats/indices/bulk?filter_path={fields}")
    nodes = object_at(answer, "nodes").values()
    return BulkWork(*(sum(number_at(node, *keys) for node in nodes) for keys in _BULKS))


class NodeSilent(JobFailed):
    """A node of the cluster did not report its counters: it may have just died."""


def node_counters(client: EngineClient, timeout_s: float | None = None) -> NodeCounters:
    """The counters of all nodes since they started, summed up; raises NodeSilent if the answer of a
    node is missing."""
    counters = ",".join(
        ("_nodes.failed", *(f"nodes.*.{'.'.join(keys)}" for keys in (_CPU, *_REJECTED)))
    )
    path = "/_nodes/stats/process,thread_pool,indexing_pressure"
    answer = client.get(f"{path}?filter_path={counters}", timeout_s)
    if failed := number_at(answer, "_nodes", "failed"):
        raise NodeSilent(
            f"{failed} of the engine's nodes did not say what they counted: measure again"
        )
    nodes = object_at(answer, "nodes").values()
    return NodeCounters(
        cpu_ms=sum(number_at(node, *_CPU) for node in nodes),
        rejected=sum(number_at(node, *keys) for node in nodes for keys in _REJECTED),
    )


def merges_under_way(client: EngineClient, pattern: str) -> int:
    """The number of merges running now in the indices of `pattern`."""
    return _number(client, f"/{pattern}/_stats/merge", ("_all", "total", "merges", "current"))


@dataclass(frozen=True)
class Unfinished:
    """Pending work of all nodes: running merges, and bytes of bulk requests."""

    merges: int
    bulk_bytes: int

    def __bool__(self) -> bool:
        return self.merges > 0 or self.bulk_bytes > 0

    def __str__(self) -> str:
        return f"{self.merges} merges and {self.bulk_bytes} bytes of bulks under way"


def unfinished(client: EngineClient) -> Unfinished:
    """The pending work of all nodes, whichever client caused it."""
    stats = "stats/indices,indexing_pressure/merge"
    merges, bulks = ("indices", "merges", "current"), (*_PRESSURE, "current", "all_in_bytes")
    return Unfinished(*map(sum, _per_node(client, stats, merges, bulks)))


def make_durable(client: EngineClient, pattern: str) -> None:
    """Refresh and flush: all documents are then searchable and in a Lucene commit."""
    client.request("POST", f"/{pattern}/_refresh")
    client.request("POST", f"/{pattern}/_flush?wait_if_ongoing=true")


@contextlib.contextmanager
def refreshing(client: EngineClient, pattern: str) -> Iterator[Callable[[], bool]]:
    """Refresh the indices of `pattern` in another thread; yields a function that says whether the
    refresh is done.

    On exit, waits for the refresh and raises what `EngineClient.request` raises.
    """
    twin = client.twin()
    try:
        with ThreadPoolExecutor(max_workers=1) as thread:
            refresh = thread.submit(twin.request, "POST", f"/{pattern}/_refresh")
            yield refresh.done
            refresh.result()
    finally:
        twin.close()


def count(client: EngineClient, pattern: str) -> int:
    """Documents that a search would find, after a refresh."""
    return number_at(client.get(f"/{pattern}/_count"), "count")
