"""The options of `rsyslog-tune plan`: their help, and the request that their texts make."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

from tuner.errors import BadUsage
from tuner.plan.inputs import Request
from tuner.plan.scaling import Level
from tuner.schema.units import count, disk_bytes, seconds, share

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
        "it measured is used. Default: what this project measured on 2 cores.",
        show_default=False,
    ),
]
Rate = Annotated[str, _option(_STREAM, "N", "Events per second, such as 10000, 50k or 10M.")]
MessageBytes = Annotated[
    str | None,
    _option(_STREAM, "N", "Mean size of a message. Default: that of --sample or RUN, else 244."),
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
class PlannedStream:
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


@dataclass
class Reader:
    """Reads the texts of options, and collects what is wrong with them."""

    problems: list[str] = field(default_factory=list)

    def number(
        self,
        option: str,
        text: str | None,
        read: Callable[[str], float | None],
        wanted: str,
        fits: Callable[[float], bool] = lambda value: value > 0,
    ) -> float | None:
        """The number that `text` says; None when there is no text, or it is wrong."""
        if text is None:
            return None
        value = read(text.strip())
        if value is not None and math.isfinite(value) and fits(value):
            return value
        self.problems.append(f"{option} {text}: write {wanted}")
        return None

    def share(
        self, option: str, text: str | None, fits: Callable[[float], bool], wanted: str
    ) -> float | None:
        """As `number`, for shares; where only the unit is missing, the problem offers it."""
        number = None if text is None else share(f"{text.strip()}%")
        if number is not None and number >= 0.01 and fits(number):
            fraction = f" or {number:g}" if number < 1 else ""
            wanted = f"{text}%{fraction} ({text} without a % would be {number * 1e4:,.0f} %)"
        return self.number(option, text, share, wanted, fits)

    def whole(self, option: str, text: str | None, least: int) -> int | None:
        """As `number`, for whole ones from `least` on."""
        wanted = f"a whole number, {least} or more"
        found = self.number(
            option, text, count, wanted, lambda value: value >= least and value == int(value)
        )
        return None if found is None else int(found)

    def levels(self, text: str | None) -> tuple[Level, ...]:
        """The levels of --scaling."""
        found = []
        for part in (text or "").split(",") if text else ():
            machines, _, eps = part.partition("=")
            number, rate = count(machines.strip()), count(eps.strip())
            if not number or not rate or number != int(number):
                self.problems.append(
                    f"--scaling {part}: write data nodes = events per second, such as 2=115k"
                )
                continue
            found.append(Level(int(number), rate))
        return tuple(found)

    def exclude(self, first: str, second: str, told: Mapping[str, str | None]) -> None:
        """Note that both were told."""
        if told[first] is not None and told[second] is not None:
            self.problems.append(f"{first} and {second} cannot be combined")

    def finish(self) -> None:
        """Raise BadUsage with everything that was wrong."""
        if self.problems:
            raise BadUsage("\n".join(self.problems))


def request_of(stream: PlannedStream, promise: Promise, machines: Machines) -> Request:
    """The request that the options make; raises BadUsage with every problem at once."""
    reader = Reader()
    made = replace(
        _stream(reader, stream),
        **_promise(reader, promise),
        **_machines(reader, machines),
        levels=reader.levels(machines.scaling),
    )
    told = {
        f"--{one.name.replace('_', '-')}": getattr(machines, one.name) for one in fields(machines)
    }
    reader.exclude("--collector-eps", "--collector-cores", told)
    for first, second in combinations(("--node-eps", "--node-cores", "--scaling"), 2):
        reader.exclude(first, second, told)
    reader.finish()
    return made


def _stream(reader: Reader, said: PlannedStream) -> Request:
    number = reader.number
    rate = number(
        "--rate",
        said.rate,
        count,
        "events per second such as 10000, 50k or 10M, from 1 to 1G",
        lambda one: 1 <= one <= 1e9,
    )
    return Request(
        rate=rate or 0.0,
        message_bytes=number("--message-bytes", said.message_bytes, count, "bytes, such as 244"),
        bytes_per_event=number(
            "--bytes-per-event", said.bytes_per_event, count, "bytes, such as 190"
        ),
        peak=number("--peak", said.peak, count, "a factor, 1 or more", lambda one: one >= 1),
        growth=reader.share(
            "--growth", said.growth, lambda one: one >= 0, "a share such as 30% or 0.3"
        ),
        senders=reader.whole("--senders", said.senders, 1),
        gzip_ratio=number(
            "--gzip-ratio", said.gzip_ratio, count, "a factor, 1 or more", lambda one: one >= 1
        ),
    )


def _promise(reader: Reader, said: Promise) -> dict[str, Any]:
    number = reader.number
    return {
        "retention_s": number("--retention", said.retention, seconds, "a time such as 30d or 12h"),
        "outage_s": number("--outage", said.outage, seconds, "a time such as 15m or 4h"),
        "replicas": reader.whole("--replicas", said.replicas, 0),
        "headroom": reader.share(
            "--headroom",
            said.headroom,
            lambda one: 0 < one < 1,
            "a share above 0% and below 100%: nothing is planned for full use",
        ),
    }


def _machines(reader: Reader, said: Machines) -> dict[str, Any]:
    number, rate, cores = reader.number, "a rate such as 60k", "how many, such as 8"
    size = "a size such as 8TB (powers of 1000, as disks are sold) or 8TiB (powers of 1024)"
    return {
        "collector_eps": number("--collector-eps", said.collector_eps, count, rate),
        "collector_cores": number("--collector-cores", said.collector_cores, count, cores),
        "node_eps": number("--node-eps", said.node_eps, count, rate),
        "node_cores": number("--node-cores", said.node_cores, count, cores),
        "node_disk_bytes": number("--node-disk", said.node_disk, disk_bytes, size),
        "shard_bytes": number("--shard-size", said.shard_size, disk_bytes, size),
    }
