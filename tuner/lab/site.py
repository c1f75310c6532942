"""Where a configuration runs in a lab."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tuner.engines.release import Release
from tuner.modules.input import LOOPBACK
from tuner.modules.refused_bulks import refuses_type
from tuner.schema.scalars import Server


@dataclass(frozen=True)
class Site:
    """Where a configuration is to run: what the lab has and what it may use.

    `release` names the rsyslog and the engine that are here, `stand_in` what takes the place of a
    real engine, such as our sink; the flood comes in at `address`, files are in `folder`, and a
    receiver has its first port.
    """

    engine_urls: tuple[Server, ...]
    release: Release
    stand_in: str | None
    data_nodes: int
    heap: str | None
    index_prefix: str
    folder: str
    keeps_authentication: bool
    receiver_port: int
    address: str = LOOPBACK

    @property
    def without_types(self) -> int | None:
        """The release of rsyslog, where the engine is one that refuses every bulk with `_type`."""
        engine, (major, _) = self.release.engine, self.release.engine_version
        refuses = self.stand_in is None and refuses_type(engine, major)
        return self.release.rsyslog_number if refuses else None

    def in_place_of_engine(self, url: Server, index_prefix: str) -> Site:
        """This site with a sink of ours in the place of the engine."""
        return replace(self, engine_urls=(url,), index_prefix=index_prefix, stand_in="sink")
