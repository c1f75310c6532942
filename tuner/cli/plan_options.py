"""The options of `rsyslog-tune plan`: their help, and their texts as they were given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

_STREAM = "The stream"
_PROMISE = "What is promised"
_MACHINES = "What machines carry"


def _option(panel: str, metavar: str, text: str) -> object:
    return typer.Option(metavar=metavar, show_default=False, help=text, rich_help_panel=panel)


Run = Annotated[
    Path | None,
    typer.Argument(
        metavar="RUN",
        help="A run directory of a search, or a file with what `bench --output json` printed; what "
        "it measured is used. Without: what this project saw on 2 cores.",
        show_default=False,
    ),
]
Rate = Annotated[str, _option(_STREAM, "N", "Events per second, such as 10000, 50k or 10M.")]
MessageBytes = Annotated[
    str | None, _option(_STREAM, "N", "Mean size of a message. Without: of --sample, RUN, or 244.")
]
SampleFile = Annotated[
    Path | None,
    typer.Option(
        "--sample",
        exists=True,
        dir_okay=False,
        metavar="FILE",
        show_default=False,
        help="Your own log lines (the first 64 MiB): gives message size and gzip ratio.",
        rich_help_panel=_STREAM,
    ),
]
Peak = Annotated[
    str | None, _option(_STREAM, "FACTOR", "The busiest rate over --rate. Without: 1.")
]
Growth = Annotated[
    str | None, _option(_STREAM, "SHARE", "By how much the rate grows, such as 30%. Without: 0%.")
]
Senders = Annotated[
    str | None, _option(_STREAM, "N", "How many hosts send, each over one TCP session.")
]
GzipRatio = Annotated[
    str | None, _option(_STREAM, "N", "How many times smaller gzip makes files. Without: 10.")
]
Retention = Annotated[
    str | None, _option(_PROMISE, "TIME", "How long events are kept. Without: 30d.")
]
Outage = Annotated[
    str | None,
    _option(_PROMISE, "TIME", "How long the engine may be away without a loss. Without: 15m."),
]
Replicas = Annotated[str | None, _option(_PROMISE, "N", "Replicas of each shard. Without: 1.")]
Headroom = Annotated[
    str | None,
    _option(_PROMISE, "SHARE", "What stays free of each machine at the peak. Without: 30%."),
]
CollectorEps = Annotated[
    str | None, _option(_MACHINES, "N", "Events per second that a rsyslog host carries at most.")
]
CollectorCores = Annotated[
    str | None, _option(_MACHINES, "N", "Cores of a rsyslog host. Without: 4.")
]
NodeEps = Annotated[
    str | None,
    _option(_MACHINES, "N", "Events per second that a data node indexes without replicas."),
]
NodeCores = Annotated[str | None, _option(_MACHINES, "N", "Cores of a data node. Without: 8.")]
NodeDisk = Annotated[
    str | None, _option(_MACHINES, "SIZE", "Disk of a data node, such as 8tb. Without: 1920gb.")
]
BytesPerEvent = Annotated[
    str | None, _option(_STREAM, "N", "Bytes on disk for an event, without replicas.")
]
ShardSize = Annotated[
    str | None, _option(_MACHINES, "SIZE", "Size of a full shard, 10gb to 50gb. Without: 50gb.")
]
Scale = Annotated[
    str | None,
    _option(
        _MACHINES,
        "N=EPS,...",
        "What so many data nodes were seen to index without replicas, such as "
        "1=60k,2=115k,4=210k,8=350k: a law of scaling is fitted to four levels and more.",
    ),
]


@dataclass(frozen=True)
class Stream:
    """What is said of the stream, as text."""

    rate: str
    message_bytes: str | None
    bytes_per_event: str | None
    peak: str | None
    growth: str | None
    senders: str | None
    gzip_ratio: str | None


@dataclass(frozen=True)
class Promise:
    """What is said of what is promised, as text."""

    retention: str | None
    outage: str | None
    replicas: str | None
    headroom: str | None


@dataclass(frozen=True)
class Machines:
    """What is said of machines, as text."""

    collector_eps: str | None
    collector_cores: str | None
    node_eps: str | None
    node_cores: str | None
    node_disk: str | None
    shard_size: str | None
    scaling: str | None
