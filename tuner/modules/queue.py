"""Queues as profiles write them."""

from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.scalars import FOLDER, NonNegative, Positive, Switch
from tuner.schema.section import RsyslogSection, parameter

Severity = Annotated[int, Field(ge=0, le=8, strict=True)]

# Nobody waits a day for room in a queue; rsyslog has no value that means forever (F9).
ROOM_AWAITED_MS = 86_400_000
# In this time a queue of usual size is emptied when rsyslog stops.
EMPTIED_IN_MS = 10_000

_Bytes = Annotated[str, Field(pattern=r"^[0-9]{1,15}[kmgKMG]?$")]
_Folder = Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]+$"), FOLDER]
# 25 is not an hour: it means never.
Hour = Annotated[int, Field(ge=0, le=25, strict=True)]


class QueueType(Enum):
    """How a queue stores messages, spelled as `queue.type` spells it."""

    FIXED_ARRAY = "FixedArray"
    LINKED_LIST = "LinkedList"
    DISK = "Disk"
    SEGMENTED_DISK = "segmentedDisk"
    DIRECT = "Direct"


DISK_TYPES = (QueueType.DISK, QueueType.SEGMENTED_DISK)
"""The types whose queues keep every event in files."""

SEGMENTED_SINCE = 2608
"""The release that brought the segmented layout of queue files, as type and for disk assistance."""


class Queue(RsyslogSection):
    """The `queue.*` parameters of one queue, sizes in messages, timeouts in milliseconds.

    None means not set in the profile: rsyslog's default for that place applies.
    """

    type: QueueType | None = parameter(
        "How the queue stores events: FixedArray and LinkedList in memory, Disk and, since "
        "8.2608, segmentedDisk in files, Direct not at all.",
        "Direct ignores every other parameter; Disk has one worker and serialises "
        "every event; a Disk queue without filename becomes LinkedList.",
        "segmentedDisk is experimental in 8.2610. It reads no files of a Disk queue, "
        "nor does Disk or any older rsyslog read its files.",
    )
    size: Positive | None = parameter("How many events the queue holds.", "F7", "F12", "F13")
    dequeue_batch_size: Positive | None = parameter(
        "The most events that a worker takes at once; for omelasticsearch the "
        "documents of one bulk request.",
        "F3",
        "F4",
        "F17",
        "A batch larger than the queue is cut to its size.",
    )
    min_dequeue_batch_size: NonNegative | None = parameter(
        "A worker waits for this many events, for at most minDequeueBatchSize.timeout, "
        "before it starts a batch.",
        "Above dequeueBatchSize every batch waits out the timeout; it delays the shutdown.",
    )
    min_dequeue_batch_size_timeout: NonNegative | None = parameter(
        "The longest wait for minDequeueBatchSize events, in milliseconds from the "
        "start of the batch."
    )
    worker_threads: Positive | None = parameter(
        "The most workers of the queue; for omelasticsearch the connections to the engine.",
        "F11",
        "F13",
        "More than one on the main queue changes the order of events; a Disk queue always has one.",
    )
    worker_thread_minimum_messages: Positive | None = parameter(
        "How many events must wait for each further worker to start.",
        "F11",
        "Far below the batch size the workers share a backlog in small batches.",
        default="size / workerThreads; 40000 without main_queue()",
    )
    timeout_worker_thread_shutdown: Annotated[int, Field(ge=-1, strict=True)] | None = parameter(
        "Milliseconds after which an idle worker ends; -1 means never.",
        "A worker that ends closes its connection to the engine.",
    )
    timeout_enqueue: NonNegative | None = parameter(
        "Milliseconds to wait for room in a full queue before the event is dropped.", "F9"
    )
    timeout_shutdown: NonNegative | None = parameter(
        "Milliseconds to empty the queue when rsyslog stops.",
        "The default of 10 for actions discards what is in memory.",
    )
    timeout_action_completion: NonNegative | None = parameter(
        "Milliseconds that a batch in flight may take when rsyslog stops, after timeoutShutdown."
    )
    high_watermark: NonNegative | None = parameter(
        "Above this many events a disk-assisted queue writes to disk.",
        default="90 % of size; 80000 without main_queue()",
    )
    low_watermark: NonNegative | None = parameter(
        "Below this many events a disk-assisted queue stops writing to disk.",
        "Before 8.2602 a value out of range is silently reset.",
        default="70 % of size, of highWatermark since 8.2602; 20000 without main_queue()",
    )
    full_delay_mark: NonNegative | None = parameter(
        "Above this many events imfile and other inputs that can wait stop.",
        default="97 % of size; half of highWatermark with a filename",
    )
    light_delay_mark: NonNegative | None = parameter(
        "Above this many events TCP inputs wait up to a second for each event; 0 means off.",
        "TCP inputs then move between 35 % and 70 %, and a disk-assisted main "
        "queue never goes to disk.",
        default="70 % of size",
    )
    discard_mark: NonNegative | None = parameter(
        "Above this many events those of discardSeverity and less important ones are dropped.",
        "Above the size it is an error.",
        default="98 % of size; 98000 without main_queue()",
    )
    discard_severity: Severity | None = parameter(
        "Severities from this number on may be dropped above discardMark; 8 means none."
    )
    dequeue_slow_down: NonNegative | None = parameter(
        "Microseconds that each worker sleeps after a batch.",
        "What a disk-assisted queue has on disk is reported to come without these pauses "
        "(rsyslog's issue 5308), by a worker of its own: no limit of a rate.",
    )
    dequeue_time_begin: Hour | None = parameter(
        "The hour at which workers begin; all day when it is not set.",
        "Outside these hours the queue only fills.",
    )
    dequeue_time_end: Hour | None = parameter(
        "The hour at which workers stop.", default="25: never"
    )
    sampling_interval: NonNegative | None = parameter(
        "Only every n-th event is kept; 0 keeps all.",
        "All others are lost, on purpose.",
        default="0",
    )
    take_flow_ctl_from_msg: Switch | None = parameter(
        "Whether an action queue slows inputs down by its own marks.",
        "The worker that waits is the main queue's: rsyslog's manual strongly recommends off.",
        default="off",
    )
    filename: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None = parameter(
        "The prefix of the queue's files; makes a queue in memory disk-assisted.",
        "It must be unique on the host.",
        "What is on disk is read by one worker, whatever workerThreads says, but for segmented "
        "files (rsyslog's issue 3543): after an outage the target gets it at that worker's rate.",
    )
    spool_directory: _Folder | None = parameter(
        "The folder of the queue's files.",
        "It must exist and belong to rsyslog's user.",
        default="global's workDirectory",
    )
    max_disk_space: _Bytes | None = parameter(
        "The most disk space that the queue's files may take.",
        "0 means no limit: the queue can fill the file system.",
        "Since 8.2508 rsyslog raises it to maxFileSize where it is below that.",
    )
    max_file_size: _Bytes | None = parameter(
        "The size of one file of the queue; space is freed file by file.",
        default="1m for actions and without main_queue(), 16m for main_queue()",
    )
    checkpoint_interval: NonNegative | None = parameter(
        "After how many events the queue saves its position in its files; 0 means at each "
        "new file and at shutdown.",
        "1 is exceptionally slow.",
    )
    sync_queue_files: Switch | None = parameter(
        "Whether the queue's files are synchronised to the disk.", "Expensive, at each checkpoint."
    )
    save_on_shutdown: Switch | None = parameter(
        "Whether a disk-assisted queue saves what is in memory when rsyslog stops.",
        "Without filename it does nothing.",
        default="on; rsyslog's manual wrongly says off",
    )
    mutex_contention_stats: Switch | None = parameter(
        "Whether impstats counts how often, and how long, threads wait for the queue's lock.",
        since=2610,
        default="off",
    )
    scope: Literal["global", "local"] | None = parameter(
        "global is one queue for all threads; local gives input threads queues of their own "
        "before it, which rsyslog calls experimental.",
        "local needs local.frontendSize and local.maxFrontends, and rsyslogd refuses it "
        "beside most inputs, statements and outputs: ask rsyslog-tune validate.",
        since=2610,
        default="global",
    )
    local_frontend_size: Positive | None = parameter(
        "How many events the queue of one input thread holds, with scope local.", since=2610
    )
    local_max_frontends: Positive | None = parameter(
        "How many input threads get queues of their own, with scope local.", since=2610
    )
    local_frontend_stats: Switch | None = parameter(
        "Whether impstats counts for each of these queues, with scope local.",
        since=2610,
        default="off",
    )
    local_helper_batch_size: NonNegative | None = parameter(
        "How many events of the common queue an idle thread of these queues takes at once, "
        "with scope local; 0 means none.",
        since=2610,
    )
    on_corruption: Literal["safe", "inMemory", "ignore"] | None = parameter(
        "What rsyslog does at startup with queue files that it cannot read: safe keeps them "
        "and starts with new ones, inMemory goes on without files, ignore reads what it can.",
        "Only queues with a filename have files.",
        "The segmented layout knows only safe, and skips damaged records: with another "
        "value a fresh disk-assisted queue takes the old layout, and one that has "
        "segmented files does not start.",
        since=2604,
    )
    disk_queue_type: Literal["auto", "disk", "segmentedDisk"] | None = parameter(
        "The layout of the files of a disk-assisted queue: disk is the old one, segmentedDisk "
        "the new one; auto keeps the layout of the files that are there, and uses the new one "
        "if there are none.",
        "rsyslog before 8.2608 does not read segmented files: after a downgrade it "
        "delivers nothing of them, and says nothing.",
        "Where files of the other layout are left, the output does not start.",
        "Only disk-assisted queues have it; one of a disk type is chosen by type.",
        since=SEGMENTED_SINCE,
        default="auto",
    )
    disk_queue_auto_upgrade: Switch | None = parameter(
        "With diskQueueType auto: whether a queue that has files of the old layout takes the "
        "new one at the first start after they are empty. Files are never converted.",
        since=SEGMENTED_SINCE,
        default="off",
    )
    disk_queue_idle_timeout: Annotated[int, Field(ge=-1, strict=True)] | None = parameter(
        "Milliseconds after which the empty files of a segmented disk-assisted queue are "
        "removed; 0 means at once, -1 never.",
        since=SEGMENTED_SINCE,
        default="60000",
    )

    @property
    def parameters(self) -> tuple[tuple[str, object], ...]:
        """What is set of it, under rsyslog's names and in their order."""
        return tuple(self.model_dump(mode="json", by_alias=True, exclude_none=True).items())

    @property
    def is_on_disk(self) -> bool:
        """Whether every event is in files; a disk-assisted queue keeps them in memory first."""
        return self.type in DISK_TYPES

    @property
    def is_disk_assisted(self) -> bool:
        """Whether a queue, with its defaults worked out, is in memory and has files for what
        does not fit there."""
        has_memory = self.type in {QueueType.FIXED_ARRAY, QueueType.LINKED_LIST}
        return has_memory and self.filename is not None


class Place(Enum):
    """Where a queue stands, on which rsyslog's defaults depend."""

    IMPLICIT_MAIN = "no main_queue() in the configuration"
    MAIN = "main_queue()"
    ACTION = "action()"


# Of each place, in the order of Place; what is None follows from the size.  rsyslog runtime/queue.c
# (qqueueSetDefaults*) and runtime/rsconf.c (cnfSetDefaults), identical in 8.2302 and 8.2608.
_OF_PLACES: dict[str, tuple[object, object, object]] = {
    "type": (QueueType.FIXED_ARRAY, QueueType.FIXED_ARRAY, QueueType.DIRECT),
    "size": (100_000, 50_000, 1000),
    "dequeue_batch_size": (256, 1024, 128),
    "worker_threads": (2, 1, 1),
    "worker_thread_minimum_messages": (40_000, None, None),
    "high_watermark": (80_000, None, None),
    "low_watermark": (20_000, None, None),
    "discard_mark": (98_000, None, None),
    "timeout_shutdown": (1500, 1500, 10),
}
_OF_ALL: dict[str, object] = {
    "min_dequeue_batch_size": 0, "min_dequeue_batch_size_timeout": 1000,
    "timeout_worker_thread_shutdown": 60000, "timeout_enqueue": 2000,
    "timeout_action_completion": 1000, "discard_severity": 8, "dequeue_slow_down": 0,
}  # fmt: skip
_DEFAULTS = {
    place: _OF_ALL
    | {name: row[column] for name, row in _OF_PLACES.items() if row[column] is not None}
    for column, place in enumerate(Place)
}
# Only queues with a filename have files; the implicit main queue cannot have one.
_FILES: dict[str, object] = {
    "max_disk_space": "0", "checkpoint_interval": 0, "sync_queue_files": False,
    "save_on_shutdown": True,
}  # fmt: skip
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
