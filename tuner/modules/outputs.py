"""Where events go; each output is spelled as rsyslog's module spells it.

None means: not written in the profile, and left to rsyslog.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.engines.index import Index
from tuner.modules.action import ActionOutput
from tuner.modules.field import DocumentField, Preset
from tuner.modules.other_outputs import OtherOutput
from tuner.modules.secrets import Auth, SecretRef, Tls
from tuner.schema.kinds import OneOf
from tuner.schema.parameter import Since
from tuner.schema.scalars import (
    AbsolutePath,
    FilterPath,
    NonNegative,
    PipelineName,
    Positive,
    Server,
    Switch,
)
from tuner.schema.section import RsyslogSection

_WriteOperation = Literal["index", "create"]


class RetryFailures(RsyslogSection):
    """What becomes of documents that the engine refuses one by one: those that it may take later
    are sent again, the others are written to `file`, one JSON object a line."""

    file: AbsolutePath


class OmelasticsearchOutput(ActionOutput):
    """An omelasticsearch action with its own queue; `bulkmode` is always on.

    `mmutf8fix` repairs invalid UTF-8 in messages first, but not in their heads: the engine rejects
    such documents.
    `bulkid: uuid` gives each event an id of its own, so that what is sent twice is kept once;
    `retryfailures` needs one, and `writeoperation: create`, and sets both.  With
    `dynPipelineName` the name of the pipeline is what the event's property of that name says.
    """

    type: Literal["omelasticsearch"]
    servers: Annotated[tuple[Server, ...], Field(min_length=1)]
    auth: Auth | None = None
    apikey: Annotated[SecretRef | None, Since(2512)] = None
    tls: Tls | None = None
    document: Preset | Annotated[tuple[DocumentField, ...], Field(min_length=1)] = Preset.ECS
    mmutf8fix: Switch = Field(True, alias="mmutf8fix")
    index: Index
    writeoperation: _WriteOperation | None = None
    bulkid: Literal["uuid"] | None = None
    retryfailures: RetryFailures | None = None
    errorfile: AbsolutePath | None = None
    erroronly: Switch | None = None
    interleaved: Switch | None = None
    pipeline_name: PipelineName | None = None
    dyn_pipeline_name: Switch | None = None
    skip_pipeline_if_empty: Switch | None = None
    timeout: Annotated[str, Field(pattern=r"^[0-9]{1,15}(ms|s|m)$")] | None = None
    filter_path: Annotated[tuple[FilterPath, ...], Field(min_length=1)] | None = Field(
        None, alias="filter_path"
    )
    maxbytes: Annotated[str, Field(pattern=r"^[0-9]{1,15}[km]?$")] | None = None
    index_timeout: Annotated[NonNegative, Since(2204)] = 0
    health_check_timeout: Positive = Field(3500, alias="healthCheckTimeout")
    rebindinterval: Positive | None = None

    @property
    def creates(self) -> bool:
        """Whether documents are created, never overwritten; data streams take nothing else."""
        streams = self.index.data_stream is not None
        return streams or self.retryfailures is not None or self.writeoperation == "create"

    @property
    def has_ids(self) -> bool:
        """Whether each document gets its id from rsyslog: create needs one on all releases."""
        return self.creates or self.bulkid is not None

    @property
    def has_secrets(self) -> bool:
        """Whether the rendered action refers to a password or a key."""
        return self.auth is not None or self.apikey is not None


Output = Annotated[OmelasticsearchOutput | OtherOutput, OneOf("type")]
