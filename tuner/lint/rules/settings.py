"""Lint for settings of indices and nodes that the engine refuses, ignores or pays for."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.index import MappingStyle
from tuner.engines.release import Engine
from tuner.lint.sections import engine_outputs, for_each
from tuner.modules.field import Use
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import TIMESTAMP, fields_of, has_keyword, is_timed
from tuner.profile.model import Profile
from tuner.rule import Complaint, advice, error, warning
from tuner.schema.units import seconds

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


@error("RT330")
@for_each(engine_outputs)
def _out_of_range(output: OmelasticsearchOutput, _: Profile) -> Iterator[Complaint]:
    written = output.index.settings.model_dump(by_alias=True, exclude_none=True)
    for name, (least, most) in _RANGES.items():
        if name not in written:
            continue
        value_s, most_s = seconds(written[name]), seconds(most)
        too_long = value_s is not None and most_s is not None and value_s > most_s
        if value_s is None or value_s < (seconds(least) or 0) or too_long:
            yield Complaint(
                ("index", "settings", name),
                f"the engine refuses {written[name]}, and the index with it: use at least {least}"
                f"{f' and at most {most}' if most else ''}",
            )


@error("RT343")
@for_each(engine_outputs, "index", "settings", "merge.scheduler.max_merge_count")
def _fewer_merges_than_threads(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    threads = settings.merge_scheduler_max_thread_count
    merges = settings.merge_scheduler_max_merge_count
    if threads is not None and merges is not None and threads > merges:
        yield (
            f"the engine refuses {merges} below merge.scheduler.max_thread_count, and the index "
            f"with it: use at least {threads}"
        )


@error("RT344")
@for_each(engine_outputs, "index", "settings", "compound_format")
def _size_as_share(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    release, value = profile.release, output.index.settings.compound_format
    has_sizes = release.engine is not Engine.OPENSEARCH and release.engine_version >= _SIZES_SINCE
    if isinstance(value, str) and not has_sizes:
        yield (
            f"Elasticsearch before 8.7 and OpenSearch take no size such as {value} here: use true, "
            "false or a share of the index from 0 to 1"
        )


@advice("RT331")
@for_each(engine_outputs, "index", "settings", "bloom_filter_for_id_field.enabled")
def _ids_without_filter(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.has_ids and output.index.settings.bloom_filter_for_id_field_enabled is False:
        yield (
            "every event has an id of its own here, which the engine looks up in each segment "
            "without this filter: remove it, or bulkid and what needs it"
        )


@advice("RT332")
@for_each(engine_outputs, "index", "settings", "merge.policy.merge_factor")
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


@advice("RT333")
@for_each(engine_outputs, "index", "settings", "logsdb.route_on_sort_fields")
def _licensed(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.settings.logsdb_route_on_sort_fields:
        yield (
            "needs an Enterprise licence, two fields in sort.field beside @timestamp, and "
            "events without ids of their own: check GET _license, or remove it"
        )


@advice("RT335")
@for_each(engine_outputs, "index", "settings", "replication.type")
def _no_copies(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    settings, is_opensearch = output.index.settings, profile.release.engine is Engine.OPENSEARCH
    by_segment = is_opensearch and settings.replication_type == "SEGMENT"
    if by_segment and settings.number_of_replicas == 0:
        yield (
            "SEGMENT says how replicas get their segments, and this index has no replicas: "
            "remove it, or set number_of_replicas to 1"
        )


@error("RT324")
@for_each(engine_outputs)
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


@error("RT325")
@for_each(engine_outputs, "index", "settings", "write.wait_for_active_shards")
def _waiting(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    copies, required = settings.number_of_replicas + 1, settings.write_wait_for_active_shards
    if isinstance(required, int) and required > copies:
        yield (
            f"every write would wait for {required} copies, but there are only {copies}: use "
            f"at most {copies}"
        )


@error("RT326")
@for_each(engine_outputs, "index", "settings", "append_only.enabled")
def _append_only(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    overwrites = output.has_ids and not output.creates
    if output.index.settings.append_only_enabled and overwrites:
        yield (
            "an index that only appends refuses documents with an id of their own: set "
            "writeoperation to create, or remove bulkid"
        )


@error("RT340")
@for_each(engine_outputs, "index", "settings", "derived_source.enabled")
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


@error("RT341")
@for_each(engine_outputs, "index", "settings", "bulk.adaptive_shard_selection.enabled")
def _adaptive_without_append_only(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    if settings.bulk_adaptive_shard_selection_enabled and not settings.append_only_enabled:
        yield (
            "OpenSearch refuses it for an index that is not append-only: set "
            "append_only.enabled to true too, or remove it"
        )


@advice("RT327")
@for_each(engine_outputs)
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


@warning("RT328")
@for_each(engine_outputs, "index", "settings", "mapping.source.mode")
def _synthetic(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.settings.mapping_source_mode == "synthetic":
        yield (
            "without an Enterprise licence Elasticsearch silently stores the source anyway: "
            "check GET _license, or use stored"
        )


@error("RT342")
def _above_max_message_size(profile: Profile) -> Iterator[Complaint]:
    longest, most = profile.workload.message_bytes.sizes.longest, profile.longest_message_bytes
    accepts = profile.global_.oversizemsg_input_mode == "accept"
    if profile.workload.mean_message_bytes is not None and longest > most and not accepts:
        yield Complaint(
            ("workload", "message_bytes"),
            f"messages of up to {longest} bytes are longer than the {most} that rsyslog takes: "
            "make them shorter, or raise global.maxMessageSize",
        )
