"""Which index and node settings each engine knows, since when, and how they can be changed.

Releases between those of REGISTERED are from the pull requests and documentation that added the
settings.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from tuner.engines.release import Engine, Release

REGISTERED = "registered settings of Elasticsearch 7.17 to 9.2, OpenSearch 1.3 to 3.2"
"""What was read: those of ten published server jars."""

Version = tuple[int, int]
ALWAYS: Version = (0, 0)


class Update(Enum):
    """When a setting can be given: at creation only, on a closed index, or on an open one; for
    nodes always at their start."""

    FINAL = "final"
    STATIC = "static"
    DYNAMIC = "dynamic"


class Setting(NamedTuple):
    """One setting by its name, without `index.`; with the release of each engine that introduced
    it, None if none did."""

    name: str
    update: Update
    elasticsearch: Version | None = ALWAYS
    opensearch: Version | None = ALWAYS


def _everywhere(update: Update, *names: str) -> tuple[Setting, ...]:
    return tuple(Setting(name, update) for name in names)


def _elasticsearch(name: str, update: Update, *since: int) -> Setting:
    return Setting(name, update, (since[0], since[1]), None)


def _opensearch(name: str, update: Update, *since: int) -> Setting:
    return Setting(name, update, None, (since[0], since[1]))


_FINAL, _STATIC, _DYNAMIC = Update.FINAL, Update.STATIC, Update.DYNAMIC

_INDEX = (
    *_everywhere(_FINAL, "number_of_shards", "sort.field", "sort.order"),
    _elasticsearch("mode", _FINAL, 8, 17),
    _elasticsearch("mapping.source.mode", _FINAL, 8, 17),
    _elasticsearch("logsdb.route_on_sort_fields", _FINAL, 8, 18),
    _elasticsearch("recovery.use_synthetic_source", _FINAL, 8, 19),
    _elasticsearch("seq_no.index_options", _FINAL, 9, 1),
    _opensearch("replication.type", _FINAL, 2, 7),
    _opensearch("append_only.enabled", _FINAL, 2, 19),
    _opensearch("derived_source.enabled", _FINAL, 3, 2),
    _opensearch("bulk.adaptive_shard_selection.enabled", _FINAL, 3, 5),
    *_everywhere(
        _STATIC, "codec", "store.type", "mapping.ignore_malformed", "queries.cache.enabled"
    ),
    _elasticsearch("mapping.ignore_above", _STATIC, 8, 17),
    _opensearch("codec.compression_level", _STATIC, 2, 9),
    _opensearch("use_compound_file", _STATIC, 2, 0),
    _opensearch("check_pending_flush.enabled", _STATIC, 2, 0),
    _opensearch("merge.policy", _STATIC, 2, 0),
    *_everywhere(
        _DYNAMIC,
        "number_of_replicas", "refresh_interval", "search.idle.after",
        "translog.durability", "translog.sync_interval", "translog.flush_threshold_size",
        "translog.generation_threshold_size", "flush_after_merge", "compound_format",
        "merge.scheduler.max_thread_count", "merge.scheduler.max_merge_count",
        "merge.scheduler.auto_throttle", "merge.policy.segments_per_tier",
        "merge.policy.max_merge_at_once", "merge.policy.max_merged_segment",
        "merge.policy.floor_segment", "merge.policy.deletes_pct_allowed",
        "mapping.total_fields.limit", "mapping.depth.limit", "default_pipeline", "final_pipeline",
        "requests.cache.enable", "write.wait_for_active_shards",
        "routing.allocation.total_shards_per_node", "unassigned.node_left.delayed_timeout",
    ),
    _elasticsearch("merge.policy.type", _DYNAMIC, 8, 7),
    _elasticsearch("bloom_filter_for_id_field.enabled", _DYNAMIC, 8, 7),
    _elasticsearch("translog.flush_threshold_age", _DYNAMIC, 8, 8),
    _elasticsearch("merge.policy.merge_factor", _DYNAMIC, 8, 8),
    _elasticsearch("mapping.total_fields.ignore_dynamic_beyond_limit", _DYNAMIC, 8, 13),
    _opensearch("merge_on_flush.enabled", _DYNAMIC, 2, 0),
    _opensearch("merge_on_flush.max_full_flush_merge_wait_time", _DYNAMIC, 2, 0),
    _opensearch("merge.log_byte_size_policy.merge_factor", _DYNAMIC, 2, 0),
    _opensearch("merge.log_byte_size_policy.min_merge", _DYNAMIC, 2, 0),
    _opensearch("merge.log_byte_size_policy.max_merge_segment", _DYNAMIC, 2, 0),
    _opensearch("optimize_doc_id_lookup.fuzzy_set.enabled", _DYNAMIC, 2, 12),
    _opensearch("auto_force_merge.enabled", _DYNAMIC, 3, 0),
)  # fmt: skip

_NODE = (
    *_everywhere(
        _STATIC,
        "indices.memory.index_buffer_size", "indices.memory.min_index_buffer_size",
        "indices.memory.max_index_buffer_size", "indexing_pressure.memory.limit",
        "thread_pool.write.size", "thread_pool.write.queue_size", "node.processors",
        "http.max_content_length", "bootstrap.memory_lock",
    ),
    _elasticsearch("thread_pool.write_coordination.size", _STATIC, 9, 1),
    _elasticsearch("thread_pool.write_coordination.queue_size", _STATIC, 9, 1),
    _opensearch("indices.time_series_index.default_index_merge_policy", _STATIC, 2, 0),
)  # fmt: skip

INDEX_SETTINGS = {setting.name: setting for setting in _INDEX}
NODE_SETTINGS = {setting.name: setting for setting in _NODE}

# In OpenSearch zstd is a codec of its own; in Elasticsearch it is what best_compression means.
CODECS: dict[str, tuple[Version | None, Version | None]] = {
    "default": (ALWAYS, ALWAYS),
    "best_compression": (ALWAYS, ALWAYS),
    "legacy_default": ((8, 16), None),
    "legacy_best_compression": ((8, 16), None),
    "lz4": (None, (2, 9)),
    "zlib": (None, (2, 9)),
    "zstd": (None, (2, 9)),
    "zstd_no_dict": (None, (2, 9)),
    "qat_lz4": (None, (2, 15)),
    "qat_deflate": (None, (2, 15)),
}


def unknown_to(
    release: Release, elasticsearch: Version | None, opensearch: Version | None
) -> str | None:
    """Why `release` lacks what these releases introduced, or None if it has it."""
    is_opensearch = release.engine is Engine.OPENSEARCH
    since, other = (opensearch, "Elasticsearch") if is_opensearch else (elasticsearch, "OpenSearch")
    if since is None:
        return f"only {other} has it"
    if release.engine_version < since:
        engine = "OpenSearch" if is_opensearch else "Elasticsearch"
        return f"introduced in {engine} {since[0]}.{since[1]}"
    return None


def field_names(settings: dict[str, Setting]) -> dict[str, str]:
    """Python's name of each setting to the engine's own."""
    return {name.replace(".", "_"): name for name in settings}
