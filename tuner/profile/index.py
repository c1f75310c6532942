"""Where documents go in the engine, and the settings of the indices."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from pydantic import Field

from tuner.profile.queue import Positive
from tuner.profile.scalars import ByteSize, Duration, IndexName
from tuner.profile.section import Section


class MappingStyle(Enum):
    """`explicit`: the leanest mapping that serves the uses; `dynamic`: the engine guesses."""

    EXPLICIT = "explicit"
    DYNAMIC = "dynamic"


class Rotate(Enum):
    """How the index name grows a date."""

    NONE = "none"
    DAILY = "daily"


class IndexSettings(Section):
    """Index settings, without their `index.` prefix; None leaves the engine's default."""

    number_of_shards: Annotated[int, Field(ge=1, le=1024, strict=True)] = 1
    number_of_replicas: Annotated[int, Field(ge=0, le=10, strict=True)] = 1
    refresh_interval: Duration | None = None
    codec: Literal["default", "best_compression"] | None = None
    translog_durability: Literal["request", "async"] | None = Field(
        None, alias="translog.durability"
    )
    translog_sync_interval: Duration | None = Field(None, alias="translog.sync_interval")
    translog_flush_threshold_size: ByteSize | None = Field(
        None, alias="translog.flush_threshold_size"
    )
    translog_flush_threshold_age: Duration | None = Field(
        None, alias="translog.flush_threshold_age"
    )
    merge_scheduler_max_thread_count: Positive | None = Field(
        None, alias="merge.scheduler.max_thread_count"
    )
    mapping_total_fields_limit: Positive | None = Field(None, alias="mapping.total_fields.limit")


class Index(Section):
    """Where the documents of an output go."""

    name: IndexName
    rotate: Rotate = Rotate.NONE
    mapping: MappingStyle = MappingStyle.EXPLICIT
    settings: IndexSettings = IndexSettings()
