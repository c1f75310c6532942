"""Where documents go in the engine, the settings of the indices, and when new ones start
and old ones go."""

from enum import Enum
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from tuner.engines.settings import INDEX_SETTINGS, field_names
from tuner.schema.parameter import parameter
from tuner.schema.scalars import (
    ByteSize,
    Duration,
    FieldName,
    IndexName,
    NonNegative,
    PipelineName,
    Positive,
    Switch,
)
from tuner.schema.section import Section

_Age = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,14}(m|h|d)$")]


class Rollover(Section):
    """Conditions for a new index, any one of which suffices; spelled as in Elasticsearch's rollover
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
    """A policy of ILM on Elasticsearch, of ISM on OpenSearch; both must be installed there.

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


_SPELLED = field_names(INDEX_SETTINGS)
_Codec = Literal[
    "default", "best_compression", "legacy_default", "legacy_best_compression", "lz4", "zlib",
    "zstd", "zstd_no_dict", "qat_lz4", "qat_deflate",
]  # fmt: skip
_PartProperty = Literal[
    "hostname", "fromhost-ip", "programname", "app-name", "syslogfacility-text",
    "syslogseverity-text",
]  # fmt: skip
_Copies = Literal["all"] | Annotated[int, Field(ge=0, le=11, strict=True)]


class MappingStyle(Enum):
    """`explicit`: the leanest mapping that serves the uses; `dynamic`: the engine guesses; `none`:
    nothing is indexed or stored, for the ceiling tier."""

    EXPLICIT = "explicit"
    DYNAMIC = "dynamic"
    NONE = "none"


class Rotate(Enum):
    """How one name becomes many indices: a date in it, or an alias that rolls over."""

    NONE = "none"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    ROLLOVER = "rollover"


_UNDATED = {Rotate.NONE, Rotate.ROLLOVER}


class IndexBy(Section):
    """A value of the event that becomes a part of the index's name, in small letters, where an
    index name may hold it: letters, digits and . _ -, a letter or a digit first, at most 64."""

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


class IndexSettings(Section):
    """Index settings, without their `index.` prefix; None leaves the engine's default."""

    model_config = ConfigDict(alias_generator=_SPELLED.__getitem__)

    number_of_shards: Annotated[int, Field(ge=1, le=1024, strict=True)] = 1
    number_of_replicas: Annotated[int, Field(ge=0, le=10, strict=True)] = 1
    replication_type: Literal["DOCUMENT", "SEGMENT"] | None = None
    write_wait_for_active_shards: _Copies | None = None
    routing_allocation_total_shards_per_node: Positive | None = None
    unassigned_node_left_delayed_timeout: Duration | None = None
    bulk_adaptive_shard_selection_enabled: Switch | None = None

    refresh_interval: Duration | None = None
    search_idle_after: Duration | None = None
    codec: _Codec | None = None
    codec_compression_level: Annotated[int, Field(ge=1, le=6, strict=True)] | None = None
    store_type: Literal["fs", "hybridfs", "niofs", "mmapfs"] | None = None
    compound_format: Switch | Annotated[float, Field(ge=0, le=1)] | ByteSize | None = None
    use_compound_file: Switch | None = None

    translog_durability: Literal["request", "async"] | None = None
    translog_sync_interval: Duration | None = None
    translog_flush_threshold_size: ByteSize | None = None
    translog_flush_threshold_age: Duration | None = None
    translog_generation_threshold_size: ByteSize | None = None
    flush_after_merge: ByteSize | None = None
    check_pending_flush_enabled: Switch | None = None
    merge_on_flush_enabled: Switch | None = None
    merge_on_flush_max_full_flush_merge_wait_time: Duration | None = None
    recovery_use_synthetic_source: Switch | None = None

    merge_scheduler_max_thread_count: Positive | None = None
    merge_scheduler_max_merge_count: Positive | None = None
    merge_scheduler_auto_throttle: Switch | None = None
    merge_policy: Literal["default", "tiered", "log_byte_size"] | None = None
    merge_policy_type: Literal["unset", "tiered", "time_based"] | None = None
    merge_policy_merge_factor: Annotated[int, Field(ge=2, strict=True)] | None = None
    merge_policy_segments_per_tier: Annotated[float, Field(ge=2)] | None = None
    merge_policy_max_merge_at_once: Annotated[int, Field(ge=2, strict=True)] | None = None
    merge_policy_max_merged_segment: ByteSize | None = None
    merge_policy_floor_segment: ByteSize | None = None
    merge_policy_deletes_pct_allowed: Annotated[float, Field(ge=5, le=50)] | None = None
    merge_log_byte_size_policy_merge_factor: Annotated[int, Field(ge=2, strict=True)] | None = None
    merge_log_byte_size_policy_min_merge: ByteSize | None = None
    merge_log_byte_size_policy_max_merge_segment: ByteSize | None = None
    auto_force_merge_enabled: Switch | None = None

    mapping_total_fields_limit: Positive | None = None
    mapping_total_fields_ignore_dynamic_beyond_limit: Switch | None = None
    mapping_depth_limit: Positive | None = None
    mapping_ignore_malformed: Switch | None = None
    mapping_ignore_above: NonNegative | None = None
    mapping_source_mode: Literal["stored", "synthetic"] | None = None
    mode: Literal["standard", "logsdb"] | None = None
    logsdb_route_on_sort_fields: Switch | None = None
    derived_source_enabled: Switch | None = None
    seq_no_index_options: Literal["points_and_doc_values", "doc_values_only"] | None = None
    append_only_enabled: Switch | None = None
    bloom_filter_for_id_field_enabled: Switch | None = None
    optimize_doc_id_lookup_fuzzy_set_enabled: Switch | None = None
    sort_field: Annotated[tuple[FieldName, ...], Field(min_length=1)] | None = None
    sort_order: Annotated[tuple[Literal["asc", "desc"], ...], Field(min_length=1)] | None = None
    default_pipeline: PipelineName | None = None
    final_pipeline: PipelineName | None = None
    requests_cache_enable: Switch | None = None
    queries_cache_enabled: Switch | None = None


class Index(Section):
    """Where the documents of an output go: an index, an alias that rolls over, or a data stream.

    With `components` its template is rendered as component templates too.
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
        """Whether there is a date in the name."""
        return self.rotate not in _UNDATED

    @property
    def varies(self) -> bool:
        """Whether each event says which index it goes to."""
        return self.is_dated or self.by is not None

    @property
    def target(self) -> str:
        """What documents are written to, before what varies: index, alias or data stream."""
        return self.name or self.data_stream or ""

    @property
    def pattern(self) -> str:
        """The pattern of every index that it creates."""
        return f"{self.target}*"

    @property
    def rolls_over(self) -> bool:
        """Whether the engine starts a new index behind the same name."""
        return self.data_stream is not None or self.rotate is Rotate.ROLLOVER
