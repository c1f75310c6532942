"""Lint for indices and nodes: names that cannot work, settings that an engine does not know,
refuses, ignores or pays for."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from tuner.engines.index import Index, Lifecycle, MappingStyle, Rotate
from tuner.engines.index_settings import IndexSettings
from tuner.engines.node import NODE_SETTINGS
from tuner.engines.release import Engine, Release
from tuner.engines.settings import CODECS, COLUMNAR, MODES, TIMESTAMPED, Setting, unknown_to
from tuner.errors import KeyPath
from tuner.lint.sections import engine_outputs, index_settings
from tuner.modules.field import FieldType, Use, is_json, merges
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import TIMESTAMP, fields_of, has_keyword, is_timed
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, advice, error, warning
from tuner.schema.units import seconds

# Policies' `_meta` and max_primary_shard_size in ILM, min_rollover_age in ISM.
_LIFECYCLE = ((7, 17), (1, 3))
# What rsyslog knows a few dozen values of, whatever senders write.
_FEW_VALUES = frozenset({"syslogfacility-text", "syslogseverity-text"})
_LEVELS = frozenset({"zstd", "zstd_no_dict"})
_LOGSDB_BY_DEFAULT = ("logs-*-*", (9, 0))


@error("RT303")
def _unknown_settings(profile: Profile) -> Iterator[Complaint]:
    written: list[tuple[KeyPath, Setting]] = [
        (("node", name), NODE_SETTINGS[name]) for name in profile.node.settings
    ]
    for place, output in engine_outputs(profile):
        settings = output.index.settings.model_dump(by_alias=True, exclude_none=True)
        path = (*place, "index", "settings")
        known = output.index.settings.known
        written += [((*path, name), known[name]) for name in settings]
    for path, setting in written:
        why = setting.unknown_to(profile.release)
        if why is not None:
            message = f"{_engine(profile.release)} does not know {setting.name}, {why}: remove it"
            yield Complaint(path, message)


@error("RT320").for_each(index_settings)
def _codec(settings: IndexSettings, profile: Profile) -> Iterator[Complaint]:
    codec = settings.codec or "default"
    why = unknown_to(profile.release, *CODECS[codec])
    if why is not None:
        yield Complaint(
            ("codec",),
            f"{_engine(profile.release)} has no codec {codec}, {why}: use best_compression "
            "or default",
        )
    if settings.codec_compression_level is not None and codec not in _LEVELS:
        yield Complaint(
            ("codec.compression_level",),
            f"the codec {codec} has no compression level: use zstd or zstd_no_dict, or remove it",
        )


@error("RT321").for_each(engine_outputs)
def _timestamp(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    dates = {field.name for field in fields_of(output) if field.type is FieldType.DATE}
    mode = output.index.settings.mode
    if TIMESTAMP not in dates and (mode in TIMESTAMPED or output.index.data_stream is not None):
        is_stream = output.index.data_stream is not None
        what = "a data stream" if is_stream else f"an index of mode {mode}"
        yield Complaint(
            ("index", "data_stream") if is_stream else ("index", "settings", "mode"),
            f"{what} refuses documents without {TIMESTAMP}: add a field of that name with "
            "type: date to the document",
        )


@error("RT345").for_each(index_settings, "mode")
def _mode(settings: IndexSettings, profile: Profile) -> Iterator[str]:
    mode = settings.mode or "standard"
    why = unknown_to(profile.release, *MODES[mode])
    if mode in COLUMNAR and why is not None:
        yield f"{_engine(profile.release)} has no mode {mode}, {why}: use standard or logsdb"


@warning("RT346").for_each(index_settings, "mode")
def _preview(settings: IndexSettings, profile: Profile) -> Iterator[str]:
    mode = settings.mode
    if mode in COLUMNAR and unknown_to(profile.release, *MODES[mode]) is None:
        yield (
            f"{mode} is a technical preview, and keeps no document: it comes back from its "
            "fields, those of objects under names such as host.name, without what no mapping "
            "has: use standard or logsdb where the document itself counts"
        )


@error("RT347").for_each(engine_outputs)
def _refused_as_columns(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    index, settings = output.index, output.index.settings
    mode, source = settings.mode, settings.mapping_source_mode
    written = settings.model_dump(by_alias=True, exclude_none=True)
    path: KeyPath = ("index", "settings")
    if source == "columnar_stored" and mode not in COLUMNAR:
        yield Complaint(
            (*path, "mapping.source.mode"),
            f"only the modes {' and '.join(sorted(COLUMNAR))} have columnar_stored: use stored",
        )
    if mode not in COLUMNAR:
        return
    if source == "stored":
        yield Complaint(
            (*path, "mapping.source.mode"),
            f"{mode} keeps no document as it was sent: remove it, or use the mode standard",
        )
    numbers = written.get("seq_no.index_options") == "points_and_doc_values"
    if numbers and written.get("disable_sequence_numbers", True):
        yield Complaint(
            (*path, "seq_no.index_options"), f"{mode} takes doc_values_only alone: remove it"
        )
    if written.get("recovery.use_synthetic_source") is False:
        yield Complaint(
            (*path, "recovery.use_synthetic_source"), f"{mode} cannot do without it: remove it"
        )
    if index.mapping is MappingStyle.NONE:
        yield Complaint(("index", "mapping"), f"{mode} needs _source, which none turns off")


@error("RT348").for_each(engine_outputs, "index", "settings", "mode")
def _lost_as_columns(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    index = output.index
    if index.settings.mode in COLUMNAR and index.mapping is MappingStyle.EXPLICIT:
        fields = (field for field in fields_of(output) if is_json(field) or merges(field))
        for field in fields:
            yield (
                f"{index.settings.mode} keeps mapped fields only, and drops the JSON "
                f"{f'in {field.name}' if field.name else 'that is merged into the document'}: "
                "name its fields in the document, or use logsdb"
            )


@error("RT322").for_each(engine_outputs, "index", "rotate")
def _rotation(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.data_stream is not None and output.index.rotate is not Rotate.NONE:
        yield ("a data stream rolls over by itself: remove rotate")


@warning("RT339").for_each(engine_outputs, "index", "data_stream")
def _logsdb_by_default(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    pattern, since = _LOGSDB_BY_DEFAULT
    release, stream = profile.release, output.index.data_stream
    has_it = release.engine is Engine.ELASTICSEARCH and release.engine_version >= since
    matches = stream is not None and fnmatchcase(stream, pattern)
    if has_it and matches and output.index.settings.mode is None:
        yield (
            f"Elasticsearch 9 gives new data streams named {pattern} the mode logsdb, which "
            "changes several defaults and slows writing: set settings.mode to logsdb or "
            "standard, or use another name"
        )


@error("RT323").for_each(engine_outputs)
def _lifecycle(output: OmelasticsearchOutput, profile: Profile) -> Iterator[Complaint]:
    index = output.index
    if index.lifecycle is None:
        return
    path: KeyPath = ("index", "lifecycle")
    why = unknown_to(profile.release, *_LIFECYCLE)
    if why is not None:
        yield Complaint(path, f"this policy needs a newer engine, {why}: remove lifecycle")
    yield from _policy(path, index, index.lifecycle)


def _policy(path: KeyPath, index: Index, lifecycle: Lifecycle) -> Iterator[Complaint]:
    if lifecycle.rollover is not None and not index.rolls_over:
        yield Complaint(
            (*path, "rollover"),
            "only an alias or a data stream rolls over: set rotate to rollover, or use data_stream",
        )
    if index.rolls_over and lifecycle.rollover is None:
        yield Complaint(
            path,
            "without rollover the first index grows forever, and no retention deletes it: add "
            "rollover, for instance {max_age: 1d, max_primary_shard_size: 50gb}",
        )
    if lifecycle.retention is not None and index.name and index.rotate is Rotate.NONE:
        yield Complaint(
            (*path, "retention"),
            f"this deletes {index.name} as a whole while events still go there: set rotate to "
            "daily or rollover",
        )


def _engine(release: Release) -> str:
    name = "OpenSearch" if release.engine is Engine.OPENSEARCH else "Elasticsearch"
    return f"{name} {release.engine_version[0]}.{release.engine_version[1]}"


@error("RT329").for_each(engine_outputs, "index", "mapping")
def _nothing_kept(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    nothing = output.index.mapping is MappingStyle.NONE
    if nothing and profile.guardrails.tier is not Tier.BERSERK:
        yield (
            "with none the engine keeps nothing of an event, so no event can be found or "
            "read again: use explicit, or guardrails.tier berserk to measure the ceiling"
        )


@warning("RT336").for_each(engine_outputs, "index", "by")
def _many_indices(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    by = output.index.by
    if by is not None and by.property not in _FEW_VALUES:
        value = by.property or f"the JSON at {by.json_path}"
        yield (
            f"senders choose {value}, and each value makes an index of "
            f"{output.index.settings.number_of_shards} shards: filter the events, use "
            "syslogfacility-text, or watch the number of indices"
        )


@error("RT337").for_each(engine_outputs, "index", "by")
def _index_of_another(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    index = output.index
    if index.by is None:
        return
    targets = (other.index.target for other in profile.indexed if other is not output)
    target = next((target for target in targets if target.startswith(f"{index.target}-")), None)
    if target is not None:
        yield (
            f"an event could choose {target}, the index of another output: give one of them a "
            f"name that does not begin with {index.target}-"
        )


# The least and the most that the engine takes, and so for how long; -1 is below all of them.
_RANGES: dict[str, tuple[str, str | None]] = {
    "translog.sync_interval": ("100ms", None),
    "translog.flush_threshold_age": ("1s", "1h"),
    "search.idle.after": ("0ms", None),
}
# Since when compound_format may be a size.
_SIZES_SINCE = (8, 7)
# What Elasticsearch from 8.7 ignores where indices have a timestamp (its MergePolicyConfig).
_TIERED_ONLY = (
    "merge.policy.segments_per_tier",
    "merge.policy.max_merge_at_once",
    "merge.policy.deletes_pct_allowed",
)


@error("RT330").for_each(index_settings)
def _out_of_range(settings: IndexSettings, _: Profile) -> Iterator[Complaint]:
    written = settings.model_dump(by_alias=True, exclude_none=True)
    for name, (least, most) in _RANGES.items():
        if name not in written:
            continue
        value_s, most_s = seconds(written[name]), seconds(most)
        too_long = value_s is not None and most_s is not None and value_s > most_s
        if value_s is None or value_s < (seconds(least) or 0) or too_long:
            yield Complaint(
                (name,),
                f"the engine refuses {written[name]}, and the index with it: use at least {least}"
                f"{f' and at most {most}' if most else ''}",
            )


@error("RT343").for_each(index_settings, "merge.scheduler.max_merge_count")
def _fewer_merges_than_threads(settings: IndexSettings, _: Profile) -> Iterator[str]:
    threads = settings.merge_scheduler_max_thread_count
    merges = settings.merge_scheduler_max_merge_count
    if threads is not None and merges is not None and threads > merges:
        yield (
            f"the engine refuses {merges} below merge.scheduler.max_thread_count, and the index "
            f"with it: use at least {threads}"
        )


@error("RT344").for_each(index_settings, "compound_format")
def _size_as_share(settings: IndexSettings, profile: Profile) -> Iterator[str]:
    release, value = profile.release, settings.compound_format
    has_sizes = release.engine is not Engine.OPENSEARCH and release.engine_version >= _SIZES_SINCE
    if isinstance(value, str) and not has_sizes:
        yield (
            f"Elasticsearch before 8.7 and OpenSearch take no size such as {value} here: use true, "
            "false or a share of the index from 0 to 1"
        )


@advice("RT331").for_each(engine_outputs, "index", "settings", "bloom_filter_for_id_field.enabled")
def _ids_without_filter(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.has_ids and output.index.settings.bloom_filter_for_id_field_enabled is False:
        yield (
            "every event has an id of its own here, which the engine looks up in each segment "
            "without this filter: remove it, or bulkid and what needs it"
        )


@advice("RT332").for_each(engine_outputs, "index", "settings", "merge.policy.merge_factor")
def _factor_without_effect(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    by_time = settings.merge_policy_type == "time_based" or (
        settings.merge_policy_type in {None, "unset"} and is_timed(output)
    )
    if settings.merge_policy_merge_factor is not None and not by_time:
        yield (
            "merge.policy.merge_factor has no effect on indices that do not merge by time: "
            "use merge.policy.segments_per_tier, or set merge.policy.type to time_based"
        )


@advice("RT333").for_each(index_settings, "logsdb.route_on_sort_fields")
def _licensed(settings: IndexSettings, _: Profile) -> Iterator[str]:
    if settings.logsdb_route_on_sort_fields:
        yield (
            "needs an Enterprise licence, two fields in sort.field beside @timestamp, and "
            "events without ids of their own: check GET _license, or remove it"
        )


@advice("RT335").for_each(index_settings, "replication.type")
def _no_copies(settings: IndexSettings, profile: Profile) -> Iterator[str]:
    is_opensearch = profile.release.engine is Engine.OPENSEARCH
    by_segment = is_opensearch and settings.replication_type == "SEGMENT"
    if by_segment and settings.number_of_replicas == 0:
        yield (
            "SEGMENT says how replicas get their segments, and this index has no replicas: "
            "remove it, or set number_of_replicas to 1"
        )


@error("RT324").for_each(engine_outputs)
def _sorting(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    settings = output.index.settings
    names = settings.sort_field or ()
    if settings.sort_order is not None and len(settings.sort_order) != len(names):
        yield Complaint(
            ("index", "settings", "sort.order"), "give one order for each field of sort.field"
        )
    sortable = {field.name for field in fields_of(output) if Use.AGGREGATE in field.uses}
    for name in names:
        if name not in sortable and output.index.mapping is MappingStyle.EXPLICIT:
            yield Complaint(
                ("index", "settings", "sort.field"),
                f"an index is sorted by fields with doc_values, and {name} has no doc_values: "
                "add it to the document with the use aggregate",
            )


@error("RT325").for_each(index_settings, "write.wait_for_active_shards")
def _waiting(settings: IndexSettings, _: Profile) -> Iterator[str]:
    copies, required = settings.number_of_replicas + 1, settings.write_wait_for_active_shards
    if isinstance(required, int) and required > copies:
        yield (
            f"every write would wait for {required} copies, but there are only {copies}: use "
            f"at most {copies}"
        )


@error("RT326").for_each(engine_outputs, "index", "settings", "append_only.enabled")
def _append_only(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    overwrites = output.has_ids and not output.creates
    if output.index.settings.append_only_enabled and overwrites:
        yield (
            "an index that only appends refuses documents with an id of their own: set "
            "writeoperation to create, or remove bulkid"
        )


@error("RT340").for_each(engine_outputs, "index", "settings", "derived_source.enabled")
def _derived_from_keywords(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    index = output.index
    if index.settings.derived_source_enabled and index.mapping is MappingStyle.EXPLICIT:
        names = [field.name for field in fields_of(output) if has_keyword(field)]
        if names:
            yield (
                f"OpenSearch refuses it beside {names[0]}, which is not indexed where it is "
                "longer than ignore_above: remove it, or give strings only the uses full_text, "
                "phrase and retrieve"
            )


@error("RT341").for_each(index_settings, "bulk.adaptive_shard_selection.enabled")
def _adaptive_without_append_only(settings: IndexSettings, _: Profile) -> Iterator[str]:
    if settings.bulk_adaptive_shard_selection_enabled and not settings.append_only_enabled:
        yield (
            "OpenSearch refuses it for an index that is not append-only: set "
            "append_only.enabled to true too, or remove it"
        )


@advice("RT327").for_each(engine_outputs)
def _merge_without_effect(output: OmelasticsearchOutput, profile: Profile) -> Iterator[Complaint]:
    release, settings = profile.release, output.index.settings
    if release.engine is Engine.OPENSEARCH or release.engine_version < (8, 7):
        return
    written = settings.model_dump(by_alias=True, exclude_none=True)
    for name in _TIERED_ONLY:
        if name in written and settings.merge_policy_type != "tiered" and is_timed(output):
            yield Complaint(
                ("index", "settings", name),
                f"{name} has no effect on indices with {TIMESTAMP}, which merge by time: "
                "use merge.policy.merge_factor, or set merge.policy.type to tiered",
            )


@warning("RT328").for_each(index_settings, "mapping.source.mode")
def _synthetic(settings: IndexSettings, _: Profile) -> Iterator[str]:
    if settings.mapping_source_mode == "synthetic":
        yield (
            "without an Enterprise licence Elasticsearch silently stores the source anyway: "
            "check GET _license, or use stored"
        )
