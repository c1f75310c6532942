"""Lint for queues with files: disks that fill, and files that are never written."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.input import Input
from tuner.modules.queue import QueueType
from tuner.profile.model import Profile, Tier
from tuner.profile.placement import PlacedQueue, entry_queue, file_names, queues
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
}


def _with_files(profile: Profile) -> Iterator[PlacedQueue]:
    return (queue for queue in queues(profile) if queue.resolved.filename is not None)


@warning(
    "RT117",
    why="rsyslog's default is no limit: a long outage fills the file system, for every other "
    "program too.",
    source="rsyslog runtime/queue.c, maxDiskSpace",
    bad={**_FILES, "outputs[logs].queue.maxDiskSpace": "0"},
    good={"outputs[logs].queue.maxDiskSpace": "1g"},
)
def _fills_the_disk(profile: Profile) -> Iterator[Complaint]:
    for queue in _with_files(profile):
        if size_bytes((queue.resolved.max_disk_space or "0").lower()) == 0:
            yield Complaint(
                (*queue.path, "maxDiskSpace"),
                "without maxDiskSpace the queue's files grow until the file system is full, and "
                "everything else that writes there fails too: set it to the volume of the "
                "longest outage that you plan for, about 700 bytes per event",
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
    assisted = queue.resolved.filename is not None and queue.resolved.type is not QueueType.DISK
    slowed = any(_is_slowed(source) for source in profile.inputs)
    if assisted and slowed and 0 < light < high:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"senders are slowed down above {light} messages, so the queue hardly ever reaches "
            f"{high}, where the disk takes over: set lightDelayMark to 0 (off)",
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
        "outputs[logs].queue.highWatermark": 29_999,
        "outputs[logs].queue.lowWatermark": 20_000,
    },
    good={"outputs[logs].queue.highWatermark": 30_000},
)
def _early_to_disk(profile: Profile) -> Iterator[Complaint]:
    for queue in _with_files(profile):
        mark, least = queue.resolved.high_watermark or 0, queue.size // 100 * 60
        if queue.resolved.type is not QueueType.DISK and 2 <= mark < least:
            yield Complaint(
                (*queue.path, "highWatermark"),
                f"events go to the slow disk above {mark} messages, although {queue.size} fit "
                f"into memory: use {queue.size // 100 * 90}, rsyslog's default, or lower size",
            )


@advice(
    "RT120",
    why="A Disk queue is a sequence of files, and only one worker reads them.",
    source="rsyslog runtime/queue.c; Elastic consulting, 2019 "
    "(examples/experiments/p5-disk-queues.yaml)",
    bad={**_DISK, "outputs[logs].queue.checkpointInterval": 1000},
    good={"outputs[logs].queue.workerThreads": 1},
)
def _one_worker(profile: Profile) -> Iterator[Complaint]:
    for queue in _with_files(profile):
        if queue.resolved.type is QueueType.DISK and queue.workers > 1:
            yield Complaint(
                (*queue.path, "workerThreads"),
                "a Disk queue has one worker, whatever this value: set it to 1, or use "
                "a LinkedList with a filename, or lanes",
            )


@loss(
    "RT121",
    why="The position in the files is saved only at each new file and at shutdown. After a "
    "crash, events read or written since then are duplicated or lost.",
    source="rsyslog runtime/queue.c, checkpointInterval",
    bad={**_DISK, "outputs[logs].queue.workerThreads": 1},
    good={"outputs[logs].queue.checkpointInterval": 1000},
)
def _place_unknown(profile: Profile) -> Iterator[Complaint]:
    if profile.guardrails.tier is not Tier.DURABLE:
        return
    for queue in _with_files(profile):
        if queue.resolved.type is QueueType.DISK and not queue.resolved.checkpoint_interval:
            yield Complaint(
                (*queue.path, "checkpointInterval"),
                "after a crash, events since the last new queue file are lost or sent twice, "
                "which the durable tier forbids: set it to 1000, so that it is at most 1000 "
                "events",
                Cure(
                    1000,
                    "all events since the last new queue file are lost or sent twice when "
                    "rsyslogd crashes",
                ),
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
def _disk_files(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        resolved = queue.resolved
        if resolved.filename is None and resolved.type is QueueType.DISK:
            yield Complaint(
                (*queue.path, "type"),
                "a Disk queue needs a filename (rsyslog would turn it into a LinkedList): "
                "add filename and spoolDirectory",
            )
        elif resolved.filename is None and resolved.spool_directory is not None:
            yield Complaint(
                (*queue.path, "spoolDirectory"),
                "without filename the queue never goes to disk: add filename, "
                "or remove spoolDirectory",
            )
        elif resolved.filename is not None and not (
            resolved.spool_directory or profile.global_.work_directory
        ):
            yield Complaint(
                (*queue.path, "filename"),
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
    files_in_use: set[tuple[str, str]] = set()
    for queue in queues(profile):
        for name in file_names(queue):
            files = (queue.resolved.spool_directory or "", name)
            if files in files_in_use:
                message = f"two queues would write the files {name}: give each its own filename"
                yield Complaint((*queue.path, "filename"), message)
            files_in_use.add(files)
