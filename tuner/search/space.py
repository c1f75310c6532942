"""What a search moves in: knobs as level indices, what was observed where, and what is believed.

Nothing here knows of rsyslog.  A strategy is asked for points and learns what was observed there;
which of the points it believes in to measure again, and which to choose, is the same for each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Point = tuple[int, ...]
Points = NDArray[np.int64]
"""Level indices, a row for each point."""
Floats = NDArray[np.float64]
# A space up to this size is taken whole.
_WHOLE = 1200
_ANYWHERE = 300
_TWO_KNOBS = 200
_CROSSED = 100
_TURNED = 300
# What settings do together is looked at in threes.
_TOGETHER = 3


@dataclass(frozen=True)
class Dimension:
    """One knob: its levels are the indices 0 to size - 1.

    `positions` are where ordered levels lie between 0 and 1 (evenly spaced when empty); `special`
    levels (0, -1, off) stand apart from the order.  `needs` are (dimension, levels) that must hold
    for this one to be active; an inactive one stays at `start`, the level of the profile as
    written.  `move_s` is what a change of this knob costs in seconds beyond a trial.  `share` is
    what part of the events passes what it sets, 1 for the knobs that most of them pass.
    """

    name: str
    size: int
    ordered: bool
    start: int = 0
    positions: tuple[float, ...] = ()
    special: frozenset[int] = frozenset()
    needs: tuple[tuple[int, frozenset[int]], ...] = ()
    move_s: float = 0.0
    share: float = 1.0

    @cached_property
    def halves(self) -> Points:
        """A number for each level, the same for ordered ones of the same half."""
        return np.unique(np.round(self.features), axis=0, return_inverse=True)[1].ravel()

    @cached_property
    def features(self) -> Floats:
        """A row for each level: levels that have nothing in common are at the distance 1."""
        if not self.ordered:
            return np.eye(self.size) / math.sqrt(2)
        apart = sorted(self.special)
        table = np.zeros((self.size, 1 + len(apart)))
        places = self.positions or tuple(np.linspace(0, 1, max(self.size, 2))[: self.size])
        table[:, 0] = places
        for column, level in enumerate(apart, start=1):
            table[level, :] = 0.0
            table[level, 0], table[level, column] = places[level], 1.0
        return table


@dataclass(frozen=True)
class Space:
    """The dimensions, which points may be measured, what a trial costs in seconds, and how many
    machines measure at once.

    `is_valid` is asked of the few points that are about to be proposed, because it may be slow.
    """

    dimensions: tuple[Dimension, ...]
    is_valid: Callable[[Point], bool]
    trial_s: float = 1.0
    machines: int = 1

    @cached_property
    def start(self) -> Point:
        """The profile as written."""
        return tuple(dimension.start for dimension in self.dimensions)

    @cached_property
    def sizes(self) -> Points:
        """The number of levels of each dimension."""
        return np.array([dimension.size for dimension in self.dimensions])

    @cached_property
    def shares(self) -> Floats:
        """That of each dimension."""
        return np.array([dimension.share for dimension in self.dimensions])

    @cached_property
    def columns(self) -> Points:
        """The dimension that each column of the features belongs to."""
        widths = [dimension.features.shape[1] for dimension in self.dimensions]
        return np.repeat(np.arange(len(widths)), widths)

    def features(self, points: Points) -> Floats:
        """The features of points (rows of level indices), a row each."""
        tables = [dimension.features for dimension in self.dimensions]
        return np.hstack([table[points[:, at]] for at, table in enumerate(tables)])

    def canonical(self, points: Points) -> Points:
        """The points with their inactive dimensions at the start, parents before children."""
        canonical = points.copy()
        for at, dimension in enumerate(self.dimensions):
            for parent, levels in dimension.needs:
                idle = ~np.isin(canonical[:, parent], list(levels))
                canonical[idle, at] = dimension.start
        return canonical

    def random_points(self, count: int, rng: np.random.Generator) -> Points:
        """Points drawn at random; they may be invalid."""
        return self.canonical(rng.integers(self.sizes, size=(count, len(self.sizes))))

    def candidates(self, elites: Sequence[Point], rng: np.random.Generator) -> Points:
        """What to choose a proposal from, each point once: all of a small space; else one-knob
        neighbours of the elites, some with two knobs changed, crossings, and others.  They may be
        invalid."""
        if np.prod(self.sizes.astype(float)) <= _WHOLE:
            grid = np.meshgrid(*map(np.arange, self.sizes), indexing="ij")
            return np.unique(self.canonical(np.stack(grid, -1).reshape(-1, len(grid))), axis=0)
        parts = [self.random_points(_ANYWHERE, rng)]
        if elites:
            rows = np.array(elites)
            parts += [_neighbours(self, elite) for elite in rows]
            twice = rows[rng.integers(len(rows), size=_TWO_KNOBS)]
            for _ in range(2):
                twice = _changed(self, twice, rng)
            parts.append(twice)
            mothers, fathers = rng.integers(len(rows), size=(2, _CROSSED))
            from_mother = rng.uniform(size=(_CROSSED, len(self.sizes))) < 0.5
            parts.append(np.where(from_mother, rows[mothers], rows[fathers]))
        return np.unique(self.canonical(np.vstack(parts)), axis=0)

    def turned(self, point: Point, rng: np.random.Generator) -> Points:
        """Points at which at least about half of the knobs are turned to another level, up to all;
        they may be invalid."""
        shares = rng.uniform(0.5, 1.0, size=(_TURNED, 1))
        steps = rng.integers(1, np.maximum(self.sizes, 2), size=(_TURNED, len(self.sizes)))
        turns = rng.uniform(size=steps.shape) < shares
        return self.canonical((np.array(point) + steps * turns) % self.sizes)

    def unseen(self, points: Points, measured: Points, relevance: Floats) -> Floats:
        """For each point, which share of what its knobs do together in threes no measured point has
        shown; knobs count by their relevance."""
        halves = [dimension.halves for dimension in self.dimensions]
        kinds = 1 + max(int(numbers.max()) for numbers in halves)
        together = min(_TOGETHER, len(halves))
        groups = np.array([*combinations(range(len(halves)), together)])
        weights, number = relevance[groups].prod(axis=1), np.arange(len(groups))

        def combined(rows: Points) -> Points:
            columns = [numbers[rows[:, at]] for at, numbers in enumerate(halves)]
            return np.asarray(np.stack(columns, axis=1)[:, groups] @ kinds ** np.arange(together))

        shown = np.zeros((len(groups), kinds**together), dtype=bool)
        shown[number, combined(measured)] = True
        return np.asarray(~shown[number, combined(points)] @ (weights / weights.sum()))

    def seconds(self, before: Point, points: Points, dearest_s: float | None = None) -> Floats:
        """What a trial of each point takes after one of `before`: moves of a kind cost once, and
        those of the dearest kind `dearest_s` where that was measured."""
        moves = np.array([dimension.move_s for dimension in self.dimensions])
        if dearest_s is not None:
            moves[(moves > 0) & (moves == moves.max())] = dearest_s
        changed = points != np.array(before)
        return np.asarray(self.trial_s + np.max(changed * moves, axis=1))


def _neighbours(space: Space, elite: Points) -> Points:
    """The points that differ from one in one knob."""
    rows = []
    for at, size in enumerate(space.sizes):
        for level in range(int(size)):
            row = elite.copy()
            row[at] = level
            rows.append(row)
    return np.array(rows)


def _changed(space: Space, points: Points, rng: np.random.Generator) -> Points:
    changed = points.copy()
    knobs = rng.integers(len(space.sizes), size=len(points))
    changed[np.arange(len(points)), knobs] = rng.integers(space.sizes[knobs])
    return changed


@dataclass(frozen=True)
class Observation:
    """What one trial showed: the logarithm of the objective, more is better, and its error.

    `at_s` counts from the start of the search.  A trial that failed is not `feasible`, and its
    value is not used.  `margins` are logarithms of limit over value by the name of a guardrail,
    positive when it holds; they are empty where the trial gave none.  `matters` are the dimensions
    that can matter there, by what limits the pipeline; None where that is not known.  `moved_s` is
    what a dear move to the point took beyond the trial, in seconds.  Machines may differ a little.
    """

    point: Point
    log_value: float
    se: float
    at_s: float = 0.0
    feasible: bool = True
    margins: tuple[tuple[str, float], ...] = ()
    matters: frozenset[int] | None = None
    moved_s: float = 0.0
    machine: str = ""


@dataclass(frozen=True)
class Proposal:
    """A point to measure and why; by how much its logarithm is expected to be above that of the
    best so far, None where no model says so."""

    point: Point
    why: str
    gain: float | None = None


@dataclass(frozen=True)
class Belief:
    """What is believed of one measured point: mean and standard deviation of its logarithm.

    `runs` says how often it was measured; `safe` how probable it is that all guardrails hold.
    """

    point: Point
    mean: float
    sd: float
    runs: int
    safe: float = 1.0

    def after(self, more: int, sigma: float) -> Belief:
        """What will be believed after so many more runs with noise of `sigma`, if they show what is
        believed."""
        if more == 0:
            return self
        sd = self.sd * sigma / math.hypot(sigma, math.sqrt(more) * self.sd)
        return replace(self, sd=sd, runs=self.runs + more)


class Strategy(Protocol):
    """A way to search.  Its state is a pure function of its seed and of what it was told."""

    def ask(self, under_way: Sequence[Point] = ()) -> Proposal | None:
        """The next point to measure while others are under way, or None when no point is left."""

    def tell(self, observation: Observation) -> None:
        """Learn what a trial showed; also trials that were not asked for."""

    def beliefs(self) -> Sequence[Belief]:
        """What is believed of every point measured and found feasible, the best first."""


# A point that may well break a guardrail is not recommended.
_SAFE = 0.5
_LOOK_AHEAD = 2


def recommendable(beliefs: Sequence[Belief]) -> list[Belief]:
    """Those of the points that likely keep the guardrails."""
    return [belief for belief in beliefs if belief.safe >= _SAFE]


def choose(beliefs: Sequence[Belief]) -> Belief | None:
    """The best mean among the points that likely keep the guardrails; None without any.

    The means are shrunken ones, so a point measured once cannot win by luck alone.
    """
    return max(recommendable(beliefs), key=lambda belief: belief.mean, default=None)


def next_replication(
    beliefs: Sequence[Belief], sigma: float, trials: int, takes_s: Callable[[Point], float]
) -> Point | None:
    """The point whose next measurement is worth most for each second that it takes, by the
    knowledge gradient.

    What counts is by how much the mean of the point then chosen is expected to rise when this one
    is measured again, looking ahead at most two measurements, with noise of `sigma` each
    (reference: Frazier, Powell, Dayanik 2008; looking further than one: Chick, Frazier 2012).
    None when there is nothing to choose between, or no trial left.
    """
    safe = recommendable(beliefs)
    if trials <= 0 or len(safe) < 2:
        return None
    runs = min(_LOOK_AHEAD, trials)
    means = np.array([belief.mean for belief in safe])
    variances = np.array([belief.sd for belief in safe]) ** 2
    moved = variances / np.sqrt(variances + max(sigma, 1e-9) ** 2 / runs)
    gaps = np.array([abs(mean - np.delete(means, at).max()) for at, mean in enumerate(means)])
    scaled = gaps / np.maximum(moved, 1e-12)
    gains = moved * (np.exp(-(scaled**2) / 2) / math.sqrt(2 * math.pi) - scaled * ndtr(-scaled))
    seconds = np.array([takes_s(belief.point) for belief in safe])
    return safe[int(np.argmax(gains / seconds))].point
