"""Index settings of a profile, read from two tables beside this module: the values of each, the
releases that have it, and how it can be changed."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from pydantic import Field, create_model

from tuner.engines.settings import Setting, Update, Version, introduced, setting, settings_of
from tuner.reading import table
from tuner.schema.scalars import ByteSize, Duration, FieldName, Line, PipelineName, Switch
from tuner.schema.section import Section

_Row = Mapping[str, Any]
_LARGEST = 2**31 - 1

# Types by their names in the tables; `_annotation` adds those of numbers.
_TYPES: Mapping[str, Any] = {
    "switch": Switch,
    "time": Duration,
    "size": ByteSize,
    "text": Line,
    "texts": tuple[Line, ...],
    "pipeline": PipelineName,
    "fields": Annotated[tuple[FieldName, ...], Field(min_length=1)],
    "orders": Annotated[tuple[Literal["asc", "desc"], ...], Field(min_length=1)],
    "copies": Literal["all"] | Annotated[int, Field(ge=0, le=11, strict=True)],
    "compound": Switch | Annotated[float, Field(ge=0, le=1)] | ByteSize,
}


def _fields(name: str) -> dict[str, Any]:
    """One pydantic field for each setting of a table."""
    rows = table(f"engines/{name}")
    return {name.replace(".", "_"): _field(name, row) for name, row in rows.items()}


def _field(name: str, row: _Row) -> tuple[Any, Any]:
    annotation, value = _annotation(row), row.get("value")
    since = introduced(_version(row.get("elasticsearch")), _version(row.get("opensearch")))
    info = setting(
        Setting(name, Update(row["update"]), *since, _version(row.get("until"))),
        row.get("does", f"The engine's index.{name}, which its documentation explains."),
        *row.get("traps", ()),
        default=row.get("default", "") if value is None else value,
    )
    return (annotation | None if value is None else annotation), info


def _annotation(row: _Row) -> Any:
    """The type annotation for a row of a table."""
    match row["type"]:
        case "count":
            limits = Field(ge=row.get("least", 0), le=row.get("most", _LARGEST), strict=True)
            return Annotated[int, limits]
        case "number":
            return Annotated[float, Field(ge=row.get("least", 0), le=row.get("most"))]
        case list(words):
            return Literal[tuple(words)]
        case name:
            return _TYPES[name]


def _version(text: str | None) -> Version | None:
    if text is None:
        return None
    major, minor = map(int, text.split("."))
    return major, minor


class _Settings(Section):
    """Base class of index settings, with or without the rare ones."""

    @classmethod
    def whole(cls) -> type[Self]:
        """The class that has the rare settings too; building it takes 50 ms."""
        return _with_rare(cls)

    @classmethod
    def _validated(cls, value: object) -> Self:
        has_rare = isinstance(value, Mapping) and not value.keys() <= INDEX_SETTINGS.keys()
        section = cls.whole() if has_rare else cls
        return section.model_validate(value, by_alias=True, by_name=False)

    @property
    def known(self) -> Mapping[str, Setting]:
        """The Setting of each field, by its name."""
        return _known(type(self))


_Section = TypeVar("_Section", bound=_Settings)


@cache
def _with_rare(section: type[_Section]) -> type[_Section]:
    return create_model("IndexSettings", __base__=section, **_fields("rare_index_settings.toml"))


_known = cache(settings_of)

if TYPE_CHECKING:

    class IndexSettings(_Settings):
        """The fields that our code reads, declared for the type checker."""

        number_of_shards: int = 1
        number_of_replicas: int = 1
        append_only_enabled: bool | None = None
        bloom_filter_for_id_field_enabled: bool | None = None
        bulk_adaptive_shard_selection_enabled: bool | None = None
        codec: str | None = None
        codec_compression_level: int | None = None
        compound_format: bool | float | str | None = None
        default_pipeline: str | None = None
        derived_source_enabled: bool | None = None
        final_pipeline: str | None = None
        logsdb_route_on_sort_fields: bool | None = None
        mapping_source_mode: str | None = None
        merge_policy_merge_factor: int | None = None
        merge_policy_type: str | None = None
        merge_scheduler_max_merge_count: int | None = None
        merge_scheduler_max_thread_count: int | None = None
        mode: str | None = None
        refresh_interval: str | None = None
        replication_type: str | None = None
        sort_field: tuple[str, ...] | None = None
        sort_order: tuple[str, ...] | None = None
        translog_durability: str | None = None
        write_wait_for_active_shards: str | int | None = None

else:
    IndexSettings = create_model(
        "IndexSettings",
        __base__=_Settings,
        __module__=__name__,
        __doc__="Index settings, without their `index.` prefix; None leaves the engine's default.",
        **_fields("index_settings.toml"),
    )

INDEX_SETTINGS: Mapping[str, Setting] = _known(IndexSettings)
"""The common settings: those that are set to tune log indices."""
