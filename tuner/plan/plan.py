"""Capacity on paper: all that a stream needs, the space that it takes over time, and what a reader
has to know beside the figures; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tuner.plan.collectors import (
    Collectors,
    Network,
    Outage,
    collectors,
    load_hosts,
    network,
    outage,
)
from tuner.plan.inputs import DISK_TO_MEMORY, SHARD_DOCUMENTS, Inputs, Origin, Request, inputs_of
from tuner.plan.measured import Measured, Sample
from tuner.plan.nodes import DataNodes, Shards, data_nodes, processing, shards
from tuner.plan.scaling import Law

# Days have 24 hours, a month 30 days, a year 365.
#
# The table of 2012 that this one can be laid beside (ELMA appliance tests: 10,000 messages of 244
# bytes per second) is right up to the week, 6,048 million messages.  Its month, 181,440 million, is
# 30 weeks, and its year, 2,177,280 million, twelve of those.  Its gzip files, 822 GB a year, follow
# from 0.29 MB per 100,000 messages and a year of 336 days (twelve months of four weeks), its MB and
# GB being powers of 1024.  Its 96.9 TB a year for Elasticsearch need 35.0 MB per 100,000 messages
# in that year; the same tests measured 23.44 MB, 246 bytes an event.
PERIODS = (
    ("second", 1), ("minute", 60), ("hour", 3600), ("day", 86_400), ("week", 7 * 86_400),
    ("month", 30 * 86_400), ("year", 365 * 86_400),
)  # fmt: skip


@dataclass(frozen=True)
class DiskSpace:
    """Events of a period and their bytes: as messages, in the primaries of an engine, with its
    replicas, and in gzip files."""

    period: str
    seconds: int
    events: float
    message_bytes: float
    primary_bytes: float
    engine_bytes: float
    gzip_bytes: float


@dataclass(frozen=True)
class Sizes:
    """Bytes of one event, each as in Space."""

    message: float
    primary: float
    engine: float
    gzip: float


def space(rate: float, each: Sizes, period: str, seconds: int) -> DiskSpace:
    """What `rate` events per second come to in so many seconds."""
    events = rate * seconds
    return DiskSpace(
        period=period,
        seconds=seconds,
        events=events,
        message_bytes=events * each.message,
        primary_bytes=events * each.primary,
        engine_bytes=events * each.engine,
        gzip_bytes=events * each.gzip,
    )


def over_time(rate: float, each: Sizes) -> tuple[DiskSpace, ...]:
    """A second, minute, hour, day, week, month and year of `rate` events per second."""
    return tuple(space(rate, each, name, seconds) for name, seconds in PERIODS)


@dataclass(frozen=True)
class Plan:
    """What a stream needs that has `mean_eps` events per second and `peak_eps` when it is busiest,
    growth included."""

    mean_eps: float
    peak_eps: float
    collectors: Collectors
    outage: Outage
    data_nodes: DataNodes
    shards: Shards
    network: Network
    space: tuple[DiskSpace, ...]
    load_hosts: int | None = None


def plan(inputs: Inputs) -> Plan:
    """Everything that follows from the inputs."""
    mean = inputs.rate.value * (1 + inputs.growth.value)
    peak = mean * inputs.peak.value
    copies = 1 + inputs.replicas.value
    store = inputs.store_bytes.value
    hosts = collectors(inputs, peak)
    work = processing(inputs, peak)
    split = shards(inputs, work, mean)
    nodes = data_nodes(inputs, work, mean * split.kept_s * store * copies, split.kept)
    message = inputs.message_bytes.value
    each = Sizes(message, store, store * copies, message / inputs.gzip_ratio.value)
    return Plan(
        mean_eps=mean,
        peak_eps=peak,
        collectors=hosts,
        outage=outage(inputs, hosts),
        data_nodes=nodes,
        shards=split,
        network=network(inputs, peak, hosts, nodes.by_processing),
        space=over_time(mean, each),
        load_hosts=load_hosts(inputs, peak),
    )


@dataclass(frozen=True)
class PlanRange:
    """The plan with the least and with the most CPU per event that one of several machines
    measured."""

    low: Plan
    high: Plan


def plan_range(request: Request, found: Measured, sample: Sample | None) -> PlanRange | None:
    """How far what machines measured leaves the plan open; None where less than two did: nothing
    then tells how much machines differ."""
    if not found.machines:
        return None
    low, high = (
        plan(inputs_of(request, _with_costs(found, choose), sample)) for choose in (min, max)
    )
    return PlanRange(low, high)


def _with_costs(found: Measured, choose: Callable[[list[float]], float]) -> Measured:
    """What was measured, with the cost that `choose` takes of those of the machines."""
    shipper = [one.shipper_us for one in found.machines if one.shipper_us is not None]
    engine = [one.engine_us for one in found.machines if one.engine_us is not None]
    return replace(
        found,
        shipper_us=choose(shipper) if shipper else None,
        engine_us=choose(engine) if engine else None,
    )


# Our own caution: no documentation of the engines names a largest cluster.
_LARGE_CLUSTER = 500
# How far beyond the largest level that was measured a law is still a forecast.
_FORECAST = 2
# Our own caution: see examples/experiments/p5-disk-queues.yaml for what one carries.
_ONE_FILE_QUEUE_EPS = 10_000
# index.number_of_shards: Elasticsearch's es.index.max_number_of_shards.
_PRIMARIES_PER_INDEX = 1024
# imtcp's maxSessions: it refuses the next one.
_SESSIONS = 200


def notes(inputs: Inputs, made: Plan) -> tuple[str, ...]:
    """Sentences, the most important ones first."""
    return tuple(_notes(inputs, made))


def _notes(inputs: Inputs, made: Plan) -> Iterator[str]:
    yield from _unmeasured(inputs)
    yield from _scaling_notes(inputs, made)
    yield from _disk_notes(inputs, made)
    yield from _size_notes(made)
    yield from _shard_notes(made)
    yield from _collector_notes(inputs, made)
    yield (
        "three nodes must be eligible as master, on machines of their own in a large cluster; "
        "searches, ingest pipelines and snapshots come on top of what is planned here"
    )


def _unmeasured(inputs: Inputs) -> Iterator[str]:
    known = {figure.origin for figure in (inputs.collector.eps, inputs.node.eps)}
    if known == {Origin.ASSUMED}:
        yield (
            "no figure of what a machine carries is yours: measure with `rsyslog-tune bench "
            "PROFILE --output json > bench.json` and plan again with bench.json"
        )
    yield from inputs.measured.doubts if inputs.measured else ()
    yield from _machines(inputs.measured) if inputs.measured else ()
    if inputs.node.cores is not None or inputs.collector.cores is not None:
        yield (
            f"{_beyond(inputs)}rates are assumed to grow in proportion to cores, which is not "
            "measured: run `bench` on machines like those planned, or give --collector-eps and "
            "--node-eps"
        )


def _machines(found: Measured) -> Iterator[str]:
    """What is known of how machines differ."""
    if not found.machines:
        yield "one machine measured: how much machines differ is not known, so no range is given"
        return
    names = ", ".join(one.machine for one in found.machines)
    yield (
        f"ranges are those of the {len(found.machines)} machines that measured ({names}): nothing "
        "is known of machines beyond those"
    )


def _beyond(inputs: Inputs) -> str:
    """How far what machines carry lies beyond what the run carried, of those extrapolated."""
    seen = inputs.measured.eps if inputs.measured else None
    machines = {"a collector": inputs.collector.eps, "a data node": inputs.node.eps}
    times = [
        f"{name} to {eps.value / seen:.1f} times"
        for name, eps in machines.items()
        if seen and eps.origin is Origin.EXTRAPOLATED
    ]
    if not times:
        return ""
    return f"extrapolated from the {seen:,.0f} EPS of the run: {', '.join(times)} that; "


def _scaling_notes(inputs: Inputs, made: Plan) -> Iterator[str]:
    nodes, found = made.data_nodes, inputs.scaling
    if found is None:
        if nodes.by_processing > 2:
            yield (
                f"{nodes.by_processing:,} data nodes are assumed to carry that many times what "
                "one does, which is not measured: give a few with --scaling 1=EPS,2=EPS,..."
            )
        return
    largest = found.levels[-1].machines
    if found.law is None:
        yield (
            f"--scaling fits no law: {found.why_not}; planned with the rate per node that "
            f"{largest} data nodes carried"
        )
        return
    law = found.law
    yield (
        f"universal scalability law: contention {law.contention:.3g}, coherency "
        f"{law.coherency:.3g}, {law.explained:.1%} explained; {_highest(law, largest)}"
    )
    if nodes.clusters > 1:
        yield (
            f"by that law no single cluster carries it: {nodes.clusters} clusters, "
            "each with a share of the stream"
        )
    if nodes.by_processing / nodes.clusters > _FORECAST * largest:
        yield (
            f"{nodes.by_processing // nodes.clusters} data nodes are more than {_FORECAST} times "
            f"the {largest} that were measured: beyond that the law is a guess"
        )


def _highest(law: Law, largest: int) -> str:
    """Where the rate stops growing; a tiny coherency puts that beyond what was measured."""
    if law.most_machines > _FORECAST * largest:
        return f"no highest rate within {_FORECAST} times what was measured"
    return f"the rate is highest with {law.most_machines:,.0f} data nodes"


def _disk_notes(inputs: Inputs, made: Plan) -> Iterator[str]:
    nodes, disk = made.data_nodes, inputs.node_disk_bytes
    if disk.origin is Origin.GIVEN:
        hot, warm = (disk.value / ratio / 1024**3 for ratio in DISK_TO_MEMORY)
        yield (
            f"a data node with that disk has {hot:,.0f} GiB of memory by Elastic's ratio for hot "
            f"nodes, {warm:,.0f} GiB by the one for warm nodes"
        )
    if nodes.decided_by == "disk" and nodes.by_disk > 2 * nodes.by_processing:
        yield (
            f"disk decides, processing alone needs {nodes.by_processing:,}: larger disks "
            "(--node-disk), older indices on cheaper nodes or less retention save most"
        )


def _size_notes(made: Plan) -> Iterator[str]:
    nodes = made.data_nodes
    if nodes.count / nodes.clusters > _LARGE_CLUSTER:
        yield (
            f"{nodes.count // nodes.clusters:,} data nodes are a very large cluster: split the "
            "stream over several, which cross-cluster search reads as one"
        )


def _shard_notes(made: Plan) -> Iterator[str]:
    split = made.shards
    if split.primaries > _PRIMARIES_PER_INDEX:
        streams = -(-split.primaries // _PRIMARIES_PER_INDEX)
        yield (
            f"an index has at most {_PRIMARIES_PER_INDEX:,} primary shards: split the "
            f"stream over {streams} indices or more"
        )
    if split.limit == "documents":
        yield (
            f"events are so small that {SHARD_DOCUMENTS // 10**6} million documents "
            "fill a shard before its size does: roll over by max_primary_shard_docs too"
        )


def _collector_notes(inputs: Inputs, made: Plan) -> Iterator[str]:
    hosts = made.collectors
    if hosts.sessions_each is not None and hosts.sessions_each > _SESSIONS:
        yield (
            f"imtcp refuses session {_SESSIONS + 1}: set its maxSessions to "
            f"{hosts.sessions_each} or more, or use imptcp, which has no limit"
        )
    if hosts.eps_each > _ONE_FILE_QUEUE_EPS:
        yield (
            "one thread writes and reads the files of a queue: at "
            f"{hosts.eps_each:,.0f} events per second and collector expect to need several lanes "
            "(`lanes`), and measure with the files on the disk that you will use"
        )
    share = inputs.headroom.value
    yield (
        f"{share:.0%} of every machine stays free at the peak; with less, waits grow and a backlog "
        "takes longer to catch up with"
    )
