"""Settings of the engine's nodes, and the heap that fits a machine."""

from typing import Literal

from tuner.engines.settings import settings_of, static
from tuner.schema.scalars import ByteSize, Heap, Percentage, Positive, Switch
from tuner.schema.section import Section, parameter
from tuner.schema.units import size_bytes


class Node(Section):
    """Settings of the engine's nodes; changes need a restart, None leaves the engine's default."""

    heap: Heap = parameter(
        "The heap of the engine (-Xms and -Xmx).",
        "At most half of the memory and 31g; OpenSearch ships with 1g.",
        value="2g",
    )
    indices_memory_index_buffer_size: Percentage | ByteSize | None = static(
        "indices.memory.index_buffer_size",
        "The share of the heap in which new documents are gathered before they become a segment.",
        "Without effect where the translog's threshold commits first.",
        default="10%",
    )
    indices_memory_min_index_buffer_size: ByteSize | None = static(
        "indices.memory.min_index_buffer_size",
        "The minimum of that buffer if it is a percentage.",
        default="48mb",
    )
    indices_memory_max_index_buffer_size: ByteSize | None = static(
        "indices.memory.max_index_buffer_size",
        "The maximum of that buffer if it is a percentage.",
        default="no limit",
    )
    indexing_pressure_memory_limit: Percentage | ByteSize | None = static(
        "indexing_pressure.memory.limit",
        "The most heap that bulks in flight may take; beyond it they are refused with 429.",
        "F1",
        default="10%",
    )
    thread_pool_write_size: Positive | None = static(
        "thread_pool.write.size",
        "How many threads index.",
        "A node does not start with more than processors + 1.",
        default="the number of processors",
    )
    thread_pool_write_queue_size: Positive | None = static(
        "thread_pool.write.queue_size",
        "How many bulks may wait for those threads.",
        "F1",
        default="10000; more on large machines since Elasticsearch 9.2",
    )
    thread_pool_write_coordination_size: Positive | None = static(
        "thread_pool.write_coordination.size",
        "How many threads split bulks.",
        default="the number of processors",
        elasticsearch=(9, 1),
    )
    thread_pool_write_coordination_queue_size: Positive | None = static(
        "thread_pool.write_coordination.queue_size",
        "How many bulks may wait for those threads.",
        "F1",
        default="10000",
        elasticsearch=(9, 1),
    )
    node_processors: Positive | None = static(
        "node.processors",
        "How many processors the engine assumes; it can only be lowered.",
    )
    http_max_content_length: ByteSize | None = static(
        "http.max_content_length",
        "The largest request that is accepted.",
        "F1",
        default="100mb",
    )
    bootstrap_memory_lock: Switch | None = static(
        "bootstrap.memory_lock",
        "Whether the heap is kept from being swapped out.",
        "Needs the right to lock memory.",
        default="off",
    )
    indices_time_series_index_default_index_merge_policy: (
        Literal["default", "log_byte_size"] | None
    ) = static(
        "indices.time_series_index.default_index_merge_policy",
        "OpenSearch's way to choose segments to merge in indices with an @timestamp.",
        opensearch=(2, 0),
    )

    @property
    def settings(self) -> dict[str, str | int | bool]:
        """The names and values for the node's settings file, all but the heap."""
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"heap"})


NODE_SETTINGS = settings_of(Node)


def fitting_heap(heap: str, memory_bytes: int) -> str:
    """`heap`, or half of the machine's memory if that is less.  Elasticsearch advises at most half,
    so that the rest can be page cache (docs/reference/setup/important-settings/heap-size)."""
    half = memory_bytes // 2
    if size_bytes(heap) <= half:
        return heap
    gib = half // 1024**3
    return f"{gib}g" if gib > 0 else f"{half // 1024**2}m"
