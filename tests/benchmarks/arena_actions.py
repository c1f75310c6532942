"""Pipelines with several actions into the engine, which get unequal shares of the documents.

Settings, shares and recipes are the product's own, of a profile with as many outputs; what a point
carries is computed by the simulator.  The engine spends on each document what the settings of its
action make it cost; requests of an action are under way as often as it has documents; all queues
share the memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.arena_surfaces import Noise, Surface, troubles
from tests.benchmarks.simulator import (
    TRIAL_S,
    Pipeline,
    Points,
    Settings,
    Troubles,
    at_once,
    carried,
    deferred,
    queued_mb,
    within_two,
)
from tuner.lint.load import parse_profile
from tuner.profile.model import Profile
from tuner.search.climb import Knobs
from tuner.search.space import Floats, Observation, Point, Space
from tuner.space.knob import Bottleneck, Knob, Level, amount_of
from tuner.space.knobs import knobs, most_promising
from tuner.space.recipes import RECIPES, changes_of, in_recipes, mattering

SHARES = (
    (0.88, 0.12),
    (0.08, 0.80, 0.12),
    (0.07, 0.13, 0.70, 0.10),
    (0.66, 0.06, 0.12, 0.09, 0.07),
    (0.06, 0.11, 0.06, 0.09, 0.62, 0.06),
)
"""What part of the documents each action of a pipeline gets."""
# As a budget pays for.
_TRIALS_PER_KNOB, _FEWEST_KNOBS = 3, 5
_STARTS = 20
_PROFILE = """\
name: several
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs: [{type: imptcp, port: 10514, threads: 2}]
main_queue: {size: 100000, dequeueBatchSize: 256, workerThreads: 1}
node: {heap: 2g}
outputs:
"""
_OUTPUT = """\
  - name: {name}
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]
    queue: {{type: LinkedList, size: 50000, dequeueBatchSize: {batch}, workerThreads: {workers}}}
    index: {{name: {name}, settings: {{number_of_replicas: 0, refresh_interval: {refresh}}}}}
"""
_AS_SHIPPED, _BY_HAND = (500, 1, "1s"), (2000, 2, "30s")
# What the simulator calls the rows of the product.
_SIMULATED = {
    "inputs[0].threads": "input threads",
    "parser": "parser",
    "first.dequeueBatchSize": "main batch",
    "first.workerThreads": "main workers",
    "bulk.type": "action queue",
    "bulk.size": "action queue size",
    "bulk.dequeueBatchSize": "action batch",
    "bulk.workerThreads": "action workers",
    "bulk.minDequeueBatchSize": "shortest batch",
    "filter_path": "filter path",
    "settings.refresh_interval": "refresh",
    "settings.number_of_shards": "shards",
    "settings.codec": "codec",
    "settings.translog.flush_threshold_size": "flush threshold",
    "settings.merge.scheduler.max_thread_count": "merge threads",
    "node.indices.memory.index_buffer_size": "index buffer",
    "node.heap": "heap",
}
_CHOICES: Mapping[str, Level] = {
    "parser": None,
    "filter path": None,
    "codec": None,
    "action queue": "Direct",
}
_UNITS = {"flush threshold": 1024.0**2, "index buffer": 100.0, "heap": 1024 * 60.0}
_UNSET = {"flush threshold": 512.0, "index buffer": 0.1, "merge threads": 2.0}
# In the order of the stages: inputs, main queue, any of the actions, engine.
_BOTTLENECKS = (Bottleneck.INPUT, Bottleneck.MAIN_WORKER, Bottleneck.ACTION_WAITING)
_LAST = Bottleneck.ENGINE_CPU


def _amount(name: str, level: Level) -> float:
    """What the simulator has for a level of the product."""
    if name in _CHOICES:
        return float(level != _CHOICES[name])
    amount = amount_of(level)
    return _UNSET[name] if amount is None else amount / _UNITS.get(name, 1.0)


@dataclass(frozen=True)
class Several(Pipeline):
    """The simulated pipeline of one machine with several actions, in the knobs of the product."""

    shares: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def profile(self) -> Profile:
        """A profile with an output for each action."""
        most = max(self.shares.values())
        text = _PROFILE
        for name, share in self.shares.items():
            batch, workers, refresh = _AS_SHIPPED if share == most else _BY_HAND
            text += _OUTPUT.format(name=name, batch=batch, workers=workers, refresh=refresh)
        return parse_profile(text, "several.yaml").profile

    @cached_property
    def knobs(self) -> tuple[Knob, ...]:
        """All that a search may turn."""
        return knobs(self.profile, (), self.shares)

    def space(self, start: Point | None = None) -> Space:
        space = Knobs(self.knobs).space(lambda _: True, TRIAL_S, {})
        if start is None:
            return space
        pairs = zip(space.dimensions, start, strict=True)
        moved = tuple(replace(dimension, start=level) for dimension, level in pairs)
        return replace(space, dimensions=moved)

    def log_eps(self, points: Points) -> Floats:
        actions = self._actions(points)
        at_most = np.stack([of["action workers"] * of["action batch"] for of in actions])
        under_way = np.array([*self.shares.values()]) @ at_most
        return carried(self._stages_of(actions)) + self._cliffs(under_way, actions[0]["heap"])

    def headroom(self, points: Points) -> Floats:
        actions = self._actions(points)
        return self._left_of_memory(actions[0], np.asarray(sum(map(queued_mb, actions))))

    @cached_property
    def optimum(self) -> tuple[Point, float]:
        """The best point that keeps to the memory: coordinate search from recipes and from points
        at random, two knobs at once of those that one action depends on."""
        turned = Knobs(self.knobs)
        starts = [turned.point(changes_of(recipe, self.knobs)) for recipe in RECIPES]
        drawn = self.space().random_points(_STARTS, np.random.default_rng(5))
        every = [*dict.fromkeys(starts), *map(tuple, drawn.tolist())]
        reached = [self._climbed(np.array(start)) for start in every]
        return max(reached, key=lambda climbed: climbed[1])

    def _actions(self, points: Points) -> list[Settings]:
        """What each action depends on, in order."""
        return [
            {name: amounts[points[:, at]] for name, (at, amounts) in of.items()}
            for of in self._tables
        ]

    @cached_property
    def _tables(self) -> list[dict[str, tuple[int, Floats]]]:
        """For each action the knob of each of the simulator's settings, and its amounts."""
        tables: list[dict[str, tuple[int, Floats]]] = [{} for _ in self.shares]
        for at, knob in enumerate(self.knobs):
            simulated = _SIMULATED.get(knob.keys[0])
            if simulated is not None:
                amounts = np.array([_amount(simulated, level) for level in knob.levels])
                for number, name in enumerate(self.shares):
                    if name in knob.outputs:
                        tables[number][simulated] = at, amounts
        return tables

    def _stages_of(self, actions: Sequence[Settings]) -> Floats:
        """What inputs, main queue, each action and the engine carry."""
        shares = np.array([*self.shares.values()])
        sent = [self._sent(of) / share for of, share in zip(actions, shares, strict=True)]
        requests = shares @ np.stack([at_once(of) for of in actions])
        costs = shares @ np.stack([1 / self._indexed_one_by_one(of) for of in actions])
        return np.stack([*self._before_actions(actions[0]), *sent, self._usable(requests) / costs])

    def _mattering(
        self, row: Points, here: Troubles, rng: np.random.Generator
    ) -> frozenset[int] | None:
        """The knobs that the product takes to matter by its verdict."""
        stages = self._stages_of(self._actions(row))[:, 0]
        is_wrong = rng.uniform() > here.verdict
        at = int(rng.integers(len(stages))) if is_wrong else int(np.argmin(stages))
        before = _BOTTLENECKS[min(at, len(_BOTTLENECKS) - 1)]
        relevant = mattering(_LAST if at == len(stages) - 1 else before, self.knobs)
        return frozenset(at for at, knob in enumerate(self.knobs) if knob in relevant)

    def _deferred(self, point: Point) -> float:
        each = [deferred(of)[0] for of in self._actions(np.array([point]))]
        return float(np.dot(each, [*self.shares.values()]))

    def _restarts(self, before: Point, point: Point) -> bool:
        changed = (knob for knob, a, b in zip(self.knobs, before, point, strict=True) if a != b)
        return any(str(knob.path).startswith("node.") for knob in changed)

    def _climbed(self, start: Points) -> tuple[Point, float]:
        space, point, reached = self.space(), start, -math.inf
        while True:
            before = reached
            for of in self._tables:
                numbers = np.array([at for at, _ in of.values()])
                beside = within_two(point[numbers], space.sizes[numbers])
                rows = np.tile(point, (len(beside), 1))
                rows[:, numbers] = beside
                rows = space.canonical(rows)
                values = np.where(self.headroom(rows) >= 0, self.log_eps(rows), -np.inf)
                if values.max() > reached + 1e-12:
                    point, reached = rows[int(np.argmax(values))], float(values.max())
            if reached == before:
                return tuple(point.tolist()), reached


def several(variant: int, noise: Noise, trials: int) -> Surface:
    """A pipeline with the `SHARES` of that number, of which a search turns what the product would
    with so many trials; told which action matters, it leaves those of the others alone."""
    shares = {f"a{number}": share for number, share in enumerate(SHARES[variant])}
    pipeline = Several(variant, shares=shares)
    most = max(shares, key=lambda name: shares[name])
    alone = tuple(knob for knob in pipeline.knobs if most in knob.outputs)
    told = _turned(pipeline, alone, noise, trials)
    return replace(_turned(pipeline, pipeline.knobs, noise, trials), told=told)


def _turned(pipeline: Several, among: Sequence[Knob], noise: Noise, trials: int) -> Surface:
    count = max(_FEWEST_KNOBS, trials // _TRIALS_PER_KNOB)
    turned = Knobs(most_promising(among, count, in_recipes(among)))
    space, here = turned.space(lambda _: True, TRIAL_S, {}), troubles(noise)
    numbers = [[knob.path for knob in pipeline.knobs].index(knob.path) for knob in turned.knobs]
    own = {at: number for number, at in enumerate(numbers)}

    def whole(point: Point) -> Points:
        row: NDArray[np.int64] = np.array(pipeline.space().start)
        row[numbers] = point
        return row

    def measure(
        point: Point, rng: np.random.Generator, at_s: float, before: Point | None, long: bool
    ) -> Observation:
        last = None if before is None else tuple(whole(before).tolist())
        seen = pipeline.trial(tuple(whole(point).tolist()), here, rng, at_s, last, long)
        matters = None if seen.matters is None else frozenset(own.keys() & seen.matters)
        numbered = None if matters is None else frozenset(own[at] for at in matters)
        return replace(seen, point=point, matters=numbered)

    def truth(point: Point) -> float:
        row = whole(point)[np.newaxis]
        return float(pipeline.log_eps(row)[0]) if pipeline.headroom(row)[0] >= 0 else -math.inf

    recipes = (turned.point(changes_of(recipe, turned.knobs)) for recipe in RECIPES)
    return Surface(
        f"{len(pipeline.shares)} actions",
        space,
        (space.start,),
        pipeline.optimum[1],
        truth,
        measure,
        tuple(recipe for recipe in dict.fromkeys(recipes) if recipe != space.start),
    )
