"""Where events go; each output is spelled as rsyslog's module spells it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tuner.profile.field import DocumentField, Preset
from tuner.profile.index import Index
from tuner.profile.queue import NonNegative, Positive, Queue, Switch
from tuner.profile.scalars import FilterPath, Name, Server
from tuner.profile.secrets import Auth, Tls
from tuner.profile.section import RsyslogSection


class OmelasticsearchOutput(RsyslogSection):
    """An omelasticsearch action with its own queue; `bulkmode` is always on.

    `mmutf8fix` repairs invalid UTF-8 in messages first: the engine rejects such documents.
    """

    name: Name
    type: Literal["omelasticsearch"]
    servers: Annotated[tuple[Server, ...], Field(min_length=1)]
    auth: Auth | None = None
    tls: Tls | None = None
    document: Preset | Annotated[tuple[DocumentField, ...], Field(min_length=1)] = Preset.ECS
    queue: Queue | None = None
    mmutf8fix: Switch = Field(True, alias="mmutf8fix")
    index: Index
    timeout: Annotated[str, Field(pattern=r"^\d+(ms|s|m)$")] | None = None
    filter_path: Annotated[tuple[FilterPath, ...], Field(min_length=1)] | None = Field(
        None, alias="filter_path"
    )
    maxbytes: Annotated[str, Field(pattern=r"^\d+[km]?$")] | None = None
    index_timeout: NonNegative = 0
    health_check_timeout: Positive = Field(3500, alias="healthCheckTimeout")
    action_resume_retry_count: Annotated[int, Field(ge=-1, strict=True)] = Field(
        -1, alias="action.resumeRetryCount"
    )
    action_resume_interval: Positive = Field(30, alias="action.resumeInterval")
