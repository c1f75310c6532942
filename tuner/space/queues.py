"""The knobs of the queues that events pass on their way to the measured output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tuner.modules.queue import (
    DISK_TYPES,
    EMPTIED_IN_MS,
    ROOM_AWAITED_MS,
    Place,
    Queue,
    QueueType,
    in_memory,
    resolve,
)
from tuner.profile.model import Keep, Profile
from tuner.profile.placement import (
    STREAMS,
    PlacedQueue,
    around_output,
    entry_queue,
    measured_path,
    measured_queue,
    working_queue,
)
from tuner.schema.path import Path
from tuner.space.knob import Knob, Level, Levels, Need, Part, Row
from tuner.space.table import IN_MEMORY, ROWS

_ATTRIBUTES = {field.alias or name: name for name, field in Queue.model_fields.items()}
_TYPE, _START = "type", "workerThreadMinimumMessages"
IN_FLIGHT = frozenset({"dequeueBatchSize", "workerThreads"})
"""What decides how many events are in flight."""
_LAYOUT = "diskQueueType"
_FIRST, _BULK = (
    {row.path: row for row in ROWS if row.part is part and not row.allow}
    for part in (Part.FIRST, Part.BULK)
)


def queue_knobs(profile: Profile) -> list[Knob]:
    """The knobs of every queue on the way, parents before what needs them."""
    direct, working = measured_queue(profile).is_direct, working_queue(profile)
    placed = dict.fromkeys((entry_queue(profile), working))
    firsts = (_first(profile, queue, direct and queue == working) for queue in placed)
    return [*(knob for knobs in firsts for knob in knobs), *_action(profile)]


def file_knobs(profile: Profile, row: Row, before: Sequence[Knob]) -> list[Knob]:
    """The knobs of a row about files, one for each queue with files that has the setting.  Without
    its file name a queue is one in memory."""
    knobs = []
    for queue in measured_path(profile):
        resolved, is_bulk = queue.resolved, queue.place is Place.ACTION
        if resolved.filename is None or is_bulk != (row.part is Part.BULK):
            continue
        now = _of_files(resolved, row.path)
        if now or (row.path == _LAYOUT and resolved.is_disk_assisted):
            levels = tuple(dict.fromkeys((now, *row.levels_in(profile))))
            knobs.append(row.knob(path_of(profile, queue), now, levels, before=before))
    return knobs


def _of_files(resolved: Queue, path: str) -> Level:
    """What a queue with files has for a setting of them, None where it does not have it: only
    those of a disk type have another type to be, and auto is rsyslog's default of the layout."""
    if path == _TYPE:
        return resolved.type.value if resolved.type in DISK_TYPES else None
    now: Level = getattr(resolved, _ATTRIBUTES[path])
    return None if now == "auto" else now


@dataclass(frozen=True)
class _SearchedQueue:
    """A queue whose knobs are made: where it is written, what it is with all its defaults, and
    which of its values are written.

    Its later workers start `with_a_batch`; it `is_missing` where the action is Direct.
    """

    section: Path
    resolved: Queue
    written: Queue
    with_a_batch: bool
    is_missing: bool = False

    def knobs(self, rows: Iterable[tuple[Row, Levels]]) -> list[Knob]:
        """The knobs of these rows, with those levels.  What follows from other settings, and what
        a Direct action has not, is not set until it is written."""
        knobs: list[Knob] = []
        for row, levels in rows:
            if self.resolved.type is QueueType.DISK and not row.on_disk:
                continue
            attribute, is_start = _ATTRIBUTES[row.path], row.path == _START
            default = getattr(self.resolved, attribute)
            follows = is_start and self.written != Queue()
            now = getattr(self.written, attribute) if self.is_missing or follows else default
            batch = self.resolved.dequeue_batch_size if is_start and self.with_a_batch else None
            knobs.append(row.knob(self.section, now, levels, batch or default, knobs))
        return knobs


def _first(profile: Profile, placed: PlacedQueue, makes_bulks: bool) -> list[Knob]:
    """A queue before the outputs; a Direct action behind it takes its batches as its bulks."""
    queue, section, knobs = placed.resolved, path_of(profile, placed), list[Knob]()
    if in_memory(queue) and queue.type is not None:
        row = _FIRST[_TYPE]
        knobs.append(row.knob(section, queue.type.value, row.levels_in(profile)))
    rows = [row for row in _FIRST.values() if row.path != _TYPE]
    if makes_bulks:
        rows = [_also(row, _BULK[row.path]) for row in rows]
        rows += [row for row in _BULK.values() if row.path not in _FIRST]
        rows = [_more_in_flight(profile, row) for row in rows]
    turned = _SearchedQueue(section, queue, placed.written or Queue(), starts_with_a_batch(placed))
    levels = (row.levels_before or row.levels_in(profile) for row in rows)
    return [*knobs, *turned.knobs(zip(rows, levels, strict=True))]


def _more_in_flight(profile: Profile, row: Row) -> Row:
    """The row of a queue that makes the bulks, where what is in flight is lost while more is kept:
    when another output takes over (RT255), and when rsyslogd ends in an outage although the queue
    has files (8.2302: 128 of 5,500 events with batches of 128, 1,400 with 3000)."""
    if row.path not in IN_FLIGHT or not (leads(profile) or has_files(profile)):
        return row
    return replace(row, gives_up=tuple(dict.fromkeys((*row.gives_up, Keep.LOSS))))


def _also(row: Row, replaced: Row) -> Row:
    """The row of a queue that does what another row's queue does too."""
    return replace(row, also=(replaced.key,), rank=min(row.rank, replaced.rank), why=replaced.why,
                   note=replaced.note, helps={**replaced.helps, **row.helps})  # fmt: skip


def _action(profile: Profile) -> list[Knob]:
    """The measured action's queue.  Its type varies only between kinds that keep messages in
    memory, and only where the queue before it keeps them there too: no choice then outlives a
    crash better than another."""
    output, placed, kind = profile.measured, measured_queue(profile), _BULK[_TYPE]
    section, is_direct = path_of(profile, placed), placed.is_direct
    may_change = in_memory(placed.resolved) and in_memory(working_queue(profile).resolved)
    if is_direct and (not may_change or _would_end_failover(profile)):
        return []
    begun = queue_for_direct(profile).model_copy(update={"type": QueueType.LINKED_LIST})
    queue = resolve(begun, Place.ACTION) if is_direct else placed.resolved
    with_a_batch = starts_with_a_batch(placed)
    turned = _SearchedQueue(section, queue, output.queue or Queue(), with_a_batch, is_direct)
    rows = [_more_in_flight(profile, row) for row in _BULK.values() if row is not kind]
    knobs = turned.knobs((row, row.levels_in(profile)) for row in rows)
    if not may_change:
        return knobs
    now = placed.resolved.type or QueueType.DIRECT
    of_type = kind.knob(section, now.value, kind.levels_in(profile))
    needs = Need(of_type.path, (*IN_MEMORY, *(disk_type.value for disk_type in DISK_TYPES)))
    return [of_type, *(replace(knob, needs=(needs, *knob.needs)) for knob in knobs)]


def _would_end_failover(profile: Profile) -> bool:
    """Whether a queue of the action's own would keep others from taking over: it accepts
    everything (RT252).  In a profile a queue is rendered around all of them."""
    return profile.base is not None and leads(profile)


def has_files(profile: Profile) -> bool:
    """Whether what waits for the measured output is in files when rsyslogd ends."""
    action_queue = measured_queue(profile)
    queue = working_queue(profile) if action_queue.is_direct else action_queue
    return queue.resolved.filename is not None


def leads(profile: Profile) -> bool:
    """Whether others take over from the measured output."""
    return bool(around_output(profile, profile.measured_number).take_over)


def queue_for_direct(profile: Profile) -> Queue:
    """What a Direct action's queue begins as, type left open: with the batches and workers of the
    queue before it, whose work it takes over, and room for what by-hand.yaml holds.

    Nor may it drop what a Direct action waits with (F9): it waits a day, and at the end ten
    seconds instead of rsyslog's ten milliseconds.
    """
    before = working_queue(profile)
    batch = max(1, before.batch)  # 0 of a Direct queue, which lint refuses there
    return Queue.model_validate(
        {
            "size": 50_000,
            "dequeueBatchSize": batch,
            "workerThreads": max(1, before.workers),
            "workerThreadMinimumMessages": batch,
            "timeoutEnqueue": ROOM_AWAITED_MS,
            "timeoutShutdown": EMPTIED_IN_MS,
        },
        by_alias=True,
    )


def starts_with_a_batch(queue: PlacedQueue) -> bool:
    """Whether later workers, when there are any, start once a batch waits for each: where the
    profile has one worker and does not say when a second starts."""
    written = queue.written.worker_thread_minimum_messages if queue.written else None
    return queue.workers == 1 and written is None


def path_of(profile: Profile, queue: PlacedQueue) -> Path:
    """The path of a queue, as knobs have it."""
    section, *within = queue.path
    if queue.place is Place.ACTION:
        return Path("outputs").item(profile.outputs[int(within[0])].name) / "queue"
    if section == STREAMS:
        return Path(f"{section}[{within[0]}].queue")
    return Path(".".join(map(str, queue.path)))
