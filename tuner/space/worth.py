"""What a knob is worth: which to keep when there is little time, and what it can help against.

The one table of both: the search drops knobs from its end, and a verdict names knobs from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Bottleneck(Enum):
    """The stage that set the rate."""

    REJECTIONS = "rejections"
    SENDER = "sender"
    MERGES = "merge throttling"
    DISK = "disk"
    ACTION_CPU = "action workers' own CPU"
    MAIN_WORKER = "main queue worker"
    INPUT = "input"
    ENGINE_CPU = "engine CPU"
    MACHINE_CPU = "machine CPU"
    ACTION_WAITING = "action workers waiting on the engine"
    UNCLEAR = "unclear"


class Way(Enum):
    """Which way along the levels of a knob helps; a choice has no direction."""

    UP = 1
    DOWN = -1
    CHOICE = 0


Helps = Mapping[Bottleneck, Way]

_UP, _DOWN, _CHOICE = Way.UP, Way.DOWN, Way.CHOICE
_REJECTIONS, _SENDER, _MERGES = Bottleneck.REJECTIONS, Bottleneck.SENDER, Bottleneck.MERGES
_DISK, _INPUT, _MAIN = Bottleneck.DISK, Bottleneck.INPUT, Bottleneck.MAIN_WORKER
_ACTION, _WAITING = Bottleneck.ACTION_CPU, Bottleneck.ACTION_WAITING
_ENGINE, _MACHINE = Bottleneck.ENGINE_CPU, Bottleneck.MACHINE_CPU

# The most promising first.  `bulk` is the queue whose batches are the bulks: the action's, or that
# before a Direct action; `first` are the queues before the outputs.  The order and the ways are
# those of elasticsearch.md section 7 and rsyslog.md sections 5 and 8 (issues 4226, 4746, 5101).
_TABLE: tuple[tuple[str, Helps], ...] = (
    ("index.mapping", {_ENGINE: _UP, _MACHINE: _UP, _MERGES: _UP}),
    ("filter_path", {_ACTION: _UP, _ENGINE: _UP, _MACHINE: _UP}),
    (
        "bulk.dequeueBatchSize",
        {_WAITING: _UP, _DISK: _UP, _ENGINE: _UP, _MACHINE: _UP, _REJECTIONS: _DOWN},
    ),
    ("bulk.workerThreads", {_WAITING: _UP, _ACTION: _UP, _REJECTIONS: _DOWN}),
    ("settings.translog.durability", {_WAITING: _UP, _DISK: _UP}),
    ("settings.refresh_interval", {_MERGES: _UP, _DISK: _UP, _ENGINE: _UP, _MACHINE: _UP}),
    ("action.type", {_MAIN: _CHOICE, _MACHINE: _CHOICE, _WAITING: _CHOICE}),
    ("bulk.workerThreadMinimumMessages", {_WAITING: _DOWN}),
    ("lanes.count", {_MAIN: _UP, _DISK: _UP, _WAITING: _UP}),
    ("first.dequeueBatchSize", {_MAIN: _UP, _MACHINE: _UP}),
    ("first.workerThreads", {_MAIN: _UP}),
    ("inputs.threads", {_INPUT: _UP}),
    ("node.indices.memory.index_buffer_size", {_MERGES: _UP, _DISK: _UP, _ENGINE: _UP}),
    ("mmutf8fix", {_MAIN: _UP, _MACHINE: _UP}),
    ("bulkid", {_ENGINE: _UP, _ACTION: _UP}),
    ("retryfailures", {_ENGINE: _UP, _ACTION: _UP}),
    ("settings.number_of_replicas", {_ENGINE: _DOWN, _DISK: _DOWN, _WAITING: _DOWN}),
    ("first.filename", {_MAIN: _UP, _DISK: _UP}),
    ("bulk.filename", {_ACTION: _UP, _DISK: _UP}),
    ("settings.number_of_shards", {_WAITING: _UP, _MERGES: _UP}),
    ("settings.translog.flush_threshold_size", {_DISK: _UP, _ENGINE: _UP}),
    ("first.workerThreadMinimumMessages", {_MAIN: _DOWN}),
    ("bulk.minDequeueBatchSize", {_ENGINE: _UP, _MACHINE: _UP}),
    ("parser", {_MAIN: _UP, _MACHINE: _UP}),
    ("inputs.processOnPoller", {_INPUT: _UP}),
    ("inputs.batch", {_INPUT: _UP}),
    ("settings.codec", {_ENGINE: _CHOICE, _DISK: _CHOICE, _MACHINE: _CHOICE}),
    ("settings.merge.scheduler.max_thread_count", {_MERGES: _UP}),
    ("settings.merge.policy.merge_factor", {_MERGES: _UP, _ENGINE: _UP}),
    ("settings.merge.policy.segments_per_tier", {_MERGES: _UP, _ENGINE: _UP}),
    ("settings.bloom_filter_for_id_field.enabled", {_ENGINE: _CHOICE}),
    ("settings.seq_no.index_options", {_ENGINE: _CHOICE, _DISK: _CHOICE}),
    ("settings.translog.generation_threshold_size", {_DISK: _UP}),
    ("settings.translog.sync_interval", {_DISK: _UP}),
    ("settings.compound_format", {_ENGINE: _CHOICE, _DISK: _CHOICE}),
    ("settings.use_compound_file", {_ENGINE: _CHOICE, _DISK: _CHOICE}),
    ("settings.merge.scheduler.auto_throttle", {_MERGES: _CHOICE}),
    ("settings.merge.policy.floor_segment", {_MERGES: _UP}),
    ("settings.merge_on_flush.enabled", {_MERGES: _CHOICE}),
    ("settings.check_pending_flush.enabled", {_WAITING: _CHOICE}),
    ("settings.mapping.source.mode", {_DISK: _CHOICE}),
    ("node.thread_pool.write.size", {_ENGINE: _CHOICE, _WAITING: _CHOICE}),
    ("first.type", {_MAIN: _CHOICE, _MACHINE: _CHOICE}),
    ("bulk.minDequeueBatchSize.timeout", {_ENGINE: _UP, _MACHINE: _UP}),
    ("bulk.size", {_SENDER: _UP}),
    ("first.size", {_SENDER: _UP}),
    ("queue.syncQueueFiles", {_DISK: _CHOICE}),
    ("node.heap", {_MERGES: _UP, _ENGINE: _UP}),
)
_RANKS = {key: rank for rank, (key, _) in enumerate(_TABLE, 1)}
_HELPS = dict(_TABLE)


@dataclass(frozen=True)
class Worth:
    """A knob's parts in the pipeline (`bulk.workerThreads`), its own first; its place among all
    knobs, 1 being the most promising; and the bottlenecks under which it can matter."""

    keys: tuple[str, ...] = ()
    rank: int = len(_TABLE) + 1
    helps: tuple[tuple[Bottleneck, Way], ...] = ()

    def way(self, bottleneck: Bottleneck) -> Way | None:
        """Which way helps against that bottleneck; None when the knob cannot matter there."""
        return dict(self.helps).get(bottleneck)


def worth(*keys: str) -> Worth:
    """What a knob with these parts is worth: the best place of them, and all that they help."""
    helps: dict[Bottleneck, Way] = {}
    for key in keys:
        helps = {**_HELPS[key], **helps}
    return Worth(keys, min(_RANKS[key] for key in keys), tuple(helps.items()))
