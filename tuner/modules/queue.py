"""Queues as profiles write them, and what rsyslog makes of what they leave out."""

from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tuner.schema.parameter import Since
from tuner.schema.scalars import NonNegative, Positive, Switch

Severity = Annotated[int, Field(ge=0, le=8, strict=True)]
# 25, which is no hour, means never.
Hour = Annotated[int, Field(ge=0, le=25, strict=True)]


class QueueType(Enum):
    """How a queue stores messages, spelled as `queue.type` spells it."""

    FIXED_ARRAY = "FixedArray"
    LINKED_LIST = "LinkedList"
    DISK = "Disk"
    DIRECT = "Direct"


class Place(Enum):
    """Where a queue stands; rsyslog's defaults differ by it."""

    IMPLICIT_MAIN = "no main_queue() in the configuration"
    MAIN = "main_queue()"
    ACTION = "action()"


class Queue(BaseModel):
    """The `queue.*` parameters of one queue, sizes in messages, timeouts in milliseconds.

    None means: not written in the profile, rsyslog's default for that place.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)

    type: QueueType | None = None
    size: Positive | None = None
    dequeue_batch_size: Positive | None = None
    min_dequeue_batch_size: NonNegative | None = None
    min_dequeue_batch_size_timeout: NonNegative | None = Field(
        None, alias="minDequeueBatchSize.timeout"
    )
    worker_threads: Positive | None = None
    worker_thread_minimum_messages: Positive | None = None
    timeout_worker_thread_shutdown: Annotated[int, Field(ge=-1, strict=True)] | None = None
    timeout_enqueue: NonNegative | None = None
    timeout_shutdown: NonNegative | None = None
    timeout_action_completion: NonNegative | None = None
    high_watermark: NonNegative | None = None
    low_watermark: NonNegative | None = None
    full_delay_mark: NonNegative | None = None
    light_delay_mark: NonNegative | None = None
    discard_mark: NonNegative | None = None
    discard_severity: Severity | None = None
    dequeue_slow_down: NonNegative | None = None
    dequeue_time_begin: Hour | None = None
    dequeue_time_end: Hour | None = None
    sampling_interval: NonNegative | None = None
    take_flow_ctl_from_msg: Switch | None = None
    filename: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = None
    spool_directory: Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]+$")] | None = None
    max_disk_space: Annotated[str, Field(pattern=r"^[0-9]{1,15}[kmgKMG]?$")] | None = None
    max_file_size: Annotated[str, Field(pattern=r"^[0-9]{1,15}[kmgKMG]?$")] | None = None
    checkpoint_interval: NonNegative | None = None
    sync_queue_files: Switch | None = None
    save_on_shutdown: Switch | None = None
    on_corruption: Annotated[Literal["safe", "inMemory", "ignore"] | None, Since(2604)] = None
    disk_queue_type: Annotated[Literal["auto", "disk", "segmentedDisk"] | None, Since(2608)] = None
    disk_queue_auto_upgrade: Annotated[Switch | None, Since(2608)] = None
    disk_queue_idle_timeout: Annotated[NonNegative | None, Since(2608)] = None


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
    return queue.type is not QueueType.DISK and queue.filename is None
