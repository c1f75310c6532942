"""Lint for settings of indices and nodes that the engine refuses, ignores or pays for."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.release import Engine
from tuner.errors import KeyPath
from tuner.lint.rule import error, warning
from tuner.profile.documents import is_timed
from tuner.profile.model import Profile
from tuner.rule import Complaint
from tuner.schema.units import seconds

_SHORTEST_SYNC_S = 0.1


def _too_often(profile: Profile) -> Iterator[Complaint]:
    """The engine answers "must be >= [100ms]"; seen on Elasticsearch 7.17 and 9.2."""
    for number, output in profile.enumerated:
        interval = output.index.settings.translog_sync_interval
        waits_s = seconds(interval)
        if waits_s is not None and waits_s < _SHORTEST_SYNC_S:
            yield Complaint(
                _setting(number, "translog.sync_interval"),
                f"the engine refuses {interval}, and the index with it: use at least 100ms",
            )


def _ids_without_filter(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.has_ids and output.index.settings.bloom_filter_for_id_field_enabled is False:
            yield Complaint(
                _setting(number, "bloom_filter_for_id_field.enabled"),
                "every event has an id of its own here, which the engine looks up in each segment "
                "without this filter: remove it, or bulkid and what needs it",
            )


def _factor_without_effect(profile: Profile) -> Iterator[Complaint]:
    """Elasticsearch's MergePolicyConfig: only indices that merge by time use merge_factor."""
    for number, output in profile.enumerated:
        settings = output.index.settings
        by_time = settings.merge_policy_type == "time_based" or (
            settings.merge_policy_type in {None, "unset"} and is_timed(output)
        )
        if settings.merge_policy_merge_factor is not None and not by_time:
            yield Complaint(
                _setting(number, "merge.policy.merge_factor"),
                "merge.policy.merge_factor has no effect on indices that do not merge by time: "
                "use merge.policy.segments_per_tier, or set merge.policy.type to time_based",
            )


def _licensed(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.index.settings.logsdb_route_on_sort_fields:
            yield Complaint(
                _setting(number, "logsdb.route_on_sort_fields"),
                "needs an Enterprise licence, two fields in sort.field beside @timestamp, and "
                "events without ids of their own: check GET _license, or remove it",
            )


def _too_many_threads(profile: Profile) -> Iterator[Complaint]:
    """The engine takes at most one more than it has processors (its ThreadPool)."""
    node = profile.node
    if node.node_processors is None or node.thread_pool_write_size is None:
        return
    most = node.node_processors + 1
    if node.thread_pool_write_size > most:
        yield Complaint(
            ("node", "thread_pool.write.size"),
            f"a node with {node.node_processors} processors does not start with more than {most} "
            f"write threads: use at most {most}",
        )


def _no_copies(profile: Profile) -> Iterator[Complaint]:
    if profile.release.engine is not Engine.OPENSEARCH:
        return
    for number, output in profile.enumerated:
        settings = output.index.settings
        if settings.replication_type == "SEGMENT" and settings.number_of_replicas == 0:
            yield Complaint(
                _setting(number, "replication.type"),
                "SEGMENT says how replicas get their segments, and there are none: remove it, or "
                "set number_of_replicas to 1",
            )


def _setting(number: int, name: str) -> KeyPath:
    return ("outputs", number, "index", "settings", name)


RULES = (
    error("RT330", _too_often),
    warning("RT331", _ids_without_filter),
    warning("RT332", _factor_without_effect),
    warning("RT333", _licensed),
    error("RT334", _too_many_threads),
    warning("RT335", _no_copies),
)
