"""The defaults that rsyslog applies to a queue."""

from enum import Enum

from tuner.modules.queue import Queue, QueueType


class Place(Enum):
    """Where a queue stands, on which rsyslog's defaults depend."""

    IMPLICIT_MAIN = "no main_queue() in the configuration"
    MAIN = "main_queue()"
    ACTION = "action()"


_COMMON: dict[str, object] = {
    "min_dequeue_batch_size": 0,
    "min_dequeue_batch_size_timeout": 1000,
    "timeout_worker_thread_shutdown": 60000,
    "timeout_enqueue": 2000,
    "timeout_action_completion": 1000,
    "discard_severity": 8,
    "dequeue_slow_down": 0,
}


# rsyslog runtime/queue.c (qqueueSetDefaults*) and runtime/rsconf.c (cnfSetDefaults).
# Identical in 8.2302 and 8.2608; where a value is missing here it follows from the size.
_DEFAULTS: dict[Place, dict[str, object]] = {
    Place.IMPLICIT_MAIN: _COMMON
    | {
        "type": QueueType.FIXED_ARRAY,
        "size": 100_000,
        "dequeue_batch_size": 256,
        "worker_threads": 2,
        "worker_thread_minimum_messages": 40_000,
        "high_watermark": 80_000,
        "low_watermark": 20_000,
        "discard_mark": 98_000,
        "timeout_shutdown": 1500,
    },
    Place.MAIN: _COMMON
    | {
        "type": QueueType.FIXED_ARRAY,
        "size": 50_000,
        "dequeue_batch_size": 1024,
        "worker_threads": 1,
        "timeout_shutdown": 1500,
    },
    Place.ACTION: _COMMON
    | {
        "type": QueueType.DIRECT,
        "size": 1000,
        "dequeue_batch_size": 128,
        "worker_threads": 1,
        "timeout_shutdown": 10,
    },
}


# Only queues with a filename have files; the implicit main queue cannot have one.
_FILES: dict[str, object] = {
    "max_disk_space": "0",
    "checkpoint_interval": 0,
    "sync_queue_files": False,
    "save_on_shutdown": True,
}


_FILE_SIZE = {Place.IMPLICIT_MAIN: "1m", Place.MAIN: "16m", Place.ACTION: "1m"}


def _percent(size: int, percent: int) -> int:
    """rsyslog's integer arithmetic for marks: (size/100)*p."""
    return size // 100 * percent


def resolve(queue: Queue | None, place: Place) -> Queue:
    """`queue` with every default rsyslog would apply at `place` written out.

    A Direct queue has no other parameter, so it comes back with only its type.  Marks that
    follow from the size are worked out as rsyslog does (`qqueueCorrectParams`).
    """
    written = queue.model_dump(exclude_none=True) if queue is not None else {}
    merged = _DEFAULTS[place] | written
    if merged["type"] is QueueType.DIRECT:
        return Queue(type=QueueType.DIRECT)
    size = int(str(merged["size"]))
    follows = {
        "worker_thread_minimum_messages": max(1, size // int(str(merged["worker_threads"]))),
        "high_watermark": _percent(size, 90) or size,
        "low_watermark": _percent(size, 70) or 1,
        "full_delay_mark": _percent(size, 97) or max(1, size - 1),
        "light_delay_mark": _percent(size, 70) or max(1, size - 1),
        "discard_mark": _percent(size, 98) or size,
    }
    files = _FILES | {"max_file_size": _FILE_SIZE[place]} if "filename" in merged else {}
    return Queue.model_validate(follows | files | merged, by_name=True)


def in_memory(queue: Queue) -> bool:
    """Whether a resolved queue keeps its messages in memory only."""
    return not queue.is_on_disk and queue.filename is None
