"""What each change of a winner gave, by a designed experiment between the profile as written and
the winner; pure.

Each factor is a change, or a few that only make sense together, and has two levels: as written, and
as in the winner.  The runs are a Hadamard matrix and its mirror image (a screening design of
Plackett and Burman 1946, Biometrika 33:305, folded over), so that every effect is clear of every
interaction of two factors: resolution IV (Box, Hunter and Hunter 2005, Statistics for
Experimenters, 2nd ed., chapter 6).  A run and its mirror image are neighbours in time, a block: the
difference between them holds the effects and no drift, their sum the interactions.  The pairs of
the confirmation are one row more, of all changes beside none: where there is no time for four
blocks, the one that is left to them.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import hadamard
from scipy.special import stdtrit

from tuner.search.budget import FEWEST_BLOCKS
from tuner.search.calibration import adjustment_of, calibrating, step_squares
from tuner.search.space import Floats
from tuner.search.study import BASELINE, SCORED, Changes, Phase, Trial
from tuner.space.knob import Cost, Knob

TOLERATED = 0.01
"""What taking changes back may cost by the estimate, as a fraction: less is worth no change."""
RULED_OUT = 0.05
"""What its 95 % interval must rule out: a test of non-inferiority.  Without it, by simulation, one
search in six lost more than 2 % where runs differ by 5 %, and one in three at 20 %."""
_SURE = 0.975

Block = tuple[Changes, Changes]
"""Two neighbouring runs: each has the changes that the other has not."""


@dataclass(frozen=True)
class EffectRatio:
    """A factor on the rate, with its 95 % interval."""

    ratio: float
    low: float
    high: float

    @classmethod
    def of(cls, log: float, half: float) -> Self:
        """The logarithm of one, give or take half of its interval."""
        return cls(math.exp(log), math.exp(log - half), math.exp(log + half))


@dataclass(frozen=True)
class Design:
    """The blocks to measure: in each row a factor is as in the winner or as written; what is `held`
    is as in the winner in all of them."""

    held: Changes
    factors: tuple[Changes, ...]
    rows: tuple[tuple[bool, ...], ...]

    def blocks(self) -> tuple[Block, ...]:
        """Both runs of each row."""
        return tuple((self._point(row), self._point([not on for on in row])) for row in self.rows)

    def _point(self, row: Sequence[bool]) -> Changes:
        chosen = (factor for factor, on in zip(self.factors, row, strict=True) if on)
        return tuple(sorted([*self.held, *itertools.chain.from_iterable(chosen)]))


def designed(
    winner: Changes,
    repairs: Changes,
    knobs: Sequence[Knob],
    blocks: int,
    is_valid: Callable[[Changes], bool],
) -> Design | None:
    """The design that so many blocks allow, the same for the same winner; None where fewer than two
    changes are made for speed, or there is no room.

    Repairs are no factors, nor is what the engine restarts for: a run just after a restart is
    slower by something that is not its settings'.
    """
    by_path: dict[str, Knob] = {knob.path: knob for knob in knobs}
    fixed = {path for path, _ in repairs}
    fixed |= {path for path, knob in by_path.items() if knob.cost is Cost.NODE_RESTART}
    held = tuple(change for change in winner if change[0] in fixed)
    turned = tuple(change for change in winner if change[0] not in fixed)
    ways = [_inseparable(turned, by_path)]
    while len(ways[0]) > 1:
        rows = _rows(len(ways[0]), blocks, winner)
        for units in ways if rows else ():
            design = Design(held, tuple(units), rows)
            if all(is_valid(point) for point in {*itertools.chain(*design.blocks())} - {held}):
                return design
        ways = _merged(ways[0], by_path)
    return None


def _rows(factors: int, blocks: int, winner: Changes) -> tuple[tuple[bool, ...], ...]:
    """The rows of the smallest Hadamard matrix with more columns than factors, four at least, as
    often as there is room, in random order, for factors in random columns.  With a column to spare
    the factors are still told apart where one row could not be measured; where there is room for
    all but one, there are two to spare.  Of fewer than four blocks each factor has a column, and
    the row of all of them is left to the pairs.  None where there is no room."""
    rng = random.Random(repr(winner))
    if blocks < FEWEST_BLOCKS:
        size, measured = 1 << (factors - 1).bit_length(), slice(1, None)
        has_room = size - 1 <= blocks
    else:
        size, measured = max(4, 1 << factors.bit_length()), slice(None)
        has_room = size <= blocks or (size == blocks + 1 and factors <= size - 2)
    if not has_room:
        return ()
    signs = hadamard(size)[measured, rng.sample(range(size), factors)] > 0
    rows = [tuple(map(bool, row)) for row in signs for _ in range(max(1, blocks // len(signs)))]
    rng.shuffle(rows)
    return tuple(rows)


def _inseparable(changes: Changes, knobs: Mapping[str, Knob]) -> list[Changes]:
    """The changes, each with those that do nothing while it is as written."""
    units: list[Changes] = [(change,) for change in changes]
    for path, _ in changes:
        for need in knobs[path].needs if path in knobs else ():
            if need.path in dict(changes) and knobs[need.path].current not in need.levels:
                units = _joined(units, [_unit(units, path), _unit(units, need.path)])
    return units


def _unit(units: Sequence[Changes], path: str) -> Changes:
    return next(unit for unit in units if path in dict(unit))


def _joined(units: Sequence[Changes], together: Sequence[Changes]) -> list[Changes]:
    """The units with some of them made one, in the place of the first."""
    union = tuple(dict.fromkeys(itertools.chain(*together)))
    first = units.index(together[0])
    return [union if at == first else unit for at, unit in enumerate(units)
            if at == first or unit not in together]  # fmt: skip


def _merged(units: Sequence[Changes], knobs: Mapping[str, Knob]) -> list[list[Changes]]:
    """The units with two of them made one, in every way: first where both are of one part of the
    profile (the main queue, the action's, the index) that is split into most, then where both are
    of rsyslog or of the engine, and are small."""
    parts = Counter(_part(unit, knobs) for unit in units)

    def place(pair: Sequence[Changes]) -> tuple[int, bool, int]:
        first, second = (_part(unit, knobs) for unit in pair)
        sides = {knobs[unit[0][0]].cost if unit[0][0] in knobs else None for unit in pair}
        size = len(pair[0]) + len(pair[1])
        return -parts[first] * (first == second), len(sides) > 1, size

    return [_joined(units, pair) for pair in sorted(itertools.combinations(units, 2), key=place)]


def _part(unit: Changes, knobs: Mapping[str, Knob]) -> str:
    path = unit[0][0]
    key = next(iter(knobs[path].keys), path) if path in knobs else path
    return key.split(".")[0]


@dataclass(frozen=True)
class Effects:
    """What the changes of `chosen` gave, a figure for each of the `groups` that the `blocks` and
    the `pairs` tell apart: logarithms of ratios with their covariances; so many standard errors as
    `reach` are 95 %.  `beside` is what the pairs give to what no block tells apart, repairs and
    what the engine restarts for."""

    chosen: Changes
    groups: tuple[Changes, ...]
    blocks: int
    pairs: int
    logs: tuple[float, ...]
    covariances: tuple[tuple[float, ...], ...]
    reach: float
    beside: EffectRatio | None = None

    def of(self, *groups: int) -> EffectRatio:
        """What groups gave together, by their numbers."""
        mean = sum(self.logs[at] for at in groups)
        variance = sum(self.covariances[a][b] for a in groups for b in groups)
        return EffectRatio.of(mean, self.reach * math.sqrt(variance))

    @property
    def whole(self) -> EffectRatio:
        """What all of them gave together."""
        return self.of(*range(len(self.groups)))

    @property
    def taken_back(self) -> tuple[int, ...]:
        """The groups that are not handed over, by their numbers: as many of those that gave least
        as cost at most 1 % together, and are shown to cost less than 5 %; never all."""
        back: list[int] = []
        for at in sorted(range(len(self.logs)), key=self.logs.__getitem__)[:-1]:
            together = self.of(*back, at)
            if together.ratio > 1 / (1 - TOLERATED) or together.high >= 1 / (1 - RULED_OUT):
                break
            back.append(at)
        return tuple(back)

    @property
    def held(self) -> Changes:
        """What all of them were measured with: repairs, and what the engine restarts for."""
        return tuple(
            change for change in self.chosen if not any(change in group for group in self.groups)
        )

    def holds(self, changes: Changes) -> bool:
        """Whether these changes are some of those groups, with what is `held`."""
        made = {*changes}
        whole = all({*group} <= made or made.isdisjoint(group) for group in self.groups)
        return whole and {*self.held} <= made <= {*self.chosen}

    @property
    def left(self) -> Changes:
        """What is handed over: the winner without what is taken back."""
        back = {change for at in self.taken_back for change in self.groups[at]}
        return tuple(change for change in self.chosen if change not in back)


def effects_of(
    trials: Sequence[Trial], winner: Changes, pairs: Sequence[tuple[Trial, Trial]] = ()
) -> Effects | None:
    """What complete blocks show of a winner's changes; None where they are too few to tell.

    The `pairs` of the profile as written and what was left of the winner are rows, too: a change
    that was taken back is on neither side of them.  A repair, or what the engine restarts for, is
    on one side alone.  Where the rows are enough it gets an effect of its own; else it is taken to
    have none, as neither run lost an event.

    The noise of a run is what the effects leave of the differences within blocks and pairs, what a
    straight line and interactions leave of the sums and, before there are pairs, the steps between
    the runs of the calibration, which have the same plan as the blocks; its variance falls as
    windows get longer.  Logarithms of rates are those without what the machine's speed explains.
    By tests/benchmarks/design_effects.py the intervals cover in 93 % or more.
    """
    # What came after the choice tells nothing of it.
    trials = [trial for trial in trials if trial.phase in SCORED]
    blocks = complete(trials, winner)
    if not blocks:
        return None
    held = set.intersection(*(set(run.changes) for block in blocks for run in block))
    turned = [change for change in winner if change not in held]
    rows = [*blocks, *((after, before) for before, after in pairs)]
    signs = np.array(
        [
            [float(change in first.changes) - float(change in second.changes) for change in turned]
            for first, second in rows
        ]
    )
    columns: dict[tuple[float, ...], list[int]] = {}
    for at, column in enumerate(signs.T):
        columns.setdefault(tuple(column.tolist()), []).append(at)
    groups = tuple(tuple(turned[at] for at in numbers) for numbers in columns.values())
    matrix = np.array(list(columns)).T
    if np.linalg.matrix_rank(matrix) < len(groups) or len(groups) < 2:
        return None
    one_sided = np.array([float(bool(held) and _is_one_sided(*row)) for row in rows])
    with_held = np.column_stack([matrix, one_sided])
    if np.linalg.matrix_rank(with_held) > len(groups):
        matrix = with_held
    windows_s = np.array([row[0].plan.window_s for row in rows])
    weights = np.sqrt(windows_s / windows_s[0])
    rates = _Rates(trials)
    both = np.array([[rates.of(first), rates.of(second)] for first, second in rows])
    apart, sums = both[:, 0] - both[:, 1], both.sum(axis=1)
    weighted = matrix * weights[:, np.newaxis]
    inverse = np.linalg.inv(weighted.T @ weighted)
    logs = inverse @ weighted.T @ (apart * weights)
    residuals = (apart - matrix @ logs) * weights
    squares, freedom = float(residuals @ residuals), float(len(rows) - matrix.shape[1])
    for alike in _alike(rows):
        of_sums = _without_line(sums[alike]) * weights[alike]
        squares, freedom = squares + float(of_sums @ of_sums), freedom + max(0, len(alike) - 2)
    if not pairs:
        of_steps, steps_freedom = rates.steps()
        squares, freedom = squares + of_steps, freedom + steps_freedom
    if freedom < 1:
        return None
    variance, own = squares / freedom, len(groups)
    covariances, reach = variance * inverse, float(stdtrit(freedom, _SURE))
    return Effects(
        chosen=winner,
        groups=groups,
        blocks=len(blocks),
        pairs=len(pairs),
        logs=tuple(logs[:own].tolist()),
        covariances=tuple(map(tuple, covariances[:own, :own].tolist())),
        reach=reach,
        beside=(
            EffectRatio.of(float(logs[-1]), reach * math.sqrt(covariances[-1, -1]))
            if len(logs) > len(groups)
            else None
        ),
    )


def _is_one_sided(first: Trial, second: Trial) -> bool:
    """Whether one run of two is of the profile as written, without its repairs."""
    return any(run.changes == BASELINE and not run.repaired for run in (first, second))


def winners(trials: Sequence[Trial]) -> list[Changes]:
    """The winners that were taken apart, the last first."""
    return [*dict.fromkeys(_winner(*block) for block in _blocks(trials))][::-1]


def blocks_left(design: Design, trials: Sequence[Trial]) -> list[Block]:
    """The blocks of a design that were not measured yet, in order."""
    done = Counter(frozenset(run.changes for run in block) for block in _blocks(trials))
    missing = []
    for block in design.blocks():
        if done[frozenset(block)] > 0:
            done[frozenset(block)] -= 1
        else:
            missing.append(block)
    return missing


def _blocks(trials: Sequence[Trial]) -> Iterator[tuple[Trial, Trial]]:
    """Both runs of each block that is complete."""
    by_number: dict[int | None, list[Trial]] = {}
    for trial in trials:
        if trial.phase is Phase.EFFECTS and trial.measurement is not None:
            by_number.setdefault(trial.pair, []).append(trial)
    for runs in by_number.values():
        if len(runs) == 2:
            yield runs[0], runs[1]


def _winner(first: Trial, second: Trial) -> Changes:
    """What was taken apart in a block: the changes of both runs."""
    return tuple(sorted({*first.changes, *second.changes}))


def complete(trials: Sequence[Trial], winner: Changes) -> list[tuple[Trial, Trial]]:
    """Both runs of each complete block that took a winner apart."""
    return [block for block in _blocks(trials) if _winner(*block) == winner]


def _alike(rows: Iterable[tuple[Trial, Trial]]) -> Iterable[list[int]]:
    """The numbers of the rows of each machine, blocks and pairs apart."""
    numbers: dict[tuple[Phase, str], list[int]] = {}
    for at, (first, _) in enumerate(rows):
        numbers.setdefault((first.phase, first.machine), []).append(at)
    return numbers.values()


def _without_line(values: Floats) -> Floats:
    """What a straight line leaves of values that are in order of time; nothing of two."""
    times = np.arange(len(values))
    if len(values) <= 2:
        return np.zeros(len(values))
    return np.asarray(values - np.polyval(np.polyfit(times, values, 1), times))


class _Rates:
    """Logarithms of rates with the work put off paid for, without what the machine's speed
    explains."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        machines = {trial.machine for trial in trials}
        self._explained = {
            name: adjustment_of([trial for trial in trials if trial.machine == name])
            for name in machines
        }
        self._calibrating = calibrating(trials)

    def of(self, trial: Trial) -> float:
        """That of a trial that was measured."""
        run = trial.measurement
        if run is None:
            raise ValueError("a failed trial has no rate")
        explained, log = self._explained.get(trial.machine), math.log(run.score)
        return (
            log
            if explained is None or run.speed is None
            else log - explained.above_usual(run.speed.logs)
        )

    def steps(self) -> tuple[float, float]:
        """The `step_squares` of the calibration."""
        by_machine: dict[str, list[float]] = {}
        for trial in self._calibrating:
            by_machine.setdefault(trial.machine, []).append(self.of(trial))
        return step_squares([np.array(logs) for logs in by_machine.values()])
