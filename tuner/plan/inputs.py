"""What a plan is asked for and computed from: figures, each with its origin; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


# Assumed where nothing was measured or given.  Seen with rsyslog 8.2302, Elasticsearch 8.19 and
# messages of 244 bytes; the rates with other profiles.
_SEEN = "this project's, on 2 cores with examples/published/p1-production.yaml"
_PEAK = assumed(1.0, "the peak is assumed to equal --rate; give --peak 3 when --rate is a mean")
_GROWTH = assumed(0.0, "no growth is assumed; give --growth 30% to plan for some")
_MESSAGE_BYTES = assumed(
    244.0, "the mean of the ELMA tests (2012) and of our profiles; give --sample or a run"
)
_RETENTION_S = assumed(
    30 * 86400.0, "as Elasticsearch's ready-made 30-day policy; your own policy decides"
)
_REPLICAS = assumed(1.0, "index.number_of_replicas of both engines where nobody sets it")
_OUTAGE_S = assumed(
    900.0, "time to notice and to restart an engine; give what your operators promise"
)
# The freshness of `bench` is measured at this load too: tuner/cli/bench.py.
_HEADROOM = assumed(
    0.3, "`bench` measures freshness at seven tenths of the highest rate; waits grow above it"
)
_COLLECTOR_CORES = assumed(4.0, "few, because the threads of one rsyslogd share locks")
_NODE_CORES = assumed(8.0, "one for 8 GiB of memory: 64 GiB, half of it heap (31 GiB at most)")
_SHIPPER_US = assumed(11.5, f"{_SEEN}; 5 when tuned")
_ENGINE_US = assumed(28.0, f"{_SEEN}; 16 to 34 with others")
_CONNECTION_US = assumed(2 / 51_000 * 1e6, f"{_SEEN}: 2 workers carried 51,000 EPS")
# 1 GiB of server logs: 9.4 at level 1, 14.3 at level 9 (stefanseidel.info/Log_file_compression).
# 100,000 messages of the ELMA tests: 23.26 to 0.29 MiB.
_GZIP_RATIO = assumed(
    10.0,
    "server logs give 9 to 14, generated test messages up to 80; give --sample to measure yours",
)
# Of hot and of warm nodes: Elastic, AutoOps insights "High memory-to-disk ratio on hot nodes" and
# "... on warm nodes".
DISK_TO_MEMORY = (30, 160)
_NODE_DISK_BYTES = assumed(
    DISK_TO_MEMORY[0] * 64 * 1024.0**3, "64 GiB of memory and Elastic's ratio of 1:30 for hot nodes"
)
# Elasticsearch, "Size your shards": 10 GB to 50 GB, up to 200 million documents; its default
# rollover (cluster.lifecycle.default.rollover) has the same upper ends.
_SHARD_BYTES = assumed(
    50 * 1024.0**3,
    "the upper end of the 10 to 50 GB that Elasticsearch documents, and its rollover",
)
SHARD_DOCUMENTS = 200_000_000
# 23.44 MiB for 100,000 messages of 244 bytes: ELMA appliance tests, 2012.
_STORE_RATIO = 246 / 244
_STORE_WHY = (
    "as the 246 bytes for 244 of the ELMA tests (2012); this project's: 190 with an explicit "
    "mapping, 400 with a dynamic one"
)
_BULK_OVERHEAD_BYTES = 270.0
_BULK_WHY = "the message and 270 bytes of action line and JSON; this project's are 205 to 272"
# The properties with their names, as runtime/msg.c (MsgSerialize) writes them, for host names and
# tags of usual length.
_QUEUE_FILE_OVERHEAD_BYTES = 430.0
_QUEUE_FILE_WHY = "the message and 430 bytes of properties, calculated from what rsyslog writes"
_QUEUE_MEMORY_WHY = "the message and what rsyslog 8.2302 was measured to need beside it"


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


def inputs_of(request: Request, found: Measured, sample: Sample | None) -> Inputs:
    """Each figure as the user gave it, else as it was measured, else as it is assumed."""
    lines = gzipped = None
    if sample is not None:
        where = f"mean of {sample.lines:,} lines of {sample.name}"
        lines = measured(sample.message_bytes, where)
        gzipped = measured(sample.gzip_ratio, f"gzip -6 of {sample.name}")
    seen = lines or measured(found.message_bytes, found.where)
    message = given(request.message_bytes, "--message-bytes") or seen or _MESSAGE_BYTES
    fit = scaling(request.levels) if request.levels else None
    fitted = given(fit.eps_each if fit else None, "the largest level of --scaling")
    return Inputs(
        rate=Figure(request.rate, Origin.GIVEN, "by --rate"),
        peak=given(request.peak, "--peak") or _PEAK,
        growth=given(request.growth, "--growth") or _GROWTH,
        message_bytes=message,
        retention_s=given(request.retention_s, "--retention") or _RETENTION_S,
        replicas=given(request.replicas, "--replicas") or _REPLICAS,
        outage_s=given(request.outage_s, "--outage") or _OUTAGE_S,
        headroom=given(request.headroom, "--headroom") or _HEADROOM,
        collector=_machine(
            given(request.collector_eps, "--collector-eps"),
            _grown(found.shipper_us, found, message) or _SHIPPER_US,
            given(request.collector_cores, "--collector-cores") or _COLLECTOR_CORES,
            found.eps,
        ),
        node=_machine(
            given(request.node_eps, "--node-eps") or fitted,
            _grown(found.engine_us, found, message) or _ENGINE_US,
            given(request.node_cores, "--node-cores") or _NODE_CORES,
            found.eps,
        ),
        node_disk_bytes=given(request.node_disk_bytes, "--node-disk") or _NODE_DISK_BYTES,
        store_bytes=given(request.bytes_per_event, "--bytes-per-event")
        or _store_bytes(found, message),
        bulk_bytes=_bulk_bytes(found, message),
        connection_us=measured(found.connection_us, found.where) or _CONNECTION_US,
        queue_memory_bytes=assumed(message_memory_bytes(message.value), _QUEUE_MEMORY_WHY),
        queue_file_bytes=assumed(message.value + _QUEUE_FILE_OVERHEAD_BYTES, _QUEUE_FILE_WHY),
        gzip_ratio=given(request.gzip_ratio, "--gzip-ratio") or gzipped or _GZIP_RATIO,
        shard_bytes=given(request.shard_bytes, "--shard-size") or _SHARD_BYTES,
        senders=given(request.senders, "--senders"),
        load_us=_grown(found.load_us, found, message),
        scaling=fit,
        measured=found if found.where else None,
    )


def _machine(eps: Figure | None, cpu_us: Figure, cores: Figure, seen_eps: float | None) -> Machine:
    """What a machine carries: `eps` where it was given, else what the cores carry when all their
    time goes into events, which no run has shown; beside the rate that the run did show, of
    rsyslogd and the engine together."""
    if eps is not None:
        return Machine(eps)
    carried = cores.value * 1e6 / cpu_us.value
    why = "cores over CPU per event, assuming that the rate grows in proportion to cores"
    if cpu_us.origin is Origin.ASSUMED or seen_eps is None:
        return Machine(assumed(carried, why), cpu_us, cores)
    why = f"{carried / seen_eps:.1f} times the {seen_eps:,.0f} EPS of the run: {why}"
    return Machine(Figure(carried, Origin.EXTRAPOLATED, why), cpu_us, cores)


def _store_bytes(found: Measured, message: Figure) -> Figure:
    if found.store_bytes is None:
        return assumed(message.value * _STORE_RATIO, _STORE_WHY)
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
        return assumed(message.value + _BULK_OVERHEAD_BYTES, _BULK_WHY)
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
