"""What the engine counted.

Only `_stats`, `_nodes/stats`, `_refresh` and `_count` are asked, and the last two only after a
trial: a search or count during one would switch on the refresh of an idle shard.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.client import EngineClient
from tuner.engine.path import at, number_at


@dataclass(frozen=True)
class IndexCounters:
    """Counters of the primaries since the indices were created, times in milliseconds."""

    indexed: int
    index_failed: int
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
    primaries = at(answer, "_all", "primaries")
    return IndexCounters(
        indexed=number_at(primaries, "indexing", "index_total"),
        index_failed=number_at(primaries, "indexing", "index_failed"),
        throttle_ms=number_at(primaries, "indexing", "throttle_time_in_millis"),
        merge_throttled_ms=number_at(primaries, "merges", "total_throttled_time_in_millis"),
        refreshes=number_at(primaries, "refresh", "total"),
        segments=number_at(primaries, "segments", "count"),
        store_bytes=number_at(primaries, "store", "size_in_bytes"),
    )


@dataclass(frozen=True)
class NodeCounters:
    """CPU milliseconds of all nodes, and bulk tasks their write pools rejected."""

    cpu_ms: int
    rejected: int


def node_counters(client: EngineClient, timeout_s: float | None = None) -> NodeCounters:
    """What all nodes together used and rejected since they started."""
    wanted = "nodes.*.process.cpu.total_in_millis,nodes.*.thread_pool.write.rejected"
    answer = client.get(f"/_nodes/stats/process,thread_pool?filter_path={wanted}", timeout_s)
    nodes = answer.get("nodes")
    each = list(nodes.values()) if isinstance(nodes, dict) else []
    return NodeCounters(
        cpu_ms=sum(number_at(node, "process", "cpu", "total_in_millis") for node in each),
        rejected=sum(number_at(node, "thread_pool", "write", "rejected") for node in each),
    )


def bulk_bytes_under_way(client: EngineClient) -> int:
    """Bytes of the bulk requests that all nodes together have taken and not yet answered."""
    wanted = "nodes.*.indexing_pressure.memory.current.all_in_bytes"
    nodes = client.get(f"/_nodes/stats/indexing_pressure?filter_path={wanted}").get("nodes")
    each = list(nodes.values()) if isinstance(nodes, dict) else []
    pressure = ("indexing_pressure", "memory", "current", "all_in_bytes")
    return sum(number_at(node, *pressure) for node in each)


def make_durable(client: EngineClient, pattern: str) -> None:
    """Refresh and flush: afterwards everything indexed is searchable and in a Lucene commit."""
    client.request("POST", f"/{pattern}/_refresh")
    client.request("POST", f"/{pattern}/_flush?wait_if_ongoing=true")


def count(client: EngineClient, pattern: str) -> int:
    """Documents that a search would find, after a refresh."""
    return number_at(client.get(f"/{pattern}/_count"), "count")
