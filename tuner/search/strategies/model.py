"""What a strategy believes of one quantity that every trial measures: log(EPS), or a margin; and
where to measure next by that while other points are under way."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tuner.search.space import Floats, Observation, Point, Space
from tuner.search.strategies import process

# In standard deviations from the median.
_COMPRESSED_BELOW = 0.3
# An engine that has just restarted is slower than it will be, as a logarithm: by 14 and 17 % in the
# pairs of two searches (Elasticsearch 8.19, 2 cores).  How much so here, its trials show; beside
# what all restarts have in common each has a part of its own.
_RESTART_SHIFT, _RESTART_SHIFT_SD, _RESTART_OWN_SD = -0.15, 0.1, 0.05
# What machines are off by beside what their runs of the profile as written showed (a logarithm).
_MACHINES_SD = 0.05


# The most values that a process rests on, for each second from trial to trial: a proposal takes
# longer by their square to cube and is to take a tenth of that (tests/benchmarks/model_cost.py).
_ROWS_PER_S, _FEWEST_ROWS, _MOST_ROWS = 30, 120, 300
# Beyond that the hyperparameters are known well: they move only with every so manieth value.
_SELDOM = 4
# More values than these at once, as when a search takes over trials, are learnt in one go.
_ONE_BY_ONE, _MOVES_AT_ONCE = 50, 10
_NEAREST_TO = 5
# By so many points at random, and so many other levels of each knob, a peak is seen to stand alone.
_ANYWHERE, _TURNS = 200, 5


@dataclass
class Model:
    """A Gaussian process over a space, told one value after the other.

    Its state is a pure function of the seed and of what it was told.  With `compressed`, values
    below about the upper third count less the lower they are: how bad the bad ones are says little
    about where the best one lies.  Otherwise it is about on which side of zero the values are.

    It rests on all values as long as they are few, and then on those that say most about that.
    """

    space: Space
    seed: list[int]
    compressed: bool = False
    _told: list[Observation] = field(default_factory=list)
    _learnt: int = 0
    _rows: NDArray[np.int64] = field(init=False)
    _samples: Floats = field(init=False)
    _posterior: process.Posterior = field(init=False)
    _shift: float = _RESTART_SHIFT
    _centre: float = 0.0
    _scale: float = 1.0

    @property
    def points(self) -> list[Point]:
        """Where it was told a value, in order."""
        return [observation.point for observation in self._told]

    def tell(self, observation: Observation) -> None:
        """Learn one value and its standard error; what it would be on the usual machine, without
        the restart of the engine just before it, is what is believed."""
        self._told.append(observation)

    def at_measured(self) -> dict[Point, tuple[float, float]]:
        """Mean and standard deviation at the points that it rests on."""
        means, variances = self._fitted().at_measured
        spread = np.sqrt(variances.mean(axis=0) + means.var(axis=0)) * self._scale
        mean = self._centre + self._scale * means.mean(axis=0)
        points = [self.points[row] for row in self._rows]
        return dict(zip(points, zip(mean.tolist(), spread.tolist(), strict=True), strict=True))

    def batch(self, among: NDArray[np.int64]) -> Batch:
        """The candidates for the next proposals, none of them measured."""
        data = self._fitted().data
        level = process.equally_relevant(self._samples, len(self.space.dimensions))
        hedged = process.Posterior.of(np.vstack([self._samples, level]), data)
        return Batch(self.space, hedged, among)

    def costs_alone(self, point: Point, rng: np.random.Generator) -> Floats:
        """What turning each knob alone is believed to cost at a point, in the mean of its levels,
        over what it costs to be anywhere."""
        space = self.space
        knobs = np.repeat(np.arange(len(space.sizes)), _TURNS)
        alone = np.tile(np.array(point), (len(knobs), 1))
        sizes = space.sizes[knobs]
        alone[np.arange(len(knobs)), knobs] += rng.integers(1, np.maximum(sizes, 2))
        alone[np.arange(len(knobs)), knobs] %= sizes
        rows = np.vstack([[point], alone, space.random_points(_ANYWHERE, rng)])
        means = self._fitted().at_new(space.features(rows))[0].mean(axis=0)
        costs = means[0] - means[1:]
        lost = max(float(np.median(costs[len(knobs) :])), 1e-3)
        return np.asarray(costs[: len(knobs)].reshape(-1, _TURNS).mean(axis=1) / lost)

    def gain(self, improvements: Floats) -> float:
        """The largest of the expected improvements of a batch, as a logarithm."""
        return float(improvements.max()) * self._scale

    def above(self, among: NDArray[np.int64], limit: float) -> Floats:
        """How probable it is at each point, not measured, that the value is above the limit."""
        means, variances = self._fitted().at_new(self.space.features(among))
        scaled = (means - (limit - self._centre) / self._scale) / np.sqrt(variances)
        return np.asarray(ndtr(scaled).mean(axis=0))

    def above_zero(self, points: Iterable[Point]) -> dict[Point, float]:
        """How probable it is at those of the points that were measured."""
        probable = {
            point: float(ndtr(mean / max(sd, 1e-9)))
            for point, (mean, sd) in self.at_measured().items()
        }
        elsewhere = [point for point in set(points) & set(self.points) if point not in probable]
        if elsewhere:
            probable |= dict(
                zip(elsewhere, self.above(np.array(elsewhere), 0.0).tolist(), strict=True)
            )
        return {point: probable[point] for point in points if point in probable}

    def _fitted(self) -> process.Posterior:
        """The process after all that was told."""
        total = len(self._told)
        if self.space.machines > 1 and total > self._learnt:
            # Several machines do not wait while each value is learnt by itself.
            self._learn(total, process.MOVES if self._learnt else _MOVES_AT_ONCE)
        if total - self._learnt > _ONE_BY_ONE:
            for count in ((self._learnt + total) // 2, total):
                self._learn(count, _MOVES_AT_ONCE)
        for count in range(self._learnt + 1, total + 1):
            is_due = count <= self._most_rows or count % _SELDOM == 0
            self._learn(count, process.MOVES if is_due else 0)
        return self._posterior

    def _learn(self, count: int, moves: int) -> None:
        """Learn the first so many values."""
        rng = np.random.default_rng([*self.seed, count])
        if self._learnt == 0:
            self._samples = process.drawn(len(self.space.dimensions), rng)
        data = self._data(count)
        if moves:
            self._samples = process.moved(self._samples, data, rng, moves)
        self._posterior = process.Posterior.of(self._samples, data)
        self._shift = _RESTART_SHIFT + _RESTART_SHIFT_SD * self._posterior.shift_mean
        self._learnt = count

    def _data(self, count: int) -> process.Data:
        """The values that say most, standardised, without the shift of restarts as far as it is
        known; their scale is that of the compressed values."""
        observations = self._told[:count]
        restarted = np.array([float(observation.moved_s > 0) for observation in observations])
        values = np.array([observation.log_value for observation in observations])
        values -= self._shift * restarted
        errors = np.hypot(
            [observation.se for observation in observations], _RESTART_OWN_SD * restarted
        )
        centre = float(np.median(values))
        spread = max(float(values.std()), float(errors.min()), 1e-6)
        y, slope = (values - centre) / spread, np.ones(len(values))
        if self.compressed:
            low = np.maximum(_COMPRESSED_BELOW - y, 0.0)
            y, slope = y + low - np.log1p(low), 1 / (1 + low)
        self._centre, self._scale = centre, spread
        noise = (errors / spread * slope) ** 2
        moved = restarted / spread * slope
        y -= (_RESTART_SHIFT - self._shift) * moved
        shift = _RESTART_SHIFT_SD * moved
        points = np.array([observation.point for observation in observations])
        self._rows = rows = self._telling(points, values)
        rows_points = points[rows]
        same = (rows_points[:, np.newaxis, :] == rows_points).all(axis=2).astype(float)
        features, times = self.space.features(rows_points), [observations[row].at_s for row in rows]
        machines = np.array([observations[row].machine for row in rows])
        beside = (machines[:, np.newaxis] == machines).astype(float)
        apart = (
            _MACHINES_SD / spread
            if len({observation.machine for observation in observations}) > 1
            else 0.0
        )
        return process.Data(
            features, self.space.columns, same, y[rows], noise[rows], shift[rows], np.array(times),
            beside, apart, self.space.shares,
        )  # fmt: skip

    @property
    def _most_rows(self) -> int:
        most = _ROWS_PER_S * self.space.trial_s / self.space.machines
        return int(np.clip(most, _FEWEST_ROWS, _MOST_ROWS))

    def _telling(self, points: NDArray[np.int64], values: Floats) -> NDArray[np.int64]:
        """Which values say most: a quarter each are those of points measured more than once, the
        best (or the nearest to zero), and what lies near the best few; an eighth the newest; the
        rest are drawn from all."""
        count, most = len(points), self._most_rows
        if count <= most:
            return np.arange(count)
        best = np.argsort(-values if self.compressed else np.abs(values), kind="stable")
        features = self.space.features(points)
        gaps = [((features - features[at]) ** 2).sum(axis=1) for at in best[:_NEAREST_TO]]
        near = np.argsort(np.min(gaps, axis=0), kind="stable")
        told_points = self.points[:count]
        runs = Counter(told_points)
        again = [at for at in range(count) if runs[told_points[at]] > 1]
        newest = range(count - most // 8, count)
        # Each value has a place of its own in this order, whatever follows it.
        drawn = np.argsort(np.random.default_rng([*self.seed, 0]).uniform(size=count))
        quarter = most // 4
        order = [*again[-quarter:], *best[:quarter], *near[:quarter], *newest, *drawn]
        return np.array(sorted(list(dict.fromkeys(map(int, order)))[:most]))


# Trials that went well count 1 and those that failed -1, each with this error.
_DOUBT = 0.4


class Guard:
    """Models the margins as they are told, and failures that no margin foretold."""

    def __init__(self, space: Space, seed: int, sigma: float) -> None:
        self._space = space
        self._seed = seed
        self._sigma = sigma
        self._margins: dict[str, Model] = {}
        self._failures: Model | None = None
        self._told: list[Observation] = []

    def tell(self, observation: Observation) -> None:
        """Learn whether a trial went well, and its margins."""
        self._told.append(observation)
        for name, margin in observation.margins:
            seed = [self._seed, zlib.crc32(name.encode())]
            model = self._margins.setdefault(name, Model(self._space, seed))
            model.tell(Observation(observation.point, margin, self._sigma, observation.at_s))
        if self._failures is not None:
            self._learn(self._failures, observation)
        elif _is_unforetold(observation):
            self._failures = Model(self._space, [self._seed, 99])
            for earlier in self._told:
                self._learn(self._failures, earlier)

    def safe(self, among: NDArray[np.int64]) -> Floats:
        """The probability for each of the points, not measured."""
        probable = np.ones(len(among))
        for model in (*self._margins.values(), self._failures):
            if model is not None:
                probable = probable * model.above(among, 0.0)
        return probable

    def kept(self, points: Sequence[Point]) -> dict[Point, float]:
        """The probability for each of the points, measured or not; failures alone tell nothing of
        other points."""
        probable = dict.fromkeys(points, 1.0)
        if points and any(observation.feasible for observation in self._told):
            probable = dict(zip(points, self.safe(np.array(points)).tolist(), strict=True))
        return probable | self.safe_at_measured([observation.point for observation in self._told])

    def safe_at_measured(self, points: Sequence[Point]) -> dict[Point, float]:
        """The probability for each of these points, which it was told of: by its margins, and none
        after a failure."""
        safe = dict.fromkeys(points, 1.0)
        for model in self._margins.values():
            for point, probable in model.above_zero(safe).items():
                safe[point] *= probable
        failed = {observation.point for observation in self._told if not observation.feasible}
        return {point: 0.0 if point in failed else probable for point, probable in safe.items()}

    def _learn(self, failures: Model, observation: Observation) -> None:
        if observation.feasible or _is_unforetold(observation):
            value = 1.0 if observation.feasible else -1.0
            failures.tell(Observation(observation.point, value, _DOUBT, observation.at_s))


def _is_unforetold(observation: Observation) -> bool:
    """Whether a trial failed though it kept every guardrail that it told of."""
    return not observation.feasible and all(margin >= 0 for _, margin in observation.margins)


@dataclass
class Batch:
    """Candidates, and what is believed of them as more and more points are under way.

    A point under way is taken to show what is believed of it: means stay, and there is less to
    learn near it (GP-BUCB: Desautels, Krause, Burdick 2014, JMLR 15:4053-4103).  Each proposal of a
    batch takes one more rank of the candidates' covariances, and no new process.
    """

    space: Space
    posterior: process.Posterior
    among: NDArray[np.int64]
    _under_way: list[Point] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._x = self.space.features(self.among)
        self._means, self._variances = self.posterior.at_new(self._x)
        self._best = self.posterior.means_at_measured.max(axis=1)

    def gains(self, under_way: Sequence[Point]) -> Floats:
        """The expected improvement at each candidate; none at one that is under way itself."""
        new = [point for point in dict.fromkeys(under_way) if point not in self._under_way]
        if new and not self._under_way:
            self._begin(new)
        else:
            for point in new:
                self._add(self._numbers[point])
        self._under_way += new
        gains = process.expected_improvement(self._means, self._variances, self._best)
        gains[[self._numbers[point] for point in self._under_way if point in self._numbers]] = 0.0
        return gains

    def continues(self, under_way: Sequence[Point]) -> bool:
        """Whether what is under way is what was, and proposals of this batch."""
        asked = set(under_way)
        before = asked.issuperset(self._under_way)
        return before and (not self._under_way or asked <= {*self._under_way, *self._numbers})

    @cached_property
    def _numbers(self) -> dict[Point, int]:
        return {tuple(row): number for number, row in enumerate(self.among.tolist())}

    @cached_property
    def _noise(self) -> float:
        """That of a trial like the others."""
        return float(np.median(self.posterior.data.noise))

    def _begin(self, points: list[Point]) -> None:
        """The points that are under way before the first proposal, at once."""
        x = self.space.features(np.array(points))
        self._white = self.posterior.explained(self._x)
        white = self.posterior.explained(x)
        prior = self.posterior.between(x, x, np.eye(len(x)))
        apart = prior - white.transpose(0, 2, 1) @ white + self._noise * np.eye(len(x))
        across = self.posterior.between(x, self._x) - white.transpose(0, 2, 1) @ self._white
        self._learn(np.linalg.solve(np.linalg.cholesky(apart), across))

    def _add(self, number: int) -> None:
        """One more of the candidates."""
        x, white = self._x[[number]], self._white[:, :, [number]]
        across = self.posterior.between(x, self._x) - white.transpose(0, 2, 1) @ self._white
        spread = np.sqrt(self._variances[:, number] + self._noise)
        self._learn(across / spread[:, np.newaxis, np.newaxis])

    def _learn(self, rows: Floats) -> None:
        self._white = np.concatenate([self._white, rows], axis=1)
        variances = self._variances - (rows**2).sum(axis=1)
        self._variances = np.asarray(np.maximum(variances, 1e-12))
