"""What `rsyslog-tune plan` takes, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat
from tuner.cli.options import (
    OutputOption,
)
from tuner.schema import units


def _option(
    panel: str,
    metavar: str,
    text: str,
    least: float | None = None,
    read: Callable[[str], float] | None = None,
) -> object:
    return typer.Option(metavar=metavar, help=text, rich_help_panel=panel, min=least, parser=read)


_STREAM = "The stream"

Rate = Annotated[
    str,
    _option(
        _STREAM,
        "N",
        "Events per second, such as 10000, 50k or 10M; several, 100k,1M,10M, side by side.",
    ),
]

Run = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN",
        help="A run directory of a search, or a file with what `bench --output json` printed; what "
        "it measured is used. Default: what this project measured on 2 cores.",
    ),
]

MessageBytes = Annotated[
    int | None,
    _option(_STREAM, "N", "Mean size of a message. Default: that of --sample or RUN, else 244.", 1),
]

BytesPerEvent = Annotated[
    int | None, _option(_STREAM, "N", "Bytes on disk for an event, without replicas.", 1)
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

_PROMISE = "What is promised"


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


_seconds = _reading(units.seconds, "a time such as 15m, 12h or 30d")

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

_headroom = _reading(
    units.share, "a share such as 30% or 0.3, below 100%: nothing is planned for full use", most=1
)

Headroom = Annotated[
    float | None,
    _option(
        _PROMISE,
        "SHARE",
        "Share of each machine that stays free at the peak, such as 30% or 0.3. Default: 30%.",
        read=_headroom,
    ),
]

_MACHINES = "What machines carry"

rate_of = _reading(units.count, "events per second such as 10000, 50k or 10M", most=1e9)

CollectorEps = Annotated[
    float | None,
    _option(_MACHINES, "N", "Events per second that a rsyslog host carries at most.", read=rate_of),
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
        read=rate_of,
    ),
]

NodeCores = Annotated[int | None, _option(_MACHINES, "N", "Cores of a data node. Default: 8.", 1)]

_disk = _reading(units.disk_bytes, "a size such as 8TB (powers of 1000, as disks are sold) or 8TiB")

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
