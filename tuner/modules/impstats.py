"""The counters that rsyslog keeps of itself."""

from typing import Annotated

from pydantic import Field

from tuner.schema.scalars import AbsolutePath, Switch
from tuner.schema.section import RsyslogSection


class Impstats(RsyslogSection):
    """impstats: rsyslog's counters as JSON, every `interval` seconds, to a file or as events."""

    interval: Annotated[int, Field(ge=1, le=86400, strict=True)] = 10
    log_file: AbsolutePath | None = Field(None, alias="log.file")
    log_syslog: Switch = Field(False, alias="log.syslog")
    reset_counters: Switch = False
