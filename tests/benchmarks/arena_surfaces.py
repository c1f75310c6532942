"""What strategies compete on: tables of measured configurations, the simulator, a null surface."""

from __future__ import annotations

import csv
import hashlib
import itertools
import math
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.benchmarks.simulator import Pipeline, Troubles
from tests.search.toys import PooledSpace, Valley
from tuner.search.space import Dimension, Observation, Point, Space

_SIMULATED_TRIAL_S = 15.0
_MEDIOCRE = (0.35, 0.65)
# Few numbers that are the codes 0, 1, 2 ... are taken as names of categories.
_MOST_CODES = 5
_MANY = 24
# How often the verdict of a simulated trial names the slowest stage rightly: somewhat less than
# the scenarios that force a bottleneck on the real pipeline allow to hope for.
_RIGHT = 0.8


@dataclass(frozen=True)
class Noise:
    """The simulated noise: its standard deviation, and that of slow drift, both of logarithms."""

    sigma: float
    drift: float = 0.0


Measure = Callable[[Point, np.random.Generator, float, Point | None, bool], Observation]


@dataclass(frozen=True)
class Surface:
    """Something to search, whose truth is known.

    `truth` gives the logarithm of the objective, turned so that more is better; `measure` a noisy
    observation of it (the point, randomness, seconds, the point before, whether it is a long one).
    Every search tries the `recipes` before the points of its strategy.  `told` is the same surface
    as a search meets it that was told which of its knobs matter.
    """

    name: str
    space: Space
    starts: tuple[Point, ...]
    best: float
    truth: Callable[[Point], float]
    measure: Measure
    recipes: tuple[Point, ...] = ()
    told: Surface | None = None

    def from_start(self, seed: int) -> Surface:
        """The surface as the search of that seed meets it: it starts at a mediocre point."""
        start = self.starts[int(np.random.default_rng([seed, 9]).integers(len(self.starts)))]
        dimensions = tuple(
            replace(dimension, start=level)
            for dimension, level in zip(self.space.dimensions, start, strict=True)
        )
        return replace(self, space=replace(self.space, dimensions=dimensions))


def table(path: Path, objective: str, goal: str, ignored: set[str], noise: Noise) -> Surface:
    """The surface of a table: rows of one configuration are averaged, failed ones dropped."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or objective not in rows[0]:
        raise SystemExit(f"{path}: no rows, or no column {objective}")
    knobs = [
        name
        for name in rows[0]
        if name not in ignored | {objective, ""} and len({row[name] for row in rows}) > 1
    ]
    columns = {name: _levels([row[name] for row in rows]) for name in knobs}
    values: dict[Point, list[float]] = defaultdict(list)
    for row in rows:
        value = _number(row[objective])
        if value is not None and value > 0:
            point = tuple(columns[name][1][row[name]] for name in knobs)
            values[point].append(math.log(value) if goal == "max" else -math.log(value))
    truth = {point: float(np.mean(logs)) for point, logs in values.items()}
    dimensions = tuple(replace(columns[name][0], name=name) for name in knobs)
    space = Space(dimensions, truth.__contains__, trial_s=_SIMULATED_TRIAL_S)
    if np.prod(space.sizes.astype(float)) > len(truth):
        pool = tuple(sorted(truth))
        space = PooledSpace(dimensions, truth.__contains__, trial_s=_SIMULATED_TRIAL_S, pool=pool)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    return _known(f"{path.stem} {digest} {objective}", space, truth, noise)


def null(noise: Noise) -> Surface:
    """Everything is equal: whatever is claimed here is false."""
    dimensions = tuple(Dimension(f"knob {at}", 4, True) for at in range(6))
    space = Space(dimensions, lambda _: True)
    points = np.random.default_rng(0).integers(space.sizes, size=(50, 6))
    starts = tuple(tuple(map(int, row)) for row in points)

    def measure(
        point: Point, rng: np.random.Generator, at_s: float, before: Point | None, long: bool
    ) -> Observation:
        return Observation(point, noise.sigma * rng.standard_normal(), noise.sigma, at_s)

    return Surface("null", space, starts, 0.0, lambda _: 0.0, measure)


TRAPS = tuple(itertools.product((2, 3), (5, 10, 15)))
"""How many settings act together on each of these surfaces, and how many have no effect."""
_DRAWN_STARTS = 400


def trap(variant: int, noise: Noise) -> Surface:
    """A surface with a local optimum that is left only by turning two or three settings at once."""
    together, idle = TRAPS[variant]
    rng = np.random.default_rng([78, variant])
    valley = Valley.drawn(together, idle, rng)
    points = {tuple(row) for row in valley.space.random_points(_DRAWN_STARTS, rng).tolist()}
    name = f"trap {together} together, {idle} idle, noise {noise.sigma:.0%}"
    known = _known(name, valley.space, {point: valley.truth(point) for point in points}, noise)
    measure = _measuring(valley.truth, noise)
    return replace(known, truth=valley.truth, best=valley.best, measure=measure)


def troubles(noise: Noise) -> Troubles:
    """All that the simulator has."""
    return Troubles(noise.sigma, max(noise.drift, 0.03), 0.03, 0.02, True, True, _RIGHT)


def simulated(variant: int, noise: Noise) -> Surface:
    """The simulator of the pipeline, with all its troubles, and what trials tell of its slowest
    stage: every trial of the real one has such a verdict."""
    pipeline = Pipeline(variant)
    here = troubles(noise)

    def measure(
        point: Point, rng: np.random.Generator, at_s: float, before: Point | None, long: bool
    ) -> Observation:
        return pipeline.trial(point, here, rng, at_s, before, long)

    # Every strategy has the same number of trials here, so a slow one costs no more than another.
    space = pipeline.space()
    alike = tuple(replace(dimension, move_s=0.0) for dimension in space.dimensions)
    space = replace(space, dimensions=alike)

    def truth(point: Point) -> float:
        row = np.array([point])
        return float(pipeline.log_eps(row)[0]) if pipeline.headroom(row)[0] >= 0 else -math.inf

    best = pipeline.optimum[1]
    return Surface(f"simulator {variant}", space, (space.start,), best, truth, measure)


def _known(name: str, space: Space, truth: dict[Point, float], noise: Noise) -> Surface:
    ranked = sorted(truth, key=lambda point: (truth[point], point))
    low, high = (int(share * len(ranked)) for share in _MEDIOCRE)
    starts = tuple(ranked[low : max(high, low + 1)])
    measure = _measuring(truth.__getitem__, noise)
    return Surface(name, space, starts, truth[ranked[-1]], truth.__getitem__, measure)


def _measuring(truth: Callable[[Point], float], noise: Noise) -> Measure:
    def measure(
        point: Point, rng: np.random.Generator, at_s: float, before: Point | None, long: bool
    ) -> Observation:
        drift = noise.drift * math.sin(at_s / 300)
        value = truth(point) + noise.sigma * rng.standard_normal() + drift
        return Observation(point, value, noise.sigma, at_s)

    return measure


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _levels(texts: list[str]) -> tuple[Dimension, dict[str, int]]:
    """The dimension of a column, and the level of each of its texts.

    Text, pairs, and the codes 0, 1, 2 ... are categories; all other numbers are ordered.  Few
    levels are evenly spaced, whatever their values; many lie at their rank among the rows, which is
    what a log-spaced or evenly spaced sample was drawn on.
    """
    numbers = {text: _number(text) for text in texts}
    known = sorted({value for value in numbers.values() if value is not None})
    if None in numbers.values():
        names = sorted(numbers)
        return Dimension("", len(names), False), {name: at for at, name in enumerate(names)}
    place = {value: at for at, value in enumerate(known)}
    levels = {text: place[value] for text, value in numbers.items() if value is not None}
    codes = known == list(range(len(known))) and len(known) <= _MOST_CODES
    if codes or len(known) == 2:
        return Dimension("", len(known), False), levels
    if len(known) <= _MANY:
        return Dimension("", len(known), True), levels
    counts = np.bincount([levels[text] for text in texts], minlength=len(known))
    ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
    return Dimension("", len(known), True, positions=tuple(ranks.tolist())), levels


def seed_of(*parts: object) -> list[int]:
    """A seed that depends on every part, the same in every process."""
    return [zlib.crc32(repr(part).encode()) for part in parts]
