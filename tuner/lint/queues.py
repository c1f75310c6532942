"""Lint for queues: what rsyslog accepts in silence and then stalls on or ignores."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.rule import Complaint, error, warning
from tuner.modules.queue import QueueType
from tuner.profile.backlog import backlog_marks
from tuner.profile.input_threads import input_threads
from tuner.profile.model import Profile
from tuner.profile.placement import (
    PlacedQueue,
    action_queue,
    entry_queue,
    file_names,
    measured_way,
    queues,
)
from tuner.profile.queue_memory import queue_memory
from tuner.schema.units import size_bytes

# Inputs hand over up to this many messages in one call (CONF_NUM_MULTISUB, compile time).
HANDED_OVER = 1024
_PER_INPUT_THREAD = 4096
_WAKES_FIRST = 2608


def _real_queues(profile: Profile) -> Iterator[PlacedQueue]:
    return (queue for queue in queues(profile) if not queue.is_direct)


def _stalls(profile: Profile) -> Iterator[Complaint]:
    """F7: inputs sleep 1 s per message above lightDelayMark before workers are woken, until
    8.2608."""
    queue = entry_queue(profile)
    if queue.is_direct or profile.release.rsyslog_number >= _WAKES_FIRST:
        return
    mark = queue.resolved.light_delay_mark
    if queue.size // 100 * 70 < HANDED_OVER:
        yield Complaint(
            (*queue.path, "size"),
            f"{queue.label} stalls at about one message per second with size {queue.size}: "
            f"70 % of it must hold the {HANDED_OVER} messages that an input hands over at once; "
            f"use at least {_recommended(profile)}",
        )
    elif mark and mark < HANDED_OVER:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"inputs stall at about one message per second with lightDelayMark {mark}: they hand "
            f"over {HANDED_OVER} messages at once; use {queue.size // 100 * 70} or 0 for off",
        )


def _recommended(profile: Profile) -> int:
    return max(_PER_INPUT_THREAD, _PER_INPUT_THREAD * input_threads(profile))


def _small_for_threads(profile: Profile) -> Iterator[Complaint]:
    queue = entry_queue(profile)
    wanted = _recommended(profile)
    if not queue.is_direct and queue.size < wanted and not any(_stalls(profile)):
        threads = input_threads(profile)
        yield Complaint(
            (*queue.path, "size"),
            f"{queue.size} messages are few for {threads} input threads: use at least {wanted}",
        )


def _batch_above_size(profile: Profile) -> Iterator[Complaint]:
    for queue in _real_queues(profile):
        if queue.batch > queue.size:
            yield Complaint(
                (*queue.path, "dequeueBatchSize"),
                f"a batch of {queue.batch} does not fit a queue of {queue.size}: "
                "rsyslog lowers it in silence; lower it here or raise size",
            )


def _minimum_above_batch(profile: Profile) -> Iterator[Complaint]:
    for queue in _real_queues(profile):
        minimum = queue.resolved.min_dequeue_batch_size or 0
        if minimum > queue.batch:
            yield Complaint(
                (*queue.path, "minDequeueBatchSize"),
                f"workers would wait for {minimum} messages but take at most {queue.batch}, so "
                f"every batch waits for the timeout; use at most {queue.batch}",
            )


def _marks(profile: Profile) -> Iterator[Complaint]:
    for queue in _real_queues(profile):
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
                    f"{key} {values[key]} is below 2, so rsyslog puts its own default in its "
                    f"place; use {queue.size // 100 * (90 if key == 'highWatermark' else 70)}",
                )
        for key, value in values.items():
            if value is not None and value > queue.size:
                yield Complaint(
                    (*queue.path, key),
                    f"{key} {value} is above the size {queue.size}, so rsyslog puts its own "
                    f"default in its place; use at most {queue.size}",
                )
        low, high = queue.resolved.low_watermark or 0, queue.resolved.high_watermark or 0
        if low >= high:
            yield Complaint(
                (*queue.path, "lowWatermark"),
                f"lowWatermark {low} must be below highWatermark {high}: "
                f"set it to {high // 10 * 7} or so",
            )


def _discard_mark(profile: Profile) -> Iterator[Complaint]:
    for queue in _real_queues(profile):
        mark = queue.resolved.discard_mark or 0
        if mark > queue.size:
            yield Complaint(
                (*queue.path, "discardMark"),
                f"rsyslog refuses discardMark {mark} above the size {queue.size}: "
                f"use {queue.size // 100 * 98}",
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


def _direct_main(profile: Profile) -> Iterator[Complaint]:
    queue = entry_queue(profile)
    if queue.is_direct:
        yield Complaint(
            (*queue.path, "type"),
            "with a Direct queue here the inputs' threads would talk to the engine themselves "
            "and nothing absorbs a pause: use FixedArray or LinkedList",
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
        elif resolved.filename is not None and resolved.spool_directory is None:
            yield Complaint(
                (*queue.path, "filename"),
                "the queue's files have no folder: add spoolDirectory, such as /var/spool/rsyslog",
            )


def _same_files(profile: Profile) -> Iterator[Complaint]:
    seen: set[tuple[str, str]] = set()
    for queue in _real_queues(profile):
        for name in file_names(queue):
            files = (queue.resolved.spool_directory or "", name)
            if files in seen:
                message = f"two queues would write the files {name}: give each its own filename"
                yield Complaint((*queue.path, "filename"), message)
            seen.add(files)


def _small_action_queue(profile: Profile) -> Iterator[Complaint]:
    """F12: batches under way count as queued until the engine has answered."""
    for number in range(len(profile.outputs)):
        queue = action_queue(profile, number)
        wanted = 2 * queue.workers * queue.batch
        if not queue.is_direct and queue.size < wanted:
            yield Complaint(
                (*queue.path, "size"),
                f"a size of {queue.size} leaves no room beside the batches under way: use at "
                f"least {wanted} (2 x {queue.workers} workers x {queue.batch} messages)",
            )


def _idle_workers(profile: Profile) -> Iterator[Complaint]:
    """F11: worker k starts at (k-1) x workerThreadMinimumMessages."""
    marks = backlog_marks(profile)
    if marks.low <= marks.high or _told_already(profile):
        return
    way = (queue for queue in measured_way(profile) if not queue.is_direct)
    worst = max(way, key=lambda queue: queue.busy_backlog)
    late = worst.workers > 1 and worst.minimum_messages > worst.batch
    key = "workerThreadMinimumMessages" if late else "dequeueBatchSize"
    cause = f"with {key} {worst.minimum_messages if late else worst.batch} of {worst.label}"
    advice = f"set it to {worst.batch}, the batch size" if late else "lower it"
    yield Complaint(
        (*worst.path, key),
        f"{cause} all workers are busy only above {marks.low} events under way, but the queues "
        f"hold {marks.high} before they slow the inputs down: {advice}, or raise the queues' size",
    )


def _told_already(profile: Profile) -> bool:
    """Whether a simpler rule already says what is wrong with the sizes."""
    simpler = (_stalls, _batch_above_size, _direct_main)
    return any(True for rule in simpler for _ in rule(profile))


def _memory(profile: Profile) -> Iterator[Complaint]:
    limit = profile.guardrails.rss_bytes
    needed = queue_memory(profile)
    if limit is None or needed is None or needed.total_bytes <= size_bytes(limit):
        return
    yield Complaint(
        (*needed.largest.path, "size"),
        f"when they are full, the queues hold {needed.total_bytes // 1024**2} MiB "
        f"({needed.message_bytes} bytes for each message), but guardrails.rss_bytes allows "
        f"{limit}: let their sizes add up to at most {size_bytes(limit) // needed.message_bytes}, "
        "or allow more",
    )


RULES = (
    error("RT101", _stalls),
    warning("RT102", _small_for_threads),
    error("RT103", _batch_above_size),
    error("RT104", _minimum_above_batch),
    error("RT105", _marks),
    error("RT106", _discard_mark),
    error("RT107", _direct_with_others),
    error("RT108", _direct_main),
    error("RT109", _disk_files),
    error("RT110", _same_files),
    warning("RT111", _small_action_queue),
    error("RT112", _idle_workers),
    warning("RT116", _memory),
)
