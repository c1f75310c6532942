"""Which stage set the rate, and the figures that show it; pure.

A bottleneck has work waiting in front of it, room behind it, and nothing left to do it with.  Three
questions follow: where did the backlog stand, what were that stage's threads doing (running,
waiting for a CPU, idle), and which resource was used up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.host.usage import cores
from tuner.lab.lab import Lab
from tuner.measure.counters import Window
from tuner.measure.stages import CoreCounts, LoadStage, Pool, Stages, stages_of
from tuner.profile.model import Profile
from tuner.schema.units import cores_text
from tuner.space.knob import Bottleneck, Knob
from tuner.space.recipes import remedies


def _sender(stages: Stages) -> str:
    if stages.loads:
        return "; ".join(map(_load, stages.loads))
    return _sending(stages.sender_cpu, stages.sender_blocked)


def _load(load: LoadStage) -> str:
    sending = _sending(load.sender_cpu, load.sender_blocked)
    machine = f"{load.machine_cpu:.0%} of {cores_text(load.cores)}"
    return f"{load.name}: {sending}, its machine {machine}"


def _sending(cpu: float, blocked: float) -> str:
    return f"{cpu:.0%} of a core, its sockets full {blocked:.0%} of the time"


def _main(stages: Stages) -> str:
    lanes = "that of the lanes, " if stages.main.path.startswith("lanes") else ""
    return lanes + _pool(stages.main)


def _action(stages: Stages) -> str:
    workers = stages.bulk_workers
    prefix = f"Direct, so {stages.main.path} serves it: " if stages.action is None else ""
    return (
        f"{prefix}{_pool(workers)}; on average {workers.cpu:.0%} running, "
        f"{workers.runnable:.0%} waiting for a CPU, {workers.waiting:.0%} idle, which is "
        f"{workers.workers_waiting:.1f} workers at any moment"
    )


def _engine(stages: Stages) -> str:
    return f"{stages.engine_cpu:.0%} of its {cores_text(stages.engine_cores)}"


def _machine(stages: Stages) -> str:
    parts = [("rsyslogd", stages.shipper_cpu)]
    if not stages.loads:
        parts.append(("sender", stages.sender_cpu / stages.cores))
    if stages.engine_is_here:
        parts.insert(0, ("engine", stages.engine_here))
    parts.append(("others", stages.others_cpu))
    uses = ", ".join(f"{name} {share:.0%}" for name, share in parts)
    return f"{stages.machine_cpu:.0%} of {cores_text(stages.cores)}: {uses}"


def _pool(pool: Pool) -> str:
    """What stood in the queue, and how many workers ran."""
    parts = []
    if pool.held is not None:
        parts.append(f"held {pool.held:.0%} of the backlog")
    if pool.fill is not None:
        parts.append(f"{pool.fill:.0%} full")
    parts.append(
        f"{pool.workers} of {pool.configured} workers, the busiest {pool.busiest:.0%} on a core"
    )
    return ", ".join(parts)


def _throttled(value_ms: int, stages: Stages) -> str:
    return f"{value_ms:,} ms in a window of {stages.window_s:.1f} s"


# One thing to say about the stages under each name, in the order of an event's way.
_TEXTS: dict[str, Callable[[Stages], str]] = {
    "backlog": lambda stages: (
        f"every worker had enough to do in {stages.backlog_kept:.0%} of the samples"
    ),
    "sender": _sender,
    "input threads": lambda stages: f"the busiest used {stages.input_cpu:.0%} of a core",
    "main queue": _main,
    "action queue": _action,
    "bulk request": lambda stages: (
        "its time is not known" if stages.bulk_ms is None else f"{stages.bulk_ms:.0f} ms on average"
    ),
    "engine": _engine,
    "rejections": lambda stages: f"the engine turned away {stages.rejected:,} bulks",
    "indexing throttled": lambda stages: _throttled(stages.index_throttled_ms, stages),
    "merges throttled": lambda stages: _throttled(stages.merge_throttled_ms, stages),
    "disk": lambda stages: f"cores idled for it {stages.io_wait:.0%} of the time",
    "machine": _machine,
}


# The share of samples below which the sender, and not the pipeline, set the rate: the same fifth
# that makes a measurement doubtful as sender-limited.
FED = 0.8
# Below it an input thread waited for events for most of the time.
IDLE_INPUT = 0.5
# Sockets full half of the time: the pipeline did not take what the sender had.
REFUSED = 0.5
# A thread that is the bottleneck never waits for work; what is missing to 1 is locks and the
# kernel.  rsyslog's maintainers say the same: add a worker only when a thread is at 100 % in
# `top -H` (rsyslog issue 1778).
SATURATED = 0.9
# More events stood in this queue than in all other places together.
HOLDS = 0.5
# A queue as full as this holds up what stands before it, however much more that is: above 70 %
# of the main queue (lightDelayMark) rsyslog slows its inputs down.
FILLED = 0.65
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


def _is_unfed(stages: Stages) -> bool:
    """Whether the pipeline ran out of work, although it would have taken more."""
    return stages.backlog_kept < FED and stages.sender_blocked < REFUSED


def _is_throttled(stages: Stages) -> bool:
    """Whether the engine held indexing back for its merges.

    Merges throttled alone are no reason: that limit spares indexing the disk.
    """
    return stages.index_throttled_ms >= THROTTLED * stages.window_s * 1000


def _bulk_workers_full(stages: Stages) -> bool:
    """Whether the workers that send bulks had no time left, and work before them."""
    return _may_hold(stages.bulk_workers) and stages.bulk_workers.cpu >= SATURATED


def _main_worker_full(stages: Stages) -> bool:
    """Whether one worker of the main queue had no time left, with work before it and room in the
    action queue behind it; the other workers may never have started."""
    main, action = stages.main, stages.action
    has_room = action is not None and not _is_filled(action)
    return has_room and _may_hold(main) and main.busiest >= SATURATED


def _input_full(stages: Stages) -> bool:
    """Whether an input thread had no time left, and the events stood in no queue, so in the
    sockets before it."""
    elsewhere = any(map(_known_to_hold, (stages.main, stages.bulk_workers)))
    return not elsewhere and stages.input_cpu >= SATURATED


def _engine_full(stages: Stages) -> bool:
    """Whether the engine used up the cores it may use, or most of what was used of shared
    ones."""
    if stages.engine_cpu >= ENGINE_FULL:
        return True
    is_full = stages.machine_cpu >= FULL
    return is_full and stages.engine_here >= ENGINE_PART * stages.machine_cpu


def _stands_in_main(stages: Stages) -> bool:
    """Whether the backlog stood in the main queue, with room in the action queue behind it."""
    action = stages.action
    return action is not None and not _is_filled(action) and _known_to_hold(stages.main)


def _stands_in_no_queue(stages: Stages) -> bool:
    """Whether the backlog stood in no queue, for all that is known of them."""
    pools = (stages.main, stages.bulk_workers)
    is_counted = all(pool.held is not None for pool in pools)
    return is_counted and not any(map(_may_hold, pools))


def _stands_in_sockets(stages: Stages) -> bool:
    """Whether the backlog stood in no queue, and the sockets were full."""
    return _stands_in_no_queue(stages) and stages.sender_blocked >= REFUSED


def _stands_outside(stages: Stages) -> bool:
    """Whether the backlog stood in no queue, and the input waited for it: it was on its way from
    the load hosts."""
    is_idle = stages.input_cpu < IDLE_INPUT
    return bool(stages.loads) and is_idle and _stands_in_no_queue(stages)


def _waits_most(stages: Stages) -> bool:
    """Whether the workers that send bulks had work and waited for most of the time."""
    return _has_bulk_work(stages) and stages.bulk_workers.waiting >= 0.5


def _has_bulk_work(stages: Stages) -> bool:
    """Whether the backlog stood before the workers that send bulks."""
    workers = stages.bulk_workers
    return workers.workers > 0 and _may_hold(workers)


def _may_hold(pool: Pool) -> bool:
    """Whether the backlog stood in this queue, or may have for all we know."""
    return pool.held is None or _known_to_hold(pool)


def _known_to_hold(pool: Pool) -> bool:
    return _is_filled(pool) or (pool.held is not None and pool.held >= HOLDS)


def _is_filled(pool: Pool) -> bool:
    return pool.fill is not None and pool.fill >= FILLED


@dataclass(frozen=True)
class Diagnosis:
    """The bottleneck, the figures that show it (name and text), and what can help.

    `knobs` are paths into the profile, the most promising first; none when no setting helps.
    `others_cpu` is the share of this machine's cores that went to none of sender, rsyslogd, engine.
    `stages` says how busy each stage was.
    """

    bottleneck: Bottleneck
    figures: tuple[tuple[str, str], ...]
    knobs: tuple[str, ...]
    others_cpu: float
    stages: Stages


def verdict_of(
    window: Window, lab: Lab, profile: Profile, knobs: Sequence[Knob]
) -> Diagnosis | None:
    """What limited the pipeline of `profile`, as bound, and which of `knobs` can help; None for an
    engine elsewhere that is not ours, whose cores may have other work."""
    if not lab.is_ours:
        return None
    processors = lab.engine.facts.processors
    engine_cores = min(cores(), processors) if lab.is_here else processors
    machines = CoreCounts(cores(), engine_cores, engine_is_here=lab.is_here)
    stages = stages_of(window, profile, machines)
    return judge(stages, knobs)


def judge(stages: Stages, knobs: Sequence[Knob] = ()) -> Diagnosis:
    """The first bottleneck that the figures show; UNCLEAR when they show none.  Of `knobs`, which
    a search may turn here, the verdict names those that can help and still have room.

    The order matters, because a fault further down makes every stage above it look slow:

    1. Rejections: the engine rejected requests explicitly, and rsyslog then waits before it tries
       again; idle workers and cores say nothing any more.
    2. The sender: of a pipeline without work nothing can be said.
    3. Merge throttling, then 4. the disk: the engine's cores have time to spare in both, and the
       workers wait for it, so both would pass for too few workers.
    5. Threads with a core of their own that have no more of it, behind a queue that holds the
       backlog: more cores would not help them, so they come before the machine.  From the engine
       backwards: action workers, main queue worker, input.
    6. The cores: the engine's when it used most of what was used, else the machine's.  Threads that
       waited for a CPU belong here and not to 5, for `cpu` counts only time on a core.
    7. The network between load hosts and collector: no machine has used up its cores, and the
       events are in no queue.
    8. Nothing is used up: the workers before which the backlog stands set the rate by waiting, for
       the engine's answers or, in the main queue, for locks and disk.
    """
    limit = next((kind for kind, shows in _TESTS if shows(stages)), Bottleneck.UNCLEAR)
    figures = tuple((name, _TEXTS[name](stages)) for name in _FIGURES[limit])
    return Diagnosis(limit, figures, _remedies(limit, stages, knobs), stages.others_cpu, stages)


_TESTS: tuple[tuple[Bottleneck, Callable[[Stages], bool]], ...] = (
    (Bottleneck.REJECTIONS, lambda stages: stages.rejected > 0),
    (Bottleneck.SENDER, _is_unfed),
    (Bottleneck.MERGES, _is_throttled),
    (Bottleneck.DISK, lambda stages: stages.io_wait >= DISK),
    (Bottleneck.ACTION_CPU, _bulk_workers_full),
    (Bottleneck.MAIN_WORKER, _main_worker_full),
    (Bottleneck.INPUT, _input_full),
    (Bottleneck.ENGINE_CPU, _engine_full),
    (Bottleneck.MACHINE_CPU, lambda stages: stages.machine_cpu >= FULL),
    (Bottleneck.NETWORK, _stands_outside),
    (Bottleneck.MAIN_WORKER, _stands_in_main),
    (Bottleneck.INPUT, _stands_in_sockets),
    (Bottleneck.ACTION_WAITING, _waits_most),
    # They were busy for most of the time: below saturation too that is the larger part of it, and
    # what to shorten.
    (Bottleneck.ACTION_CPU, _has_bulk_work),
)

_FIGURES: dict[Bottleneck, tuple[str, ...]] = {
    Bottleneck.REJECTIONS: ("rejections", "action queue", "engine"),
    Bottleneck.SENDER: ("backlog", "sender", "machine"),
    Bottleneck.NETWORK: ("sender", "input threads", "machine"),
    Bottleneck.MERGES: ("indexing throttled", "merges throttled", "engine", "disk"),
    Bottleneck.DISK: ("disk", "main queue", "action queue", "engine"),
    Bottleneck.ACTION_CPU: ("action queue", "engine", "machine"),
    Bottleneck.MAIN_WORKER: ("main queue", "action queue", "machine"),
    Bottleneck.INPUT: ("input threads", "sender", "main queue", "action queue"),
    Bottleneck.ENGINE_CPU: ("engine", "machine", "action queue"),
    Bottleneck.MACHINE_CPU: ("machine", "main queue", "action queue"),
    Bottleneck.ACTION_WAITING: ("action queue", "bulk request", "engine", "machine"),
    Bottleneck.UNCLEAR: tuple(_TEXTS),
}


def _remedies(bottleneck: Bottleneck, stages: Stages, knobs: Sequence[Knob]) -> tuple[str, ...]:
    """Paths into this profile; where nothing shows, nothing is advised."""
    if bottleneck is Bottleneck.UNCLEAR:
        return ()
    if bottleneck is Bottleneck.SENDER and stages.rate_is_fixed:
        return ("workload.rate",)
    return remedies(bottleneck, knobs, stages.output)
