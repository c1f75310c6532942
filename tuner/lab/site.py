"""Where a configuration runs in a lab."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tuner.engines.release import Engine, Release
from tuner.modules.input import LOOPBACK
from tuner.modules.refused_bulks import refuses_type
from tuner.schema.scalars import Server


@dataclass(frozen=True)
class Site:
    """Where a configuration is to run: what the lab has and what it may use.

    `stand_in` names what takes the place of a real engine, such as our sink; the flood comes in at
    `address`, files are in `folder`, and a receiver has its first port.
    """

    engine_urls: tuple[Server, ...]
    engine: Engine
    engine_version: tuple[int, int]
    stand_in: str | None
    data_nodes: int
    heap: str | None
    rsyslog: str
    index_prefix: str
    folder: str
    keeps_authentication: bool
    receiver_port: int
    address: str = LOOPBACK

    @property
    def release(self) -> Release:
        """The rsyslog and the engine that are here."""
        version = ".".join(map(str, self.engine_version))
        if self.engine is Engine.ELASTICSEARCH:
            return Release(rsyslog=self.rsyslog, elasticsearch=version)
        return Release(rsyslog=self.rsyslog, opensearch=version)

    @property
    def without_types(self) -> int | None:
        """The release of rsyslog, where the engine is one that refuses every bulk with `_type`."""
        refuses = self.stand_in is None and refuses_type(self.engine, self.engine_version[0])
        return self.release.rsyslog_number if refuses else None

    def in_place_of_engine(self, url: Server, index_prefix: str) -> Site:
        """This site with a sink of ours in the place of the engine."""
        return replace(self, engine_urls=(url,), index_prefix=index_prefix, stand_in="sink")
