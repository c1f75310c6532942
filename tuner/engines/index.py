"""The `index` section of an output: the index, alias or data stream that documents go to, its
settings, and its lifecycle."""

from enum import Enum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.engines.index_settings import IndexSettings
from tuner.schema.scalars import (
    ByteSize,
    FieldName,
    IndexName,
    Positive,
    Switch,
)
from tuner.schema.section import Section, parameter

_Age = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}(m|h|d)$")]


class Rollover(Section):
    """Conditions for a rollover, any one of which suffices; spelled as in Elasticsearch's rollover
    action."""

    max_age: _Age | None = None
    max_primary_shard_size: ByteSize | None = None
    max_size: ByteSize | None = None
    max_docs: Positive | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError(
                "give a condition: max_age, max_primary_shard_size, max_size or max_docs"
            )
        return self


class Lifecycle(Section):
    """A lifecycle policy, for ILM on Elasticsearch and ISM on OpenSearch; the cluster must have
    them.

    `retention` is the age at which an index is deleted, counted from its rollover, or from its
    creation if it never rolls over.
    """

    retention: _Age | None = None
    rollover: Rollover | None = None

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.retention is None and self.rollover is None:
            raise ValueError("give retention, rollover or both")
        return self


_PartProperty = Literal[
    "hostname", "fromhost-ip", "programname", "app-name", "syslogfacility-text",
    "syslogseverity-text",
]  # fmt: skip


class MappingStyle(Enum):
    """`explicit`: the leanest mapping that serves the uses; `dynamic`: the engine maps fields by
    their values; `none`: nothing is indexed or stored, for the tier `berserk`."""

    EXPLICIT = "explicit"
    DYNAMIC = "dynamic"
    NONE = "none"


class Rotate(Enum):
    """How an output gets a series of indices: by a date in the index name, or by an alias with
    rollover."""

    NONE = "none"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    ROLLOVER = "rollover"


_UNDATED = {Rotate.NONE, Rotate.ROLLOVER}


class IndexBy(Section):
    """A value of the event that is appended to the index name, in lower case.

    The value must consist of at most 64 letters, digits and . _ - and begin with a letter or a
    digit; otherwise `fallback` replaces it.
    """

    property: _PartProperty | None = parameter("The property of the event.")
    json_path: FieldName | None = parameter("The path into the event's JSON.", alias="json")
    fallback: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,199}$", max_length=64)] = (
        parameter(
            "What stands there for a value that is empty or that a name may not hold.",
            value="other",
        )
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.property is None) == (self.json_path is None):
            raise ValueError("give exactly one of property and json")
        return self


class Index(Section):
    """Where the documents of an output go: an index, an alias with rollover, or a data stream.

    With `components` the index template is composed of rendered component templates.
    """

    name: IndexName | None = None
    data_stream: IndexName | None = None
    rotate: Rotate = Rotate.NONE
    separator: Literal[".", "-", "_", "none"] = "."
    clock: Literal["reported", "generated"] = "reported"
    date_in_utc: Switch = parameter(
        "Whether the date in the name is that of UTC; otherwise, as rsyslog has it, that of the "
        "time zone of the clock: the one that the event names, or rsyslogd's own.",
        value=False,
        alias="date.inUTC",
    )
    by: IndexBy | None = None
    mapping: MappingStyle = MappingStyle.EXPLICIT
    components: Switch = False
    lifecycle: Lifecycle | None = None
    settings: IndexSettings = IndexSettings.model_construct()

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if (self.name is None) == (self.data_stream is None):
            raise ValueError("give exactly one of name and data_stream")
        return self

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.by is not None and (self.name is None or self.rotate is Rotate.ROLLOVER):
            raise ValueError("by is for an index name: an alias or a data stream has one only")
        options = (self.separator, self.clock, self.date_in_utc)
        if not self.is_dated and options != (".", "reported", False):
            raise ValueError(
                "separator, clock and date.inUTC are for a date in the name: set rotate to "
                "hourly, daily, weekly or monthly, or remove them"
            )
        return self

    @property
    def is_dated(self) -> bool:
        """Whether the index name contains a date."""
        return self.rotate not in _UNDATED

    @property
    def varies(self) -> bool:
        """Whether the index name depends on the event."""
        return self.is_dated or self.by is not None

    @property
    def target(self) -> str:
        """The index, alias or data stream that documents are written to, without the variable part
        of its name."""
        return self.name or self.data_stream or ""

    @property
    def pattern(self) -> str:
        """The index pattern that matches all indices of the output."""
        return f"{self.target}*"

    @property
    def rolls_over(self) -> bool:
        """Whether the engine rolls over to a new index under the same name."""
        return self.data_stream is not None or self.rotate is Rotate.ROLLOVER
