"""The climb: what a strategy proposes as changes of the profile, and what it learns of trials."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, TrialPlan
from tuner.measure.speed import Adjustment
from tuner.profile.objective import FigureBound
from tuner.search.budget import affordable
from tuner.search.calibration import Calibration, adjustment_of
from tuner.search.effects import EffectRatio
from tuner.search.runner import Runner
from tuner.search.space import (
    Belief,
    Dimension,
    Observation,
    Point,
    Space,
    Strategy,
    choose,
    next_replication,
    recommendable,
)
from tuner.search.strategies.model import Guard
from tuner.search.study import BASELINE, PAIRED, RECIPE, SCORED, Changes, Limits, Phase, Trial
from tuner.search.verdict import disqualified
from tuner.space.knob import Cost, Knob, Level
from tuner.space.knobs import most_promising
from tuner.space.recipes import RECIPES, changes_of, in_recipes, mattering

# Rates this close are the same: then what costs less, and changes less, is preferred.
_SAME = 0.01
_CHEAPER = 0.98


@dataclass(frozen=True)
class Knobs:
    """The knobs that a search turns, as the dimensions of a space; whatever they are turned to,
    the `repairs` are made as well."""

    knobs: tuple[Knob, ...]
    repairs: Changes = BASELINE

    @cached_property
    def start(self) -> Point:
        """The profile as written."""
        return self.point(BASELINE)

    def changes(self, point: Point) -> Changes:
        """What differs from the profile as written at a point; nothing at the start."""
        levels: dict[str, Level] = {
            knob.path: knob.levels[level]
            for knob, level in zip(self.knobs, point, strict=True)
            if knob.levels[level] != knob.current
        }
        return self._repaired(levels) if levels else BASELINE

    def point(self, changes: Changes) -> Point:
        """Where the profile with these changes is; changes of other knobs are not looked at."""
        changed = dict(changes)
        levels = ((knob, changed.get(knob.path, knob.current)) for knob in self.knobs)
        return tuple(knob.levels.index(level) for knob, level in levels)

    def known(self, changes: Changes) -> Changes:
        """Those of the changes that are of these knobs, with the repairs."""
        paths = {knob.path for knob in self.knobs}
        levels = {path: level for path, level in changes if path in paths}
        return self._repaired(levels) if levels else BASELINE

    def _repaired(self, levels: Mapping[str, Level]) -> Changes:
        return tuple(sorted({**levels, **dict(self.repairs)}.items()))

    def space(
        self,
        is_valid: Callable[[Changes], bool],
        trial_s: float,
        move_s: Mapping[Cost, float],
        machines: int = 1,
    ) -> Space:
        """The space of a strategy; `trial_s` is what a trial takes in seconds, `move_s` what a
        move of a kind takes beyond that, with so many machines at once."""
        return Space(
            dimensions(self.knobs, move_s),
            lambda point: is_valid(self.changes(point)),
            trial_s=trial_s,
            machines=machines,
        )


def preferred(beliefs: Sequence[Belief], knobs: Knobs, trials: Sequence[Trial]) -> Changes | None:
    """The changes to confirm: those with the best rate and, among rates within 1 %, the least CPU
    per event, then the fewest changes.  None where nothing but the profile as written was found.
    """
    candidates = [belief for belief in recommendable(beliefs) if belief.point != knobs.start]
    best = choose(candidates)
    if best is None:
        return None
    tied = [
        knobs.changes(belief.point) for belief in candidates if belief.mean >= best.mean - _SAME
    ]
    cheapest = min(_cpu_us(trials, changes) for changes in tied)
    cheap = [changes for changes in tied if _cpu_us(trials, changes) * _CHEAPER <= cheapest]
    return min(cheap, key=len)


def _cpu_us(trials: Sequence[Trial], changes: Changes) -> float:
    """Mean CPU of rsyslogd and the engine per event, in microseconds."""
    measured = [trial.measurement for trial in trials if trial.changes == changes]
    costs = [run.shipper_cpu_us + run.engine_cpu_us for run in measured if run is not None]
    return statistics.fmean(costs) if costs else float("inf")


def dimensions(knobs: Sequence[Knob], move_s: Mapping[Cost, float]) -> tuple[Dimension, ...]:
    """A dimension for each knob, in their order; `move_s` gives the seconds that a move of a kind
    takes beyond those of a trial, none where it says nothing."""
    numbers: dict[str, int] = {knob.path: number for number, knob in enumerate(knobs)}
    return tuple(
        Dimension(
            name=knob.path,
            size=len(knob.levels),
            ordered=knob.ordered,
            start=knob.levels.index(knob.current),
            positions=knob.positions,
            special=knob.special,
            needs=_needs(knob, knobs, numbers),
            move_s=move_s.get(knob.cost, 0.0),
            share=knob.share,
        )
        for knob in knobs
    )


def _needs(
    knob: Knob, knobs: Sequence[Knob], numbers: Mapping[str, int]
) -> tuple[tuple[int, frozenset[int]], ...]:
    """Which dimensions must have which levels for this one to be active."""
    parents = []
    for need in knob.needs:
        parent = numbers[need.path]
        levels = enumerate(knobs[parent].levels)
        parents.append((parent, frozenset(i for i, level in levels if level in need.levels)))
    return tuple(parents)


# How many standard deviations about the mean are 95 %.
_REACH = 1.96


@dataclass(frozen=True)
class Leader:
    """What would be confirmed if the search ended now, and its rate over that of the profile as
    written by what the strategy believes: an estimate from all trials, not a claim."""

    changes: Changes
    believed: EffectRatio


# What the rest of a climb must be expected to gain, as a logarithm.  One trial is no measure: in
# the simulated pipeline (30 settings, half an hour, noise of 2 %), to stop where the next one was
# expected to gain less than 0.5 % found 7 % less.
_WORTHWHILE = 0.01
_SHORTEST = 0.1


@dataclass(frozen=True)
class Noise:
    """The noise of a trial's logarithm whose window lasts `window_s` seconds: the longer a window,
    the smaller, as that of a mean.  `adjusted` is that of one without what the machine's speed
    explains, where there was a probe."""

    sigma: float
    window_s: float
    adjusted: float | None = None

    def over(self, window_s: float, share: float = 0.0) -> float:
        """Noise of a window of `window_s` seconds, without this share of what the machine's speed
        explains."""
        variance = self.sigma**2
        if self.adjusted is not None:
            variance -= share * max(0.0, variance - self.adjusted**2)
        return math.sqrt(variance / max(window_s / self.window_s, _SHORTEST))


@dataclass
class Climb:
    """A strategy on the knobs of a profile, with the `noise` of a trial.

    What experts would try, `recipes` with why, is measured before the strategy is asked.  `checks`
    learns from runs at a fixed rate.

    It climbs on the rate over the window with the work put off paid for, and without what the
    machine's speed explains of it.  The rate to refreshed and
    flushed counts the last refresh and flush in full, which run alone: over so few seconds it is
    against engines that refresh seldom.
    """

    strategy: Strategy
    knobs: Knobs
    noise: Noise
    recipes: list[tuple[Changes, str]]
    limits: Limits
    checks: Guard
    at_least: tuple[FigureBound, ...] = ()
    _learnt: list[Trial] = field(default_factory=list)
    _machines: dict[str, float] = field(default_factory=dict)

    def ask(self, trials: float, under_way: Sequence[Changes] = ()) -> tuple[Changes, str] | None:
        """What to measure next and why, while others are under way; None when nothing is left, or
        where so many `trials` are expected to gain less than 1 % together: their time
        tells more as runs that take the winner apart, and as pairs."""
        if self.recipes:
            return self.recipes.pop(0)
        proposal = self.strategy.ask([self.knobs.point(changes) for changes in under_way])
        if proposal is None or (proposal.gain is not None and trials * proposal.gain < _WORTHWHILE):
            return None
        return self.knobs.changes(proposal.point), proposal.why

    def tell(self, *trials: Trial) -> None:
        """Learn what trials showed; a window that was cut short counts for less, a long one for
        more."""
        self._learnt += trials
        self._compare_machines()
        for trial in trials:
            self._tell(trial)

    def knows(self, machine: str) -> bool:
        """Whether it knows how a machine compares with the others."""
        return machine in self._machines

    def _compare_machines(self) -> None:
        """Learn how far each machine that is new is above the others, by its runs of the profile as
        written, as a logarithm."""
        logs: dict[str, list[float]] = {}
        for trial in self._learnt:
            if trial.changes == BASELINE and trial.measurement is not None:
                logs.setdefault(trial.machine, []).append(math.log(trial.measurement.score))
        means = {machine: statistics.fmean(runs) for machine, runs in logs.items()}
        levels = [means[machine] - effect for machine, effect in self._machines.items()]
        usual = statistics.fmean(levels or means.values()) if means else 0.0
        for machine in means.keys() - self._machines.keys():
            self._machines[machine] = means[machine] - usual if len(means) > 1 else 0.0

    def _explained(self, machine: str) -> Adjustment | None:
        return adjustment_of([trial for trial in self._learnt if trial.machine == machine])

    def _tell(self, trial: Trial) -> None:
        point, outcome = self.knobs.point(trial.changes), trial.outcome
        if isinstance(outcome, PacedMeasurement):
            raise TypeError("a run at a fixed rate tells nothing of the highest rate")
        margins = self.limits.margins(outcome)
        if isinstance(outcome, Measurement):
            margins += tuple(self._kept(outcome, self._written()))
            value, error = self._value(trial, outcome, self._explained(trial.machine))
            matters = self._mattering(outcome)
            observation = Observation(point, value, error, trial.at_s, True, margins, matters)
        else:
            observation = Observation(point, math.nan, self.noise.sigma, trial.at_s, False, margins)
        moved_s = 0.0 if outcome.spent is None else outcome.spent.restart_s
        self.strategy.tell(replace(observation, moved_s=moved_s, machine=trial.machine))

    def _written(self) -> dict[FigureBound, float]:
        """The mean of each figure that a gain must keep, of the profile as written."""
        of_written = [trial.measurement for trial in self._learnt if trial.changes == BASELINE]
        runs = [run for run in of_written if run is not None]
        return {
            bound: statistics.fmean(run.figure_of(bound.objective) for run in runs)
            for bound in (self.at_least if runs else ())
        }

    def _kept(
        self, run: Measurement, written: Mapping[FigureBound, float]
    ) -> Iterator[tuple[str, float]]:
        """How far a run keeps these, as margins of guardrails; none of what no run shows."""
        for bound, usual in written.items():
            if usual and (figure := run.figure_of(bound.objective)) > 0:
                yield str(bound), bound.margin(figure / usual)

    def _breaking(self) -> set[Point]:
        """The points whose runs do not keep them, in the mean."""
        margins: dict[tuple[Point, str], list[float]] = {}
        written = self._written()
        for trial in self._learnt if written else ():
            if trial.measurement is not None:
                point = self.knobs.point(trial.changes)
                for name, margin in self._kept(trial.measurement, written):
                    margins.setdefault((point, name), []).append(margin)
        return {point for (point, _), seen in margins.items() if statistics.fmean(seen) < 0}

    def _value(
        self, trial: Trial, run: Measurement, explained: Adjustment | None
    ) -> tuple[float, float]:
        """The logarithm of a rate without what its machine and the speed of that explain, and its
        error."""
        value = math.log(run.score) - self._machines.get(trial.machine, 0.0)
        if run.speed is None or explained is None:
            return value, self.noise.over(run.window_s)
        error = self.noise.over(run.window_s, explained.share)
        return value - explained.above_usual(run.speed.logs), error

    def take_over(self, trials: Sequence[Trial]) -> None:
        """Learn from trials of sessions before this one; recipes among them are done.

        What changed something beside the knobs, or failed in passing, tells nothing of its point.
        """
        telling = [
            trial
            for trial in trials
            if not trial.is_transient
            or disqualified(trials, trial.changes, self.limits) is not None
        ]
        measured = {trial.changes for trial in telling}
        self.recipes = [recipe for recipe in self.recipes if recipe[0] not in measured]
        self.tell(*filter(self._tells_of_its_point, telling))
        for trial in telling:
            failed_in_pair = isinstance(trial.outcome, Failure) and trial.changes != BASELINE
            if trial.phase is Phase.CHECK or (trial.phase in PAIRED and failed_in_pair):
                self.checked(trial)

    def _tells_of_its_point(self, trial: Trial) -> bool:
        if trial.phase is Phase.CALIBRATE:
            return trial.measurement is not None
        is_of_these = self.knobs.changes(self.knobs.point(trial.changes)) == trial.changes
        return trial.phase in SCORED and is_of_these

    def checked(self, trial: Trial) -> None:
        """Learn whether a point can be recommended, from a run at a fixed rate, or from a run of a
        pair that failed, after which it cannot.  Not how far it keeps the guardrails: with so few
        runs, the neighbours of a point that broke them would pass for safe ones."""
        point, outcome = self.knobs.point(trial.changes), trial.outcome
        feasible = isinstance(outcome, PacedMeasurement) and self.limits.breach(outcome) is None
        self.checks.tell(Observation(point, math.nan, self.noise.sigma, trial.at_s, feasible))

    def again(
        self,
        trials: int,
        plan: TrialPlan,
        takes_s: Callable[[Changes], float],
        under_way: Sequence[Changes] = (),
    ) -> Changes | None:
        """Which good point to measure again with so many trials by `plan` left, if a trial of a
        point takes so long and others are `under_way`; None when it is clear."""
        sigma = self.noise.over(plan.window_s)
        points = [self.knobs.point(changes) for changes in under_way]
        beliefs = [
            belief.after(points.count(belief.point), sigma) for belief in self.strategy.beliefs()
        ]
        seconds = {belief.point: takes_s(self.knobs.changes(belief.point)) for belief in beliefs}
        point = next_replication(beliefs, sigma, trials, seconds.__getitem__)
        return None if point is None else self.knobs.changes(point)

    def _mattering(self, outcome: Measurement) -> frozenset[int] | None:
        """Which knobs, by number, can matter where the trial was, by its verdict."""
        if outcome.verdict is None:
            return None
        knobs = self.knobs.knobs
        relevant = mattering(outcome.verdict.bottleneck, knobs)
        return frozenset(at for at, knob in enumerate(knobs) if knob in relevant)

    def winner(
        self, trials: Sequence[Trial], fits: Callable[[Changes], bool] = lambda _: True
    ) -> Changes | None:
        """What to confirm, of what `fits` into the time that is left; the repairs alone where
        nothing else can be, None without any.

        Points that are like one that broke a guardrail at a fixed rate likely do so as well.
        """
        breaking = self._breaking()
        beliefs = [
            belief
            for belief in self.strategy.beliefs()
            if fits(self.knobs.changes(belief.point)) and belief.point not in breaking
        ]
        keeping = self.checks.kept([belief.point for belief in beliefs])
        likely = [replace(belief, safe=belief.safe * keeping[belief.point]) for belief in beliefs]
        return preferred(likely, self.knobs, trials) or self.knobs.repairs or None

    def untried(self, fits: Callable[[Changes], bool]) -> Changes | None:
        """What would be measured first, of what `fits` into the time, where nothing was."""
        recipes = [changes for changes, _ in self.recipes]
        return next((recipe for recipe in recipes if fits(recipe)), recipes[0] if recipes else None)

    def leader(self, trials: Sequence[Trial]) -> Leader | None:
        """The winner as things stand; None before anything beside the profile was measured, and
        where that failed.

        The profile's own rate is the mean of its runs: what a strategy believes of a point far
        below the best is not meant to be read, for it compresses low values.
        """
        changes = self.winner(trials)
        explained = {machine: self._explained(machine) for machine in self._machines}
        written = [
            self._value(trial, trial.measurement, explained.get(trial.machine))[0]
            for trial in trials
            if trial.changes == BASELINE and trial.phase in SCORED and trial.measurement
        ]
        if changes is None or not written:
            return None
        point = self.knobs.point(changes)
        best = next((belief for belief in self.strategy.beliefs() if belief.point == point), None)
        if best is None:
            return None
        mean = best.mean - statistics.fmean(written)
        half = _REACH * math.hypot(best.sd, self.noise.sigma / math.sqrt(len(written)))
        estimate = EffectRatio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
        return Leader(changes, estimate)


def turned_knobs(runner: Runner) -> tuple[Knob, ...]:
    """The knobs that the budget is enough for, the most promising ones, and those that recipes,
    earlier searches or trials changed, in their order."""
    setup = runner.setup
    knobs = affordable(setup.candidates.knobs, setup.header.budget_s, setup.pace)
    count = runner.forecast.plans.knobs_kept(len(knobs))
    changed = [point.changes for point in setup.header.earlier]
    changed += [trial.changes for trial in runner.trials]
    paths = {path for changes in changed for path, _ in changes}
    return most_promising(knobs, count, paths | in_recipes(knobs))


def begin_climb(runner: Runner, turned: tuple[Knob, ...], calibration: Calibration) -> Climb:
    """The climb, with what the calibration showed and what experts would try first."""
    setup = runner.setup
    knobs = Knobs(turned, setup.candidates.repairs)
    trial_s = runner.forecast.takes_s(runner.forecast.plans.search)
    move_s = {Cost.NODE_RESTART: runner.forecast.restart_s()}
    space = knobs.space(setup.candidates.is_valid, trial_s, move_s, len(runner.machines.names))
    strategy = setup.strategy(space, calibration.sigma)
    recipes = [
        *((earlier.changes, f"found by {earlier.run}") for earlier in setup.header.earlier),
        *(
            (changes_of(recipe, setup.candidates.knobs), f"{RECIPE}{recipe.name}")
            for recipe in RECIPES
        ),
    ]
    reasons: dict[Changes, str] = {}
    for changes, why in recipes:
        reasons.setdefault(knobs.known(changes), why)
    if not runner.is_repaired:
        reasons.setdefault(setup.candidates.repairs, "repairs, not for speed")
    usable = [
        recipe for recipe in reasons.items() if recipe[0] and setup.candidates.is_valid(recipe[0])
    ]
    checks = Guard(space, 0, calibration.sigma)
    window_s = runner.forecast.plans.search.window_s
    noise = Noise(calibration.sigma, window_s, calibration.sigma_adjusted)
    header = setup.header
    at_least = header.options.at_least
    climb = Climb(strategy, knobs, noise, usable, header.limits, checks, at_least)
    climb.take_over(runner.trials)
    return climb
