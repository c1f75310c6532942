"""What a lab has for a profile, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.release import Engine
from tuner.schema.scalars import Server


@dataclass(frozen=True)
class Site:
    """Where a profile is to run: what the lab has and what it may use.

    `stand_in` names what takes the place of a real engine, such as our sink.
    """

    engine_url: Server
    engine: Engine
    engine_version: tuple[int, int]
    stand_in: str | None
    data_nodes: int
    heap: str | None
    rsyslog: str
    index_prefix: str
    spool: str
    keeps_authentication: bool
