"""`rsyslog-tune plan`: capacity on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, result_json
from tuner.cli.layout import show_blocks
from tuner.cli.options import OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.lab.engine import stores
from tuner.measure.measurement import Measurement
from tuner.plan import (
    Figure,
    Measured,
    Origin,
    Sample,
    inputs_of,
    measured_by_search,
    measured_of,
    plan_range,
    sample_of,
)
from tuner.plan import plan as plan_of
from tuner.reading import content, unreadable
from tuner.report.bench import read_bench
from tuner.report.plan import PlannedRate, plans_blocks, plans_json
from tuner.schema import units
from tuner.schema.numerals import counted
from tuner.search.journal import read


def _reading(
    read: Callable[[str], float | None], instead: str, most: float = float("inf")
) -> Callable[[str], float]:
    """How the text of an option is read: as a number above 0 and below `most`."""

    def value(text: str) -> float:
        number = read(text.strip())
        if number is not None and 0 < number < most:
            return number
        raise typer.BadParameter(f"{text}: write {instead}")

    return value


_rate = _reading(units.count, "events per second such as 10000, 50k or 10M", most=1e9)
_seconds = _reading(units.seconds, "a time such as 15m, 12h or 30d")
_disk = _reading(units.disk_bytes, "a size such as 8TB (powers of 1000, as disks are sold) or 8TiB")
_headroom = _reading(
    units.share, "a share such as 30% or 0.3, below 100%: nothing is planned for full use", most=1
)

_STREAM = "The stream"
_PROMISE = "What is promised"
_MACHINES = "What machines carry"


def _option(
    panel: str,
    metavar: str,
    text: str,
    least: float | None = None,
    read: Callable[[str], float] | None = None,
) -> object:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=panel, min=least, parser=read)


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
    int | None,
    _option(_STREAM, "N", "Mean size of a message. Default: that of --sample or RUN, else 244.", 1),
]
SampleFile = Annotated[
    Path | None,
    _option(
        _STREAM,
        "FILE",
        "Your own log lines (the first 64 MiB): gives message size and gzip ratio.",
    ),
]
Peak = Annotated[
    float | None,
    _option(_STREAM, "FACTOR", "Peak rate as a multiple of --rate. Default: 1.", 1),
]
GzipRatio = Annotated[
    float | None, _option(_STREAM, "N", "Compression ratio of gzip files. Default: 10.", 1)
]
BytesPerEvent = Annotated[
    int | None, _option(_STREAM, "N", "Bytes on disk for an event, without replicas.", 1)
]
Retention = Annotated[
    float | None,
    _option(_PROMISE, "TIME", "How long events are kept. Default: 30d.", read=_seconds),
]
Outage = Annotated[
    float | None,
    _option(
        _PROMISE,
        "TIME",
        "Longest outage of the engine without a loss. Default: 15m.",
        read=_seconds,
    ),
]
Replicas = Annotated[int | None, _option(_PROMISE, "N", "Replicas of each shard. Default: 1.", 0)]
Headroom = Annotated[
    float | None,
    _option(
        _PROMISE,
        "SHARE",
        "Share of each machine that stays free at the peak, such as 30% or 0.3. Default: 30%.",
        read=_headroom,
    ),
]
CollectorEps = Annotated[
    float | None,
    _option(_MACHINES, "N", "Events per second that a rsyslog host carries at most.", read=_rate),
]
CollectorCores = Annotated[
    int | None, _option(_MACHINES, "N", "Cores of a rsyslog host. Default: 4.", 1)
]
NodeEps = Annotated[
    float | None,
    _option(
        _MACHINES,
        "N",
        "Events per second that a data node, one of several, indexes without replicas.",
        read=_rate,
    ),
]
NodeCores = Annotated[int | None, _option(_MACHINES, "N", "Cores of a data node. Default: 8.", 1)]
NodeDisk = Annotated[
    float | None,
    _option(
        _MACHINES,
        "SIZE",
        "Disk of a data node, such as 8TB (powers of 1000, as disks are sold) or 7.3TiB (powers of "
        "1024). Default: 1920GiB.",
        read=_disk,
    ),
]

_SAMPLE_BYTES = 64 * 1024**2


def plan(
    rate: Rate,
    run: Run = None,
    message_bytes: MessageBytes = None,
    bytes_per_event: BytesPerEvent = None,
    sample: SampleFile = None,
    peak: Peak = None,
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
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Plan the machines, shards, queues, disks and network for a stream, from measured, given or
    assumed figures.

    Each figure is listed with where it came from. Nothing is measured, started or changed.
    """
    said = {
        "message_bytes": ("--message-bytes", message_bytes),
        "store_bytes": ("--bytes-per-event", bytes_per_event),
        "peak": ("--peak", peak),
        "gzip_ratio": ("--gzip-ratio", gzip_ratio),
        "retention_s": ("--retention", retention),
        "outage_s": ("--outage", outage),
        "replicas": ("--replicas", replicas),
        "headroom": ("--headroom", headroom),
        "collector_eps": ("--collector-eps", collector_eps),
        "collector_cores": ("--collector-cores", collector_cores),
        "node_eps": ("--node-eps", node_eps),
        "node_cores": ("--node-cores", node_cores),
        "node_disk_bytes": ("--node-disk", node_disk),
    }
    given = {
        name: Figure(value, Origin.GIVEN, f"by {option}")
        for name, (option, value) in said.items()
        if value is not None
    }
    measured, lines = _measured(run), _sample(sample)
    plans = []
    for part in rate.split(","):
        figures = {**given, "rate": Figure(_rate(part), Origin.GIVEN, "by --rate")}
        inputs = inputs_of(figures, measured, lines)
        reach = plan_range(figures, measured, lines)
        plans.append(PlannedRate(inputs, plan_of(inputs), measured, reach))
    if output is OutputFormat.JSON:
        result_json(plans_json(plans))
    else:
        show_blocks(plans_blocks(plans))


def _measured(run: Path | None) -> Measured | None:
    """What a run directory or the output of a bench measured."""
    if run is None:
        return None
    if run.is_dir():
        return measured_by_search(read(run), str(run))
    try:
        text = content(run).decode()
    except OSError as error:
        raise unreadable(run, error) from None
    except UnicodeDecodeError:
        raise JobFailed(f"{run} is not output of `bench --output json`: it is not text") from None
    bench = read_bench(text, str(run))
    (variant,) = bench.variants
    runs = [one.result for one in bench.runs if isinstance(one.result, Measurement)]
    what = f"bench of {variant.title} on {bench.engine}, {counted(len(runs), 'valid run')}"
    return measured_of(runs, str(run), what, variant.message_bytes, stored=stores(bench.engine))


def _sample(path: Path | None) -> Sample | None:
    if path is None:
        return None
    try:
        lines = sample_of(content(path, _SAMPLE_BYTES), str(path))
    except OSError as error:
        raise unreadable(path, error) from None
    if lines is None:
        raise BadUsage(f"--sample {path} has no lines")
    return lines
