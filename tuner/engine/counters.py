"""What the engine counted.

Only `_stats`, `_nodes/stats`, `_refresh` and `_count` are asked, and the last two only after a
trial: a search or count during one would switch on the refresh of an idle shard.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tuner.engine.client import EngineClient, number_at, object_at
from tuner.errors import JobFailed


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
    path = f"/{pattern}/_stats/indexing?filter_path=_all.primaries.indexing.index_total"
    answer = client.get(path, timeout_s)
    return number_at(answer, "_all", "primaries", "indexing", "index_total")


def index_counters(client: EngineClient, pattern: str) -> IndexCounters:
    """Everything we record of the indices of `pattern`."""
    groups = "indexing,merge,refresh,segments,store"
    answer = client.get(f"/{pattern}/_stats/{groups}?filter_path=_all.primaries")
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
    """How often what is indexed was made searchable so far."""
    path = f"/{pattern}/_stats/refresh?filter_path=_all.primaries.refresh.external_total"
    answer = client.get(path, timeout_s)
    return number_at(answer, "_all", "primaries", "refresh", "external_total")


_CPU = ("process", "cpu", "total_in_millis")
_PRESSURE = ("indexing_pressure", "memory", "total")
_REJECTED = (
    ("thread_pool", "write", "rejected"),
    (*_PRESSURE, "coordinating_rejections"),
    (*_PRESSURE, "primary_rejections"),
)


@dataclass(frozen=True)
class NodeCounters:
    """CPU milliseconds of all nodes, and what they rejected of bulk requests: tasks of their write
    pools, and operations beyond `indexing_pressure.memory.limit`."""

    cpu_ms: int
    rejected: int


class NodeSilent(JobFailed):
    """A node that still belongs to the engine did not answer: it may have ended a moment ago."""


def node_counters(client: EngineClient, timeout_s: float | None = None) -> NodeCounters:
    """What all nodes together used and rejected since they started; raises NodeSilent where one is
    missing from the answer."""
    wanted = ",".join(
        ("_nodes.failed", *(f"nodes.*.{'.'.join(keys)}" for keys in (_CPU, *_REJECTED)))
    )
    path = "/_nodes/stats/process,thread_pool,indexing_pressure"
    answer = client.get(f"{path}?filter_path={wanted}", timeout_s)
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
    """Merges that run in the indices of `pattern` at this moment."""
    path = f"/{pattern}/_stats/merge?filter_path=_all.total.merges.current"
    return number_at(client.get(path), "_all", "total", "merges", "current")


@dataclass(frozen=True)
class Unfinished:
    """Work that all nodes together have not finished: merges, and bytes of bulk requests."""

    merges: int
    bulk_bytes: int

    def __bool__(self) -> bool:
        return self.merges > 0 or self.bulk_bytes > 0

    def __str__(self) -> str:
        return f"{self.merges} merges and {self.bulk_bytes} bytes of bulks under way"


def unfinished(client: EngineClient) -> Unfinished:
    """What the nodes still work on, whoever asked for it."""
    merges = "nodes.*.indices.merges.current"
    pressure = "nodes.*.indexing_pressure.memory.current.all_in_bytes"
    path = f"/_nodes/stats/indices,indexing_pressure/merge?filter_path={merges},{pressure}"
    nodes = object_at(client.get(path), "nodes").values()
    under_way = ("indexing_pressure", "memory", "current", "all_in_bytes")
    return Unfinished(
        merges=sum(number_at(node, "indices", "merges", "current") for node in nodes),
        bulk_bytes=sum(number_at(node, *under_way) for node in nodes),
    )


def make_durable(client: EngineClient, pattern: str) -> None:
    """Refresh and flush: afterwards everything indexed is searchable and in a Lucene commit."""
    client.request("POST", f"/{pattern}/_refresh")
    client.request("POST", f"/{pattern}/_flush?wait_if_ongoing=true")


@contextlib.contextmanager
def refreshing(client: EngineClient, pattern: str) -> Iterator[Callable[[], bool]]:
    """Refresh the indices of `pattern` from another thread; gives whether that has ended.

    The end waits for it, and raises what `EngineClient.request` does.
    """
    twin = client.twin()
    try:
        with ThreadPoolExecutor(max_workers=1) as thread:
            under_way = thread.submit(twin.request, "POST", f"/{pattern}/_refresh")
            yield under_way.done
            under_way.result()
    finally:
        twin.close()


def count(client: EngineClient, pattern: str) -> int:
    """Documents that a search would find, after a refresh."""
    return number_at(client.get(f"/{pattern}/_count"), "count")
