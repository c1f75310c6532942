"""What the user asks of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.plan.scaling import Level


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options as numbers, None for what was not said.

    `rate`, `collector_eps` and `node_eps` are events per second, `peak` is the busiest rate as a
    multiple of `rate`, `growth` and `headroom` are shares, `bytes_per_event` is what the primaries
    need on disk, `levels` what so many data nodes were seen to carry.
    """

    rate: float
    message_bytes: float | None = None
    peak: float | None = None
    growth: float | None = None
    retention_s: float | None = None
    outage_s: float | None = None
    replicas: int | None = None
    headroom: float | None = None
    senders: int | None = None
    gzip_ratio: float | None = None
    bytes_per_event: float | None = None
    collector_eps: float | None = None
    collector_cores: float | None = None
    node_eps: float | None = None
    node_cores: float | None = None
    node_disk_bytes: float | None = None
    shard_bytes: float | None = None
    levels: tuple[Level, ...] = ()
