"""What a plan is asked for and computed from: figures, each with its origin; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tuner.plan import reference
from tuner.plan.measured import Measured, Sample
from tuner.plan.scaling import Level, Scaling, scaling
from tuner.profile.placement import message_memory_bytes


class Origin(StrEnum):
    """How a figure is known."""

    MEASURED = "measured"
    EXTRAPOLATED = "extrapolated"
    GIVEN = "given"
    ASSUMED = "assumed"


@dataclass(frozen=True)
class Figure:
    """A value, how it is known, and in which run, by which option or for which reason."""

    value: float
    origin: Origin
    why: str


def given(value: float | None, option: str) -> Figure | None:
    """What an option says; None when it was not used."""
    return None if value is None else Figure(value, Origin.GIVEN, f"by {option}")


def assumed(value: float, why: str) -> Figure:
    """What nobody measured or said."""
    return Figure(value, Origin.ASSUMED, why)


def measured(value: float | None, where: str) -> Figure | None:
    """What was measured; None when it was not."""
    return None if value is None else Figure(value, Origin.MEASURED, where)


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options as numbers, None for what was not said.

    `rate`, `collector_eps` and `node_eps` are events per second, `peak` is the busiest rate as a
    multiple of `rate`, `growth` and `headroom` are shares, `bytes_per_event` is what the primaries
    need on disk, `levels` what so many data nodes were seen to carry.
    """

    rate: float
    message_bytes: float | None = None
    peak: float | None = None
    growth: float | None = None
    retention_s: float | None = None
    outage_s: float | None = None
    replicas: int | None = None
    headroom: float | None = None
    senders: int | None = None
    gzip_ratio: float | None = None
    bytes_per_event: float | None = None
    collector_eps: float | None = None
    collector_cores: float | None = None
    node_eps: float | None = None
    node_cores: float | None = None
    node_disk_bytes: float | None = None
    shard_bytes: float | None = None
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True)
class Machine:
    """Events per second that one carries when it is fully used; from CPU microseconds per event
    and cores where nobody gave it (None where somebody did)."""

    eps: Figure
    cpu_us: Figure | None = None
    cores: Figure | None = None


@dataclass(frozen=True)
class Inputs:
    """What a plan follows from; the units are those of Request and Measured.

    A data node indexes `node.eps` events per second without replicas.  `load_us` is CPU per event
    of the load generator, None where it was not measured.  `scaling` tells what more data nodes
    were seen to carry and `measured` what a run was, None when nobody said.
    """

    rate: Figure
    peak: Figure
    growth: Figure
    message_bytes: Figure
    retention_s: Figure
    replicas: Figure
    outage_s: Figure
    headroom: Figure
    collector: Machine
    node: Machine
    node_disk_bytes: Figure
    store_bytes: Figure
    bulk_bytes: Figure
    connection_us: Figure
    queue_memory_bytes: Figure
    queue_file_bytes: Figure
    gzip_ratio: Figure
    shard_bytes: Figure
    senders: Figure | None = None
    load_us: Figure | None = None
    scaling: Scaling | None = None
    measured: Measured | None = None


def settle(request: Request, found: Measured, sample: Sample | None) -> Inputs:
    """Each figure as the user gave it, else as it was measured, else as it is assumed."""
    message = _message_bytes(request, found, sample)
    fit = scaling(request.levels) if request.levels else None
    return Inputs(
        rate=Figure(request.rate, Origin.GIVEN, "by --rate"),
        peak=given(request.peak, "--peak") or assumed(1.0, reference.PEAK_WHY),
        growth=given(request.growth, "--growth") or assumed(0.0, reference.GROWTH_WHY),
        message_bytes=message,
        retention_s=given(request.retention_s, "--retention")
        or assumed(reference.RETENTION_S, reference.RETENTION_WHY),
        replicas=given(request.replicas, "--replicas")
        or assumed(reference.REPLICAS, reference.REPLICAS_WHY),
        outage_s=given(request.outage_s, "--outage")
        or assumed(reference.OUTAGE_S, reference.OUTAGE_WHY),
        headroom=given(request.headroom, "--headroom")
        or assumed(reference.HEADROOM, reference.HEADROOM_WHY),
        collector=_collector(request, found, message),
        node=_node(request, found, message, fit),
        node_disk_bytes=given(request.node_disk_bytes, "--node-disk")
        or assumed(reference.NODE_DISK_BYTES, reference.NODE_DISK_WHY),
        store_bytes=_store_bytes(request, found, message),
        bulk_bytes=_bulk_bytes(found, message),
        connection_us=measured(found.connection_us, found.where)
        or assumed(reference.CONNECTION_US, reference.CONNECTION_WHY),
        queue_memory_bytes=assumed(message_memory_bytes(message.value), reference.QUEUE_MEMORY_WHY),
        queue_file_bytes=assumed(
            message.value + reference.QUEUE_FILE_OVERHEAD_BYTES, reference.QUEUE_FILE_WHY
        ),
        gzip_ratio=_gzip_ratio(request, sample),
        shard_bytes=given(request.shard_bytes, "--shard-size")
        or assumed(reference.SHARD_BYTES, reference.SHARD_WHY),
        senders=given(request.senders, "--senders"),
        load_us=_grown(found.load_us, found, message),
        scaling=fit,
        measured=found if found.where else None,
    )


def _message_bytes(request: Request, found: Measured, sample: Sample | None) -> Figure:
    told = given(request.message_bytes, "--message-bytes")
    if told is None and sample is not None:
        where = f"mean of {sample.lines:,} lines of {sample.name}"
        return Figure(sample.message_bytes, Origin.MEASURED, where)
    seen = measured(found.message_bytes, found.where)
    return told or seen or assumed(reference.MESSAGE_BYTES, reference.MESSAGE_WHY)


def _gzip_ratio(request: Request, sample: Sample | None) -> Figure:
    told = given(request.gzip_ratio, "--gzip-ratio")
    if told is None and sample is not None:
        return Figure(sample.gzip_ratio, Origin.MEASURED, f"gzip -6 of {sample.name}")
    return told or assumed(reference.GZIP_RATIO, reference.GZIP_WHY)


def _collector(request: Request, found: Measured, message: Figure) -> Machine:
    if request.collector_eps is not None:
        return Machine(Figure(request.collector_eps, Origin.GIVEN, "by --collector-eps"))
    cores = given(request.collector_cores, "--collector-cores") or assumed(
        reference.COLLECTOR_CORES, reference.COLLECTOR_CORES_WHY
    )
    seen = _grown(found.shipper_us, found, message)
    return _by_cpu(seen or assumed(reference.SHIPPER_US, reference.SHIPPER_WHY), cores, found.eps)


def _node(request: Request, found: Measured, message: Figure, fit: Scaling | None) -> Machine:
    if request.node_eps is not None:
        return Machine(Figure(request.node_eps, Origin.GIVEN, "by --node-eps"))
    if fit is not None:
        return Machine(Figure(fit.eps_each, Origin.GIVEN, "by the largest level of --scaling"))
    cores = given(request.node_cores, "--node-cores") or assumed(
        reference.NODE_CORES, reference.NODE_CORES_WHY
    )
    seen = _grown(found.engine_us, found, message)
    return _by_cpu(seen or assumed(reference.ENGINE_US, reference.ENGINE_WHY), cores, found.eps)


def _by_cpu(cpu_us: Figure, cores: Figure, seen_eps: float | None) -> Machine:
    """What the cores carry when all their time goes into events, which no run has shown; beside
    the rate that the run did show, of rsyslogd and the engine together."""
    carried = cores.value * 1e6 / cpu_us.value
    why = "cores over CPU per event, assuming that the rate grows in proportion to cores"
    if cpu_us.origin is Origin.ASSUMED or seen_eps is None:
        return Machine(assumed(carried, why), cpu_us, cores)
    why = f"{carried / seen_eps:.1f} times the {seen_eps:,.0f} EPS of the run: {why}"
    return Machine(Figure(carried, Origin.EXTRAPOLATED, why), cpu_us, cores)


def _store_bytes(request: Request, found: Measured, message: Figure) -> Figure:
    if request.bytes_per_event is not None:
        return Figure(request.bytes_per_event, Origin.GIVEN, "by --bytes-per-event")
    if found.store_bytes is None:
        return assumed(message.value * reference.STORE_RATIO, reference.STORE_WHY)
    size = found.message_bytes
    if size is None or size == message.value:
        return Figure(found.store_bytes, Origin.MEASURED, found.where)
    return _in_proportion(found.store_bytes, found, message.value / size)


def _in_proportion(value: float, found: Measured, factor: float) -> Figure:
    """What was measured for messages of one size, for those of another."""
    why = (
        f"{factor:.3g} times the {value:.3g} of {found.where}, which had messages of "
        f"{found.message_bytes:.0f} bytes: in proportion"
    )
    return Figure(value * factor, Origin.EXTRAPOLATED, why)


def _bulk_bytes(found: Measured, message: Figure) -> Figure:
    """What surrounds the text in a bulk request does not grow with it."""
    size = found.message_bytes
    if found.bulk_bytes is None or size is None:
        return assumed(message.value + reference.BULK_OVERHEAD_BYTES, reference.BULK_WHY)
    if size == message.value:
        return Figure(found.bulk_bytes, Origin.MEASURED, found.where)
    beside = found.bulk_bytes - size
    why = f"the message and the {beside:.0f} bytes beside it in {found.where}"
    return Figure(message.value + beside, Origin.EXTRAPOLATED, why)


def _grown(cpu_us: float | None, found: Measured, message: Figure) -> Figure | None:
    """CPU per event for messages of that size: in proportion when they are larger than those that
    were measured, which is more than it takes, and the same when they are smaller."""
    if cpu_us is None:
        return None
    size = found.message_bytes
    if size is None or size >= message.value:
        return Figure(cpu_us, Origin.MEASURED, found.where)
    return _in_proportion(cpu_us, found, message.value / size)
