"""Settings of the engine's nodes, and their heap in a lab."""

from typing import Literal

from pydantic import ConfigDict

from tuner.engines.settings import NODE_SETTINGS, field_names
from tuner.schema.scalars import ByteSize, Heap, Percentage, Positive, Switch
from tuner.schema.section import Section

_SPELLED = field_names(NODE_SETTINGS) | {"heap": "heap"}


class Node(Section):
    """Settings of the engine's nodes, which need a restart; None leaves the engine's default."""

    model_config = ConfigDict(alias_generator=_SPELLED.__getitem__)

    heap: Heap = "2g"
    indices_memory_index_buffer_size: Percentage | ByteSize | None = None
    indices_memory_min_index_buffer_size: ByteSize | None = None
    indices_memory_max_index_buffer_size: ByteSize | None = None
    indexing_pressure_memory_limit: Percentage | ByteSize | None = None
    thread_pool_write_size: Positive | None = None
    thread_pool_write_queue_size: Positive | None = None
    thread_pool_write_coordination_size: Positive | None = None
    thread_pool_write_coordination_queue_size: Positive | None = None
    node_processors: Positive | None = None
    http_max_content_length: ByteSize | None = None
    bootstrap_memory_lock: Switch | None = None
    indices_time_series_index_default_index_merge_policy: (
        Literal["default", "log_byte_size"] | None
    ) = None

    @property
    def settings(self) -> dict[str, str | int | bool]:
        """What belongs into the node's settings file: names and values."""
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"heap"})


_UNITS = {"m": 1024**2, "g": 1024**3}


def heap_bytes(heap: str) -> int:
    """A heap as profiles write it ("4g", "512m") in bytes."""
    return int(heap[:-1]) * _UNITS[heap[-1]]


def fitting_heap(heap: str, memory_bytes: int) -> str:
    """`heap`, or half of the machine's memory if that is less. Elasticsearch's own advice: at most
    half of the memory, the rest is page cache
    (docs/reference/setup/important-settings/heap-size).
    """
    half = memory_bytes // 2
    if heap_bytes(heap) <= half:
        return heap
    gib = half // _UNITS["g"]
    return f"{gib}g" if gib > 0 else f"{half // _UNITS['m']}m"
