"""The figures of the stages in words."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from tuner.measure.stages import LoadStage, MachineStage, Pool, Stages
from tuner.schema.units import cores_text


class StageFigure(Enum):
    """One thing to say about the stages, in the order of an event's way."""

    BACKLOG = "backlog"
    SENDER = "sender"
    INPUT = "input threads"
    MAIN = "main queue"
    ACTION = "action queue"
    BULK = "bulk request"
    ENGINE = "engine"
    REJECTIONS = "rejections"
    INDEXING = "indexing throttled"
    MERGES = "merges throttled"
    DISK = "disk"
    MACHINE = "machine"


def figure(item: StageFigure, stages: Stages) -> str:
    """The text of one figure."""
    return _TEXTS[item](stages)


def _backlog(stages: Stages) -> str:
    return f"every worker had enough to do in {stages.backlog_kept:.0%} of the samples"


def _sender(stages: Stages) -> str:
    if stages.loads:
        return "; ".join(map(_load, stages.loads))
    return _sending(stages.sender_cpu, stages.sender_blocked)


def _load(load: LoadStage) -> str:
    sending = _sending(load.sender_cpu, load.sender_blocked)
    return f"{load.name}: {sending}, its machine {_used(load)}"


def _used(machine: MachineStage) -> str:
    return f"{machine.machine_cpu:.0%} of {cores_text(machine.cores)}"


def _sending(cpu: float, blocked: float) -> str:
    return f"{cpu:.0%} of a core, its sockets full {blocked:.0%} of the time"


def _input(stages: Stages) -> str:
    return f"the busiest used {stages.input_cpu:.0%} of a core"


def _main(stages: Stages) -> str:
    lanes = "that of the lanes, " if stages.main.path.startswith("lanes") else ""
    return lanes + _pool(stages.main)


def _action(stages: Stages) -> str:
    workers = stages.bulk_workers
    what = f"Direct, so {stages.main.path} serves it: " if stages.action is None else ""
    return (
        f"{what}{_pool(workers)}; each on average {workers.cpu:.0%} on a core, "
        f"{workers.runnable:.0%} ready without one, {workers.waiting:.0%} waiting, which is "
        f"{workers.workers_waiting:.1f} workers at any moment"
    )


def _bulk(stages: Stages) -> str:
    known = stages.bulk_ms is not None
    return f"{stages.bulk_ms:.0f} ms on average" if known else "its time is not known"


def _engine(stages: Stages) -> str:
    hosts = (f"; {one.name}: {_used(one)}" for one in stages.engine_hosts)
    return f"{stages.engine_cpu:.0%} of its {cores_text(stages.engine_cores)}{''.join(hosts)}"


def _rejections(stages: Stages) -> str:
    return f"the engine turned away {stages.rejected:,} bulks"


def _indexing(stages: Stages) -> str:
    return _throttled(stages.index_throttled_ms, stages)


def _merges(stages: Stages) -> str:
    return _throttled(stages.merge_throttled_ms, stages)


def _disk(stages: Stages) -> str:
    return f"cores idled for it {stages.io_wait:.0%} of the time"


def _machine(stages: Stages) -> str:
    parts = [("rsyslogd", stages.shipper_cpu)]
    if not stages.loads:
        parts.append(("sender", stages.sender_cpu / stages.cores))
    if stages.engine_is_here:
        parts.insert(0, ("engine", stages.engine_here))
    parts.append(("others", stages.others_cpu))
    each = ", ".join(f"{name} {share:.0%}" for name, share in parts)
    return f"{stages.machine_cpu:.0%} of {cores_text(stages.cores)}: {each}"


def _pool(pool: Pool) -> str:
    """What stood in the queue, and how many workers ran."""
    parts = []
    if pool.held is not None:
        parts.append(f"held {pool.held:.0%} of the events under way")
    if pool.fill is not None:
        parts.append(f"{pool.fill:.0%} full")
    parts.append(
        f"{pool.workers} of {pool.configured} workers, the busiest {pool.busiest:.0%} on a core"
    )
    return ", ".join(parts)


def _throttled(value_ms: int, stages: Stages) -> str:
    return f"{value_ms:,} ms in a window of {stages.window_s:.1f} s"


_TEXTS: dict[StageFigure, Callable[[Stages], str]] = {
    StageFigure.BACKLOG: _backlog,
    StageFigure.SENDER: _sender,
    StageFigure.INPUT: _input,
    StageFigure.MAIN: _main,
    StageFigure.ACTION: _action,
    StageFigure.BULK: _bulk,
    StageFigure.ENGINE: _engine,
    StageFigure.REJECTIONS: _rejections,
    StageFigure.INDEXING: _indexing,
    StageFigure.MERGES: _merges,
    StageFigure.DISK: _disk,
    StageFigure.MACHINE: _machine,
}
