"""One search of the arena: the same wrapper for every strategy."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from dataclasses import dataclass, replace

import numpy as np

from tests.benchmarks.arena_surfaces import Surface, seed_of
from tests.benchmarks.rivals import TOLD, strategy
from tuner.measure.paired import compare
from tuner.search.space import Observation, Point, Proposal, choose, next_replication


@dataclass(frozen=True)
class Plan:
    """How the trials are divided: those not set aside here are the search's own."""

    trials: int
    replications: int
    pairs: int

    @classmethod
    def of(cls, trials: int) -> Plan:
        return cls(trials, max(4, round(trials / 7.5)), 6)

    def fewer(self, trials: int) -> Plan:
        """With so many fewer of the search's own."""
        return replace(self, trials=self.trials - trials)

    @property
    def search(self) -> int:
        return self.trials - self.replications - 2 * self.pairs


@dataclass(frozen=True)
class Result:
    """What one search came to; ratios are of the objective turned so that more is better."""

    surface: str
    strategy: str
    seed: int
    ratio: float
    found: float
    claimed: bool
    true_gain: float
    estimated_gain: float
    low: float
    high: float
    overstated: float
    own_s: float


class Bench:
    """Measures points of a surface, on machines of which each keeps what it ran last; the n-th
    measurement of a point is the same for everyone."""

    def __init__(self, surface: Surface, seed: int) -> None:
        self._surface = surface
        self._seed = seed
        self._count: Counter[tuple[Point, bool]] = Counter()
        self._at_s = 0.0
        self._before: dict[int, Point] = {}

    def measure(self, point: Point, long: bool = False, machine: int = 0) -> Observation:
        self._count[point, long] += 1
        nth = self._count[point, long]
        rng = np.random.default_rng(seed_of(self._seed, point, nth, long))
        before, space = self._before.get(machine), self._surface.space
        seen = self._surface.measure(point, rng, self._at_s, before, long)
        taken_s = float(space.seconds(before or point, np.array([point]))[0])
        self._at_s += taken_s / space.machines
        self._before[machine] = point
        return seen


def run(
    surface: Surface, name: str, seed: int, sigma: float, plan: Plan, machines: int = 1
) -> Result:
    """One search: recipes, strategy, finalists, choice, fresh pairs.  So many `machines` measure
    the points of the strategy at once, each as fast as the others."""
    surface = ((name == TOLD and surface.told) or surface).from_start(seed)
    surface = replace(surface, space=replace(surface.space, machines=machines))
    bench = Bench(surface, seed)
    own_s, clock = 0.0, time.process_time()
    searcher = strategy(name, surface.space, seed, sigma, plan.search)
    seen: list[Observation] = []
    under_way: deque[Point] = deque()
    first = deque([Proposal(recipe, "recipe") for recipe in surface.recipes])
    if first:
        first.appendleft(Proposal(surface.space.start, "the start"))
    for turn in range(plan.search + machines - 1):
        proposal = None
        if turn < plan.search:
            proposal = first.popleft() if first else searcher.ask(under_way)
        own_s += time.process_time() - clock
        if proposal is not None:
            under_way.append(proposal.point)
        if under_way and (proposal is None or len(under_way) == machines):
            seen.append(bench.measure(under_way.popleft(), machine=len(seen) % machines))
            clock = time.process_time()
            searcher.tell(seen[-1])
    for left in range(plan.trials - 2 * plan.pairs - len(seen), 0, -1):
        point = next_replication(searcher.beliefs(), sigma, left, lambda _: 1.0)
        if point is None:
            break
        seen.append(bench.measure(point, long=True))
        searcher.tell(seen[-1])
    start = surface.space.start
    best = choose(searcher.beliefs())
    winner = best.point if best else start
    own_s += time.process_time() - clock
    return _confirmed(surface, bench, (name, seed, own_s), winner, seen, plan)


def _confirmed(
    surface: Surface, bench: Bench, of: tuple[str, int, float], winner: Point,
    seen: list[Observation], plan: Plan,
) -> Result:  # fmt: skip
    start, (name, seed, own_s) = surface.space.start, of
    ratio = math.exp(surface.truth(winner) - surface.best)
    usable = [one for one in seen if one.feasible]
    found = max((surface.truth(one.point) for one in usable), default=-math.inf)
    true_gain = surface.truth(winner) - surface.truth(start)
    lucky = max((one.log_value for one in usable), default=math.nan)
    pairs = [] if winner == start else _pairs(bench, start, winner, plan.pairs)
    lost = len(pairs) < plan.pairs
    shown = compare(*zip(*pairs, strict=True)) if not lost else None
    claimed = shown is not None and shown.low > 1 and shown.p < 0.05
    return Result(
        surface.name, name, seed, ratio, math.exp(found - surface.best), claimed, true_gain,
        math.log(shown.ratio) if shown else math.nan,
        math.log(shown.low) if shown else math.nan,
        math.log(shown.high) if shown else math.nan,
        lucky - surface.truth(winner), own_s,
    )  # fmt: skip


def _pairs(bench: Bench, start: Point, winner: Point, count: int) -> list[tuple[float, float]]:
    """Fresh pairs, in both orders; a side that failed ends it."""
    pairs = []
    for pair in range(count):
        order = (start, winner) if pair % 2 else (winner, start)
        sides = {point: bench.measure(point, long=True) for point in order}
        if not all(side.feasible for side in sides.values()):
            break
        pairs.append((math.exp(sides[start].log_value), math.exp(sides[winner].log_value)))
    return pairs
