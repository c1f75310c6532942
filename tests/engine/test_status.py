"""What all nodes of an engine counted together."""

from __future__ import annotations

import pytest

from tuner.engine.client import JSON, EngineClient
from tuner.engine.status import BulkWork, NodeCounters, NodeSilent, bulk_work, node_counters


class Nodes(EngineClient):
    """An engine of two nodes, of which so many do not answer."""

    def __init__(self, failed: int = 0) -> None:
        super().__init__("http://engine.invalid")
        self.failed = failed

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        total = {"coordinating_rejections": 5, "primary_rejections": 2, "replica_rejections": 40}
        node = {
            "indices": {"bulk": {"total_operations": 30, "total_time_in_millis": 450}},
            "process": {"cpu": {"total_in_millis": 1000}},
            "thread_pool": {"write": {"rejected": 1}},
            "indexing_pressure": {"memory": {"total": total}},
        }
        answered = {"a": node} if self.failed else {"a": node, "b": node}
        return {"_nodes": {"failed": self.failed}, "nodes": answered}


def test_bulks_are_rejected_by_full_write_pools_and_by_indexing_pressure() -> None:
    assert node_counters(Nodes()) == NodeCounters(cpu_ms=2000, rejected=2 * (1 + 5 + 2))


def test_what_bulks_took_is_of_all_nodes() -> None:
    assert bulk_work(Nodes()) == BulkWork(operations=60, took_ms=900)


def test_counters_without_those_of_a_node_are_none() -> None:
    with pytest.raises(NodeSilent, match="1 of the engine's nodes did not say"):
        node_counters(Nodes(failed=1))
