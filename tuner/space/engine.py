"""The knobs of the engine: settings of the indices, mapping, and settings of the node.

Ranges are those of elasticsearch.md sections 1, 2 and 7.  Left out, because they change no rate
within minutes or give something up: index.sort, store.type, search.idle.after, flush ages, the
largest merged segment, write queues (they decide when bulks are refused), node.processors.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engines.heap import heap_bytes
from tuner.engines.index import IndexSettings, MappingStyle
from tuner.engines.release import Engine
from tuner.engines.settings import INDEX_SETTINGS, Update, unknown_to
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.documents import is_timed
from tuner.profile.model import Profile
from tuner.schema.units import seconds
from tuner.space.level import Cost, Knob, Level, holding
from tuner.space.worth import worth

_REFRESH = ("1s", "2s", "5s", "10s", "20s", "30s", "60s", "2m")
_FLUSH = (None, "256mb", "512mb", "1gb", "2gb")
_OFF = (None, False)


@dataclass(frozen=True)
class _Setting:
    """A setting of indices: its levels, and what leaving it out amounts to where that is known."""

    name: str
    levels: tuple[Level, ...]
    unset: Level = None
    ordered: bool = True
    note: str = ""


_SETTINGS = (
    _Setting("number_of_shards", (1, 2, 4)),
    _Setting("codec", (None, "best_compression"), ordered=False,
             note="documents are compressed more or less; all of them can be read back"),
    _Setting("translog.flush_threshold_size", _FLUSH,
             note="a longer translog takes longer to recover from"),
    _Setting("translog.generation_threshold_size", (None, "128mb", "256mb", "1gb"), "64mb"),
    _Setting("merge.policy.merge_factor", (8, 16, None, 64), 32),
    _Setting("merge.policy.segments_per_tier", (None, 20, 40), 10),
    _Setting("merge.policy.floor_segment", (None, "8mb", "16mb", "64mb"), "2mb"),
    _Setting("merge.scheduler.max_thread_count", (None, 1, 2, 4)),
    _Setting("merge.scheduler.auto_throttle", _OFF, ordered=False),
    _Setting("compound_format", _OFF, ordered=False, note="more open files"),
    _Setting("use_compound_file", _OFF, ordered=False, note="more open files"),
    _Setting("check_pending_flush.enabled", _OFF, ordered=False),
    _Setting("merge_on_flush.enabled", _OFF, ordered=False),
    _Setting("bloom_filter_for_id_field.enabled", _OFF, ordered=False,
             note="reading a document by its _id, which nobody was given, becomes slower"),
    _Setting("seq_no.index_options", (None, "doc_values_only"), ordered=False),
)  # fmt: skip


def index_knobs(profile: Profile) -> list[Knob]:
    """The knobs of the measured output's index that its engine knows."""
    output = profile.measured
    found = [_refresh(profile)]
    found += [_of_setting(one, output) for one in _SETTINGS if _works(one.name, profile)]
    if output.index.mapping is MappingStyle.DYNAMIC:
        note = (
            "explicit serves the uses of the document's fields; the dynamic mapping also gave "
            "every string a .keyword field"
        )
        styles = (MappingStyle.DYNAMIC.value, MappingStyle.EXPLICIT.value)
        found.append(
            Knob(f"outputs[{output.name}].index.mapping", styles, styles[0], Cost.NEW_INDEX, note,
                 ordered=False, worth=worth("index.mapping"))
        )  # fmt: skip
    return found


def _refresh(profile: Profile) -> Knob:
    """An interval that is not set is no level of its own: shards that nobody searches are then
    never refreshed, which a measurement would take for speed."""
    output, bound_s = profile.measured, profile.guardrails.freshness_p99_s
    levels = tuple(one for one in _REFRESH if (seconds(one) or 0) < bound_s)
    note = f"how long events wait to become searchable; the guardrail allows {bound_s:g} s"
    return _of_setting(_Setting("refresh_interval", levels, note=note), output)


def _of_setting(setting: _Setting, output: OmelasticsearchOutput) -> Knob:
    known = INDEX_SETTINGS[setting.name]
    attribute = next(
        name for name, field in IndexSettings.model_fields.items() if field.alias == setting.name
    )
    now = getattr(output.index.settings, attribute)
    levels = setting.levels
    if levels == _OFF and now is True:
        levels = (True, False)
    found = Knob(
        f"outputs[{output.name}].index.settings.{setting.name}", levels, now,
        Cost.LIVE_SETTING if known.update is Update.DYNAMIC else Cost.NEW_INDEX, setting.note,
        setting.ordered, setting.unset, worth=worth(f"settings.{setting.name}"),
    )  # fmt: skip
    return holding(found)


def _works(name: str, profile: Profile) -> bool:
    """Whether the engine knows the setting, and it has an effect on these indices."""
    setting, output = INDEX_SETTINGS[name], profile.measured
    if unknown_to(profile.release, setting.elasticsearch, setting.opensearch) is not None:
        return False
    if name == "merge.policy.merge_factor":
        return _merges_by_time(profile)
    if name == "merge.policy.segments_per_tier":
        return not _merges_by_time(profile)
    if name == "compound_format":
        return profile.release.engine is Engine.ELASTICSEARCH
    if name == "bloom_filter_for_id_field.enabled":
        return not output.has_ids
    return True


def _merges_by_time(profile: Profile) -> bool:
    """Elasticsearch since 8.7 merges indices with a timestamp by time (its MergePolicyConfig)."""
    settings, release = profile.measured.index.settings, profile.release
    if release.engine is Engine.OPENSEARCH or release.engine_version < (8, 7):
        return False
    unset = settings.merge_policy_type in {None, "unset"}
    return settings.merge_policy_type == "time_based" or (unset and is_timed(profile.measured))


def node_knobs(profile: Profile) -> list[Knob]:
    """The knobs of a node, which need its restart: what a lab of ours can turn."""
    node = profile.node
    buffer = node.indices_memory_index_buffer_size
    in_percent = buffer is None or buffer.endswith("%")
    found = [
        _of_node(
            "indices.memory.index_buffer_size",
            (None, "20%", "30%", "40%") if in_percent else ("512mb", "1gb"),
            buffer,
            "10%" if in_percent else None,
        ),
        _of_node("heap", _heaps(node.heap), node.heap),
    ]
    processors = node.node_processors
    if processors is not None:
        sizes = tuple(size for size in range(processors - 1, processors + 2) if size > 0)
        now = node.thread_pool_write_size or processors
        found.append(_of_node("thread_pool.write.size", sizes, now))
    return found


def _of_node(key: str, levels: tuple[Level, ...], now: Level, unset: Level = None) -> Knob:
    path = f"node.{key}"
    found = Knob(path, levels, now, Cost.NODE_RESTART, unset=unset, worth=worth(path))
    return holding(found)


def _heaps(heap: str) -> tuple[str, ...]:
    """Half of it, itself, and twice as much; in megabytes, but for the one that is written."""
    megabytes = heap_bytes(heap) // 1024**2
    half, double = megabytes // 2, megabytes * 2
    return tuple(_heap(size) if size != megabytes else heap for size in (half, megabytes, double))


def _heap(megabytes: int) -> str:
    gigabytes, rest = divmod(megabytes, 1024)
    return f"{megabytes}m" if rest else f"{gigabytes}g"
