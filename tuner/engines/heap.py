"""How much heap an engine gets in a lab."""

from __future__ import annotations

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
