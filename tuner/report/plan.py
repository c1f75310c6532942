"""A plan, or several side by side, for people and for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from tuner.plan.inputs import Figure, Inputs, Machine, Origin
from tuner.plan.measured import Measured
from tuner.plan.nodes import DISK_ROOM, DataNodes
from tuner.plan.plan import DiskSpace, Plan, PlanRange, notes
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import bits, counted, digits, eps, size

RATE = "events per second"
_HEADER = (RATE, "collectors", "load hosts", "data nodes", "primary shards", "disk")


@dataclass(frozen=True)
class PlannedRate:
    """The plan for one of several rates, and what the machines that measured leave open of it."""

    inputs: Inputs
    made: Plan
    reach: PlanRange | None = None


def rates_json(rates: Sequence[PlannedRate]) -> dict[str, object]:
    """Each plan as `plan` gives it for one rate."""
    return {"schema": SCHEMA, "kind": "plans", "plans": [plan_json(one) for one in rates]}


def rates_blocks(rates: Sequence[PlannedRate]) -> tuple[PlainBlock, ...]:
    """A row for each rate, what is to be known of all of them and of the highest, and what they
    assume."""
    highest = max(rates, key=lambda one: one.made.peak_eps)
    every = [set(notes(one.inputs, one.made)) for one in rates]
    remarks = [
        note if all(note in some for some in every) else f"{eps(highest.made.mean_eps)} EPS: {note}"
        for note in notes(highest.inputs, highest.made)
    ]
    shared = tuple(row for row in assumptions(highest.inputs) if row[0] != RATE)
    return (
        Table("Plans", _HEADER, tuple(_rate_row(one) for one in rates)),
        *bullets(remarks),
        Table("Assumptions", ("assumption", "value", "", "where from"), shared),
    )


def _rate_row(one: PlannedRate) -> tuple[str, ...]:
    made, reach = one.made, one.reach
    return (
        eps(made.mean_eps),
        between(made, reach, collectors_of),
        "not measured" if made.load_hosts is None else f"{made.load_hosts:,}",
        between(made, reach, data_nodes_of),
        between(made, reach, primaries_of),
        size(made.data_nodes.disk_bytes),
    )


SCHEMA = 1

Row = tuple[str, ...]

_TIMES = ((86_400, "d"), (3600, "h"), (60, "min"))


def plan_json(one: PlannedRate) -> dict[str, object]:
    """All inputs with their origin, all figures, what several machines leave open, and the
    notes."""
    return {
        "schema": SCHEMA,
        "kind": "plan",
        "inputs": asdict(one.inputs),
        "plan": asdict(one.made),
        "range": None if one.reach is None else asdict(one.reach),
        "notes": list(notes(one.inputs, one.made)),
    }


def plan_blocks(one: PlannedRate) -> tuple[PlainBlock, ...]:
    """The plan in one sentence, its figures, the space over time, the notes, and every assumption
    with its origin."""
    inputs, made = one.inputs, one.made
    sizes = ("per", "events", "messages", "primaries", "with replicas", "gzip files")
    return (
        Paragraph(_headline(inputs, made), is_lead=True),
        Table("Plan", ("plan", "", ""), _figures(inputs, made, one.reach)),
        Table("Space", sizes, tuple(_space(row) for row in made.space)),
        *bullets(notes(inputs, made)),
        Table("Assumptions", ("assumption", "value", "", "where from"), assumptions(inputs)),
    )


def _headline(inputs: Inputs, made: Plan) -> str:
    peak = "" if made.peak_eps == made.mean_eps else f", {eps(made.peak_eps)} at the peak,"
    hosts, nodes = made.collectors, made.data_nodes
    return (
        f"{eps(made.mean_eps)} events per second{peak} of {inputs.message_bytes.value:,.0f} bytes, "
        f"kept for {duration(inputs.retention_s.value)} with "
        f"{counted(int(inputs.replicas.value), 'replica')}: {counted(hosts.count, 'collector')}, "
        f"{counted(nodes.count, 'data node')}, {size(nodes.disk_bytes)} of disk"
    )


def duration(value: float) -> str:
    """Seconds in the largest unit that they fill: `30 d`, `1.5 h`, `45 s`."""
    for seconds, unit in _TIMES:
        if value >= seconds:
            filled = value / seconds
            return f"{filled:.3g} {unit}" if filled < 999.5 else f"{filled:,.0f} {unit}"
    return f"{value:.3g} s"


def between(made: Plan, reach: PlanRange | None, count: Callable[[Plan], int]) -> str:
    """What a plan needs of something: `5`, or `5 (4 to 6)` where machines leave it open."""
    if reach is None or count(reach.low) == count(reach.high):
        return f"{count(made):,}"
    return f"{count(made):,} ({count(reach.low):,} to {count(reach.high):,})"


def _figures(inputs: Inputs, made: Plan, reach: PlanRange | None) -> tuple[Row, ...]:
    """What is planned, how much of it, and how that comes."""
    hosts, gone = made.collectors, made.outage
    carried = inputs.collector.eps
    return (
        (
            "collectors",
            between(made, reach, collectors_of),
            f"{hosts.needed:,} needed at the peak, 1 spare; each with {eps(hosts.eps_each)} EPS, "
            f"{hosts.utilisation:.0%} of {eps(carried.value)} EPS ({carried.origin.value})"
            f"{_busy(hosts.cores_busy)}",
        ),
        ("connections", f"{hosts.connections:,}", _connections(made)),
        (
            f"queues for {duration(inputs.outage_s.value)}",
            size(gone.memory_bytes_each),
            f"of memory, or {size(gone.file_bytes_each)} of files written at "
            f"{size(gone.file_bytes_per_second_each)}/s, in each collector for "
            f"{gone.events_each:,.0f} events, at the peak with one collector gone; the files of "
            f"all: {size(gone.files_bytes)}; caught up {duration(gone.catch_up_s)} later",
        ),
        *_engine_figures(made, reach),
        _network_figures(made),
        *_load_figures(inputs, made),
    )


def collectors_of(made: Plan) -> int:
    """The collectors of a plan, with the spare one."""
    return made.collectors.count


def data_nodes_of(made: Plan) -> int:
    """The data nodes of a plan, with the spare ones."""
    return made.data_nodes.count


def primaries_of(made: Plan) -> int:
    """The primary shards of an index."""
    return made.shards.primaries


def _load_figures(inputs: Inputs, made: Plan) -> tuple[Row, ...]:
    if made.load_hosts is None or inputs.load_us is None:
        return ()
    cost = f"{inputs.load_us.value:.2g} us/event ({inputs.load_us.origin.value})"
    how = f"to try the peak with `flood`: a sender uses one core at most, at {cost}"
    return (("load hosts", f"{made.load_hosts:,}", how),)


def _engine_figures(made: Plan, reach: PlanRange | None) -> tuple[Row, ...]:
    nodes, split = made.data_nodes, made.shards
    spare = "1 may fail" if nodes.clusters == 1 else f"1 may fail in each of {nodes.clusters}"
    return (
        (
            "data nodes",
            between(made, reach, data_nodes_of),
            f"{_needs(nodes)}; {spare}{_busy(nodes.cores_busy)}",
        ),
        (
            "disk",
            size(nodes.disk_bytes),
            f"{size(nodes.stored_bytes)} of indices and {DISK_ROOM:.0%} on top for the watermark "
            f"of 85 %, merges and errors; {size(nodes.disk_bytes / nodes.count)} on each data node",
        ),
        (
            "primary shards",
            between(made, reach, primaries_of),
            f"an index, which rolls over every {duration(split.rollover_s)} by {split.limit}, at "
            f"{size(split.bytes_each)} and {split.documents_each / 1e6:,.0f} million documents a "
            f"shard; {split.kept:,} shards kept, {split.kept / nodes.count:,.0f} on each data node",
        ),
    )


def _needs(nodes: DataNodes) -> str:
    """How many data nodes each limit asks for, the one that decides first."""
    needs = {
        "disk": nodes.by_disk,
        "processing": nodes.by_processing,
        "shards": nodes.by_shards,
        "replicas": nodes.by_replicas,
    }
    ordered = sorted(needs.items(), key=lambda need: -need[1])
    return ", ".join(f"{number:,} for {name}" for name, number in ordered)


def _network_figures(made: Plan) -> Row:
    lines = made.network
    return (
        "network in",
        bits(lines.senders_bits),
        f"from senders, {bits(lines.collector_in_bits)} into a collector and "
        f"{bits(lines.collector_out_bits)} out of it; {bits(lines.engine_bits)} to the engine, "
        f"{bits(lines.node_in_bits)} into a data node that indexes, copies included "
        "(payload, not compressed)",
    )


def _busy(cores: float | None) -> str:
    return "" if cores is None else f"; {digits(cores)} cores busy in all"


def _connections(made: Plan) -> str:
    hosts = made.collectors
    text = f"to the engine: {counted(hosts.connections_each, 'action worker')} in each collector"
    if hosts.sessions_each is None:
        return text
    return f"{text}; {counted(hosts.sessions_each, 'session')} of senders in each"


def _space(row: DiskSpace) -> Row:
    sizes = (row.message_bytes, row.primary_bytes, row.engine_bytes, row.gzip_bytes)
    return (row.period, f"{row.events:,.0f}", *(size(value) for value in sizes))


def assumptions(inputs: Inputs) -> tuple[Row, ...]:
    """Every input: its name, its value, how it is known and from where."""
    rows = [
        _row(RATE, eps(inputs.rate.value), inputs.rate),
        _row("peak", f"{inputs.peak.value:g} times that", inputs.peak),
        _row("growth", f"{inputs.growth.value:.0%}", inputs.growth),
        _row("message", f"{inputs.message_bytes.value:,.0f} bytes", inputs.message_bytes),
        _row("retention", duration(inputs.retention_s.value), inputs.retention_s),
        _row("replicas", f"{inputs.replicas.value:.0f}", inputs.replicas),
        _row("outage of the engine", duration(inputs.outage_s.value), inputs.outage_s),
        _row("headroom", f"{inputs.headroom.value:.0%}", inputs.headroom),
        *_machine_rows("collector", "rsyslogd", inputs.collector),
        *_machine_rows("data node", "engine", inputs.node),
        _row("disk of a data node", size(inputs.node_disk_bytes.value), inputs.node_disk_bytes),
        _row("primaries on disk", f"{inputs.store_bytes.value:.0f} B/event", inputs.store_bytes),
        _row("bulk request", f"{inputs.bulk_bytes.value:.0f} B/event", inputs.bulk_bytes),
        _row("connection busy", f"{inputs.connection_us.value:.0f} us/event", inputs.connection_us),
        _row(
            "message in memory",
            f"{inputs.queue_memory_bytes.value:.0f} B",
            inputs.queue_memory_bytes,
        ),
        _row(
            "message in a queue file",
            f"{inputs.queue_file_bytes.value:.0f} B",
            inputs.queue_file_bytes,
        ),
        _row("gzip", f"1 to {inputs.gzip_ratio.value:.3g}", inputs.gzip_ratio),
        _row("shard", f"at most {size(inputs.shard_bytes.value)}", inputs.shard_bytes),
    ]
    if inputs.measured is not None:
        rows.insert(0, _run(inputs.measured))
    if inputs.senders is not None:
        rows.append(_row("senders", f"{inputs.senders.value:,.0f}", inputs.senders))
    return tuple(rows)


def _run(found: Measured) -> Row:
    carried = "" if found.eps is None else f"; rsyslogd and engine together {eps(found.eps)} EPS"
    return ("run", "", Origin.MEASURED.value, f"{found.where}: {found.what}{carried}")


def _machine_rows(name: str, daemon: str, machine: Machine) -> list[Row]:
    rows = []
    if machine.cpu_us is not None and machine.cores is not None:
        rows.append(_row(f"{daemon} CPU", f"{machine.cpu_us.value:.1f} us/event", machine.cpu_us))
        rows.append(_row(f"{name} has", f"{machine.cores.value:g} cores", machine.cores))
    rows.append(_row(f"{name} carries", f"{eps(machine.eps.value)} EPS", machine.eps))
    return rows


def _row(name: str, value: str, figure: Figure) -> Row:
    return (name, value, figure.origin.value, figure.why)
