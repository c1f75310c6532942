"""Lint for queues: what rsyslog silently accepts and then stalls on or ignores; and the limits
that have names, which inputs and outputs share."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.sections import action_queues, every_queue, inputs, outputs, real_queues
from tuner.modules.input import Input
from tuner.modules.output import Output
from tuner.modules.ratelimit import has_own_limit, named_limits
from tuner.profile.model import Profile
from tuner.profile.placement import (
    ROOM_PERCENT,
    PlacedQueue,
    entry_queue,
    entry_queues,
    queue_behind,
    queue_memory,
    taken,
    tuned_queues,
)
from tuner.rule import Complaint, advice, error, loss, warning
from tuner.schema.units import size_bytes


@error("RT235")
def _no_such_limit(profile: Profile) -> Iterator[Complaint]:
    """Snippets may define others."""
    names = ", ".join(profile.ratelimits) or "none"
    for place, section in (*inputs(profile), *outputs(profile)):
        for key, name in named_limits(section).items():
            path, policy = (*place, key), profile.ratelimits.get(name)
            if policy is None and not profile.snippets.start:
                yield Complaint(path, f"there is no limit {name}: ratelimits has {names}")
            elif has_own_limit(section, key):
                yield Complaint(path, "it has an interval and a burst of its own: remove them")
            elif policy is not None and key.startswith("action.") and policy.policy is None:
                yield Complaint(
                    path, f"outputs need a policy: give ratelimits.{name} a file of that name"
                )


@loss("RT236").for_each(outputs)
def _limited_outputs(output: Output, profile: Profile) -> Iterator[Complaint]:
    """What a policy file says is not known here."""
    for key, name in named_limits(output).items():
        policy = profile.ratelimits.get(name)
        if policy is None or not (policy.interval or policy.policy):
            return
        paced = f"{policy.policy} says mode: pace" if policy.policy else ""
        if output.is_direct and paced:
            paced += ", which rsyslogd refuses for an output without a queue"
        yield Complaint(
            (key,),
            f"what exceeds the limit {name} is dropped{paced and f', unless {paced}'}: remove it, "
            "or raise the limit",
        )


@advice("RT237")
def _nothing_to_watch(profile: Profile) -> Iterator[Complaint]:
    for name, limit in profile.ratelimits.items():
        if limit.policy_watch and not limit.files:
            yield Complaint(
                ("ratelimits", name, "policyWatch"),
                f"the limit {name} has no file that could change: name policy, or remove it",
            )


# Inputs hand over up to this many messages in one call (CONF_NUM_MULTISUB, compile time).
HANDED_OVER = 1024
_PER_INPUT_THREAD = 4096
_WAKES_FIRST = 2608


@error("RT101")
def _stalls(profile: Profile) -> Iterator[Complaint]:
    if profile.release.rsyslog_number < _WAKES_FIRST:
        for queue in entry_queues(profile):
            yield from _stalls_behind(queue, profile)


def _stalls_behind(queue: PlacedQueue, profile: Profile) -> Iterator[Complaint]:
    if queue.is_direct:
        return
    mark = queue.resolved.light_delay_mark
    if queue.size // 100 * 70 < HANDED_OVER:
        yield Complaint(
            (*queue.path, "size"),
            f"{queue.label} stalls at about one message per second with size {queue.size}: "
            f"70 % of it must hold the {HANDED_OVER} messages that an input hands over at once; "
            f"use at least {_recommended(queue, profile)}",
        )
    elif mark and mark < HANDED_OVER:
        yield Complaint(
            (*queue.path, "lightDelayMark"),
            f"inputs stall at about one message per second with lightDelayMark {mark}: they hand "
            f"over {HANDED_OVER} messages at once; use {queue.size // 100 * 70} or 0 for off",
        )


def input_threads(profile: Profile, queue: PlacedQueue) -> int:
    """How many threads of the inputs may hand over messages to a queue at once."""
    by_module: dict[type[Input], list[Input]] = {}
    for source in profile.inputs:
        if queue_behind(profile, source.stream) == queue:
            by_module.setdefault(type(source), []).append(source)
    release = profile.release.rsyslog_number
    return sum(module.threads_of(sources, release) for module, sources in by_module.items())


def _recommended(queue: PlacedQueue, profile: Profile) -> int:
    return _PER_INPUT_THREAD * max(1, input_threads(profile, queue))


@warning("RT102")
def _small_for_threads(profile: Profile) -> Iterator[Complaint]:
    stalling = {complaint.path[:-1] for complaint in _stalls.check(profile)}
    for queue in entry_queues(profile):
        least = _recommended(queue, profile)
        if not queue.is_direct and queue.size < least and queue.path not in stalling:
            threads = input_threads(profile, queue)
            yield Complaint(
                (*queue.path, "size"),
                f"a size of {queue.size} is too small for {threads} input threads: use at least "
                f"{least}",
            )


@error("RT103").for_each(real_queues, "dequeueBatchSize")
def _batch_above_size(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    if queue.batch > queue.size:
        yield (
            f"a batch of {queue.batch} does not fit a queue of {queue.size}: rsyslog silently "
            "lowers it; lower it here or raise size"
        )


@error("RT108")
def _direct_main(profile: Profile) -> Iterator[Complaint]:
    for queue in entry_queues(profile):
        if queue.is_direct:
            yield Complaint(
                (*queue.path, "type"),
                "with a Direct queue here the inputs' threads would run the outputs themselves "
                "and nothing absorbs a pause: use FixedArray or LinkedList",
            )


@warning("RT111").for_each(action_queues, "size")
def _small_action_queue(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    least = 2 * queue.workers * queue.batch
    if not queue.is_direct and queue.size < least:
        yield (
            f"a size of {queue.size} leaves no room beside the batches in flight: use at "
            f"least {least} (2 x {queue.workers} workers x {queue.batch} messages)"
        )


_MINIMUM = "workerThreadMinimumMessages"


@advice("RT112")
def _idle_workers(profile: Profile) -> Iterator[Complaint]:
    if _has_simpler_finding(profile):
        return
    for queue in tuned_queues(profile):
        capacity = taken(profile, queue)
        room = ROOM_PERCENT * capacity // 100
        if queue.is_direct or queue.busy_backlog <= room:
            continue
        key, needed, advice = "", queue.busy_backlog, []
        # rsyslog's default grows with the size.
        is_late = queue.minimum_messages > queue.batch or _MINIMUM not in queue.keys
        if queue.workers > 1 and is_late:
            key, needed = _MINIMUM, queue.copies * (2 * queue.workers - 1) * queue.batch
            advice.append(f"set {key} to {queue.batch}, the batch size")
        if needed > room:
            larger, value = "size", queue.size
            if queue == entry_queue(profile) and "lightDelayMark" in queue.keys:
                larger, value = "lightDelayMark", queue.resolved.light_delay_mark or queue.size
            # Rounded up to hundreds.
            least = -(-needed * value // (ROOM_PERCENT * capacity)) * 100
            both = " and size" if least > queue.size and larger != "size" else ""
            advice.append(f"raise {larger}{both} to at least {least}")
            key = "dequeueBatchSize" if "dequeueBatchSize" in queue.keys else larger
        yield Complaint(
            (*queue.path, key),
            f"{queue.label} has room for {room} events, but all of its workers are busy only above "
            f"{queue.busy_backlog}: {' and '.join(advice)}, or use fewer workers or smaller "
            "batches",
        )


def _has_simpler_finding(profile: Profile) -> bool:
    """Whether a simpler rule already says what is wrong with the sizes."""
    simpler = (_stalls, _batch_above_size, _direct_main)
    return any(True for rule in simpler for _ in rule.check(profile))


@advice("RT116")
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


OF_FILES = (
    "maxDiskSpace", "maxFileSize", "checkpointInterval", "syncQueueFiles", "saveOnShutdown",
    "onCorruption", "diskQueueType", "diskQueueAutoUpgrade", "diskQueueIdleTimeout",
)  # fmt: skip


@error("RT104").for_each(real_queues, "minDequeueBatchSize")
def _minimum_above_batch(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    minimum = queue.resolved.min_dequeue_batch_size or 0
    if minimum > queue.batch:
        yield (
            f"workers would wait for {minimum} messages but take at most {queue.batch}, so "
            f"every batch waits for the timeout; use at most {queue.batch}"
        )


@error("RT105").for_each(real_queues)
def _marks(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    values = {
        "highWatermark": queue.resolved.high_watermark,
        "lowWatermark": queue.resolved.low_watermark,
        "fullDelayMark": queue.resolved.full_delay_mark,
        "lightDelayMark": queue.resolved.light_delay_mark,
    }
    for key in ("highWatermark", "lowWatermark"):
        if (values[key] or 0) < 2:
            yield Complaint(
                (key,),
                f"{key} {values[key]} is below 2, so rsyslog uses its own default instead; "
                f"use {queue.size // 100 * (90 if key == 'highWatermark' else 70)}",
            )
    for key, value in values.items():
        if value is not None and value > queue.size:
            yield Complaint(
                (key,),
                f"{key} {value} is above the size {queue.size}, so rsyslog uses its own "
                f"default instead; use at most {queue.size}",
            )
    low, high = queue.resolved.low_watermark or 0, queue.resolved.high_watermark or 0
    if low >= high:
        yield Complaint(
            ("lowWatermark",),
            f"lowWatermark {low} must be below highWatermark {high}: "
            f"set it to {high // 10 * 7} or so",
        )


@error("RT106").for_each(real_queues, "discardMark")
def _discard_mark(queue: PlacedQueue, _: Profile) -> Iterator[str]:
    mark = queue.resolved.discard_mark or 0
    if mark > queue.size:
        yield (
            f"rsyslog refuses discardMark {mark} above the size {queue.size}: "
            f"use {queue.size // 100 * 98}"
        )


@error("RT107").for_each(every_queue)
def _direct_with_others(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    others = [key for key in queue.keys if key != "type"]
    if queue.is_direct and others:
        yield Complaint(
            (others[0],),
            f"rsyslog ignores {', '.join(others)} on a Direct queue: "
            "remove them, or set type to LinkedList or FixedArray",
        )


_LOCAL = ("local.frontendSize", "local.maxFrontends")


@error("RT129").for_each(every_queue)
def _local_in_part(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    if queue.written is None or queue.written.scope != "local":
        for key in [key for key in queue.keys if key.startswith("local.")]:
            yield Complaint((key,), f"{key} is for scope local alone: set scope, or remove it")
    elif missing := " and ".join(key for key in _LOCAL if key not in queue.keys):
        yield Complaint(("scope",), f"scope local needs {missing}: add it")


@error("RT122").for_each(every_queue)
def _no_files(queue: PlacedQueue, _: Profile) -> Iterator[Complaint]:
    if queue.is_direct or queue.resolved.filename is not None:
        return
    for key in OF_FILES:
        if key in queue.keys:
            yield Complaint(
                (key,),
                f"{key} needs queue files, and this queue has no filename: add filename and "
                "spoolDirectory, or remove it",
            )
