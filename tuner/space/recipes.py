"""Starting points that experts would try first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tuner.schema.path import Path
from tuner.space.knob import Bottleneck, Knob, Level, Part, Way, amount_of
from tuner.space.table import REPLY_FILTER

# What no search turns, but whoever owns the profile can.
_ADVICE: Mapping[Bottleneck, tuple[str, ...]] = {
    Bottleneck.SENDER: ("workload.connections",),
    Bottleneck.INPUT: ("workload.connections",),
    Bottleneck.ACTION_CPU: ("outputs[{output}].document",),
}

UNHELPED = frozenset({Bottleneck.UNCLEAR, Bottleneck.NETWORK})
"""What no knob is known to help against."""


def remedies(bottleneck: Bottleneck, knobs: Sequence[Knob], output: str) -> tuple[str, ...]:
    """The paths that can help: those of `knobs` that are not at their end already, the most
    promising first, then advice about the output of that name."""
    helping = sorted(mattering(bottleneck, knobs), key=lambda knob: knob.rank)
    paths = tuple(knob.path for knob in helping if _has_room(knob, bottleneck))
    advice = _ADVICE.get(bottleneck, ())
    return (*paths, *(path.format(output=output) for path in advice))


def mattering(bottleneck: Bottleneck, knobs: Sequence[Knob]) -> tuple[Knob, ...]:
    """Those of `knobs` that can matter under that bottleneck, whichever way they are turned; all
    of them where none is known to help."""
    if bottleneck in UNHELPED:
        return tuple(knobs)
    return tuple(knob for knob in knobs if bottleneck in knob.helps)


def _has_room(knob: Knob, bottleneck: Bottleneck) -> bool:
    """Whether a knob can still be turned: a choice while it has another
    level, one that is not active never."""
    direction = knob.helps.get(bottleneck)
    if direction is None or len(knob.levels) < 2:
        return False
    if direction is Way.CHOICE:
        return True
    return knob.current != knob.levels[-1 if direction is Way.UP else 0]


@dataclass(frozen=True)
class Recipe:
    """A few settings that belong together, by the keys of their rows (`bulk.dequeueBatchSize`);
    where it comes from, and how many cores it takes where rsyslogd and the engine share them."""

    name: str
    source: str
    settings: Mapping[str, Level]
    shared_cores: float = 0

    @property
    def restarts_nodes(self) -> bool:
        """Whether the engine's nodes must be started again for it."""
        return any(key.startswith(f"{Part.NODE.value}.") for key in self.settings)


_FILTER: Mapping[str, Level] = {"filter_path": REPLY_FILTER}

_BULKS: Mapping[str, Level] = {
    "first.dequeueBatchSize": 1024,
    "first.workerThreads": 1,
    "bulk.type": "LinkedList",
    "bulk.size": 50_000,
    "bulk.dequeueBatchSize": 5000,
    "bulk.workerThreads": 4,
    "bulk.workerThreadMinimumMessages": 5000,
}

RECIPES = (
    Recipe(
        "large bulks, four workers, filtered replies, few refreshes",
        "examples/by-hand.yaml, set by hand on 2 cores: 71 to 91 thousand events per second "
        "against 46 thousand as shipped; longer refresh intervals make fewer, larger segments: "
        "Elasticsearch, Tune for indexing speed",
        {**_FILTER, **_BULKS, "settings.refresh_interval": "30s", "index.mapping": "explicit"},
        shared_cores=2,
    ),
    Recipe(
        "filtered replies",
        "rsyslog's source, plugins/omelasticsearch: it parses each reply in full and reads errors "
        "and each item's status and error only",
        _FILTER,
    ),
    Recipe(
        "large bulks, two workers, filtered replies",
        "rsyslog issues 4226, 4746 and 5101, its maintainers: one main worker, raise batches "
        "before workers; later workers start near a batch: queue.c, qqueueAdviseMaxWorkers",
        {**_FILTER, **_BULKS, "bulk.workerThreads": 2},
    ),
    Recipe(
        "large bulks, room for segments in the engine",
        "OpenSearch, Tuning your cluster for indexing speed (about 60 % together): a translog of a "
        "quarter of the heap, an index buffer of a quarter, refresh 30 s, more merge threads; "
        "Elasticsearch issue 75611",
        {
            **_FILTER,
            **_BULKS,
            "settings.refresh_interval": "30s",
            "index.mapping": "explicit",
            "settings.translog.flush_threshold_size": "512mb",
            "settings.merge.scheduler.max_thread_count": 2,
            "node.indices.memory.index_buffer_size": "30%",
        },
    ),
    Recipe(
        "logsdb",
        "Elasticsearch, logs data streams: sorted by time and compressed, up to 60 % less disk for "
        "10 to 20 % less speed; python -m tests.benchmarks.index_modes",
        {"settings.mode": "logsdb"},
    ),
    Recipe(
        "columns of a log",
        "Elasticsearch, Columnar index mode: fields as columns alone, none indexed but texts; "
        "python -m tests.benchmarks.index_modes",
        {"settings.mode": "logsdb_columnar"},
    ),
)


def fitting(cores: float, *, is_local: bool) -> Recipe:
    """The one to advise where nothing is measured, for an engine on the machine itself or on
    another: of those that fit the cores and restart no node, that which sets most."""
    fit = [
        recipe
        for recipe in RECIPES
        if not recipe.restarts_nodes and (cores >= recipe.shared_cores or not is_local)
    ]
    return max(fit, key=lambda recipe: len(recipe.settings))


def changes_of(recipe: Recipe, knobs: Sequence[Knob]) -> tuple[tuple[str, Level], ...]:
    """The recipe's settings on the knobs there are, each at its nearest level; what the profile
    has already is no change."""
    changes: dict[str, Level] = {}
    for key, target in recipe.settings.items():
        for knob in _of_row(key, knobs):
            level = _nearest(knob, target)
            if level is not None and level != knob.current:
                changes[knob.path] = level
    return tuple(sorted(changes.items()))


def in_recipes(knobs: Sequence[Knob]) -> frozenset[str]:
    """The paths of the knobs that recipes turn."""
    return frozenset(path for recipe in RECIPES for path, _ in changes_of(recipe, knobs))


def _of_row(key: str, knobs: Sequence[Knob]) -> list[Knob]:
    """The knobs of a row for each output: those that are nothing else first, so that a main queue
    does a Direct action's work only where the action cannot have a queue of its own."""
    serving: dict[str, list[Knob]] = {}
    for knob in knobs:
        for output in knob.outputs:
            serving.setdefault(output, []).append(knob)
    chosen: dict[Path, Knob] = {}
    for several in serving.values():
        alone = [knob for knob in several if knob.keys[:1] == (key,)]
        helping = alone or [knob for knob in several if key in knob.keys]
        chosen |= {knob.path: knob for knob in helping}
    return list(chosen.values())


def _nearest(knob: Knob, target: Level) -> Level:
    """The level itself, or that with the nearest ratio to it; None where there is none like it."""
    if target in knob.levels:
        return target
    amount = amount_of(target)
    amounts = {level: number for level in knob.levels if (number := amount_of(level))}
    if not amount or not amounts or not knob.ordered:
        return None
    return min(amounts, key=lambda level: max(amounts[level] / amount, amount / amounts[level]))
