"""Lint for queues with files: disks that fill, and files that are never written."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.each import each, every_queue, queues_with_files, where_durable
from tuner.lint.waiting import spools
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.input import Input
from tuner.modules.queue import DISK_TYPES, ROOM_AWAITED_MS, SEGMENTED_SINCE, QueueType
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, entry_queue, file_names, queues, retry_file_names
from tuner.rule import Complaint, Cure, advice, error, loss, warning
from tuner.schema.units import size_bytes

_FILES = {
    "outputs[logs].queue.filename": "logs",
    "outputs[logs].queue.spoolDirectory": "/var/spool/rsyslog",
    "outputs[logs].queue.maxDiskSpace": "1g",
}
_DISK = {"outputs[logs].queue.type": "Disk", **_FILES}
_ASSISTED = {
    "filename": "logs",
    "spoolDirectory": "/var/spool/rsyslog",
    "maxDiskSpace": "1g",
    "size": 100_000,
    "lightDelayMark": 0,
    "timeoutEnqueue": ROOM_AWAITED_MS,
}


@warning(
    "RT117",
    why="rsyslog's default is no limit: a long outage fills the file system, for every other "
    "program too.",
    source="rsyslog runtime/queue.c, maxDiskSpace",
    bad={**_FILES, "outputs[logs].queue.maxDiskSpace": "0"},
    good={"outputs[logs].queue.maxDiskSpace": "1g"},
)
@each(queues_with_files, "maxDiskSpace")
def _fills_the_disk(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if size_bytes((queue.resolved.max_disk_space or "0").lower()) == 0:
        yield (
            "without maxDiskSpace the queue's files grow until the file system is full, and "
            "everything else that writes there fails too: set it to the volume of the "
            "longest outage that you plan for, about 700 bytes per event"
        )


@advice(
    "RT118",
    why="Above lightDelayMark each message of a TCP or RELP sender waits for up to a second, so "
    "the queue hardly grows and never reaches the mark at which it writes to disk.",
    source="rsyslog issue 1778, pull request 3642",
    bad={"main_queue": {**_ASSISTED, "lightDelayMark": 70_000}},
    good={"main_queue.lightDelayMark": 0},
)
def _waits_before_the_disk(profile: Profile) -> Iterator[Complaint]:
    queue = entry_queue(profile)
    light, high = queue.resolved.light_delay_mark or 0, queue.resolved.high_watermark or 0
    slowed = any(_is_slowed(source) for source in profile.inputs)
    if queue.resolved.is_disk_assisted and slowed and 0 < light < high:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"senders are slowed down above {light} messages, so the queue hardly ever reaches "
            f"{high}, where the disk takes over: set lightDelayMark to 0 (off), and timeoutEnqueue "
            f"to {ROOM_AWAITED_MS}, so that senders wait when the disk is full",
        )


def _is_slowed(source: Input) -> bool:
    if not isinstance(source, ImptcpInput | ImtcpInput | ImrelpInput):
        return False
    return source.flow_control not in {False, "none", "full"}


@advice(
    "RT119",
    why="Below 60 % of the size rsyslog logs a warning, which rsyslogd -N1 does not show: events "
    "go to the slow disk while most of the memory stays unused.",
    source="rsyslog runtime/queue.c, qqueueCorrectParams",
    bad={
        **_FILES,
        "outputs[logs].queue.highWatermark": 25_000,
        "outputs[logs].queue.lowWatermark": 20_000,
    },
    good={"outputs[logs].queue.highWatermark": 45_000},
)
@each(queues_with_files, "highWatermark")
def _early_to_disk(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    mark, least = queue.resolved.high_watermark or 0, queue.size // 100 * 60
    if queue.resolved.is_disk_assisted and 2 <= mark < least:
        yield (
            f"events go to the slow disk above {mark} messages, although {queue.size} fit "
            f"into memory: use {queue.size // 100 * 90}, rsyslog's default, or lower size"
        )


@advice(
    "RT120",
    why="A Disk queue is a sequence of files, and only one worker reads them; several read those "
    "of segmentedDisk.",
    source="rsyslog runtime/queue.c; Elastic consulting, 2019 "
    "(examples/experiments/p5-disk-queues.yaml)",
    bad={**_DISK, "outputs[logs].queue.checkpointInterval": 1000},
    good={"outputs[logs].queue.workerThreads": 1},
)
@each(queues_with_files, "workerThreads")
def _one_worker(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if queue.resolved.type is QueueType.DISK and queue.workers > 1:
        yield (
            "a Disk queue has one worker, whatever this value: set it to 1, or use "
            "a LinkedList with a filename, or lanes"
        )


@loss(
    "RT121",
    why="The position in the files is saved only at each new file and at shutdown. After a "
    "crash, events read or written since then are duplicated or lost.",
    source="rsyslog runtime/queue.c, checkpointInterval",
    bad={**_DISK, "outputs[logs].queue.workerThreads": 1},
    good={"outputs[logs].queue.checkpointInterval": 1000},
)
@each(where_durable(queues_with_files))
def _place_unknown(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    if queue.resolved.is_on_disk and not queue.resolved.checkpoint_interval:
        old = queue.resolved.type is QueueType.DISK
        become = "are lost or sent twice" if old else "are sent twice"
        yield Complaint(
            ("checkpointInterval",),
            f"after a crash, events since the last new queue file {become}, which the durable "
            "tier forbids: set it to 1000, so that it is about 1000 events",
            Cure(
                1000,
                f"all events since the last new queue file {become} when rsyslogd crashes",
            ),
        )


@loss(
    "RT134",
    why="A disk-assisted queue writes to disk above highWatermark, 90 % of its size by default. "
    "Events in flight count for its size but not for the mark: with a target that is away, a queue "
    "of less than ten batches is full before, and its files stay empty.",
    source="rsyslog runtime/queue.c, qqueueAdviseMaxWorkers; seen on 8.2302: with 128 in flight a "
    "queue of 1000 writes to disk at a mark of 872, and never at 873; one of 1200 never, of 1300 "
    "always",
    bad={**_FILES, "outputs[logs].queue": {**_ASSISTED, "type": "LinkedList", "size": 1200}},
    good={"outputs[logs].queue.size": 1300},
)
@each(every_queue)
def _never_on_disk(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    """One worker with a full batch is enough; whether all have one depends on the traffic."""
    mark, held = queue.resolved.high_watermark or 0, queue.workers * queue.batch
    if not queue.resolved.is_disk_assisted or spools(queue) or mark > queue.size:
        return  # Of a mark above the size RT105 says that it is another one.
    is_written = queue.written is not None and queue.written.high_watermark is not None
    least = -(-(mark + held if is_written else 10 * held) // 100) * 100
    cure = Cure(
        least,
        f"{queue.label} can be full before it writes to disk, and holds {queue.size} events of an "
        "outage",
    )
    yield Complaint(
        ("size",),
        f"{queue.label} can be full before it writes anything to disk: it does so above "
        f"highWatermark, {mark} events, without those in flight, and {held} of its {queue.size} "
        f"can be in flight ({queue.workers} x {queue.batch}): use at least {least}, or a "
        "lower highWatermark",
        cure,
    )


@error(
    "RT109",
    why="A queue needs both a name and a folder for its files: without them a Disk queue becomes "
    "a LinkedList, and a disk-assisted one stays in memory.",
    source="rsyslog runtime/queue.c",
    bad={"outputs[logs].queue.filename": "logs", "outputs[logs].queue.maxDiskSpace": "1g"},
    good={"outputs[logs].queue.spoolDirectory": "/var/spool/rsyslog"},
    at="outputs[logs].queue.filename",
)
@each(every_queue)
def _disk_files(queue: PlacedQueue, profile: Profile) -> Iterator[Complaint]:
    resolved = queue.resolved
    if resolved.filename is None and resolved.type in DISK_TYPES:
        without = {
            QueueType.DISK: "would turn it into a LinkedList",
            QueueType.SEGMENTED_DISK: "refuses its whole configuration",
        }
        yield Complaint(
            ("type",),
            f"a {resolved.type.value} queue needs a filename (rsyslog {without[resolved.type]}"
            "): add filename and spoolDirectory",
        )
    elif resolved.filename is None and resolved.spool_directory is not None:
        yield Complaint(
            ("spoolDirectory",),
            "without filename the queue never goes to disk: add filename, or remove spoolDirectory",
        )
    elif resolved.filename is not None and not (
        resolved.spool_directory or profile.global_.work_directory
    ):
        yield Complaint(
            ("filename",),
            "the queue's files have no folder: add spoolDirectory, such as "
            "/var/spool/rsyslog, or global: {workDirectory: ...} for all queues",
        )


@error(
    "RT110",
    why="Two queues with the same files would read each other's events; rsyslogd refuses the "
    "second.",
    source="rsyslog runtime/queue.c",
    bad={"main_queue": _ASSISTED, **_FILES},
    good={"outputs[logs].queue.filename": "logs-action"},
)
def _same_files(profile: Profile) -> Iterator[Complaint]:
    files_in_use: set[tuple[str | None, str]] = set()
    for queue in queues(profile):
        folder = queue.resolved.spool_directory or profile.global_.work_directory
        for name in (*file_names(queue), *retry_file_names(profile, queue)):
            files = (folder, name)
            if files in files_in_use:
                message = f"two queues would write the files {name}: give each its own filename"
                yield Complaint((*queue.path, "filename"), message)
            files_in_use.add(files)


@error(
    "RT127",
    why="rsyslogd says in its log that it ignores or refuses such a value, and does not take the "
    "configuration for a clean one.",
    source="rsyslog runtime/queue.c, qqueueApplyCnfParam; seen on 8.2610",
    bad={
        "release.rsyslog": f"8.{SEGMENTED_SINCE}",
        **_DISK,
        "outputs[logs].queue.workerThreads": 1,
        "outputs[logs].queue.checkpointInterval": 1000,
        "outputs[logs].queue.diskQueueType": "disk",
    },
    good={"outputs[logs].queue.diskQueueType": None},
)
@each(queues_with_files)
def _layout_without_effect(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    resolved, layout = queue.resolved, queue.resolved.disk_queue_type
    of_assisted = {
        "diskQueueType": layout,
        "diskQueueAutoUpgrade": resolved.disk_queue_auto_upgrade,
        "diskQueueIdleTimeout": resolved.disk_queue_idle_timeout,
    }
    for key, value in of_assisted.items() if not resolved.is_disk_assisted else ():
        if value is not None:
            yield Complaint(
                (key,),
                "is for disk-assisted queues (LinkedList or FixedArray with a filename), and "
                "rsyslog ignores it here: remove it, and choose the layout of the files by "
                "type: Disk or segmentedDisk",
            )
    chosen = resolved.is_disk_assisted and layout in {"disk", "segmentedDisk"}
    if chosen and resolved.disk_queue_auto_upgrade is not None:
        yield Complaint(
            ("diskQueueAutoUpgrade",),
            f"it has an effect only with diskQueueType auto, which is {layout} here: remove it",
        )
    if chosen and layout == "disk" and resolved.disk_queue_idle_timeout not in {None, 60_000}:
        yield Complaint(
            ("diskQueueIdleTimeout",),
            "is about segmented files, and diskQueueType is disk: remove it",
        )
    segmented = resolved.type is QueueType.SEGMENTED_DISK or layout == "segmentedDisk"
    if segmented and resolved.on_corruption in {"inMemory", "ignore"}:
        yield Complaint(
            ("onCorruption",),
            f"the segmented layout has no {resolved.on_corruption}, and the queue does not "
            "start with it: use safe",
        )


@warning(
    "RT128",
    why=f"Since 8.{SEGMENTED_SINCE} a disk-assisted queue without files takes the segmented "
    "layout, which no older rsyslogd reads: after a downgrade to 8.2504, 8.2302 or 8.2102 nothing "
    "of 20,000 events on disk was delivered, and no message said so.",
    source="rsyslog runtime/queue_da.c; seen on 8.2610",
    bad={"release.rsyslog": f"8.{SEGMENTED_SINCE}", **_FILES},
    good={"outputs[logs].queue.diskQueueType": "disk"},
)
@each(queues_with_files, "diskQueueType")
def _lost_in_a_downgrade(queue: PlacedQueue, profile: Profile) -> Iterator[str]:
    is_new = profile.release.rsyslog_number >= SEGMENTED_SINCE
    if is_new and queue.resolved.is_disk_assisted and queue.resolved.disk_queue_type is None:
        yield (
            f"new files of this queue get a layout that rsyslog before 8.{SEGMENTED_SINCE} "
            "does not read: after a downgrade it silently delivers nothing of them. Set it to "
            "disk to be able to go back, or to segmentedDisk or auto if you will not"
        )
