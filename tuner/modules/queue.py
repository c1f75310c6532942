"""Queues as profiles write them."""

from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import NonNegative, Positive, Switch
from tuner.schema.section import RsyslogSection

Severity = Annotated[int, Field(ge=0, le=8, strict=True)]

# Nobody waits a day for room in a queue; rsyslog has no value that means forever (F9).
ROOM_AWAITED_MS = 86_400_000
# In this time a queue of usual size is emptied when rsyslog stops.
EMPTIED_IN_MS = 10_000

_Bytes = Annotated[str, Field(pattern=r"^[0-9]{1,15}[kmgKMG]?$")]
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

    type: Annotated[
        QueueType | None,
        Doc(
            "How the queue stores events: FixedArray and LinkedList in memory, Disk and, since "
            "8.2608, segmentedDisk in files, Direct not at all.",
            traps=(
                (
                    "Direct ignores every other parameter; Disk has one worker and serialises "
                    "every event; a Disk queue without filename becomes LinkedList."
                ),
                (
                    "segmentedDisk is experimental in 8.2610. It reads no files of a Disk queue, "
                    "nor does Disk or any older rsyslog read its files."
                ),
            ),
        ),
    ] = None
    size: Annotated[
        Positive | None, Doc("How many events the queue holds.", traps=("F7", "F12", "F13"))
    ] = None
    dequeue_batch_size: Annotated[
        Positive | None,
        Doc(
            "The most events that a worker takes at once; for omelasticsearch the "
            "documents of one bulk request.",
            traps=("F3", "F4", "F17", "A batch larger than the queue is cut to its size."),
        ),
    ] = None
    min_dequeue_batch_size: Annotated[
        NonNegative | None,
        Doc(
            "A worker waits for this many events, for at most minDequeueBatchSize.timeout, "
            "before it starts a batch.",
            traps=(
                (
                    "Above dequeueBatchSize every batch waits out the timeout; it delays the "
                    "shutdown."
                ),
            ),
        ),
    ] = None
    min_dequeue_batch_size_timeout: Annotated[
        NonNegative | None,
        Doc(
            "The longest wait for minDequeueBatchSize events, in milliseconds from the "
            "start of the batch."
        ),
    ] = Field(None, alias="minDequeueBatchSize.timeout")
    worker_threads: Annotated[
        Positive | None,
        Doc(
            "The most workers of the queue; for omelasticsearch the connections to the engine.",
            traps=(
                "F11",
                "F13",
                (
                    "More than one on the main queue changes the order of events; a Disk queue "
                    "always has one."
                ),
            ),
        ),
    ] = None
    worker_thread_minimum_messages: Annotated[
        Positive | None,
        Doc(
            "How many events must wait for each further worker to start.",
            default="size / workerThreads; 40000 without main_queue()",
            traps=("F11", "Far below the batch size the workers share a backlog in small batches."),
        ),
    ] = None
    timeout_worker_thread_shutdown: Annotated[
        Annotated[int, Field(ge=-1, strict=True)] | None,
        Doc(
            "Milliseconds after which an idle worker ends; -1 means never.",
            traps=("A worker that ends closes its connection to the engine.",),
        ),
    ] = None
    timeout_enqueue: Annotated[
        NonNegative | None,
        Doc(
            "Milliseconds to wait for room in a full queue before the event is dropped.",
            traps=("F9",),
        ),
    ] = None
    timeout_shutdown: Annotated[
        NonNegative | None,
        Doc(
            "Milliseconds to empty the queue when rsyslog stops.",
            traps=("The default of 10 for actions discards what is in memory.",),
        ),
    ] = None
    timeout_action_completion: Annotated[
        NonNegative | None,
        Doc(
            "Milliseconds that a batch in flight may take when rsyslog stops, after "
            "timeoutShutdown."
        ),
    ] = None
    high_watermark: Annotated[
        NonNegative | None,
        Doc(
            "Above this many events a disk-assisted queue writes to disk.",
            default="90 % of size; 80000 without main_queue()",
        ),
    ] = None
    low_watermark: Annotated[
        NonNegative | None,
        Doc(
            "Below this many events a disk-assisted queue stops writing to disk.",
            default="70 % of size, of highWatermark since 8.2602; 20000 without main_queue()",
            traps=("Before 8.2602 a value out of range is silently reset.",),
        ),
    ] = None
    full_delay_mark: Annotated[
        NonNegative | None,
        Doc(
            "Above this many events imfile and other inputs that can wait stop.",
            default="97 % of size; half of highWatermark with a filename",
        ),
    ] = None
    light_delay_mark: Annotated[
        NonNegative | None,
        Doc(
            "Above this many events TCP inputs wait up to a second for each event; 0 means off.",
            default="70 % of size",
            traps=(
                (
                    "TCP inputs then move between 35 % and 70 %, and a disk-assisted main "
                    "queue never goes to disk."
                ),
            ),
        ),
    ] = None
    discard_mark: Annotated[
        NonNegative | None,
        Doc(
            "Above this many events those of discardSeverity and less important ones are dropped.",
            default="98 % of size; 98000 without main_queue()",
            traps=("Above the size it is an error.",),
        ),
    ] = None
    discard_severity: Annotated[
        Severity | None,
        Doc("Severities from this number on may be dropped above discardMark; 8 means none."),
    ] = None
    dequeue_slow_down: Annotated[
        NonNegative | None, Doc("Microseconds that each worker sleeps after a batch.")
    ] = None
    dequeue_time_begin: Annotated[
        Hour | None,
        Doc(
            "The hour at which workers begin; all day when it is not set.",
            traps=("Outside these hours the queue only fills.",),
        ),
    ] = None
    dequeue_time_end: Annotated[
        Hour | None, Doc("The hour at which workers stop.", default="25: never")
    ] = None
    sampling_interval: Annotated[
        NonNegative | None,
        Doc(
            "Only every n-th event is kept; 0 keeps all.",
            default="0",
            traps=("All others are lost, on purpose.",),
        ),
    ] = None
    take_flow_ctl_from_msg: Annotated[
        Switch | None,
        Doc(
            "Whether an action queue slows inputs down by its own marks.",
            default="off",
            traps=(
                (
                    "The worker that waits is the main queue's: rsyslog's manual strongly "
                    "recommends off."
                ),
            ),
        ),
    ] = None
    filename: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")] | None,
        Doc(
            "The prefix of the queue's files; makes a queue in memory disk-assisted.",
            traps=("It must be unique on the host.",),
        ),
    ] = None
    spool_directory: Annotated[
        Annotated[str, Field(pattern=r"^/[A-Za-z0-9._/-]+$")] | None,
        Doc(
            "The folder of the queue's files.",
            default="global's workDirectory",
            traps=("It must exist and belong to rsyslog's user.",),
        ),
    ] = None
    max_disk_space: Annotated[
        _Bytes | None,
        Doc(
            "The most disk space that the queue's files may take.",
            traps=(
                "0 means no limit: the queue can fill the file system.",
                "Since 8.2508 rsyslog raises it to maxFileSize where it is below that.",
            ),
        ),
    ] = None
    max_file_size: Annotated[
        _Bytes | None,
        Doc(
            "The size of one file of the queue; space is freed file by file.",
            default="1m for actions and without main_queue(), 16m for main_queue()",
        ),
    ] = None
    checkpoint_interval: Annotated[
        NonNegative | None,
        Doc(
            "After how many events the queue saves its position in its files; 0 means at each "
            "new file and at shutdown.",
            traps=("1 is exceptionally slow.",),
        ),
    ] = None
    sync_queue_files: Annotated[
        Switch | None,
        Doc(
            "Whether the queue's files are synchronised to the disk.",
            traps=("Expensive, at each checkpoint.",),
        ),
    ] = None
    save_on_shutdown: Annotated[
        Switch | None,
        Doc(
            "Whether a disk-assisted queue saves what is in memory when rsyslog stops.",
            default="on; rsyslog's manual wrongly says off",
            traps=("Without filename it does nothing.",),
        ),
    ] = None
    mutex_contention_stats: Annotated[
        Switch | None,
        Since(2610),
        Doc(
            "Whether impstats counts how often, and how long, threads wait for the queue's lock.",
            default="off",
        ),
    ] = None
    scope: Annotated[
        Literal["global", "local"] | None,
        Since(2610),
        Doc(
            "global is one queue for all threads; local gives input threads queues of their own "
            "before it, which rsyslog calls experimental.",
            default="global",
            traps=(
                "local needs local.frontendSize and local.maxFrontends, and rsyslogd refuses it "
                "beside most inputs, statements and outputs: ask rsyslog-tune validate.",
            ),
        ),
    ] = None
    local_frontend_size: Annotated[
        Positive | None,
        Since(2610),
        Doc("How many events the queue of one input thread holds, with scope local."),
    ] = Field(None, alias="local.frontendSize")
    local_max_frontends: Annotated[
        Positive | None,
        Since(2610),
        Doc("How many input threads get queues of their own, with scope local."),
    ] = Field(None, alias="local.maxFrontends")
    local_frontend_stats: Annotated[
        Switch | None,
        Since(2610),
        Doc("Whether impstats counts for each of these queues, with scope local.", default="off"),
    ] = Field(None, alias="local.frontendStats")
    local_helper_batch_size: Annotated[
        NonNegative | None,
        Since(2610),
        Doc(
            "How many events of the common queue an idle thread of these queues takes at once, "
            "with scope local; 0 means none."
        ),
    ] = Field(None, alias="local.helperBatchSize")
    on_corruption: Annotated[
        Literal["safe", "inMemory", "ignore"] | None,
        Since(2604),
        Doc(
            "What rsyslog does at startup with queue files that it cannot read: safe keeps them "
            "and starts with new ones, inMemory goes on without files, ignore reads what it can.",
            traps=(
                "Only queues with a filename have files.",
                (
                    "The segmented layout knows only safe, and skips damaged records: with another "
                    "value a fresh disk-assisted queue takes the old layout, and one that has "
                    "segmented files does not start."
                ),
            ),
        ),
    ] = None
    disk_queue_type: Annotated[
        Literal["auto", "disk", "segmentedDisk"] | None,
        Since(SEGMENTED_SINCE),
        Doc(
            "The layout of the files of a disk-assisted queue: disk is the old one, segmentedDisk "
            "the new one; auto keeps the layout of the files that are there, and uses the new one "
            "if there are none.",
            default="auto",
            traps=(
                (
                    "rsyslog before 8.2608 does not read segmented files: after a downgrade it "
                    "delivers nothing of them, and says nothing."
                ),
                "Where files of the other layout are left, the output does not start.",
                "Only disk-assisted queues have it; one of a disk type is chosen by type.",
            ),
        ),
    ] = None
    disk_queue_auto_upgrade: Annotated[
        Switch | None,
        Since(SEGMENTED_SINCE),
        Doc(
            "With diskQueueType auto: whether a queue that has files of the old layout takes the "
            "new one at the first start after they are empty. Files are never converted.",
            default="off",
        ),
    ] = None
    disk_queue_idle_timeout: Annotated[
        Annotated[int, Field(ge=-1, strict=True)] | None,
        Since(SEGMENTED_SINCE),
        Doc(
            "Milliseconds after which the empty files of a segmented disk-assisted queue are "
            "removed; 0 means at once, -1 never.",
            default="60000",
        ),
    ] = None

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
