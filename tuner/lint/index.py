"""Lint for indices: settings that an engine does not know, and names that cannot work."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engines.index import Index, MappingStyle, Rotate
from tuner.engines.lifecycle import Lifecycle
from tuner.engines.release import Engine, Release
from tuner.engines.settings import CODECS, INDEX_SETTINGS, NODE_SETTINGS, unknown_to
from tuner.errors import KeyPath
from tuner.lint.rule import error, warning
from tuner.modules.field import FieldType, Use
from tuner.profile.documents import TIMESTAMP, fields_of, is_timed
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint

# Policies' `_meta` and max_primary_shard_size in ILM, min_rollover_age in ISM.
_LIFECYCLE = ((7, 17), (1, 3))
_LEVELS = frozenset({"zstd", "zstd_no_dict"})
# What Elasticsearch from 8.7 ignores where indices have a timestamp (its MergePolicyConfig).
_TIERED_ONLY = (
    "merge.policy.segments_per_tier",
    "merge.policy.max_merge_at_once",
    "merge.policy.deletes_pct_allowed",
)


def _unknown_settings(profile: Profile) -> Iterator[Complaint]:
    written: list[tuple[KeyPath, str]] = [(("node", name), name) for name in profile.node.settings]
    for number, output in profile.enumerated:
        settings = output.index.settings.model_dump(by_alias=True, exclude_none=True)
        written += [(_setting(number, name), name) for name in settings]
    for path, name in written:
        setting = (NODE_SETTINGS if path[0] == "node" else INDEX_SETTINGS)[name]
        why = unknown_to(profile.release, setting.elasticsearch, setting.opensearch)
        if why is not None:
            yield Complaint(
                path, f"{_engine(profile.release)} does not know {name}, {why}: remove it"
            )


def _codec(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        settings = output.index.settings
        codec = settings.codec or "default"
        why = unknown_to(profile.release, *CODECS[codec])
        if why is not None:
            yield Complaint(
                _setting(number, "codec"),
                f"{_engine(profile.release)} has no codec {codec}, {why}: use best_compression "
                "or default",
            )
        if settings.codec_compression_level is not None and codec not in _LEVELS:
            yield Complaint(
                _setting(number, "codec.compression_level"),
                f"the codec {codec} has no compression level: use zstd or zstd_no_dict, or "
                "remove it",
            )


def _timestamp(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        dates = {field.name for field in fields_of(output) if field.type is FieldType.DATE}
        if output.index.data_stream is not None and TIMESTAMP not in dates:
            yield Complaint(
                ("outputs", number, "index", "data_stream"),
                f"a data stream refuses documents without {TIMESTAMP}: add a field of that name "
                "with type: date to the document",
            )


def _rotation(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.index.data_stream is not None and output.index.rotate is not Rotate.NONE:
            yield Complaint(
                ("outputs", number, "index", "rotate"),
                "a data stream rolls over by itself: remove rotate",
            )


def _lifecycle(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        index = output.index
        if index.lifecycle is None:
            continue
        path: KeyPath = ("outputs", number, "index", "lifecycle")
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
            "without rollover the first index grows for ever, and no retention deletes it: "
            "add rollover, for instance {max_age: 1d, max_primary_shard_size: 50gb}",
        )
    if lifecycle.retention is not None and index.name and index.rotate is Rotate.NONE:
        yield Complaint(
            (*path, "retention"),
            f"this deletes {index.name} as a whole while events still go there: set rotate to "
            "daily or rollover",
        )


def _sorting(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        settings = output.index.settings
        names = settings.sort_field or ()
        if settings.sort_order is not None and len(settings.sort_order) != len(names):
            yield Complaint(
                _setting(number, "sort.order"), "give one order for each field of sort.field"
            )
        sortable = {field.name for field in fields_of(output) if Use.AGGREGATE in field.uses}
        for name in names:
            if name not in sortable and output.index.mapping is MappingStyle.EXPLICIT:
                yield Complaint(
                    _setting(number, "sort.field"),
                    f"an index is sorted by fields with doc values, {name} is none: add it to the "
                    "document with the use aggregate",
                )


def _waiting(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        settings = output.index.settings
        copies, wanted = settings.number_of_replicas + 1, settings.write_wait_for_active_shards
        if isinstance(wanted, int) and wanted > copies:
            yield Complaint(
                _setting(number, "write.wait_for_active_shards"),
                f"every write would wait for {wanted} copies where there are {copies}: use at "
                f"most {copies}",
            )


def _append_only(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        overwrites = output.has_ids and not output.creates
        if output.index.settings.append_only_enabled and overwrites:
            yield Complaint(
                _setting(number, "append_only.enabled"),
                "an index that only appends refuses documents with an id of their own: set "
                "writeoperation to create, or remove bulkid",
            )


def _merge_without_effect(profile: Profile) -> Iterator[Complaint]:
    release = profile.release
    if release.engine is Engine.OPENSEARCH or release.engine_version < (8, 7):
        return
    for number, output in profile.enumerated:
        settings = output.index.settings
        written = settings.model_dump(by_alias=True, exclude_none=True)
        for name in _TIERED_ONLY:
            if name in written and settings.merge_policy_type != "tiered" and is_timed(output):
                yield Complaint(
                    _setting(number, name),
                    f"{name} has no effect on indices with {TIMESTAMP}, which merge by time: "
                    "use merge.policy.merge_factor, or set merge.policy.type to tiered",
                )


def _synthetic(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        if output.index.settings.mapping_source_mode == "synthetic":
            yield Complaint(
                _setting(number, "mapping.source.mode"),
                "without an Enterprise licence Elasticsearch stores the source all the same, and "
                "does not say so: check GET _license, or use stored",
            )


def _engine(release: Release) -> str:
    name = "OpenSearch" if release.engine is Engine.OPENSEARCH else "Elasticsearch"
    return f"{name} {release.engine_version[0]}.{release.engine_version[1]}"


def _setting(number: int, name: str) -> KeyPath:
    return ("outputs", number, "index", "settings", name)


def _nothing_kept(profile: Profile) -> Iterator[Complaint]:
    for number, output in profile.enumerated:
        nothing = output.index.mapping is MappingStyle.NONE
        if nothing and profile.guardrails.tier is not Tier.BERSERK:
            yield Complaint(
                ("outputs", number, "index", "mapping"),
                "with none the engine keeps nothing of an event, so none can be found or read "
                "again: use explicit, or guardrails.tier berserk to measure the ceiling",
            )


RULES = (
    error("RT303", _unknown_settings),
    error("RT320", _codec),
    error("RT321", _timestamp),
    error("RT322", _rotation),
    error("RT323", _lifecycle),
    error("RT324", _sorting),
    error("RT325", _waiting),
    error("RT326", _append_only),
    warning("RT327", _merge_without_effect),
    warning("RT328", _synthetic),
    error("RT329", _nothing_kept),
)
