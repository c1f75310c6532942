"""Lint for queues: parameters that rsyslog replaces, ignores or refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.queue import Queue
from tuner.profile.model import Profile
from tuner.profile.placement import queues, real_queues
from tuner.rule import Changes, Complaint, error

OF_FILES = (
    "maxDiskSpace", "maxFileSize", "checkpointInterval", "syncQueueFiles", "saveOnShutdown",
    "onCorruption", "diskQueueType", "diskQueueAutoUpgrade", "diskQueueIdleTimeout",
)  # fmt: skip


@error(
    "RT104",
    why="A worker that waits for more messages than it may take waits out the timeout every "
    "time. The manual promises an adjustment that the source does not make.",
    source="rsyslog runtime/queue.c, DequeueConsumableElements (8.2302)",
    bad={"outputs[logs].queue.minDequeueBatchSize": 2001},
    good={"outputs[logs].queue.minDequeueBatchSize": 2000},
)
def _minimum_above_batch(profile: Profile) -> Iterator[Complaint]:
    for queue in real_queues(profile):
        minimum = queue.resolved.min_dequeue_batch_size or 0
        if minimum > queue.batch:
            yield Complaint(
                (*queue.path, "minDequeueBatchSize"),
                f"workers would wait for {minimum} messages but take at most {queue.batch}, so "
                f"every batch waits for the timeout; use at most {queue.batch}",
            )


@error(
    "RT105",
    why="rsyslog replaces marks that are out of range by its own percentages, silently before "
    "8.2602.",
    source="rsyslog runtime/queue.c, qqueueCorrectParams",
    bad={"main_queue.highWatermark": 100_001},
    good={"main_queue.highWatermark": 100_000},
)
def _marks(profile: Profile) -> Iterator[Complaint]:
    for queue in real_queues(profile):
        values = {
            "highWatermark": queue.resolved.high_watermark,
            "lowWatermark": queue.resolved.low_watermark,
            "fullDelayMark": queue.resolved.full_delay_mark,
            "lightDelayMark": queue.resolved.light_delay_mark,
        }
        for key in ("highWatermark", "lowWatermark"):
            if (values[key] or 0) < 2:
                yield Complaint(
                    (*queue.path, key),
                    f"{key} {values[key]} is below 2, so rsyslog uses its own default instead; "
                    f"use {queue.size // 100 * (90 if key == 'highWatermark' else 70)}",
                )
        for key, value in values.items():
            if value is not None and value > queue.size:
                yield Complaint(
                    (*queue.path, key),
                    f"{key} {value} is above the size {queue.size}, so rsyslog uses its own "
                    f"default instead; use at most {queue.size}",
                )
        low, high = queue.resolved.low_watermark or 0, queue.resolved.high_watermark or 0
        if low >= high:
            yield Complaint(
                (*queue.path, "lowWatermark"),
                f"lowWatermark {low} must be below highWatermark {high}: "
                f"set it to {high // 10 * 7} or so",
            )


@error(
    "RT106",
    why="rsyslogd refuses its whole configuration.",
    source="rsyslog runtime/queue.c; seen on 8.2302",
    bad={"main_queue.discardMark": 100_001},
    good={"main_queue.discardMark": 100_000},
)
def _discard_mark(profile: Profile) -> Iterator[Complaint]:
    for queue in real_queues(profile):
        mark = queue.resolved.discard_mark or 0
        if mark > queue.size:
            yield Complaint(
                (*queue.path, "discardMark"),
                f"rsyslog refuses discardMark {mark} above the size {queue.size}: "
                f"use {queue.size // 100 * 98}",
            )


@error(
    "RT107",
    why="Direct means no queue: rsyslog ignores its other parameters, and rsyslogd -N1 does not "
    "say so.",
    source="rsyslog issue 77, pull request 3966",
    bad={"outputs[logs].queue": {"type": "Direct", "size": 50_000}},
    good={"outputs[logs].queue.size": None},
)
def _direct_with_others(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        if not queue.is_direct or queue.written is None:
            continue
        others = queue.written.model_dump(by_alias=True, exclude_none=True, exclude={"type"})
        if others:
            yield Complaint(
                (*queue.path, next(iter(others))),
                f"rsyslog ignores {', '.join(others)} on a Direct queue: "
                "remove them, or set type to LinkedList or FixedArray",
            )


_LOCAL: Changes = {"local.frontendSize": 1024, "local.maxFrontends": 4}


@error(
    "RT129",
    why="rsyslogd does not start with a queue of scope local without the size and number of the "
    "queues before it, nor with these on any other queue.",
    source="asked of rsyslogd 8.2610",
    bad={"release.rsyslog": "8.2610", "main_queue": {"scope": "local"}},
    good={"main_queue": {"scope": "local", **_LOCAL}},
    at="main_queue.scope",
)
def _local_in_part(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        section = queue.written or Queue.model_construct()
        written = section.model_dump(by_alias=True, exclude_none=True)
        of_local = [key for key in written if key.startswith("local.")]
        if written.get("scope") != "local":
            for key in of_local:
                yield Complaint(
                    (*queue.path, key), f"{key} is for scope local alone: set scope, or remove it"
                )
        elif not _LOCAL.keys() <= written.keys():
            missing = " and ".join(key for key in _LOCAL if key not in written)
            yield Complaint((*queue.path, "scope"), f"scope local needs {missing}: add it")


@error(
    "RT122",
    why="Only a queue with a filename has files, so this has no effect: the queue is not durable.",
    source="rsyslog runtime/queue.c",
    bad={"outputs[logs].queue.maxFileSize": "16m"},
    good={"outputs[logs].queue.maxFileSize": None},
)
def _no_files(profile: Profile) -> Iterator[Complaint]:
    for queue in queues(profile):
        if queue.written is None or queue.is_direct or queue.resolved.filename is not None:
            continue
        written = queue.written.model_dump(by_alias=True, exclude_none=True)
        for key in OF_FILES:
            if key in written:
                yield Complaint(
                    (*queue.path, key),
                    f"{key} needs queue files, and this queue has no filename: add filename and "
                    "spoolDirectory, or remove it",
                )
