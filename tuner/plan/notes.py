"""What a reader of a plan has to know beside its figures."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.plan.inputs import DISK_TO_MEMORY, SHARD_DOCUMENTS, Inputs, Origin
from tuner.plan.measured import Measured
from tuner.plan.plan import Plan
from tuner.plan.scaling import Law

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
