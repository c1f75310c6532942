"""Starting points that experts would try first."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.profile.knobs import REPLY_FILTER, Knob, Level
from tuner.search.study import Changes


@dataclass(frozen=True)
class Recipe:
    """A few settings that belong together, by the end of a knob's path."""

    name: str
    settings: tuple[tuple[str, Level], ...]


_FILTER: tuple[tuple[str, Level], ...] = (("filter_path", REPLY_FILTER),)

# One main worker saves lock traffic, batch before workers: rsyslog issues 4226 and 5101.
# minimumMessages near the batch size starts workers in time: queue.c, qqueueAdviseMaxWorkers.
_BULKS: tuple[tuple[str, Level], ...] = (
    ("main_queue.dequeueBatchSize", 1024),
    ("main_queue.workerThreads", 1),
    ("queue.type", "LinkedList"),
    ("queue.size", 50_000),
    ("queue.dequeueBatchSize", 5000),
    ("queue.workerThreads", 4),
    ("queue.workerThreadMinimumMessages", 5000),
)

# Fewer, larger segments: Elasticsearch's "Tune for indexing speed".
_SEGMENTS: tuple[tuple[str, Level], ...] = (
    ("settings.refresh_interval", "30s"),
    ("mapping", "explicit"),
)

RECIPES = (
    Recipe("large bulks, four workers, filtered replies, few refreshes",
           _FILTER + _BULKS + _SEGMENTS),
    Recipe("filtered replies", _FILTER),
    Recipe("large bulks, two workers, filtered replies",
           (*_FILTER, *(pair for pair in _BULKS if pair[0] != "queue.workerThreads"),
            ("queue.workerThreads", 2))),
)  # fmt: skip


def changes_of(recipe: Recipe, knobs: tuple[Knob, ...]) -> Changes:
    """The recipe's settings on the knobs there are; what the profile has already is no change."""
    found: dict[str, Level] = {}
    for knob in knobs:
        for ending, level in recipe.settings:
            main = knob.path.startswith("main_queue.")
            if knob.path.endswith(ending) and main == ending.startswith("main_queue."):
                found[knob.path] = level
    current = {knob.path: knob.current for knob in knobs}
    legal = {knob.path: knob.levels for knob in knobs}
    kept = {p: v for p, v in found.items() if v != current[p] and v in legal[p]}
    return tuple(sorted(kept.items()))
