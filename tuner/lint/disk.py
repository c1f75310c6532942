"""Lint for queues with files: disks that fill, and files that are never written."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import Complaint, error, warning
from tuner.modules.inputs import ImptcpInput, ImrelpInput, ImtcpInput, Input
from tuner.modules.queue import QueueType
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import PlacedQueue, entry_queue, queues
from tuner.schema.units import size_bytes

_OF_FILES = (
    "maxDiskSpace", "maxFileSize", "checkpointInterval", "syncQueueFiles", "saveOnShutdown",
    "onCorruption", "diskQueueType", "diskQueueAutoUpgrade", "diskQueueIdleTimeout",
)  # fmt: skip


def _with_files(profile: Profile) -> Iterator[PlacedQueue]:
    return (queue for queue in queues(profile) if queue.resolved.filename is not None)


def _fills_the_disk(profile: Profile) -> Iterator[Complaint]:
    for queue in _with_files(profile):
        if size_bytes((queue.resolved.max_disk_space or "0").lower()) == 0:
            yield Complaint(
                (*queue.path, "maxDiskSpace"),
                "without maxDiskSpace the queue's files grow until the file system is full, and "
                "whatever else writes there fails too: set it to what the outage that you plan for "
                "brings, at about 700 bytes an event",
            )


def _waits_before_the_disk(profile: Profile) -> Iterator[Complaint]:
    """rsyslog issue 1778: inputs wait at lightDelayMark, so highWatermark is never reached."""
    queue = entry_queue(profile)
    light, high = queue.resolved.light_delay_mark or 0, queue.resolved.high_watermark or 0
    assisted = queue.resolved.filename is not None and queue.resolved.type is not QueueType.DISK
    slowed = any(_is_slowed(source) for source in profile.inputs)
    if assisted and slowed and 0 < light < high:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"senders are slowed down from {light} messages on, and the disk takes over at {high}, "
            "so that what they send hardly ever gets there: set lightDelayMark to 0, which is off",
        )


def _is_slowed(source: Input) -> bool:
    if not isinstance(source, ImptcpInput | ImtcpInput | ImrelpInput):
        return False
    return source.flow_control not in {False, "none", "full"}


def _early_to_disk(profile: Profile) -> Iterator[Complaint]:
    """rsyslog itself warns below 60 %, where rsyslogd -N1 does not show it (queue.c)."""
    for queue in _with_files(profile):
        mark, least = queue.resolved.high_watermark or 0, queue.size // 100 * 60
        if queue.resolved.type is not QueueType.DISK and 2 <= mark < least:
            yield Complaint(
                (*queue.path, "highWatermark"),
                f"events go to disk, which is slow, from {mark} messages on while {queue.size} fit "
                f"into memory: use {queue.size // 100 * 90}, rsyslog's default, or lower size",
            )


def _one_worker(profile: Profile) -> Iterator[Complaint]:
    for queue in _with_files(profile):
        if queue.resolved.type is QueueType.DISK and queue.workers > 1:
            yield Complaint(
                (*queue.path, "workerThreads"),
                "a Disk queue is read by one worker whatever is written here: set it to 1, or use "
                "a LinkedList with a filename, or lanes",
            )


def _place_unknown(profile: Profile) -> Iterator[Complaint]:
    """queue.c: with 0 the .qi file is written with each new file of the queue and at a stop."""
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for queue in _with_files(profile):
        if queue.resolved.type is QueueType.DISK and not queue.resolved.checkpoint_interval:
            yield Complaint(
                (*queue.path, "checkpointInterval"),
                "after a crash rsyslog finds its place in the queue's files only as of the last "
                "new file, against the durable tier: set it to 1000, at most so many events are "
                "then lost or sent twice",
            )


def _no_files(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        if queue.written is None or queue.is_direct or queue.resolved.filename is not None:
            continue
        written = queue.written.model_dump(by_alias=True, exclude_none=True)
        for key in _OF_FILES:
            if key in written:
                yield Complaint(
                    (*queue.path, key),
                    f"{key} is about the queue's files, and without filename it has none: add "
                    "filename and spoolDirectory, or remove it",
                )


RULES = (
    warning("RT117", _fills_the_disk),
    warning("RT118", _waits_before_the_disk),
    warning("RT119", _early_to_disk),
    warning("RT120", _one_worker),
    warning("RT121", _place_unknown),
    error("RT122", _no_files),
)
