"""Lint for queues with files: disks that fill, and files that are never written."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.sections import every_queue, queues_with_files, where_durable
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.input import Input
from tuner.modules.queue import DISK_TYPES, ROOM_AWAITED_MS, SEGMENTED_SINCE, QueueType
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, entry_queue, file_names, queues, retry_file_names
from tuner.rule import Complaint, Cure, advice, error, loss, warning
from tuner.schema.units import size_bytes


def spools(queue: PlacedQueue) -> bool:
    """Whether a disk-assisted queue writes to its files whatever its workers hold: they start at
    highWatermark, of which events in flight do not count, while those count for size (queue.c,
    qqueueAdviseMaxWorkers; seen on 8.2302: with 128 in flight a queue of 1000 spools at 872, and
    not at 873)."""
    mark = queue.resolved.high_watermark or 0
    return queue.resolved.is_disk_assisted and mark <= queue.size - queue.workers * queue.batch


@warning("RT117").for_each(queues_with_files, "maxDiskSpace")
def _fills_the_disk(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if size_bytes((queue.resolved.max_disk_space or "0").lower()) == 0:
        yield (
            "without maxDiskSpace the queue's files grow until the file system is full, and "
            "everything else that writes there fails too: set it to the volume of the "
            "longest outage that you plan for, about 700 bytes per event"
        )


@advice("RT118")
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


@advice("RT119").for_each(queues_with_files, "highWatermark")
def _early_to_disk(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    mark, least = queue.resolved.high_watermark or 0, queue.size // 100 * 60
    if queue.resolved.is_disk_assisted and 2 <= mark < least:
        yield (
            f"events go to the slow disk above {mark} messages, although {queue.size} fit "
            f"into memory: use {queue.size // 100 * 90}, rsyslog's default, or lower size"
        )


@advice("RT120").for_each(queues_with_files, "workerThreads")
def _one_worker(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if queue.resolved.type is QueueType.DISK and queue.workers > 1:
        yield (
            "a Disk queue has one worker, whatever this value: set it to 1, or use "
            "a LinkedList with a filename, or lanes"
        )


@loss("RT121").for_each(where_durable(queues_with_files))
def _place_unknown(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    if queue.resolved.is_on_disk and not queue.resolved.checkpoint_interval:
        old = queue.resolved.type is QueueType.DISK
        become = "are lost or sent twice" if old else "are sent twice"
        yield Complaint(
            ("checkpointInterval",),
            f"after a crash, events since the last new queue file {become}, which the durable "
            "tier forbids: set it to 1000, so that it is about 1000 events",
            Cure(1000, f"all events since the last new queue file {become} when rsyslogd crashes"),
        )


@loss("RT134").for_each(every_queue)
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


@error("RT109").for_each(every_queue)
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


@error("RT110")
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


@error("RT127").for_each(queues_with_files)
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


@warning("RT128").for_each(queues_with_files, "diskQueueType")
def _lost_in_a_downgrade(queue: PlacedQueue, profile: Profile) -> Iterator[str]:
    is_new = profile.release.rsyslog_number >= SEGMENTED_SINCE
    if is_new and queue.resolved.is_disk_assisted and queue.resolved.disk_queue_type is None:
        yield (
            f"new files of this queue get a layout that rsyslog before 8.{SEGMENTED_SINCE} "
            "does not read: after a downgrade it silently delivers nothing of them. Set "
            "diskQueueType to disk to be able to go back, or to segmentedDisk or auto if you "
            "will not"
        )
