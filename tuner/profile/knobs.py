"""The dimensions of a search: paths in the profile with ordered, legal levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tuner.profile.index import MappingStyle
from tuner.profile.inputs import ImptcpInput
from tuner.profile.model import Profile
from tuner.profile.outputs import OmelasticsearchOutput
from tuner.profile.placement import PlacedQueue, entry_queue, working_queue
from tuner.profile.queue import Place, Queue, QueueType, in_memory, resolve
from tuner.profile.units import engine_bytes, seconds

Level = None | bool | int | str | tuple[str, ...]

# omelasticsearch reads `errors` and each item's `status` and `error`, nothing else of a reply.
REPLY_FILTER = ("errors", "items.*.status", "items.*.error")


def level_text(level: Level) -> str:
    """A level as a reader would write it."""
    if level is None:
        return "not set"
    if isinstance(level, bool):
        return "on" if level else "off"
    return ",".join(level) if isinstance(level, tuple) else str(level)


class Cost(Enum):
    """What it takes to apply a change."""

    LIVE_SETTING = "live setting"
    RSYSLOG_RESTART = "rsyslog restart"
    NEW_INDEX = "new index"
    NODE_RESTART = "node restart"


@dataclass(frozen=True)
class Knob:
    """One dimension: its path, its ordered levels, and which of them the profile has now.

    None as a level means: not set, the default of rsyslog or of the engine.
    """

    path: str
    levels: tuple[Level, ...]
    current: Level
    cost: Cost
    note: str = ""


def knobs(profile: Profile) -> tuple[Knob, ...]:
    """The knobs a search may turn on this profile, the ones it freezes left out.

    Nothing that touches a guarantee is here: durability, replicas, `_source`, queue types on disk,
    retries and security stay as they are written.
    """
    output = profile.measured
    every = [
        *_first_queues(profile),
        *_action_queue(profile),
        *_inputs(profile),
        *_output(output),
        *_index(profile),
    ]
    return tuple(knob for knob in every if knob.path not in profile.search.freeze)


def of_rsyslog(every: Sequence[Knob]) -> tuple[Knob, ...]:
    """The knobs that matter where nothing is stored: those of rsyslog."""
    return tuple(knob for knob in every if knob.cost is Cost.RSYSLOG_RESTART)


def _knob(path: str, levels: Sequence[Level], current: Level, cost: Cost, note: str = "") -> Knob:
    """A knob whose levels hold the current one too, in its place among them."""
    held = tuple(levels)
    if current not in held:
        held = tuple(sorted((*held, current), key=_amount))
    return Knob(path, held, current, cost, note)


def _amount(level: Level) -> float:
    """Where a level stands among others: what is not set first, what is no amount last."""
    if level is None:
        return -1.0
    if isinstance(level, int):
        return float(level)
    text = level if isinstance(level, str) else ""
    amounts = (seconds(text), engine_bytes(text))
    return next((float(amount) for amount in amounts if amount is not None), math.inf)


def _first_queues(profile: Profile) -> list[Knob]:
    """The knobs of the queues before the outputs: the main queue's, the lanes', or both."""
    placed = dict.fromkeys((entry_queue(profile), working_queue(profile)))
    return [knob for queue in placed for knob in _of_first(queue)]


def _of_first(placed: PlacedQueue) -> list[Knob]:
    queue, at = placed.resolved, ".".join(map(str, placed.path))
    wanted: list[tuple[str, Sequence[Level], Level]] = [
        ("dequeueBatchSize", (256, 512, 1024, 2048, 4096), queue.dequeue_batch_size),
        ("workerThreads", (1, 2, 4), queue.worker_threads),
        (
            "workerThreadMinimumMessages",
            (1024, 4096, 16384, 40000),
            queue.worker_thread_minimum_messages,
        ),
    ]
    return _of_queue(at, queue, wanted)


def _action_queue(profile: Profile) -> list[Knob]:
    """The action queue's knobs; None is their level while the action is Direct and has no queue.

    Its type varies only between kinds that keep messages in memory, and only where the main queue
    keeps them there too: no choice then outlives a crash better than another.
    """
    output = profile.measured
    queue = resolve(output.queue, Place.ACTION)
    at = f"outputs[{output.name}].queue"
    wanted: list[tuple[str, Sequence[Level], Level]] = [
        ("size", (10_000, 20_000, 50_000, 100_000, 200_000), queue.size),
        ("dequeueBatchSize", (500, 1000, 2000, 3000, 5000, 8000), queue.dequeue_batch_size),
        ("workerThreads", (1, 2, 3, 4, 6), queue.worker_threads),
        (
            "workerThreadMinimumMessages",
            (500, 1000, 2000, 5000, 10_000),
            queue.worker_thread_minimum_messages,
        ),
        ("minDequeueBatchSize", (0, 500, 1000, 2000, 5000), queue.min_dequeue_batch_size),
    ]
    if in_memory(queue) and in_memory(working_queue(profile).resolved):
        kind = queue.type.value if queue.type is not None else "Direct"
        wanted.insert(0, ("type", ("Direct", "LinkedList", "FixedArray"), kind))
    return _of_queue(at, queue, wanted)


def _of_queue(
    at: str, queue: Queue, wanted: Sequence[tuple[str, Sequence[Level], Level]]
) -> list[Knob]:
    """The knobs of a queue; a Disk queue has one worker, whatever is written."""
    is_single = queue.type is QueueType.DISK
    return [
        _knob(f"{at}.{key}", levels, now, Cost.RSYSLOG_RESTART)
        for key, levels, now in wanted
        if not (is_single and key.startswith("workerThread"))
    ]


def _inputs(profile: Profile) -> list[Knob]:
    """imptcp's threads; a parameter of the module, so only a single input can be turned alone."""
    inputs = profile.inputs
    source = inputs[0]
    if len(inputs) > 1 or not isinstance(source, ImptcpInput):
        return []
    restart = Cost.RSYSLOG_RESTART
    return [
        _knob("inputs[0].threads", (1, 2, 4), source.threads, restart),
        _knob("inputs[0].processOnPoller", (True, False), source.process_on_poller, restart),
    ]


def _output(output: OmelasticsearchOutput) -> list[Knob]:
    return [
        _knob(
            f"outputs[{output.name}].filter_path",
            (None, REPLY_FILTER),
            output.filter_path,
            Cost.RSYSLOG_RESTART,
            "asks the engine to leave out of its replies what omelasticsearch does not read",
        )
    ]


def _index(profile: Profile) -> list[Knob]:
    output = profile.measured
    settings = output.index.settings
    at = f"outputs[{output.name}].index"
    bound_s = profile.guardrails.freshness_p99_s
    intervals = [level for level in ("1s", "5s", "10s", "30s") if int(level[:-1]) < bound_s]
    found = [
        _knob(
            f"{at}.settings.refresh_interval",
            intervals,
            settings.refresh_interval,
            Cost.LIVE_SETTING,
            f"events become searchable later; within the guardrail of {bound_s:g} s",
        ),
        _knob(
            f"{at}.settings.translog.flush_threshold_size",
            (None, "256mb", "512mb", "1gb", "2gb"),
            settings.translog_flush_threshold_size,
            Cost.LIVE_SETTING,
        ),
    ]
    if output.index.mapping is MappingStyle.DYNAMIC:
        found.append(
            _knob(
                f"{at}.mapping",
                ("dynamic", "explicit"),
                "dynamic",
                Cost.NEW_INDEX,
                "explicit serves the uses of the document's fields; the dynamic mapping also gave "
                "every string a .keyword field",
            )
        )
    return found
