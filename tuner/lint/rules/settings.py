"""Lint for settings of indices and nodes that the engine refuses, ignores or pays for."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.index import MappingStyle
from tuner.engines.release import Engine
from tuner.lint.each import each, engine_outputs
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
# For examples: the settings of the small profile's index.
SETTINGS = "outputs[logs].index.settings"
# What Elasticsearch from 8.7 ignores where indices have a timestamp (its MergePolicyConfig).
_TIERED_ONLY = (
    "merge.policy.segments_per_tier",
    "merge.policy.max_merge_at_once",
    "merge.policy.deletes_pct_allowed",
)


@error(
    "RT330",
    why="The engine refuses the index: must be >= [100ms].",
    source="Elasticsearch, IndexSettings; seen on 7.17, 8.19 and 9.2",
    bad={f"{SETTINGS}.translog.sync_interval": "50ms"},
    good={f"{SETTINGS}.translog.sync_interval": "5s"},
)
@each(engine_outputs)
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


@error(
    "RT343",
    why="The engine refuses the index: maxThreadCount should be <= maxMergeCount.",
    source="Elasticsearch, MergeSchedulerConfig; seen on 7.17 and 8.19",
    bad={
        f"{SETTINGS}.merge.scheduler.max_thread_count": 8,
        f"{SETTINGS}.merge.scheduler.max_merge_count": 4,
    },
    good={f"{SETTINGS}.merge.scheduler.max_merge_count": 8},
)
@each(engine_outputs, "index", "settings", "merge.scheduler.max_merge_count")
def _fewer_merges_than_threads(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    threads = settings.merge_scheduler_max_thread_count
    merges = settings.merge_scheduler_max_merge_count
    if threads is not None and merges is not None and threads > merges:
        yield (
            f"the engine refuses {merges} below merge.scheduler.max_thread_count, and the index "
            f"with it: use at least {threads}"
        )


@error(
    "RT344",
    why="The engine refuses the index: Expected a boolean or a value in the interval [0..1].",
    source="Elasticsearch, pull request 92659; seen on 7.17 and OpenSearch 3.2",
    bad={
        "release": {"rsyslog": "8.2302", "opensearch": "3.2"},
        f"{SETTINGS}.compound_format": "1gb",
    },
    good={f"{SETTINGS}.compound_format": 0.1},
)
@each(engine_outputs, "index", "settings", "compound_format")
def _size_as_share(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    release, value = profile.release, output.index.settings.compound_format
    has_sizes = release.engine is not Engine.OPENSEARCH and release.engine_version >= _SIZES_SINCE
    if isinstance(value, str) and not has_sizes:
        yield (
            f"Elasticsearch before 8.7 and OpenSearch take no size such as {value} here: use true, "
            "false or a share of the index from 0 to 1"
        )


@advice(
    "RT331",
    why="An event with an id is looked up in every segment before it is indexed; the filter "
    "answers most lookups without the disk.",
    source="Elasticsearch, PerFieldFormatSupplier",
    bad={
        "outputs[logs].bulkid": "uuid",
        f"{SETTINGS}.bloom_filter_for_id_field.enabled": False,
    },
    good={f"{SETTINGS}.bloom_filter_for_id_field.enabled": True},
)
@each(engine_outputs, "index", "settings", "bloom_filter_for_id_field.enabled")
def _ids_without_filter(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.has_ids and output.index.settings.bloom_filter_for_id_field_enabled is False:
        yield (
            "every event has an id of its own here, which the engine looks up in each segment "
            "without this filter: remove it, or bulkid and what needs it"
        )


@advice(
    "RT332",
    why="Only indices that merge by time use merge_factor, those with a timestamp since "
    "Elasticsearch 8.7.",
    source="Elasticsearch, MergePolicyConfig",
    bad={
        f"{SETTINGS}.merge.policy.type": "tiered",
        f"{SETTINGS}.merge.policy.merge_factor": 16,
    },
    good={f"{SETTINGS}.merge.policy.type": "time_based"},
    at=f"{SETTINGS}.merge.policy.merge_factor",
)
@each(engine_outputs, "index", "settings", "merge.policy.merge_factor")
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


@advice(
    "RT333",
    why="Routing by sort fields is for logsdb with an Enterprise licence, and only for documents "
    "without ids.",
    source="Elasticsearch, logsdb data streams",
    bad={f"{SETTINGS}.logsdb.route_on_sort_fields": True},
    good={f"{SETTINGS}.logsdb.route_on_sort_fields": False},
)
@each(engine_outputs, "index", "settings", "logsdb.route_on_sort_fields")
def _licensed(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.settings.logsdb_route_on_sort_fields:
        yield (
            "needs an Enterprise licence, two fields in sort.field beside @timestamp, and "
            "events without ids of their own: check GET _license, or remove it"
        )


@advice(
    "RT335",
    why="Segment replication only affects replicas, and this index has none.",
    source="OpenSearch, segment replication",
    bad={
        "release": {"rsyslog": "8.2302", "opensearch": "2.19"},
        f"{SETTINGS}.replication.type": "SEGMENT",
        f"{SETTINGS}.number_of_replicas": 0,
    },
    good={f"{SETTINGS}.number_of_replicas": 1},
    at=f"{SETTINGS}.replication.type",
)
@each(engine_outputs, "index", "settings", "replication.type")
def _no_copies(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    settings, is_opensearch = output.index.settings, profile.release.engine is Engine.OPENSEARCH
    by_segment = is_opensearch and settings.replication_type == "SEGMENT"
    if by_segment and settings.number_of_replicas == 0:
        yield (
            "SEGMENT says how replicas get their segments, and this index has no replicas: "
            "remove it, or set number_of_replicas to 1"
        )


@error(
    "RT324",
    why="An index is sorted by doc values, one order for each field: the engine refuses anything "
    "else.",
    source="Elasticsearch, index sorting",
    bad={f"{SETTINGS}.sort.field": ["message"]},
    good={f"{SETTINGS}.sort.field": ["@timestamp"]},
)
@each(engine_outputs)
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


@error(
    "RT325",
    why="A write waits for copies that do not exist, until its timeout.",
    source="Elasticsearch, wait_for_active_shards",
    bad={f"{SETTINGS}.write.wait_for_active_shards": 3},
    good={f"{SETTINGS}.write.wait_for_active_shards": 2},
)
@each(engine_outputs, "index", "settings", "write.wait_for_active_shards")
def _waiting(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    copies, required = settings.number_of_replicas + 1, settings.write_wait_for_active_shards
    if isinstance(required, int) and required > copies:
        yield (
            f"every write would wait for {required} copies, but there are only {copies}: use "
            f"at most {copies}"
        )


@error(
    "RT326",
    why="Such an index refuses documents that could overwrite others.",
    source="OpenSearch, append-only index",
    bad={
        "release": {"rsyslog": "8.2302", "opensearch": "2.19"},
        f"{SETTINGS}.append_only.enabled": True,
        "outputs[logs].bulkid": "uuid",
    },
    good={"outputs[logs].writeoperation": "create"},
    at=f"{SETTINGS}.append_only.enabled",
)
@each(engine_outputs, "index", "settings", "append_only.enabled")
def _append_only(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    overwrites = output.has_ids and not output.creates
    if output.index.settings.append_only_enabled and overwrites:
        yield (
            "an index that only appends refuses documents with an id of their own: set "
            "writeoperation to create, or remove bulkid"
        )


@error(
    "RT340",
    why="OpenSearch cannot build a document from keywords that it leaves out for their length, as "
    "ours are (ignore_above), and refuses the template.",
    source="OpenSearch, derived source; seen on 3.2.0 and 3.6.0",
    bad={
        "release": {"rsyslog": "8.2302", "opensearch": "3.2"},
        f"{SETTINGS}.derived_source.enabled": True,
    },
    good={f"{SETTINGS}.derived_source.enabled": False},
    at=f"{SETTINGS}.derived_source.enabled",
)
@each(engine_outputs, "index", "settings", "derived_source.enabled")
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


@error(
    "RT341",
    why="Only an index that never changes documents may put a whole bulk into one shard.",
    source="OpenSearch, append-only index; seen on 3.6.0",
    bad={
        "release": {"rsyslog": "8.2302", "opensearch": "3.6"},
        f"{SETTINGS}.bulk.adaptive_shard_selection.enabled": True,
    },
    good={f"{SETTINGS}.append_only.enabled": True},
    at=f"{SETTINGS}.bulk.adaptive_shard_selection.enabled",
)
@each(engine_outputs, "index", "settings", "bulk.adaptive_shard_selection.enabled")
def _adaptive_without_append_only(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    settings = output.index.settings
    if settings.bulk_adaptive_shard_selection_enabled and not settings.append_only_enabled:
        yield (
            "OpenSearch refuses it for an index that is not append-only: set "
            "append_only.enabled to true too, or remove it"
        )


@advice(
    "RT327",
    why="Since 8.7 Elasticsearch merges indices with a timestamp by time, and ignores the "
    "settings of tiered merging.",
    source="Elasticsearch, MergePolicyConfig and MappingLookup",
    bad={f"{SETTINGS}.merge.policy.segments_per_tier": 20},
    good={f"{SETTINGS}.merge.policy.type": "tiered"},
    at=f"{SETTINGS}.merge.policy.segments_per_tier",
)
@each(engine_outputs)
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


@warning(
    "RT328",
    why="Without the licence the engine accepts the setting and stores the source anyway.",
    source="Elasticsearch, synthetic source",
    bad={f"{SETTINGS}.mapping.source.mode": "synthetic"},
    good={f"{SETTINGS}.mapping.source.mode": "stored"},
)
@each(engine_outputs, "index", "settings", "mapping.source.mode")
def _synthetic(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.settings.mapping_source_mode == "synthetic":
        yield (
            "without an Enterprise licence Elasticsearch silently stores the source anyway: "
            "check GET _license, or use stored"
        )


@error(
    "RT342",
    why="rsyslog cuts a message above maxMessageSize in two events or shortens it: what was sent "
    "could not be told from what arrived.",
    source="rsyslog's manual: global(), maxMessageSize and oversizemsg.input.mode",
    bad={"global": {"maxMessageSize": "1k"}, "workload.message_bytes": {"mean": 1000}},
    good={"workload.message_bytes": {"mean": 800}},
)
def _above_max_message_size(profile: Profile) -> Iterator[Complaint]:
    longest, most = profile.workload.message_bytes.sizes.longest, profile.longest_message_bytes
    accepts = profile.global_.oversizemsg_input_mode == "accept"
    if profile.workload.mean_message_bytes is not None and longest > most and not accepts:
        yield Complaint(
            ("workload", "message_bytes"),
            f"messages of up to {longest} bytes are longer than the {most} that rsyslog takes: "
            "make them shorter, or raise global.maxMessageSize",
        )
