"""`rsyslog-tune plan`: capacity on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner.cli.console import OutputFormat, result_json
from tuner.cli.layout import show_blocks
from tuner.cli.options import OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.lab.engine import stores
from tuner.measure.measurement import Measurement
from tuner.plan.inputs import Request, inputs_of
from tuner.plan.measured import NOTHING, Measured, Sample, of_runs, of_study, sample_of
from tuner.plan.plan import plan as plan_of
from tuner.plan.plan import plan_range
from tuner.plan.scaling import Level
from tuner.reading import content, unreadable
from tuner.report.bench import read_bench
from tuner.report.plan import PlannedRate, plan_blocks, plan_json, rates_blocks, rates_json
from tuner.schema.numerals import counted
from tuner.schema.units import count, disk_bytes, seconds, share
from tuner.search.journal import read

_STREAM = "The stream"
_PROMISE = "What is promised"
_MACHINES = "What machines carry"


def _option(panel: str, metavar: str, text: str) -> object:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=panel)


Run = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN",
        help="A run directory of a search, or a file with what `bench --output json` printed; what "
        "it measured is used. Default: what this project measured on 2 cores.",
    ),
]
Rate = Annotated[
    str,
    _option(
        _STREAM,
        "N",
        "Events per second, such as 10000, 50k or 10M; several, 100k,1M,10M, side by side.",
    ),
]
MessageBytes = Annotated[
    str | None,
    _option(_STREAM, "N", "Mean size of a message. Default: that of --sample or RUN, else 244."),
]
SampleFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Your own log lines (the first 64 MiB): gives message size and gzip ratio.",
        rich_help_panel=_STREAM,
    ),
]
Peak = Annotated[
    str | None, _option(_STREAM, "FACTOR", "Peak rate as a multiple of --rate. Default: 1.")
]
Growth = Annotated[
    str | None,
    _option(_STREAM, "SHARE", "Growth of the rate to plan for, such as 30% or 0.3. Default: 0%."),
]
Senders = Annotated[
    str | None, _option(_STREAM, "N", "Number of sending hosts, each with one TCP session.")
]
GzipRatio = Annotated[
    str | None, _option(_STREAM, "N", "Compression ratio of gzip files. Default: 10.")
]
Retention = Annotated[
    str | None, _option(_PROMISE, "TIME", "How long events are kept. Default: 30d.")
]
Outage = Annotated[
    str | None,
    _option(_PROMISE, "TIME", "Longest outage of the engine without a loss. Default: 15m."),
]
Replicas = Annotated[str | None, _option(_PROMISE, "N", "Replicas of each shard. Default: 1.")]
Headroom = Annotated[
    str | None,
    _option(
        _PROMISE,
        "SHARE",
        "Share of each machine that stays free at the peak, such as 30% or 0.3. Default: 30%.",
    ),
]
CollectorEps = Annotated[
    str | None, _option(_MACHINES, "N", "Events per second that a rsyslog host carries at most.")
]
CollectorCores = Annotated[
    str | None, _option(_MACHINES, "N", "Cores of a rsyslog host. Default: 4.")
]
NodeEps = Annotated[
    str | None,
    _option(_MACHINES, "N", "Events per second that a data node indexes without replicas."),
]
NodeCores = Annotated[str | None, _option(_MACHINES, "N", "Cores of a data node. Default: 8.")]
NodeDisk = Annotated[
    str | None,
    _option(
        _MACHINES,
        "SIZE",
        "Disk of a data node, such as 8TB (powers of 1000, as disks are sold) or 7.3TiB (powers of "
        "1024). Default: 1920GiB.",
    ),
]
BytesPerEvent = Annotated[
    str | None, _option(_STREAM, "N", "Bytes on disk for an event, without replicas.")
]
ShardSize = Annotated[
    str | None,
    _option(
        _MACHINES,
        "SIZE",
        "Size of a full shard, 10GiB to 50GiB (Elasticsearch's 50gb is 50GiB). Default: 50GiB.",
    ),
]
Scale = Annotated[
    str | None,
    _option(
        _MACHINES,
        "N=EPS,...",
        "Events per second that numbers of data nodes indexed without replicas, such as "
        "1=60k,2=115k,4=210k,8=350k: from four levels on, a scaling law is fitted.",
    ),
]


@dataclass(frozen=True)
class Reading:
    """How the text of an option is read: into which field of a request, and what is allowed."""

    name: str
    read: Callable[[str], float | None]
    wanted: str
    fits: Callable[[float], bool] = lambda value: value > 0

    def value_of(self, option: str, text: str) -> float:
        """The number that `text` says; raises BadUsage with what to write instead."""
        value = self.read(text.strip())
        if value is not None and math.isfinite(value) and self.fits(value):
            return value
        raise BadUsage(f"{option} {text}: write {self._instead(text)}")

    def _instead(self, text: str) -> str:
        """What is wanted; of a share that lacks only its unit, the text with it."""
        number = share(f"{text.strip()}%") if self.read is share else None
        if number is None or number < 0.01 or not self.fits(number):
            return self.wanted
        fraction = f" or {number:g}" if number < 1 else ""
        return f"{text}%{fraction} ({text} without a % would be {number * 1e4:,.0f} %)"


def _whole(name: str, least: int) -> Reading:
    wanted = f"a whole number, {least} or more"
    return Reading(name, count, wanted, lambda value: value >= least and value == int(value))


_SIZE = "a size such as 8TB (powers of 1000, as disks are sold) or 8TiB (powers of 1024)"
_RATE, _CORES = "a rate such as 60k", "how many, such as 8"
_READINGS = {
    "--rate": Reading(
        "rate",
        count,
        "events per second such as 10000, 50k or 10M, from 1 to 1G",
        lambda one: 1 <= one <= 1e9,
    ),
    "--message-bytes": Reading("message_bytes", count, "bytes, such as 244"),
    "--bytes-per-event": Reading("bytes_per_event", count, "bytes, such as 190"),
    "--peak": Reading("peak", count, "a factor, 1 or more", lambda one: one >= 1),
    "--growth": Reading("growth", share, "a share such as 30% or 0.3", lambda one: one >= 0),
    "--senders": _whole("senders", 1),
    "--gzip-ratio": Reading("gzip_ratio", count, "a factor, 1 or more", lambda one: one >= 1),
    "--retention": Reading("retention_s", seconds, "a time such as 30d or 12h"),
    "--outage": Reading("outage_s", seconds, "a time such as 15m or 4h"),
    "--replicas": _whole("replicas", 0),
    "--headroom": Reading(
        "headroom",
        share,
        "a share above 0% and below 100%: nothing is planned for full use",
        lambda one: 0 < one < 1,
    ),
    "--collector-eps": Reading("collector_eps", count, _RATE),
    "--collector-cores": Reading("collector_cores", count, _CORES),
    "--node-eps": Reading("node_eps", count, _RATE),
    "--node-cores": Reading("node_cores", count, _CORES),
    "--node-disk": Reading("node_disk_bytes", disk_bytes, _SIZE),
    "--shard-size": Reading("shard_bytes", disk_bytes, _SIZE),
}
_EITHER = (
    ("--collector-eps", "--collector-cores"),
    *combinations(("--node-eps", "--node-cores", "--scaling"), 2),
)


def request_of(said: Mapping[str, str | None]) -> Request:
    """The request that options make by their texts; raises BadUsage with every problem at once."""
    given = {option: text for option, text in said.items() if text is not None}
    values: dict[str, Any] = {}
    problems = []
    for option, reading in _READINGS.items():
        if option in given:
            try:
                values[reading.name] = reading.value_of(option, given[option])
            except BadUsage as problem:
                problems.append(str(problem))
    levels = []
    for part in given["--scaling"].split(",") if given.get("--scaling") else ():
        machines, _, eps = part.partition("=")
        number, rate = count(machines.strip()), count(eps.strip())
        if number and rate and number == int(number):
            levels.append(Level(int(number), rate))
        else:
            problems.append(
                f"--scaling {part}: write data nodes = events per second, such as 2=115k"
            )
    problems += [
        f"{first} and {second} cannot be combined"
        for first, second in _EITHER
        if {first, second} <= given.keys()
    ]
    if problems:
        raise BadUsage("\n".join(problems))
    for name in ("senders", "replicas"):
        if name in values:
            values[name] = int(values[name])
    return Request(**values, levels=tuple(levels))


_SAMPLE_BYTES = 64 * 1024**2


def plan(
    rate: Rate,
    run: Run = None,
    message_bytes: MessageBytes = None,
    bytes_per_event: BytesPerEvent = None,
    sample: SampleFile = None,
    peak: Peak = None,
    growth: Growth = None,
    senders: Senders = None,
    gzip_ratio: GzipRatio = None,
    retention: Retention = None,
    outage: Outage = None,
    replicas: Replicas = None,
    headroom: Headroom = None,
    collector_eps: CollectorEps = None,
    collector_cores: CollectorCores = None,
    node_eps: NodeEps = None,
    node_cores: NodeCores = None,
    node_disk: NodeDisk = None,
    shard_size: ShardSize = None,
    scaling: Scale = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Plan the machines, shards, queues, disks and network for a stream, from measured, given or
    assumed figures.

    Each figure is listed with where it came from. Nothing is measured, started or changed.
    """
    said = {
        "--message-bytes": message_bytes,
        "--bytes-per-event": bytes_per_event,
        "--peak": peak,
        "--growth": growth,
        "--senders": senders,
        "--gzip-ratio": gzip_ratio,
        "--retention": retention,
        "--outage": outage,
        "--replicas": replicas,
        "--headroom": headroom,
        "--collector-eps": collector_eps,
        "--collector-cores": collector_cores,
        "--node-eps": node_eps,
        "--node-cores": node_cores,
        "--node-disk": node_disk,
        "--shard-size": shard_size,
        "--scaling": scaling,
    }
    requests = [request_of({"--rate": part, **said}) for part in rate.split(",")]
    found, own = _measured(run), _sample(sample)
    plans = [_planned(request, found, own) for request in requests]
    one, *others = plans
    if output is OutputFormat.JSON:
        result_json(rates_json(plans) if others else plan_json(one))
    else:
        show_blocks(rates_blocks(plans) if others else plan_blocks(one))


def _planned(request: Request, found: Measured, sample: Sample | None) -> PlannedRate:
    inputs = inputs_of(request, found, sample)
    return PlannedRate(inputs, plan_of(inputs), plan_range(request, found, sample))


def _measured(run: Path | None) -> Measured:
    """What a run directory or the output of a bench measured; nothing without one."""
    if run is None:
        return NOTHING
    if run.is_dir():
        return of_study(read(run), str(run))
    try:
        text = content(run).decode()
    except OSError as error:
        raise unreadable(run, error) from None
    except UnicodeDecodeError:
        raise JobFailed(f"{run} is not output of `bench --output json`: it is not text") from None
    found = read_bench(text, str(run))
    runs = [one for one in found.outcomes if isinstance(one, Measurement)]
    what = f"bench of {found.profile} on {found.engine}, {counted(len(runs), 'valid run')}"
    return of_runs(runs, str(run), what, found.message_bytes, stored=stores(found.engine))


def _sample(path: Path | None) -> Sample | None:
    if path is None:
        return None
    try:
        found = sample_of(content(path, _SAMPLE_BYTES), str(path))
    except OSError as error:
        raise unreadable(path, error) from None
    if found is None:
        raise BadUsage(f"--sample {path} has no lines")
    return found
