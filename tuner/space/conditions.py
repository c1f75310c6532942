"""What rows of the table ask of a profile: whether a setting has an effect, and levels to try."""

from __future__ import annotations

from collections.abc import Callable

from tuner.engines.index import MappingStyle
from tuner.engines.release import Engine
from tuner.modules.field import Preset
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.input import Input
from tuner.modules.queue import SEGMENTED_SINCE
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile
from tuner.profile.stream import Spread
from tuner.schema.units import seconds, size_bytes
from tuner.space.knob import Level

_POOLED_IMTCP = 2504
_REFRESH = ("1s", "2s", "5s", "10s", "20s", "30s", "60s", "2m")


def one(kind: type[Input]) -> Callable[[Profile], bool]:
    """A single input, of that kind: parameters of a module are all its inputs'."""
    return lambda profile: len(profile.inputs) == 1 and isinstance(profile.inputs[0], kind)


def pooled_imtcp(profile: Profile) -> bool:
    """A single imtcp that has threads of its own."""
    return one(ImtcpInput)(profile) and profile.release.rsyslog_number >= _POOLED_IMTCP


def two_layouts(profile: Profile) -> bool:
    """rsyslog has two layouts of queue files."""
    return profile.release.rsyslog_number >= SEGMENTED_SINCE


def only_rfc3164(profile: Profile) -> bool:
    """Every message is of RFC 3164, and no parser is chosen: rsyslog tries its parser of RFC 5424
    first, which takes time for nothing."""
    load = profile.workload
    chosen = any(source.parser is not None for source in profile.inputs)
    is_plain = load.format == "rfc3164" and load.replay is None
    own = profile.stream(profile.measured_stream).parser
    return is_plain and own is None and not chosen


def own_lanes(profile: Profile) -> bool:
    """Lanes that rsyslog alone can change: senders do not choose theirs by port."""
    return profile.lanes is not None and profile.lanes.spread is not Spread.PORTS


def elasticsearch(profile: Profile) -> bool:
    """OpenSearch knows the setting, and does not heed it."""
    return profile.release.engine is Engine.ELASTICSEARCH


def no_ids(profile: Profile) -> bool:
    """The output gives its documents no ids."""
    return not profile.measured.has_ids


def dynamic_mapping(profile: Profile) -> bool:
    """The engine makes the mapping of what it sees, and the profile says of every field what it
    must serve, as our own documents do: where it does not, an explicit mapping would make
    unsearchable what is searched."""
    is_dynamic = profile.measured.index.mapping is MappingStyle.DYNAMIC
    return is_dynamic and not without_uses(profile)


def without_uses(profile: Profile) -> tuple[str, ...]:
    """The fields of which the profile does not say what they must serve, though the engine makes
    their mapping of what it sees."""
    output = profile.measured
    if isinstance(output.document, Preset) or output.index.mapping is not MappingStyle.DYNAMIC:
        return ()
    fields = fields_of(output)
    return tuple(field.name for field in fields if "uses" not in field.model_fields_set)


def refresh_intervals(profile: Profile) -> tuple[Level, ...]:
    """An interval that is not set is no level of its own: shards that nobody searches are then
    never refreshed, which a measurement would take for speed."""
    bound_s = profile.guardrails.freshness_p99_s
    return tuple(one for one in _REFRESH if (seconds(one) or 0) < bound_s)


def durabilities(profile: Profile) -> tuple[Level, ...]:
    """The profile's own first."""
    now = profile.measured.index.settings.translog_durability
    return (now, "request" if now == "async" else "async")


def fewer_replicas(profile: Profile) -> tuple[Level, ...]:
    """None, one and so on to as many as there are."""
    return tuple(range(profile.measured.index.settings.number_of_replicas + 1))


def shard_counts(profile: Profile) -> tuple[Level, ...]:
    """Up to four; over several nodes of a lab as many as spread evenly."""
    nodes = profile.lab.nodes
    return (1, 2, 4) if nodes == 1 else (1, nodes, 2 * nodes)


def source_modes(profile: Profile) -> tuple[Level, ...]:
    """The profile's own first."""
    now = profile.measured.index.settings.mapping_source_mode
    return (now, "stored" if now == "synthetic" else "synthetic")


def buffer_in_bytes(profile: Profile) -> bool:
    """The profile gives the index buffer in bytes."""
    return not buffer_in_percent(profile)


def buffer_in_percent(profile: Profile) -> bool:
    """The index buffer is a share of the heap."""
    size = profile.node.indices_memory_index_buffer_size
    return size is None or size.endswith("%")


def heaps(profile: Profile) -> tuple[Level, ...]:
    """Half of it, itself, and twice as much; in megabytes, but for the one that is written."""
    heap = profile.node.heap
    megabytes = size_bytes(heap) // 1024**2
    sizes = (megabytes // 2, megabytes, megabytes * 2)
    return tuple(_heap(size) if size != megabytes else heap for size in sizes)


def _heap(megabytes: int) -> str:
    gigabytes, rest = divmod(megabytes, 1024)
    return f"{megabytes}m" if rest else f"{gigabytes}g"


def known_processors(profile: Profile) -> bool:
    """The profile tells how many processors a node has."""
    return profile.node.node_processors is not None


def processors(profile: Profile) -> Level:
    """As many threads write where the profile does not say."""
    return profile.node.node_processors


def pool_sizes(profile: Profile) -> tuple[Level, ...]:
    """About as many threads as processors."""
    count = profile.node.node_processors or 1
    return tuple(size for size in range(count - 1, count + 2) if size > 0)
