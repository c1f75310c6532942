"""Which stage set the rate, and the figures that show it; pure.

A bottleneck has work waiting in front of it, room behind it, and nothing left to do it with.  Three
questions follow: where did the events under way stand, what were that stage's threads doing (on a
core, ready without one, waiting), and which resource was used up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from tuner.measure.stage_figures import Figure, figure
from tuner.measure.stages import Pool, Stages

# The share of samples below which the sender, and not the pipeline, set the rate: the same fifth
# that makes a measurement doubtful as sender-limited.
FED = 0.8
# Sockets full half of the time: the pipeline did not take what the sender had.
REFUSED = 0.5
# A thread that is the bottleneck never waits for work; what is missing to 1 is locks and the
# kernel.  rsyslog's maintainers say the same: add a worker only when a thread is at 100 % in
# `top -H` (rsyslog issue 1778).
SATURATED = 0.9
# More events stood in this queue than in all other places together.
HOLDS = 0.5
# Indexing throttled for a tenth of the window.  It means one thread a shard instead of all, so
# a tenth of the time costs up to a tenth of the rate; less is lost in the noise.
THROTTLED = 0.1
# A fifth of all cores idle for a disk: on two cores one thread that waits for fsync two fifths of
# the time.  Below it the workers' other waits are longer.
DISK = 0.2
# The cores of this machine: queues hand over in batches, which leaves gaps at full load too.
FULL = 0.9
# The engine on cores of its own, whose garbage collection and merges come in bursts.
ENGINE_FULL = 0.85
# On shared cores: the engine took twice what all others took together.
ENGINE_PART = 2 / 3


class Bottleneck(Enum):
    """The stage that set the rate."""

    REJECTIONS = "rejections"
    SENDER = "sender"
    MERGES = "merge throttling"
    DISK = "disk"
    ACTION_CPU = "action workers' own CPU"
    MAIN_WORKER = "main queue worker"
    INPUT = "input"
    ENGINE_CPU = "engine CPU"
    MACHINE_CPU = "machine CPU"
    ACTION_WAITING = "action workers waiting on the engine"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Verdict:
    """The bottleneck, the figures that show it (name and text), and what can help.

    `knobs` are paths into the profile, the most promising first; none when no setting helps.
    `others_cpu` is the share of this machine's cores that went to none of sender, rsyslogd, engine.
    """

    bottleneck: Bottleneck
    figures: tuple[tuple[str, str], ...]
    knobs: tuple[str, ...]
    others_cpu: float


def judge(stages: Stages) -> Verdict:
    """The first bottleneck that the figures show; UNCLEAR when they show none.

    The order matters, because a fault further down makes every stage above it look slow:

    1. Rejections: the engine refused work in so many words, and rsyslog then waits before it tries
       again; idle workers and cores say nothing any more.
    2. The sender: of a pipeline without work nothing can be said.
    3. Merge throttling, then 4. the disk: the engine's cores have time to spare in both, and the
       workers wait for it, so both would pass for too few workers.
    5. Threads with a core of their own that have no more of it, behind a queue that holds the
       backlog: more cores would not help them, so they come before the machine.  From the engine
       backwards: action workers, main queue worker, input.
    6. The cores: the engine's when it used most of what was used, else the machine's.  Threads that
       were ready without a core belong here and not to 5, for `cpu` counts only time on a core.
    7. Nothing is used up: the workers before which the backlog stands set the rate by waiting, for
       the engine's answers or, in the main queue, for locks and disk.
    """
    found = next((kind for kind, shows in _TESTS if shows(stages)), Bottleneck.UNCLEAR)
    figures = tuple((item.value, figure(item, stages)) for item in _FIGURES[found])
    return Verdict(found, figures, _knobs(found, stages), stages.others_cpu)


def _holds(pool: Pool) -> bool:
    """Whether the backlog stood in this queue, or may have for all we know."""
    return pool.held is None or pool.held >= HOLDS


def _known_to_hold(pool: Pool) -> bool:
    return pool.held is not None and pool.held >= HOLDS


def _is_rejecting(stages: Stages) -> bool:
    return stages.rejected > 0


def _is_unfed(stages: Stages) -> bool:
    return stages.backlog_kept < FED and stages.sender_blocked < REFUSED


def _is_throttled(stages: Stages) -> bool:
    """Merges throttled alone are no reason: that limit spares indexing the disk."""
    return stages.index_throttled_ms >= THROTTLED * stages.window_s * 1000


def _waits_for_disk(stages: Stages) -> bool:
    return stages.io_wait >= DISK


def _bulk_workers_full(stages: Stages) -> bool:
    workers = stages.bulk_workers
    return _holds(workers) and workers.cpu >= SATURATED


def _main_worker_full(stages: Stages) -> bool:
    """One full worker is enough: the others may never have been started."""
    return stages.action is not None and _holds(stages.main) and stages.main.busiest >= SATURATED


def _input_full(stages: Stages) -> bool:
    """Events that stand in no queue stand in the sockets, before the input."""
    elsewhere = any(map(_known_to_hold, (stages.main, stages.bulk_workers)))
    return not elsewhere and stages.input_cpu >= SATURATED


def _engine_full(stages: Stages) -> bool:
    if not stages.engine_is_here:
        return stages.engine_cpu >= ENGINE_FULL
    most = stages.engine_here >= ENGINE_PART * stages.machine_cpu
    return most and _machine_full(stages)


def _machine_full(stages: Stages) -> bool:
    return stages.machine_cpu >= FULL


def _works_most(stages: Stages) -> bool:
    """Below saturation too the larger part of a worker's time is what to shorten."""
    workers = stages.bulk_workers
    return workers.workers > 0 and _holds(workers) and workers.waiting < 0.5


def _waits_most(stages: Stages) -> bool:
    workers = stages.bulk_workers
    return workers.workers > 0 and _holds(workers) and workers.waiting >= 0.5


def _stands_in_main(stages: Stages) -> bool:
    return stages.action is not None and _known_to_hold(stages.main)


def _stands_in_sockets(stages: Stages) -> bool:
    pools = (stages.main, stages.bulk_workers)
    known = all(pool.held is not None for pool in pools)
    return known and not any(map(_holds, pools)) and stages.sender_blocked >= REFUSED


_TESTS: tuple[tuple[Bottleneck, Callable[[Stages], bool]], ...] = (
    (Bottleneck.REJECTIONS, _is_rejecting),
    (Bottleneck.SENDER, _is_unfed),
    (Bottleneck.MERGES, _is_throttled),
    (Bottleneck.DISK, _waits_for_disk),
    (Bottleneck.ACTION_CPU, _bulk_workers_full),
    (Bottleneck.MAIN_WORKER, _main_worker_full),
    (Bottleneck.INPUT, _input_full),
    (Bottleneck.ENGINE_CPU, _engine_full),
    (Bottleneck.MACHINE_CPU, _machine_full),
    (Bottleneck.MAIN_WORKER, _stands_in_main),
    (Bottleneck.INPUT, _stands_in_sockets),
    (Bottleneck.ACTION_WAITING, _waits_most),
    (Bottleneck.ACTION_CPU, _works_most),
)

_FIGURES: dict[Bottleneck, tuple[Figure, ...]] = {
    Bottleneck.REJECTIONS: (Figure.REJECTIONS, Figure.ACTION, Figure.ENGINE),
    Bottleneck.SENDER: (Figure.BACKLOG, Figure.SENDER, Figure.MACHINE),
    Bottleneck.MERGES: (Figure.INDEXING, Figure.MERGES, Figure.ENGINE, Figure.DISK),
    Bottleneck.DISK: (Figure.DISK, Figure.ACTION, Figure.ENGINE),
    Bottleneck.ACTION_CPU: (Figure.ACTION, Figure.ENGINE, Figure.MACHINE),
    Bottleneck.MAIN_WORKER: (Figure.MAIN, Figure.ACTION, Figure.MACHINE),
    Bottleneck.INPUT: (Figure.INPUT, Figure.SENDER, Figure.MAIN, Figure.ACTION),
    Bottleneck.ENGINE_CPU: (Figure.ENGINE, Figure.MACHINE, Figure.ACTION),
    Bottleneck.MACHINE_CPU: (Figure.MACHINE, Figure.MAIN, Figure.ACTION),
    Bottleneck.ACTION_WAITING: (Figure.ACTION, Figure.BULK, Figure.ENGINE, Figure.MACHINE),
    Bottleneck.UNCLEAR: tuple(Figure),
}

_KNOBS: dict[Bottleneck, tuple[str, ...]] = {
    Bottleneck.REJECTIONS: ("{queue}.workerThreads", "{queue}.dequeueBatchSize"),
    Bottleneck.SENDER: ("{queue}.size", "main_queue.size", "workload.connections"),
    Bottleneck.MERGES: (
        "{settings}.refresh_interval",
        "{settings}.merge.scheduler.max_thread_count",
        "node.indices.memory.index_buffer_size",
    ),
    Bottleneck.DISK: (
        "{queue}.dequeueBatchSize",
        "{settings}.translog.flush_threshold_size",
        "{settings}.refresh_interval",
    ),
    Bottleneck.ACTION_CPU: ("{output}.filter_path", "{queue}.workerThreads", "{output}.document"),
    Bottleneck.MAIN_WORKER: (
        "main_queue.workerThreads",
        "main_queue.workerThreadMinimumMessages",
        "main_queue.dequeueBatchSize",
    ),
    Bottleneck.INPUT: ("inputs[0].threads", "inputs[0].processOnPoller", "workload.connections"),
    Bottleneck.ENGINE_CPU: (
        "{output}.index.mapping",
        "{settings}.refresh_interval",
        "{output}.filter_path",
        "{queue}.dequeueBatchSize",
    ),
    Bottleneck.MACHINE_CPU: (
        "{output}.filter_path",
        "{output}.index.mapping",
        "{settings}.refresh_interval",
        "main_queue.dequeueBatchSize",
    ),
    Bottleneck.ACTION_WAITING: (
        "{queue}.workerThreads",
        "{queue}.workerThreadMinimumMessages",
        "{queue}.dequeueBatchSize",
    ),
    Bottleneck.UNCLEAR: (),
}


def _knobs(found: Bottleneck, stages: Stages) -> tuple[str, ...]:
    """Paths that exist in this profile; only imptcp has threads to choose."""
    if found is Bottleneck.SENDER and stages.rate_is_fixed:
        return ("workload.rate",)
    output = f"outputs[{stages.output}]"
    queue = "main_queue" if stages.action is None else f"{output}.queue"
    settings = f"{output}.index.settings"
    paths = [path.format(output=output, queue=queue, settings=settings) for path in _KNOBS[found]]
    kept = [path for path in paths if stages.source == "imptcp" or not path.startswith("inputs")]
    return tuple(dict.fromkeys(kept))
