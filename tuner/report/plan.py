"""Plans, one or several side by side, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pydantic_core import to_jsonable_python

from tuner.plan import DISK_ROOM, Inputs, Measured, Origin, Plan, input_texts
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import bits, counted, eps, size

SCHEMA = 2
Row = tuple[str, ...]

_TIMES = ((86_400, "d"), (3600, "h"), (60, "min"))


@dataclass(frozen=True)
class PlannedRate:
    """The plan for one rate, what it follows from, and the plans with the cheapest and the dearest
    of several machines that measured."""

    inputs: Inputs
    made: Plan
    measured: Measured | None = None
    reach: tuple[Plan, Plan] | None = None


def plans_json(rates: Sequence[PlannedRate]) -> dict[str, object]:
    """Of each rate all inputs with their origin, all figures, what several machines leave open, and
    the notes."""
    plans = [
        {
            "inputs": rate.inputs,
            "measured": rate.measured,
            "plan": rate.made,
            "range": rate.reach,
            "notes": [*notes(rate)],
        }
        for rate in rates
    ]
    fields: dict[str, object] = to_jsonable_python(
        {"schema": SCHEMA, "kind": "plan", "plans": plans}
    )
    return fields


def plans_blocks(rates: Sequence[PlannedRate]) -> tuple[PlainBlock, ...]:
    """What each rate needs, the space of one rate over time, what is to be known of the highest
    rate, and every assumption with its origin."""
    highest = max(rates, key=lambda rate: rate.made.peak_eps)
    sizes = ("per", "events", "messages", "primaries", "with replicas", "gzip files")
    shown: tuple[PlainBlock, ...]
    if len(rates) > 1:
        shown = (
            Table("Plans", _RATES, tuple(_rate_row(rate) for rate in rates)),
            Paragraph(f"Of {eps(highest.made.mean_eps)} events per second:"),
        )
    else:
        shown = (
            Paragraph(_headline(highest), is_lead=True),
            Table("Plan", ("plan", "", ""), tuple(_figures(highest))),
            Table("Space", sizes, tuple(_space(highest.made))),
        )
    assumptions = tuple(_assumptions(highest, several=len(rates) > 1))
    return (
        *shown,
        *bullets(notes(highest)),
        Table("Assumptions", ("assumption", "value", "", "where from"), assumptions),
    )


_RATES = (
    "events per second", "collectors", "load hosts", "data nodes", "primary shards", "disk",
)  # fmt: skip


def _rate_row(rate: PlannedRate) -> Row:
    load = rate.made.load_hosts
    return (
        eps(rate.made.mean_eps),
        _between(rate, lambda made: made.collectors.count),
        "not measured" if load is None else f"{load:,}",
        _between(rate, lambda made: made.engine.count),
        _between(rate, lambda made: made.engine.primaries),
        size(rate.made.engine.disk_bytes),
    )


def _between(rate: PlannedRate, count: Callable[[Plan], int]) -> str:
    """What a plan needs of something: `5`, or `5 (4 to 6)` where machines leave it open."""
    needed = f"{count(rate.made):,}"
    if rate.reach is None or count(rate.reach[0]) == count(rate.reach[1]):
        return needed
    return f"{needed} ({count(rate.reach[0]):,} to {count(rate.reach[1]):,})"


def duration(value: float) -> str:
    """Seconds in the largest unit that they fill: `30 d`, `1.5 h`, `45 s`."""
    for seconds, unit in _TIMES:
        if value >= seconds:
            filled = value / seconds
            return f"{filled:.3g} {unit}" if filled < 999.5 else f"{filled:,.0f} {unit}"
    return f"{value:.3g} s"


def _headline(rate: PlannedRate) -> str:
    inputs, made = rate.inputs, rate.made
    peak = "" if made.peak_eps == made.mean_eps else f", {eps(made.peak_eps)} at the peak,"
    return (
        f"{eps(made.mean_eps)} events per second{peak} of {inputs.message_bytes.value:,.0f} bytes, "
        f"kept for {duration(inputs.retention_s.value)} with "
        f"{counted(int(inputs.replicas.value), 'replica')}: "
        f"{counted(made.collectors.count, 'collector')}, "
        f"{counted(made.engine.count, 'data node')}, {size(made.engine.disk_bytes)} of disk"
    )


def _figures(rate: PlannedRate) -> Iterator[Row]:
    """What is planned, how much of it, and how that comes."""
    inputs, hosts, engine = rate.inputs, rate.made.collectors, rate.made.engine
    carried = inputs.collector_eps
    yield (
        "collectors",
        _between(rate, lambda made: made.collectors.count),
        f"{hosts.needed:,} needed at the peak, 1 spare; each with {eps(hosts.eps_each)} EPS, "
        f"{hosts.utilisation:.0%} of {eps(carried.value)} EPS ({carried.origin.value})",
    )
    yield (
        "connections",
        f"{hosts.connections_each * hosts.count:,}",
        f"to the engine: {counted(hosts.connections_each, 'action worker')} in each collector",
    )
    yield (
        f"queues for {duration(inputs.outage_s.value)}",
        size(hosts.memory_bytes),
        f"of memory, or {size(hosts.file_bytes)} of files written at "
        f"{size(hosts.file_bytes_per_second)}/s, in each collector for {hosts.queued_events:,.0f} "
        f"events, at the peak with one collector gone; caught up {duration(hosts.catch_up_s)} "
        "later",
    )
    needs = sorted(engine.needs.items(), key=lambda need: -need[1])
    yield (
        "data nodes",
        _between(rate, lambda made: made.engine.count),
        f"{', '.join(f'{number:,} for {name}' for name, number in needs)}; 1 may fail",
    )
    yield (
        "disk",
        size(engine.disk_bytes),
        f"{size(engine.stored_bytes)} of indices and {DISK_ROOM:.0%} on top for the watermark of "
        f"85 %, merges and errors; {size(engine.disk_bytes / engine.count)} on each data node",
    )
    yield (
        "primary shards",
        _between(rate, lambda made: made.engine.primaries),
        f"an index, which rolls over every {duration(engine.rollover_s)} by {engine.limit}, at "
        f"{size(engine.shard_bytes_each)} and {engine.documents_each / 1e6:,.0f} million documents "
        f"a shard; {engine.shards_kept:,} shards kept, "
        f"{engine.shards_kept / engine.count:,.0f} on each data node",
    )
    yield (
        "network",
        bits(hosts.bits_in_each),
        f"into a collector, {bits(hosts.bits_out_each)} out of it, {bits(engine.bits_in_each)} "
        "into a data node that indexes, copies included (payload, not compressed)",
    )
    if rate.made.load_hosts is not None and inputs.load_us is not None:
        yield (
            "load hosts",
            f"{rate.made.load_hosts:,}",
            "to try the peak with `flood`: a sender uses one core at most, at "
            f"{inputs.load_us.value:.2g} µs/event ({inputs.load_us.origin.value})",
        )


def _space(made: Plan) -> Iterator[Row]:
    for row in made.space:
        sizes = (row.message_bytes, row.primary_bytes, row.engine_bytes, row.gzip_bytes)
        yield (row.period, f"{row.events:,.0f}", *(size(value) for value in sizes))


# Our own caution: no documentation of the engines names a largest cluster.
_LARGE_CLUSTER = 500
# Our own caution: see examples/experiments/p5-disk-queues.yaml for what one carries.
_ONE_FILE_QUEUE_EPS = 10_000
# index.number_of_shards: Elasticsearch's es.index.max_number_of_shards.
_PRIMARIES_PER_INDEX = 1024


def notes(rate: PlannedRate) -> Iterator[str]:
    """What a reader has to know beside the figures, the most important first."""
    hosts, engine = rate.made.collectors, rate.made.engine
    yield from _origins(rate)
    nodes = engine.needs["processing"]
    if nodes > 2:
        yield (
            f"{nodes:,} data nodes are assumed to carry that many times what one does, which is "
            "not measured: give --node-eps as one of several carried it"
        )
    if engine.decided_by == "disk" and engine.needs["disk"] > 2 * nodes:
        yield (
            f"disk decides, processing alone needs {nodes:,}: larger disks (--node-disk), older "
            "indices on cheaper nodes or less retention save most"
        )
    if engine.count > _LARGE_CLUSTER:
        yield (
            f"{engine.count:,} data nodes are a very large cluster: split the stream over several, "
            "which cross-cluster search reads as one"
        )
    if engine.primaries > _PRIMARIES_PER_INDEX:
        yield (
            f"an index has at most {_PRIMARIES_PER_INDEX:,} primary shards: split the stream over "
            f"{-(-engine.primaries // _PRIMARIES_PER_INDEX)} indices or more"
        )
    if engine.limit == "documents":
        yield (
            f"a shard is full at {engine.documents_each / 1e6:,.0f} million documents, before its "
            "size is reached: roll over by max_primary_shard_docs too"
        )
    if hosts.eps_each > _ONE_FILE_QUEUE_EPS:
        yield (
            f"one thread writes and reads the files of a queue: at {eps(hosts.eps_each)} events "
            "per second and collector expect to need several lanes (`lanes`), and measure with the "
            "files on the disk that you will use"
        )
    yield (
        "three nodes must be eligible as master, on machines of their own in a large cluster; "
        "searches, ingest pipelines and snapshots come on top of what is planned here"
    )


def _origins(rate: PlannedRate) -> Iterator[str]:
    """What is not known of what machines carry."""
    run = rate.measured
    machines = {"a collector": rate.inputs.collector_eps, "a data node": rate.inputs.node_eps}
    if {carried.origin for carried in machines.values()} == {Origin.ASSUMED}:
        yield (
            "no figure of what a machine carries is yours: measure with `rsyslog-tune bench "
            "PROFILE --output json > bench.json` and plan again with bench.json"
        )
    if run is not None:
        yield from run.doubts
    if run is not None and run.machines:
        yield (
            f"ranges are those of the {len(run.machines)} machines that measured "
            f"({', '.join(run.machines)}): nothing is known of machines beyond those"
        )
    elif run is not None:
        yield "one machine measured: how much machines differ is not known, so no range is given"
    if any(carried.origin is not Origin.GIVEN for carried in machines.values()):
        beyond = [
            f"{name} to {carried.value / run.eps:.1f} times"
            for name, carried in machines.items()
            if run is not None and carried.origin is Origin.EXTRAPOLATED
        ]
        seen = f"extrapolated from the {eps(run.eps)} EPS of the run: " if run and beyond else ""
        times = f"{', '.join(beyond)} that; " if beyond else ""
        yield (
            f"{seen}{times}rates are assumed to grow in "
            "proportion to cores, which is not measured: run `bench` on machines like those "
            "planned, or give --collector-eps and --node-eps"
        )


_SHOWN: dict[str, Callable[[float], str]] = {"duration": duration, "size": size}


def _assumptions(rate: PlannedRate, *, several: bool) -> Iterator[Row]:
    """Every input: its name, its value, how it is known and from where; CPU and cores where the
    rate of a machine follows from them."""
    inputs, run = rate.inputs, rate.measured
    if run is not None:
        source = f"{run.where}: {run.what}; rsyslogd and engine together {eps(run.eps)} EPS"
        yield ("run", "", Origin.MEASURED.value, source)
    given = {"rate"} if several else set[str]()
    for machine in ("collector", "node"):
        if getattr(inputs, f"{machine}_eps").origin is Origin.GIVEN:
            given |= {f"{machine}_us", f"{machine}_cores"}
    for name, text in input_texts().items():
        if name not in given:
            figure = getattr(inputs, name)
            shown = _SHOWN.get(text.shown, text.shown.format)(figure.value)
            yield (text.label, shown, figure.origin.value, figure.why)
