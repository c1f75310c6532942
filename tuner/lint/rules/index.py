"""Lint for indices: settings that an engine does not know, and names that cannot work."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from tuner.engines.index import Index, Lifecycle, MappingStyle, Rotate
from tuner.engines.index_settings import INDEX_SETTINGS
from tuner.engines.node import NODE_SETTINGS
from tuner.engines.release import Engine, Release
from tuner.engines.settings import CODECS, Setting, unknown_to
from tuner.errors import KeyPath
from tuner.lint.sections import engine_outputs, for_each
from tuner.modules.field import FieldType
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import TIMESTAMP, fields_of
from tuner.profile.model import Profile, Tier
from tuner.rule import Complaint, error, warning

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
        written += [((*path, name), INDEX_SETTINGS[name]) for name in settings]
    for path, setting in written:
        why = unknown_to(profile.release, setting.elasticsearch, setting.opensearch)
        if why is not None:
            message = f"{_engine(profile.release)} does not know {setting.name}, {why}: remove it"
            yield Complaint(path, message)


@error("RT320")
@for_each(engine_outputs)
def _codec(output: OmelasticsearchOutput, profile: Profile) -> Iterator[Complaint]:
    settings = output.index.settings
    codec = settings.codec or "default"
    why = unknown_to(profile.release, *CODECS[codec])
    if why is not None:
        yield Complaint(
            ("index", "settings", "codec"),
            f"{_engine(profile.release)} has no codec {codec}, {why}: use best_compression "
            "or default",
        )
    if settings.codec_compression_level is not None and codec not in _LEVELS:
        yield Complaint(
            ("index", "settings", "codec.compression_level"),
            f"the codec {codec} has no compression level: use zstd or zstd_no_dict, or remove it",
        )


@error("RT321")
@for_each(engine_outputs, "index", "data_stream")
def _timestamp(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    dates = {field.name for field in fields_of(output) if field.type is FieldType.DATE}
    if output.index.data_stream is not None and TIMESTAMP not in dates:
        yield (
            f"a data stream refuses documents without {TIMESTAMP}: add a field of that name "
            "with type: date to the document"
        )


@error("RT322")
@for_each(engine_outputs, "index", "rotate")
def _rotation(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    if output.index.data_stream is not None and output.index.rotate is not Rotate.NONE:
        yield ("a data stream rolls over by itself: remove rotate")


@warning("RT339")
@for_each(engine_outputs, "index", "data_stream")
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


@error("RT323")
@for_each(engine_outputs)
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


@error("RT329")
@for_each(engine_outputs, "index", "mapping")
def _nothing_kept(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    nothing = output.index.mapping is MappingStyle.NONE
    if nothing and profile.guardrails.tier is not Tier.BERSERK:
        yield (
            "with none the engine keeps nothing of an event, so no event can be found or "
            "read again: use explicit, or guardrails.tier berserk to measure the ceiling"
        )


@warning("RT336")
@for_each(engine_outputs, "index", "by")
def _many_indices(output: OmelasticsearchOutput, _: Profile) -> Iterator[str]:
    by = output.index.by
    if by is not None and by.property not in _FEW_VALUES:
        what = by.property or f"the JSON at {by.json_path}"
        yield (
            f"senders choose {what}, and each value makes an index of "
            f"{output.index.settings.number_of_shards} shards: filter the events, use "
            "syslogfacility-text, or watch the number of indices"
        )


@error("RT337")
@for_each(engine_outputs, "index", "by")
def _index_of_another(output: OmelasticsearchOutput, profile: Profile) -> Iterator[str]:
    index = output.index
    if index.by is None:
        return
    others = (other.index.target for other in profile.indexed if other is not output)
    taken = next((one for one in others if one.startswith(f"{index.target}-")), None)
    if taken is not None:
        yield (
            f"an event could choose {taken}, the index of another output: give one of them a "
            f"name that does not begin with {index.target}-"
        )
