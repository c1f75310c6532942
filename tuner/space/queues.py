"""The knobs of the queues that events pass on their way to the measured output.

Ranges are those of rsyslog.md section 8.  Left out: timeoutWorkerThreadShutdown (idle workers end
after a minute), delay marks and watermarks (a measurement stays below them), timeouts (they decide
what is dropped).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tuner.modules.queue import Queue, QueueType
from tuner.modules.queue_defaults import Place, in_memory, resolve
from tuner.profile.lanes import Spread
from tuner.profile.model import Profile
from tuner.profile.placement import PlacedQueue, entry_queue, measured_queue, working_queue
from tuner.space.level import Cost, Knob, Level, Need, holding
from tuner.space.worth import worth

_MEMORY = (QueueType.LINKED_LIST.value, QueueType.FIXED_ARRAY.value)
_KINDS = (QueueType.DIRECT.value, *_MEMORY)
_ATTRIBUTES = {field.alias or name: name for name, field in Queue.model_fields.items()}
_FEW_BATCHES = (0, 256, 512, 1024, 2048)


@dataclass(frozen=True)
class _Turned:
    """A queue whose knobs are made: where it is written, what it is with all its defaults, which
    of its values are written, and what may be turned only while it has a certain type.

    It `is_missing` where the action is Direct, and `begins_alone` with one worker.
    """

    at: str
    resolved: Queue
    written: Queue
    needs: tuple[Need, ...] = ()
    is_missing: bool = False
    begins_alone: bool = False

    def knob(
        self, key: str, levels: Sequence[Level], needs: tuple[Need, ...] = (), unset: Level = None
    ) -> Knob:
        """The knob of one key.  What follows from other keys, and what a Direct action has not,
        is not set until it is written."""
        default = getattr(self.resolved, _ATTRIBUTES[key])
        follows = key == "workerThreadMinimumMessages" and self.written != Queue()
        now = getattr(self.written, _ATTRIBUTES[key]) if self.is_missing or follows else default
        found = Knob(
            f"{self.at}.{key}", tuple(levels), now, Cost.RSYSLOG_RESTART,
            unset=unset or default, needs=(*self.needs, *needs),
        )  # fmt: skip
        return holding(found)

    def workers(self, levels: Sequence[Level], waiting: Sequence[Level]) -> list[Knob]:
        """The most workers, and from how many waiting messages each later one starts (F11)."""
        most = self.knob("workerThreads", levels)
        several = tuple(level for level in most.levels if level not in {None, 1})
        later = Need(most.path, several)
        batch = self.resolved.dequeue_batch_size if self.begins_alone else None
        return [most, self.knob("workerThreadMinimumMessages", waiting, (later,), batch)]

    def waiting(self, levels: Sequence[Level]) -> list[Knob]:
        """How many messages a worker waits for, and how long."""
        least = self.knob("minDequeueBatchSize", levels)
        waits = Need(least.path, tuple(level for level in least.levels if level))
        return [
            least,
            self.knob("minDequeueBatchSize.timeout", (50, 100, 200, 500, 1000), (waits,)),
        ]


def queue_knobs(profile: Profile) -> list[Knob]:
    """The knobs of every queue on the way, parents before what needs them."""
    direct = measured_queue(profile).is_direct
    placed = dict.fromkeys((entry_queue(profile), working_queue(profile)))
    firsts = (_first(queue, direct and queue == working_queue(profile)) for queue in placed)
    return [*_lanes(profile), *(knob for knobs in firsts for knob in knobs), *_action(profile)]


def _lanes(profile: Profile) -> list[Knob]:
    """How many lanes; where senders choose theirs by port it is not rsyslog's alone to turn."""
    lanes = profile.lanes
    if lanes is None or lanes.spread is Spread.PORTS:
        return []
    found = Knob("lanes.count", (1, 2, 4), lanes.count, Cost.RSYSLOG_RESTART)
    return [replace(holding(found), worth=worth("lanes.count"))]


def _first(placed: PlacedQueue, makes_bulks: bool) -> list[Knob]:
    """A queue before the outputs; a Direct action behind it takes its batches as its bulks."""
    queue = placed.resolved
    at = ".".join(map(str, placed.path))
    alone = starts_with_a_batch(placed)
    turned = _Turned(at, queue, placed.written or Queue(), begins_alone=alone)
    found = [
        turned.knob("size", (20_000, 50_000, 100_000, 200_000, 500_000)),
        turned.knob("dequeueBatchSize", (256, 512, 1024, 2048, 4096)),
        *turned.workers((1, 2, 4), (256, 1024, 4096, 16_384, 40_000)),
    ]
    if makes_bulks:
        found += turned.waiting(_FEW_BATCHES)
    if in_memory(queue) and queue.type is not None:
        kind = Knob(f"{turned.at}.type", _MEMORY, queue.type.value, Cost.RSYSLOG_RESTART)
        found.insert(0, replace(holding(kind), ordered=False))
    return [_part(knob, turned.at, makes_bulks) for knob in found if _works(knob, queue)]


def _part(knob: Knob, at: str, makes_bulks: bool) -> Knob:
    key = knob.path.removeprefix(f"{at}.")
    waits = key.startswith("minDequeueBatchSize")
    parts = [] if waits else [f"first.{key}"]
    if makes_bulks and key != "type":
        parts.append(f"bulk.{key}")
    return replace(knob, worth=worth(*parts))


def _action(profile: Profile) -> list[Knob]:
    """The measured action's queue.  Its type varies only between kinds that keep messages in
    memory, and only where the queue before it keeps them there too: no choice then outlives a
    crash better than another."""
    output, placed = profile.measured, measured_queue(profile)
    at = f"outputs[{output.name}].queue"
    may_change = in_memory(placed.resolved) and in_memory(working_queue(profile).resolved)
    made = queue_for_direct(profile).model_copy(update={"type": QueueType.LINKED_LIST})
    queue = resolve(made, Place.ACTION) if placed.is_direct else placed.resolved
    needs = (Need(f"{at}.type", (*_MEMORY, QueueType.DISK.value)),)
    turned = _Turned(
        at, queue, output.queue or Queue(), needs, placed.is_direct, starts_with_a_batch(placed)
    )
    found = [
        turned.knob("size", (10_000, 20_000, 50_000, 100_000, 200_000)),
        turned.knob("dequeueBatchSize", (500, 1000, 2000, 3000, 5000, 8000)),
        *turned.workers((1, 2, 3, 4, 6), (500, 1000, 2000, 5000, 10_000)),
        *turned.waiting((0, 500, 1000, 2000, 5000)),
    ]
    parts = [
        replace(knob, worth=worth(f"bulk.{knob.path.removeprefix(f'{at}.')}"))
        for knob in found
        if _works(knob, queue)
    ]
    if not may_change:
        return [] if placed.is_direct else [_without(knob, needs) for knob in parts]
    now = QueueType.DIRECT if placed.is_direct else placed.resolved.type or QueueType.DIRECT
    kind = Knob(f"{at}.type", _KINDS, now.value, Cost.RSYSLOG_RESTART, ordered=False)
    return [replace(kind, worth=worth("action.type")), *parts]


def queue_for_direct(profile: Profile) -> Queue:
    """What a Direct action's queue begins as, type left open: with the batches and workers of the
    queue before it, whose work it takes over, and room for what by-hand.yaml holds.

    Nor may it drop what a Direct action waits with (F9): it waits a day, and at the end ten
    seconds instead of rsyslog's ten milliseconds.
    """
    before = working_queue(profile)
    return Queue.model_validate(
        {
            "size": 50_000,
            "dequeueBatchSize": before.batch,
            "workerThreads": before.workers,
            "workerThreadMinimumMessages": before.batch,
            "timeoutEnqueue": 86_400_000,
            "timeoutShutdown": 10_000,
        },
        by_alias=True,
    )


def starts_with_a_batch(queue: PlacedQueue) -> bool:
    """Whether later workers, when there are any, start once a batch waits for each: where the
    profile has one worker and does not say when a second starts."""
    written = queue.written.worker_thread_minimum_messages if queue.written else None
    return queue.workers == 1 and written is None


def path_of(profile: Profile, queue: PlacedQueue) -> str:
    """The path of a queue on the way to the measured output, as knobs have it."""
    if queue.place is Place.ACTION:
        return f"outputs[{profile.measured.name}].queue"
    return ".".join(map(str, queue.path))


def _without(knob: Knob, needs: tuple[Need, ...]) -> Knob:
    return replace(knob, needs=tuple(need for need in knob.needs if need not in needs))


def _works(knob: Knob, queue: Queue) -> bool:
    """A Disk queue has one worker, whatever is written."""
    return queue.type is not QueueType.DISK or ".workerThread" not in knob.path
