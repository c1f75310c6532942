"""The table of knobs: a row for each setting that a search can change, and what rows ask of a
profile: whether a setting has an effect in it, and levels to try.

Rows stand in the order in which a search numbers them, parents before what depends on them.
Ranges, ranks and what helps are those of elasticsearch.md sections 1, 2 and 7, and of rsyslog.md
sections 5 and 8 (issues 4226, 4746, 5101).

Left out, because they change no rate within minutes or give something up: index.sort, store.type,
search.idle.after, flush ages, merge.policy (what it puts off is merged long after a trial on a new
index has ended, and looks free), write queues (they decide when bulks are refused),
node.processors; timeoutWorkerThreadShutdown (idle workers end after a minute), delay marks and
watermarks (a measurement stays below them), timeouts (they decide what is dropped); socketBacklog,
maxSessions, healthCheckTimeout, rebindinterval, maxbytes (a smaller one splits batches, F4),
bulkmode.
"""

from __future__ import annotations

from collections.abc import Callable

from tuner.engines.index import MappingStyle
from tuner.engines.release import Engine
from tuner.engines.settings import MODES, unknown_to
from tuner.modules.field import Preset
from tuner.modules.imfile import ImfileInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.input import Input
from tuner.modules.queue import DISK_TYPES, SEGMENTED_SINCE, QueueType
from tuner.profile.documents import fields_of
from tuner.profile.model import Keep, Profile, Spread
from tuner.schema.units import seconds, size_bytes
from tuner.space.knob import Bottleneck, Level, Part, Row, Way

_UP, _DOWN, _CHOICE = Way.UP, Way.DOWN, Way.CHOICE
_REJECTIONS, _SENDER, _MERGES = Bottleneck.REJECTIONS, Bottleneck.SENDER, Bottleneck.MERGES
_DISK, _INPUT, _MAIN = Bottleneck.DISK, Bottleneck.INPUT, Bottleneck.MAIN_WORKER
_ACTION, _WAITING = Bottleneck.ACTION_CPU, Bottleneck.ACTION_WAITING
_ORDER, _LOSS = Keep.ORDER, Keep.LOSS
_ENGINE, _MACHINE = Bottleneck.ENGINE_CPU, Bottleneck.MACHINE_CPU

REPLY_FILTER = ("errors", "items.*.status", "items.*.error")
"""What omelasticsearch reads of a reply: `errors`, and each item's `status` and `error`."""

IN_MEMORY = (QueueType.LINKED_LIST.value, QueueType.FIXED_ARRAY.value)
_THREADS = (1, 2, 4, 8)
_FEW_BATCHES = (0, 256, 512, 1024, 2048)
_LAYOUT = {_MAIN: _CHOICE, _ACTION: _CHOICE, _DISK: _CHOICE}
_DISK_LEVELS = tuple(disk_type.value for disk_type in DISK_TYPES)
_QUEUES_WITH_FILES = (Part.FIRST, Part.BULK)
_EMPTY = (
    "measured with new files; where a host has files of the other layout, the output does not "
    "start or leaves them: let the queue run empty before the change"
)

_POOLED_IMTCP = 2504
_REFRESH_INTERVALS = ("1s", "2s", "5s", "10s", "20s", "30s", "60s", "2m")


def _single(kind: type[Input]) -> Callable[[Profile], bool]:
    """A single input, of that kind: parameters of a module are all its inputs'."""
    return lambda profile: len(profile.inputs) == 1 and isinstance(profile.inputs[0], kind)


def _pooled_imtcp(profile: Profile) -> bool:
    """A single imtcp that has threads of its own."""
    return _single(ImtcpInput)(profile) and profile.release.rsyslog_number >= _POOLED_IMTCP


def _two_layouts(profile: Profile) -> bool:
    """rsyslog has two layouts of queue files."""
    return profile.release.rsyslog_number >= SEGMENTED_SINCE


def _only_rfc3164(profile: Profile) -> bool:
    """Every message is of RFC 3164, and no parser is chosen: rsyslog tries its parser of RFC 5424
    first, which takes time for nothing."""
    load = profile.workload
    chosen = any(source.parser is not None for source in profile.inputs)
    is_plain = load.format == "rfc3164" and load.replay is None
    parser = profile.stream(profile.measured_stream).parser
    return is_plain and parser is None and not chosen


def _own_lanes(profile: Profile) -> bool:
    """Lanes that rsyslog alone can change: senders do not choose theirs by port."""
    return profile.lanes is not None and profile.lanes.spread is not Spread.PORTS


def _elasticsearch(profile: Profile) -> bool:
    """OpenSearch knows the setting, and does not heed it."""
    return profile.release.engine is Engine.ELASTICSEARCH


def _no_ids(profile: Profile) -> bool:
    """The output gives its documents no ids."""
    return not profile.measured.has_ids


def _dynamic_mapping(profile: Profile) -> bool:
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


def _refresh_intervals(profile: Profile) -> tuple[Level, ...]:
    """An interval that is not set is no level of its own: shards that nobody searches are then
    never refreshed, which a measurement would take for speed."""
    bound_s = profile.guardrails.freshness_p99_s
    return tuple(text for text in _REFRESH_INTERVALS if (seconds(text) or 0) < bound_s)


def _fewer_replicas(profile: Profile) -> tuple[Level, ...]:
    """None, one and so on to as many as there are."""
    return tuple(range(profile.measured.index.settings.number_of_replicas + 1))


def _shard_counts(profile: Profile) -> tuple[Level, ...]:
    """Up to four; over several nodes of a lab as many as spread evenly."""
    nodes = profile.lab.nodes
    return (1, 2, 4) if nodes == 1 else (1, nodes, 2 * nodes)


def _modes(profile: Profile) -> tuple[Level, ...]:
    """Those that the engine knows."""
    return tuple(
        mode for mode, since in MODES.items() if unknown_to(profile.release, *since) is None
    )


def _buffers(profile: Profile) -> tuple[Level, ...]:
    """In bytes where the profile's is in bytes, else as shares of the heap."""
    size = profile.node.indices_memory_index_buffer_size
    is_share = size is None or size.endswith("%")
    return (None, "20%", "30%", "40%") if is_share else ("512mb", "1gb")


def _heaps(profile: Profile) -> tuple[Level, ...]:
    """Half of it, itself, and twice as much; in megabytes, but for the one that is written."""
    heap = profile.node.heap
    megabytes = size_bytes(heap) // 1024**2
    sizes = (megabytes // 2, megabytes, megabytes * 2)
    return tuple(_heap(size) if size != megabytes else heap for size in sizes)


def _heap(megabytes: int) -> str:
    gigabytes, remainder = divmod(megabytes, 1024)
    return f"{megabytes}m" if remainder else f"{gigabytes}g"


def _known_processors(profile: Profile) -> bool:
    """The profile tells how many processors a node has."""
    return profile.node.node_processors is not None


def _processors(profile: Profile) -> Level:
    """As many threads write where the profile does not say."""
    return profile.node.node_processors


def _pool_sizes(profile: Profile) -> tuple[Level, ...]:
    """About as many threads as processors."""
    count = profile.node.node_processors or 1
    return tuple(size for size in range(count - 1, count + 2) if size > 0)


# Closed until a guarantee is opened by name.
_GUARDED = (
    Row(Part.SETTINGS, "translog.durability", 50, {_WAITING: _UP, _DISK: _UP},
        ("request", "async"), unset="request", ordered=False, allow="translog.durability"),
    Row(Part.SETTINGS, "translog.sync_interval", 340, {_DISK: _UP},
        ("1s", "5s", "15s", "30s", "60s"), default="5s",
        parent="translog.durability", idle=(None, "request"), allow="translog.sync_interval"),
    Row(Part.SETTINGS, "number_of_replicas", 170, {_ENGINE: _DOWN, _DISK: _DOWN, _WAITING: _DOWN},
        _fewer_replicas, allow="number_of_replicas"),
    Row(Part.SETTINGS, "mapping.source.mode", 410, {_DISK: _CHOICE}, ("stored", "synthetic"),
        unset="stored", ordered=False, allow="mapping.source.mode"),
    Row(Part.SETTINGS, "mode", 405, {_DISK: _CHOICE, _ENGINE: _CHOICE}, _modes, ordered=False,
        unset="standard", allow="settings.mode",
        note="a lab's engine rebuilds documents without a licence; Elasticsearch needs one "
        "of Enterprise for that, and stores them beside their fields otherwise",
        why="documents are sorted by time and compressed together: less is written and "
        "merged"),
    Row(Part.OUTPUT, "bulkid", 150, {_ENGINE: _UP, _ACTION: _UP}, (None,), ordered=False,
        allow="bulkid"),
    Row(Part.OUTPUT, "retryfailures", 160, {_ENGINE: _UP, _ACTION: _UP}, (None,), ordered=False,
        allow="retryfailures"),
    Row(Part.OUTPUT, "mmutf8fix", 140, {_MAIN: _UP, _MACHINE: _UP}, (True, False), ordered=False,
        allow="mmutf8fix"),
    Row(Part.FIRST, "filename", 180, {_MAIN: _UP, _DISK: _UP}, (None,), ordered=False,
        allow="queue.filename"),
    Row(Part.BULK, "filename", 190, {_ACTION: _UP, _DISK: _UP}, (None,), ordered=False,
        allow="queue.filename"),
    *(
        Row(part, "type", 65, _LAYOUT, _DISK_LEVELS, ordered=False, when=_two_layouts,
            parent="filename", idle=(None,), allow="queue.diskQueueType", note=_EMPTY)
        for part in _QUEUES_WITH_FILES
    ),
    *(
        Row(part, "diskQueueType", 66, _LAYOUT, ("disk", "segmentedDisk"), ordered=False,
            unset="segmentedDisk", when=_two_layouts,
            parent="filename", idle=(None,), allow="queue.diskQueueType", note=_EMPTY)
        for part in _QUEUES_WITH_FILES
    ),
    *(
        Row(part, "syncQueueFiles", 470, {_DISK: _CHOICE}, (None,), ordered=False,
            parent="filename", idle=(None,), allow="queue.syncQueueFiles")
        for part in _QUEUES_WITH_FILES
    ),
)  # fmt: skip

_INPUTS = (
    Row(Part.INPUT, "threads", 120, {_INPUT: _UP}, _THREADS, when=_single(ImptcpInput)),
    Row(Part.INPUT, "processOnPoller", 250, {_INPUT: _UP}, (True, False), ordered=False,
        when=_single(ImptcpInput)),
    Row(Part.INPUT, "workerThreads", 120, {_INPUT: _UP}, _THREADS, default=2,
        when=_pooled_imtcp),
    Row(Part.INPUT, "starvationProtection.maxReads", 260, {_INPUT: _UP}, (0, 100, 500, 2000),
        default=500, when=_pooled_imtcp),
    Row(Part.INPUT, "threads", 120, {_INPUT: _UP}, _THREADS, default=1, when=_single(ImudpInput),
        gives_up=(_ORDER,)),
    Row(Part.INPUT, "batchSize", 260, {_INPUT: _UP}, (32, 64, 128, 256, 512), default=32,
        when=_single(ImudpInput)),
    Row(Part.INPUT, "maxSubmitAtOnce", 260, {_INPUT: _UP}, (256, 1024, 4096), default=1024,
        when=_single(ImfileInput)),
    Row(Part.PROFILE, "parser", 240, {_MAIN: _UP, _MACHINE: _UP}, (None, ("rsyslog.rfc3164",)),
        ordered=False,
        note="messages of RFC 5424, should there be any, would then be parsed wrongly",
        when=_only_rfc3164),
)  # fmt: skip

_QUEUES = (
    Row(Part.LANES, "count", 90, {_MAIN: _UP, _DISK: _UP, _WAITING: _UP}, (1, 2, 4),
        when=_own_lanes, gives_up=(_ORDER, _LOSS)),
    Row(Part.FIRST, "type", 430, {_MAIN: _CHOICE, _MACHINE: _CHOICE}, IN_MEMORY, ordered=False),
    Row(Part.FIRST, "size", 460, {_SENDER: _UP}, (20_000, 50_000, 100_000, 200_000, 500_000),
        gives_up=(_LOSS,)),
    Row(Part.FIRST, "dequeueBatchSize", 100, {_MAIN: _UP, _MACHINE: _UP},
        (256, 512, 1024, 2048, 4096),
        why="an input hands over up to 1,024 events at once: smaller batches take the "
        "queue's lock more often"),
    Row(Part.FIRST, "workerThreads", 110, {_MAIN: _UP}, (1, 2, 4), on_disk=False,
        gives_up=(_ORDER,)),
    Row(Part.FIRST, "workerThreadMinimumMessages", 220, {_MAIN: _DOWN},
        (256, 1024, 4096, 16_384, 40_000), parent="workerThreads", idle=(None, 1), on_disk=False),
    Row(Part.BULK, "type", 70, {_MAIN: _CHOICE, _MACHINE: _CHOICE, _WAITING: _CHOICE},
        (QueueType.DIRECT.value, *IN_MEMORY), ordered=False, gives_up=(_LOSS,)),
    Row(Part.BULK, "size", 450, {_SENDER: _UP}, (10_000, 20_000, 50_000, 100_000, 200_000),
        gives_up=(_LOSS,)),
    Row(Part.BULK, "dequeueBatchSize", 30,
        {_WAITING: _UP, _DISK: _UP, _ENGINE: _UP, _MACHINE: _UP, _REJECTIONS: _DOWN},
        (500, 1000, 2000, 3000, 5000, 8000),
        why="a request costs rsyslogd and the engine something whatever it holds: larger "
        "ones are fewer",
        note="a request takes longer to be answered, and after a broken connection its "
        "events are sent again one by one"),
    Row(Part.BULK, "workerThreads", 40, {_WAITING: _UP, _ACTION: _UP, _REJECTIONS: _DOWN},
        (1, 2, 3, 4, 6), on_disk=False, gives_up=(_ORDER,),
        why="a worker waits until its request is answered: with several, requests are made "
        "meanwhile"),
    Row(Part.BULK, "workerThreadMinimumMessages", 80, {_WAITING: _DOWN},
        (500, 1000, 2000, 5000, 10_000), parent="workerThreads", idle=(None, 1), on_disk=False,
        why="a further worker starts once so many events wait for it: with a batch each, "
        "none sends small requests",
        note="several workers overtake one another: sooner, where they start sooner"),
    Row(Part.BULK, "minDequeueBatchSize", 230, {_ENGINE: _UP, _MACHINE: _UP},
        (0, 500, 1000, 2000, 5000), levels_before=_FEW_BATCHES),
    Row(Part.BULK, "minDequeueBatchSize.timeout", 440, {_ENGINE: _UP, _MACHINE: _UP},
        (50, 100, 200, 500, 1000), parent="minDequeueBatchSize", idle=(None, 0)),
)  # fmt: skip

_REQUESTS = (
    Row(Part.OUTPUT, "filter_path", 20, {_ACTION: _UP, _ENGINE: _UP, _MACHINE: _UP},
        (None, REPLY_FILTER), ordered=False,
        why="omelasticsearch parses each reply in full and uses only these parts of it: "
        "smaller replies take less CPU on both sides",
        note="replies lack what omelasticsearch does not read; it is rendered inside the "
        "action's `timeout`, `1m&filter_path=...`, because rsyslog has no parameter for"
        " it"),
)  # fmt: skip

_INDEX = (
    Row(Part.SETTINGS, "refresh_interval", 60,
        {_MERGES: _UP, _DISK: _UP, _ENGINE: _UP, _MACHINE: _UP}, _refresh_intervals,
        why="every refresh makes a segment: fewer ones are larger, and need fewer merges",
        note="how long events wait to become searchable; guardrails.freshness_p99_s limits "
        "it"),
    Row(Part.SETTINGS, "number_of_shards", 200, {_WAITING: _UP, _MERGES: _UP},
        _shard_counts),
    Row(Part.SETTINGS, "codec", 270, {_ENGINE: _CHOICE, _DISK: _CHOICE, _MACHINE: _CHOICE},
        (None, "best_compression"), ordered=False,
        note="smaller files for more CPU; documents come back unchanged"),
    Row(Part.SETTINGS, "translog.flush_threshold_size", 210, {_DISK: _UP, _ENGINE: _UP},
        (None, "256mb", "512mb", "1gb", "2gb"), note="a longer translog takes longer to recover"),
    Row(Part.SETTINGS, "translog.generation_threshold_size", 330, {_DISK: _UP},
        (None, "128mb", "256mb", "1gb"), unset="64mb"),
    Row(Part.SETTINGS, "merge.scheduler.max_thread_count", 280, {_MERGES: _UP}, (None, 1, 2, 4)),
    Row(Part.SETTINGS, "merge.scheduler.auto_throttle", 370, {_MERGES: _CHOICE}, (None, False),
        ordered=False),
    Row(Part.SETTINGS, "compound_format", 350, {_ENGINE: _CHOICE, _DISK: _CHOICE}, (None, False),
        ordered=False, note="more open files", when=_elasticsearch),
    Row(Part.SETTINGS, "use_compound_file", 360, {_ENGINE: _CHOICE, _DISK: _CHOICE},
        (None, False), ordered=False, note="more open files"),
    Row(Part.SETTINGS, "check_pending_flush.enabled", 400, {_WAITING: _CHOICE}, (None, False),
        ordered=False),
    Row(Part.SETTINGS, "merge_on_flush.enabled", 390, {_MERGES: _CHOICE}, (None, False),
        ordered=False),
    Row(Part.SETTINGS, "bloom_filter_for_id_field.enabled", 310, {_ENGINE: _CHOICE},
        (None, False), ordered=False, when=_no_ids,
        note="reading a document by its _id, which no client was given, becomes slower"),
    Row(Part.SETTINGS, "seq_no.index_options", 320, {_ENGINE: _CHOICE, _DISK: _CHOICE},
        (None, "doc_values_only"), ordered=False),
    Row(Part.INDEX, "mapping", 10, {_ENGINE: _UP, _MACHINE: _UP, _MERGES: _UP},
        ("dynamic", "explicit"), ordered=False,
        why="the dynamic mapping indexes each string twice, as text and as .keyword; an "
        "explicit one indexes what the document's uses need",
        note="explicit serves the uses of the document's fields; the dynamic mapping also "
        "gave every string a .keyword field",
        when=_dynamic_mapping),
)  # fmt: skip

_NODE = (
    Row(Part.NODE, "indices.memory.index_buffer_size", 130,
        {_MERGES: _UP, _DISK: _UP, _ENGINE: _UP}, _buffers, unset="10%"),
    Row(Part.NODE, "heap", 480, {_MERGES: _UP, _ENGINE: _UP}, _heaps),
    Row(Part.NODE, "thread_pool.write.size", 420, {_ENGINE: _CHOICE, _WAITING: _CHOICE},
        _pool_sizes, default=_processors, when=_known_processors),
)  # fmt: skip

ROWS = (*_GUARDED, *_INPUTS, *_QUEUES, *_REQUESTS, *_INDEX, *_NODE)
"""Every row, those that touch a guarantee first."""
