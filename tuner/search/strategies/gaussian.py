"""The default strategy: expected improvement under a Gaussian process that is sampled."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from statistics import fmean

import numpy as np

from tuner.search.space import Belief, Floats, Observation, Point, Points, Proposal, Space, choose
from tuner.search.strategies.model import Batch, Guard, Model

# More points spread out at the start, or farther apart, cost more than they showed.
_START = 5
_DRAWN = 4
# Of a profile's points more than half may be refused by the linter.
_DRAWS = 50
_ELITES = 5
# Points less likely to keep the guardrails are proposed only when there are no others.
_LIKELY_SAFE = 0.5
_JUDGED = 64
# The verdict on a bottleneck errs at times, so what it rules out is proposed less often, not never.
_ELSEWHERE = 0.5
# The climb has stopped after so many trials that gained no more than their error.  Its peak stands
# alone where turning either of two settings costs, both added, so many times what it costs to be
# anywhere; on a hill all settings together cost about that.  Then every second trial turns settings
# together, as long as such a share of what they may do so was never seen.  More trials for that, or
# where a peak does not stand alone, cost more on hills than they found.  Of many settings without
# effect a model is late to see the two: after twice as many more trials less is enough.
_PATIENCE, _ALONE, _WORTH_SEEING = 5, 1.4, 0.1
_LATE, _ALONE_LATE = 10, 1.0
# Smaller errors would be those of the logarithm's own rounding.
_LEAST_ERROR = 1e-3


class Gaussian:
    """Spreads its first points, then proposes by expected improvement (per second).

    `sigma` is the noise of one trial's logarithm, for the margins of its guardrails; its value has
    an error of its own.
    """

    def __init__(self, space: Space, seed: int, sigma: float) -> None:
        self._space = space
        self._seed = seed
        self._told: list[Observation] = []
        self._model = Model(space, [seed, 1], compressed=True)
        self._guard = Guard(space, seed, max(sigma, _LEAST_ERROR))
        self._batch: Batch | None = None
        self._costs: Floats = np.ones(0)

    def ask(self, under_way: Sequence[Point] = ()) -> Proposal | None:
        """The start, points far from each other, then the most promising one."""
        asked = {observation.point for observation in self._told} | set(under_way)
        if not asked:
            return Proposal(self._space.start, "the start")
        if len(asked) < _START or len(set(self._model.points)) < 2:
            rng = np.random.default_rng([self._seed, 2, len(self._told) + len(under_way)])
            return self._spread(asked, rng)
        idle = self._idle(len(under_way))
        is_its_turn = idle >= 0 and idle % 2 == 0
        alone = _ALONE if idle < _LATE else _ALONE_LATE
        unseen = self._unseen(asked, alone) if is_its_turn else None
        return unseen or self._promising(asked, under_way)

    def tell(self, observation: Observation) -> None:
        """Learn what a trial showed."""
        self._told.append(observation)
        self._batch = None
        self._guard.tell(observation)
        if observation.feasible:
            self._model.tell(replace(observation, se=max(observation.se, _LEAST_ERROR)))

    def beliefs(self) -> list[Belief]:
        """The posterior at the points measured that the model rests on, each with a part of its
        own; those are all while they are few."""
        if not self._model.points:
            return []
        means, runs = self._model.at_measured(), Counter(self._model.points)
        safe = self._guard.safe_at_measured(list(means))
        beliefs = [
            Belief(point, mean, sd, runs[point], safe[point])
            for point, (mean, sd) in means.items()
            if safe[point] > 0
        ]
        return sorted(beliefs, key=lambda belief: -belief.mean)

    def _spread(self, measured: set[Point], rng: np.random.Generator) -> Proposal | None:
        for _ in range(_DRAWS):
            among = self._space.random_points(_DRAWN, rng)
            fresh = np.array([row for row in among.tolist() if tuple(row) not in measured])
            if not len(fresh):
                break
            order = spread(self._space, sorted(measured), fresh, rng)
            proposal = self._first_valid(map(_point, fresh[order]), "far from the others")
            if proposal is not None:
                return proposal
        unmeasured = candidates(self._space, [], measured, rng)
        return self._first_valid(map(_point, unmeasured), "the rest")

    def _promising(self, asked: set[Point], under_way: Sequence[Point]) -> Proposal | None:
        batch = self._batch
        if batch is None or not batch.continues(under_way):
            rng = np.random.default_rng([self._seed, 2, len(self._told)])
            elites = [belief.point for belief in self.beliefs()[:_ELITES]]
            among = candidates(self._space, elites, asked, rng)
            if not len(among):
                return None
            batch = self._batch = self._model.batch(among)
            seconds = self._space.seconds(self._told[-1].point, among, self._dearest_s())
            self._costs = seconds / self._bottleneck_weights(among, elites)
        improvements = batch.gains(under_way)
        likely = self._likely_best(batch.among, improvements / self._costs)
        proposal = self._first_valid((point for point in likely if point not in asked), "promising")
        return proposal and replace(proposal, gain=self._model.gain(improvements))

    def _idle(self, under_way: int) -> int:
        """For how many trials the climb has gained nothing, beyond those that one is patient for;
        below 0 while it has not stopped."""
        best, rose_at = -math.inf, 0
        for at, trial in enumerate(self._told):
            # What luck adds is no gain.
            if trial.feasible and trial.log_value > best + trial.se:
                best, rose_at = trial.log_value, at
        return len(self._told) - 1 - rose_at + under_way - _PATIENCE

    def _unseen(self, asked: set[Point], alone: float) -> Proposal | None:
        """Half of the settings or more turned at once, from a peak that stands so much `alone` to
        what no trial has shown together.  Where some help only all together, the model, which has
        seen what each alone costs, expects the least there.  None where nothing of that is to be
        seen."""
        best = choose(self.beliefs())
        if best is None:
            return None
        rng = np.random.default_rng([self._seed, 3, len(asked)])
        costs = self._model.costs_alone(best.point, rng)
        if np.sort(costs)[-2:].sum() < alone:
            return None
        turned = self._space.turned(best.point, rng)
        weights = np.maximum(costs, _LEAST_ERROR)
        unseen = self._space.unseen(turned, np.array(sorted(asked)), weights)
        is_worth = unseen >= _WORTH_SEEING
        likely = self._likely_best(turned[is_worth], unseen[is_worth]) if is_worth.any() else ()
        fresh = (point for point in likely if point not in asked)
        return self._first_valid(fresh, "turned together")

    def _likely_best(self, among: Points, gains: Floats) -> Iterator[Point]:
        """The points by their gains times the probability that they are safe, those that likely
        are not last.  Few are looked at, so only as many as needed are judged."""
        likely: list[tuple[float, int]] = []
        doubtful: list[tuple[float, int]] = []
        order = np.argsort(-gains, kind="stable")
        for part in np.split(order, range(_JUDGED, len(order), _JUDGED)):
            while likely and -likely[0][0] > gains[part[0]]:
                yield _point(among[heappop(likely)[1]])
            for at, safe in zip(part.tolist(), self._guard.safe(among[part]), strict=True):
                heappush(likely if safe >= _LIKELY_SAFE else doubtful, (-gains[at] * safe, at))
        for heap in (likely, doubtful):
            while heap:
                yield _point(among[heappop(heap)[1]])

    def _dearest_s(self) -> float | None:
        """What moves of the dearest kind took in the mean, in seconds; None before the first."""
        moves_s = [observation.moved_s for observation in self._told if observation.moved_s > 0]
        return fmean(moves_s) if moves_s else None

    def _bottleneck_weights(self, among: Points, elites: list[Point]) -> Floats:
        """1 for points that differ from the good one nearest to them in a knob that can matter
        there, by what limits the pipeline there; less for the others."""
        matters = {
            observation.point: observation.matters
            for observation in self._told
            if observation.matters is not None
        }
        judged = [point for point in elites if point in matters]
        if not judged:
            return np.ones(len(among))
        changed = among[:, np.newaxis, :] != np.array(judged)
        nearest = changed.sum(axis=2).argmin(axis=1)
        can_matter = np.zeros((len(judged), among.shape[1]), dtype=bool)
        for row, point in enumerate(judged):
            can_matter[row, sorted(matters[point])] = True
        can_help = (changed[np.arange(len(among)), nearest] & can_matter[nearest]).any(axis=1)
        return np.where(can_help, 1.0, _ELSEWHERE)

    def _first_valid(self, among: Iterable[Point], why: str) -> Proposal | None:
        for point in among:
            if self._space.is_valid(point):
                return Proposal(point, why)
        return None


def _point(row: Points) -> Point:
    return tuple(row.tolist())


def candidates(
    space: Space, elites: Sequence[Point], measured: set[Point], rng: np.random.Generator
) -> Points:
    """Points that were not measured, each once; they may be invalid."""
    points = space.candidates(elites, rng)
    return points[[at for at, row in enumerate(points.tolist()) if tuple(row) not in measured]]


def spread(
    space: Space, chosen: Sequence[Point], among: Points, rng: np.random.Generator
) -> list[int]:
    """Which of `among` lie farthest from the chosen points, the farthest first."""
    x = space.features(among)
    centres = space.features(np.array(chosen))
    gaps = np.linalg.norm(x[:, np.newaxis, :] - centres, axis=2).min(axis=1)
    return [int(at) for at in np.argsort(-(gaps + 1e-9 * rng.uniform(size=len(gaps))))]
