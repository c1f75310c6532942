"""The settings of an index that profiles have: what each does, its values, since when each engine
knows it, and how it can be changed."""

from typing import Annotated, Literal

from pydantic import Field

from tuner.engines.settings import dynamic, final, settings_of, static
from tuner.schema.scalars import (
    ByteSize,
    Duration,
    FieldName,
    NonNegative,
    PipelineName,
    Positive,
    Switch,
)
from tuner.schema.section import Section

_Codec = Literal[
    "default", "best_compression", "legacy_default", "legacy_best_compression", "lz4", "zlib",
    "zstd", "zstd_no_dict", "qat_lz4", "qat_deflate",
]  # fmt: skip
_Copies = Literal["all"] | Annotated[int, Field(ge=0, le=11, strict=True)]


class IndexSettings(Section):
    """Index settings, without their `index.` prefix; None leaves the engine's default."""

    number_of_shards: Annotated[int, Field(ge=1, le=1024, strict=True)] = final(
        "number_of_shards",
        "How many primary shards an index has; each indexes with its own threads and merges.",
        "Every bulk is split over all shards: many shards mean small pieces.",
        default=1,
    )
    number_of_replicas: Annotated[int, Field(ge=0, le=10, strict=True)] = dynamic(
        "number_of_replicas",
        "How many copies each shard has; each copy indexes every document again.",
        "A replica on a single node is never assigned and protects nothing.",
        default=1,
    )
    replication_type: Literal["DOCUMENT", "SEGMENT"] | None = final(
        "replication.type",
        "SEGMENT copies finished segments to replicas instead of indexing each document again.",
        opensearch=(2, 7),
    )
    write_wait_for_active_shards: _Copies | None = dynamic(
        "write.wait_for_active_shards",
        "How many copies must be available before a write starts; a check beforehand, not a "
        "quorum.",
    )
    routing_allocation_total_shards_per_node: Positive | None = dynamic(
        "routing.allocation.total_shards_per_node",
        "The most shards of the index on one node.",
        "Too low a value leaves shards unassigned.",
    )
    unassigned_node_left_delayed_timeout: Duration | None = dynamic(
        "unassigned.node_left.delayed_timeout",
        "How long replicas wait for a lost node before they are copied elsewhere.",
        default="1m",
    )
    bulk_adaptive_shard_selection_enabled: Switch | None = final(
        "bulk.adaptive_shard_selection.enabled",
        "Sends a whole bulk to one shard; needs append_only.",
        opensearch=(3, 5),
    )

    refresh_interval: Duration | None = dynamic(
        "refresh_interval",
        "How long until new documents can be searched; longer means fewer segments and less "
        "merging.",
        "With any explicit value, even 1s, idle shards are refreshed too; polling by searches "
        "has the same effect for 30 s.",
        default="1s, and none at all while nobody has searched for 30 s",
    )
    search_idle_after: Duration | None = dynamic(
        "search.idle.after",
        "After this time without a search a shard is no longer refreshed, unless "
        "refresh_interval is set.",
        default="30s",
    )
    codec: _Codec | None = static(
        "codec",
        "How stored documents are compressed.",
        "OpenSearch's zstd needs the plugin custom-codecs.",
        default="LZ4; best_compression is DEFLATE, zstd since Elasticsearch 8.16",
    )
    codec_compression_level: Annotated[int, Field(ge=1, le=6, strict=True)] | None = static(
        "codec.compression_level",
        "How hard OpenSearch's zstd compresses.",
        opensearch=(2, 9),
    )
    store_type: Literal["fs", "hybridfs", "niofs", "mmapfs"] | None = static(
        "store.type",
        "How files are read.",
        default="hybridfs where the node allows mmap, else niofs",
    )
    compound_format: Switch | Annotated[float, Field(ge=0, le=1)] | ByteSize | None = dynamic(
        "compound_format",
        "Segments up to this size are packed into one file, which copies each once more.",
        default="1gb; 0.1 before Elasticsearch 8.7 and on OpenSearch",
    )
    use_compound_file: Switch | None = static(
        "use_compound_file",
        "Whether small segments are packed into one file.",
        default="on",
        opensearch=(2, 0),
    )

    translog_durability: Literal["request", "async"] | None = dynamic(
        "translog.durability",
        "request makes an acknowledged document survive a crash; async synchronises every "
        "sync_interval.",
        "async loses acknowledged documents in a crash: a guarantee, never chosen by the search.",
        default="request",
    )
    translog_sync_interval: Duration | None = dynamic(
        "translog.sync_interval",
        "How often the translog is synchronised under async: the loss window.",
        default="5s",
    )
    translog_flush_threshold_size: ByteSize | None = dynamic(
        "translog.flush_threshold_size",
        "The size of the translog at which the engine commits; larger means fewer commits and a "
        "longer recovery.",
        "Since Elasticsearch 8.8 at most 1 % of the disk, even when more is set: small disks "
        "and RAM disks commit all the time.",
        default="512mb; 10gb since Elasticsearch 8.8",
    )
    translog_flush_threshold_age: Duration | None = dynamic(
        "translog.flush_threshold_age",
        "The age at which the engine commits.",
        default="1m",
        elasticsearch=(8, 8),
    )
    translog_generation_threshold_size: ByteSize | None = dynamic(
        "translog.generation_threshold_size",
        "The size of one file of the translog; a new one costs a synchronisation.",
        default="64mb",
    )
    flush_after_merge: ByteSize | None = dynamic(
        "flush_after_merge",
        "The size of a merge after which the engine commits.",
        default="512mb",
    )
    check_pending_flush_enabled: Switch | None = static(
        "check_pending_flush.enabled",
        "Whether indexing threads help to write segments.",
        default="on",
        opensearch=(2, 0),
    )
    merge_on_flush_enabled: Switch | None = dynamic(
        "merge_on_flush.enabled",
        "Whether small segments are merged at a refresh: fewer segments, longer refreshes.",
        default="on",
        opensearch=(2, 0),
    )
    merge_on_flush_max_full_flush_merge_wait_time: Duration | None = dynamic(
        "merge_on_flush.max_full_flush_merge_wait_time",
        "How long a refresh waits for such merges.",
        default="10s",
        opensearch=(2, 0),
    )
    recovery_use_synthetic_source: Switch | None = final(
        "recovery.use_synthetic_source",
        "Avoids the extra copy of documents for recovery where the source is synthetic.",
        elasticsearch=(8, 19),
    )

    merge_scheduler_max_thread_count: Positive | None = dynamic(
        "merge.scheduler.max_thread_count",
        "How many threads merge one shard.",
        "1 for spinning disks.",
        default="half the processors, 1 to 4",
    )
    merge_scheduler_max_merge_count: Positive | None = dynamic(
        "merge.scheduler.max_merge_count",
        "How many merges may wait before the shard is indexed by one thread only.",
        default="max_thread_count + 5",
    )
    merge_scheduler_auto_throttle: Switch | None = dynamic(
        "merge.scheduler.auto_throttle",
        "Whether the speed of merges is limited.",
        default="on",
    )
    merge_policy: Literal["default", "tiered", "log_byte_size"] | None = static(
        "merge.policy",
        "OpenSearch's way to choose segments to merge.",
        opensearch=(2, 0),
    )
    merge_policy_type: Literal["unset", "tiered", "time_based"] | None = dynamic(
        "merge.policy.type",
        "Elasticsearch's way to choose segments to merge.",
        default="time_based with an @timestamp since 8.7, else tiered",
        elasticsearch=(8, 7),
    )
    merge_policy_merge_factor: Annotated[int, Field(ge=2, strict=True)] | None = dynamic(
        "merge.policy.merge_factor",
        "How many segments a time-based merge joins.",
        "Only for time_based.",
        default="32",
        elasticsearch=(8, 8),
    )
    merge_policy_segments_per_tier: Annotated[float, Field(ge=2)] | None = dynamic(
        "merge.policy.segments_per_tier",
        "How many segments of one size are left alone.",
        "Without effect on Elasticsearch 8.7 and later with an @timestamp.",
        default="10",
    )
    merge_policy_max_merge_at_once: Annotated[int, Field(ge=2, strict=True)] | None = dynamic(
        "merge.policy.max_merge_at_once",
        "How many segments a tiered merge joins.",
        "Without effect on Elasticsearch 8.7 and later with an @timestamp.",
        default="10; 30 since OpenSearch 3",
    )
    merge_policy_max_merged_segment: ByteSize | None = dynamic(
        "merge.policy.max_merged_segment",
        "The largest segment that a merge makes.",
        default="5gb tiered, 100gb time_based",
    )
    merge_policy_floor_segment: ByteSize | None = dynamic(
        "merge.policy.floor_segment",
        "Smaller segments count as this large, and are merged sooner.",
        default="2mb; 16mb since OpenSearch 3",
    )
    merge_policy_deletes_pct_allowed: Annotated[float, Field(ge=5, le=50)] | None = dynamic(
        "merge.policy.deletes_pct_allowed",
        "The share of deleted documents that is left alone.",
        default="33; 20 since Elasticsearch 8.17 and OpenSearch 2.19",
    )
    merge_log_byte_size_policy_merge_factor: Annotated[int, Field(ge=2, strict=True)] | None = (
        dynamic(
            "merge.log_byte_size_policy.merge_factor",
            "How many segments a merge joins under log_byte_size.",
            default="10",
            opensearch=(2, 0),
        )
    )
    merge_log_byte_size_policy_min_merge: ByteSize | None = dynamic(
        "merge.log_byte_size_policy.min_merge",
        "Smaller segments are merged together under log_byte_size.",
        opensearch=(2, 0),
    )
    merge_log_byte_size_policy_max_merge_segment: ByteSize | None = dynamic(
        "merge.log_byte_size_policy.max_merge_segment",
        "The largest segment that is still merged under log_byte_size.",
        default="5gb",
        opensearch=(2, 0),
    )
    auto_force_merge_enabled: Switch | None = dynamic(
        "auto_force_merge.enabled",
        "Whether idle shards are merged to few segments.",
        "It may act on an index that is being measured.",
        default="on",
        opensearch=(3, 0),
    )

    mapping_total_fields_limit: Positive | None = dynamic(
        "mapping.total_fields.limit",
        "The most fields a mapping may have.",
        default="1000",
    )
    mapping_total_fields_ignore_dynamic_beyond_limit: Switch | None = dynamic(
        "mapping.total_fields.ignore_dynamic_beyond_limit",
        "Whether fields beyond the limit are left out instead of refusing the document.",
        elasticsearch=(8, 13),
    )
    mapping_depth_limit: Positive | None = dynamic(
        "mapping.depth.limit",
        "How deep fields may be nested.",
        default="20",
    )
    mapping_ignore_malformed: Switch | None = static(
        "mapping.ignore_malformed",
        "Whether a value that does not fit its type is left out instead of refusing the document.",
        "Fields are silently lost.",
    )
    mapping_ignore_above: NonNegative | None = static(
        "mapping.ignore_above",
        "Longer keywords are not indexed.",
        elasticsearch=(8, 17),
    )
    mapping_source_mode: Literal["stored", "synthetic"] | None = final(
        "mapping.source.mode",
        "How the document itself is kept: stored, synthetic or not at all.",
        "synthetic needs a licence and is stored without one; a guarantee, never chosen by the "
        "search.",
        default="stored",
        elasticsearch=(8, 17),
    )
    mode: Literal["standard", "logsdb"] | None = final(
        "mode",
        "What the index is for; logsdb saves much space and costs some indexing.",
        "logsdb changes many defaults, best_compression and ignore_malformed among them.",
        "Elasticsearch 9 takes logsdb for new data streams named logs-*-* (RT339).",
        default="standard",
        elasticsearch=(8, 17),
    )
    logsdb_route_on_sort_fields: Switch | None = final(
        "logsdb.route_on_sort_fields",
        "Whether documents are spread over shards by the sort fields; needs a licence.",
        elasticsearch=(8, 18),
    )
    derived_source_enabled: Switch | None = final(
        "derived_source.enabled",
        "OpenSearch builds the document from its fields instead of keeping it.",
        default="off",
        opensearch=(3, 2),
    )
    seq_no_index_options: Literal["points_and_doc_values", "doc_values_only"] | None = final(
        "seq_no.index_options",
        "How sequence numbers are indexed; DOC_VALUES_ONLY needs less space.",
        default="POINTS_AND_DOC_VALUES",
        elasticsearch=(9, 1),
    )
    append_only_enabled: Switch | None = final(
        "append_only.enabled",
        "Whether documents can only be added, never changed.",
        "Events with an id of their own are refused.",
        default="off",
        opensearch=(2, 19),
    )
    bloom_filter_for_id_field_enabled: Switch | None = dynamic(
        "bloom_filter_for_id_field.enabled",
        "Whether a filter speeds up the lookup of ids; without explicit ids it only costs.",
        default="on, off for data streams",
        elasticsearch=(8, 7),
    )
    optimize_doc_id_lookup_fuzzy_set_enabled: Switch | None = dynamic(
        "optimize_doc_id_lookup.fuzzy_set.enabled",
        "Whether a filter speeds up the lookup of ids; helps only with bulkid.",
        default="off",
        opensearch=(2, 12),
    )
    sort_field: Annotated[tuple[FieldName, ...], Field(min_length=1)] | None = final(
        "sort.field",
        "The fields by which segments are sorted.",
        "Costs at every flush and merge.",
    )
    sort_order: Annotated[tuple[Literal["asc", "desc"], ...], Field(min_length=1)] | None = final(
        "sort.order",
        "The direction for each of sort.field.",
    )
    default_pipeline: PipelineName | None = dynamic(
        "default_pipeline",
        "The ingest pipeline of requests that name none.",
    )
    final_pipeline: PipelineName | None = dynamic(
        "final_pipeline",
        "The ingest pipeline that every document passes last.",
    )
    requests_cache_enable: Switch | None = dynamic(
        "requests.cache.enable",
        "Whether the results of searches are kept; no effect on indexing.",
    )
    queries_cache_enabled: Switch | None = static(
        "queries.cache.enabled",
        "Whether parts of queries are kept; no effect on indexing.",
    )


INDEX_SETTINGS = settings_of(IndexSettings)
