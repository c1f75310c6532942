"""The releases of rsyslog and the engine that rendered files are for."""

from enum import Enum
from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.schema.section import Section

OLDEST = 2102
NEWEST_READ = 2610
"""The oldest and the newest rsyslog release whose parameters are known, as in 2102 for 8.2102;
tests check them against these rsyslogds."""


class Engine(Enum):
    """The software that indexes the documents."""

    ELASTICSEARCH = "elasticsearch"
    OPENSEARCH = "opensearch"


class Release(Section):
    """The oldest rsyslog, and the engine version, that must accept the rendered files."""

    rsyslog: Annotated[str, Field(pattern=r"^8\.[0-9]{2,4}$")] = "8.2302"
    elasticsearch: Annotated[str, Field(pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$")] | None = None
    opensearch: Annotated[str, Field(pattern=r"^[0-9]{1,15}\.[0-9]{1,15}$")] | None = None

    @model_validator(mode="after")
    def _one_engine(self) -> Self:
        if (self.elasticsearch is None) == (self.opensearch is None):
            raise ValueError("name exactly one engine: elasticsearch or opensearch")
        return self

    @property
    def engine(self) -> Engine:
        """Which engine the profile is for."""
        return Engine.OPENSEARCH if self.elasticsearch is None else Engine.ELASTICSEARCH

    @property
    def engine_version(self) -> tuple[int, int]:
        """(major, minor) of the engine."""
        major, minor = self.engine_text.split(".")
        return int(major), int(minor)

    @property
    def engine_text(self) -> str:
        """The version of the engine as the profile spells it."""
        return self.elasticsearch or self.opensearch or ""

    @property
    def rsyslog_number(self) -> int:
        """The part after `8.`, for comparing releases: 8.2302 gives 2302, 8.39 gives 39."""
        return int(self.rsyslog.split(".")[1])
