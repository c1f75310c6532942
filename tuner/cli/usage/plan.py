"""What `rsyslog-tune plan` takes, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer

from tuner.cli.options import Reporting, optional
from tuner.schema import units


def _number(
    read: Callable[[str], float | None], instead: str, most: float = float("inf")
) -> Callable[[str], float]:
    """How the text of an option is read: as a number above 0 and below `most`."""

    def value(text: str) -> float:
        number = read(text.strip())
        if number is not None and 0 < number < most:
            return number
        raise typer.BadParameter(f"{text}: write {instead}")

    return value


_seconds = _number(units.seconds, "a time such as 15m, 12h or 30d")
_headroom = _number(
    units.share, "a share such as 30% or 0.3, below 100%: nothing is planned for full use", most=1
)
rate_of = _number(units.count, "events per second such as 10000, 50k or 10M", most=1e9)
_disk = _number(units.disk_bytes, "a size such as 8TB (powers of 1000, as disks are sold) or 8TiB")

_stream = partial(optional, rich_help_panel="The stream")
_promise = partial(optional, rich_help_panel="What is promised")
_machines = partial(optional, rich_help_panel="What machines carry")


class PlanArguments(Reporting):
    """Plan the machines, shards, queues, disks and network for a stream, from measured, given or
    assumed figures.

    Each figure is listed with where it came from. Nothing is measured, started or changed.
    """

    rate: str = typer.Option(
        rich_help_panel="The stream",
        metavar="N",
        help="Events per second, such as 10000, 50k or 10M; several, 100k,1M,10M, side by side.",
    )
    run: Path | None = typer.Argument(
        None,
        metavar="RUN",
        help="A run directory of a search, or a file with what `bench --output json` printed; what "
        "it measured is used. Default: what this project measured on 2 cores.",
    )
    message_bytes: int | None = _stream(
        metavar="N",
        min=1,
        help="Mean size of a message. Default: that of --sample or RUN, else 244.",
    )
    store_bytes: int | None = _stream(
        "--bytes-per-event",
        metavar="N",
        min=1,
        help="Bytes on disk for an event, without replicas.",
    )
    sample: Path | None = _stream(
        metavar="FILE",
        help="Your own log lines (the first 64 MiB): gives message size and gzip ratio.",
    )
    peak: float | None = _stream(
        metavar="FACTOR", min=1, help="Peak rate as a multiple of --rate. Default: 1."
    )
    gzip_ratio: float | None = _stream(
        metavar="N", min=1, help="Compression ratio of gzip files. Default: 10."
    )
    retention_s: float | None = _promise(
        "--retention",
        metavar="TIME",
        help="How long events are kept. Default: 30d.",
        parser=_seconds,
    )
    outage_s: float | None = _promise(
        "--outage",
        metavar="TIME",
        help="Longest outage of the engine without a loss. Default: 15m.",
        parser=_seconds,
    )
    replicas: int | None = _promise(metavar="N", min=0, help="Replicas of each shard. Default: 1.")
    headroom: float | None = _promise(
        metavar="SHARE",
        help="Share of each machine that stays free at the peak, such as 30% or 0.3. Default: 30%.",
        parser=_headroom,
    )
    collector_eps: float | None = _machines(
        metavar="N", help="Events per second that a rsyslog host carries at most.", parser=rate_of
    )
    collector_cores: int | None = _machines(
        metavar="N", min=1, help="Cores of a rsyslog host. Default: 4."
    )
    node_eps: float | None = _machines(
        metavar="N",
        help="Events per second that a data node, one of several, indexes without replicas.",
        parser=rate_of,
    )
    node_cores: int | None = _machines(metavar="N", min=1, help="Cores of a data node. Default: 8.")
    node_disk_bytes: float | None = _machines(
        "--node-disk",
        metavar="SIZE",
        help="Disk of a data node, such as 8TB (powers of 1000, as disks are sold) or 7.3TiB "
        "(powers of 1024). Default: 1920GiB.",
        parser=_disk,
    )
