"""The course of a search: warm up, calibrate, climb, measure the best again, check, confirm.

Everything it does is a function of its seed, the clock and the outcomes of its trials, so that a
journal of those is enough to resume it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from tuner.errors import GuardrailBreached, JobFailed
from tuner.measure.measurement import Failure, FailureKind, Measurement, TrialPlan
from tuner.search import notes
from tuner.search.budget import FEWEST_SEARCH_TRIALS, affordable, engine_warm_up
from tuner.search.calibration import Calibration, calibrate
from tuner.search.checks import check_rate
from tuner.search.climb import Climb, Leader, Noise
from tuner.search.guess import effects_of
from tuner.search.pairs import compared, pairs_of
from tuner.search.points import Knobs
from tuner.search.runner import Runner
from tuner.search.shrink import (
    MOST_ROUNDS,
    SHRINK_PAIRS,
    Attempt,
    attempts_of,
    shorter,
    shrunk,
)
from tuner.search.strategies.model import Guard
from tuner.search.study import BASELINE, Axis, Changes, Note, Phase, Trial
from tuner.search.verdict import MOST_PAIRS, reason_of
from tuner.space.knob import Cost, Knob
from tuner.space.knobs import most_promising
from tuner.space.recipes import RECIPES, changes_of

# A rate this far below the best so far cannot win: its window is cut short.
_LOSING = 0.9
# So many of the best are run at a fixed rate, until one of them keeps the guardrails there.
_MOST_CHECKED = 3
# Beyond the budget no more than this share of it.
_BEYOND = 1 / 3
_AS_WRITTEN = "the profile as written"
_BEST = "the best found"

Step = Trial | Note
"""What a search yields on its way."""


@dataclass
class Search:
    """A running search; `run` gives every trial as it is known, the confirmation last."""

    runner: Runner
    _climbing: Climb | None = field(default=None, init=False)

    def leader(self) -> Leader | None:
        """What would be confirmed if the search ended now; None before it began to climb."""
        return None if self._climbing is None else self._climbing.leader(self.runner.trials)

    def run(self) -> Iterator[Step]:
        """Raises JobFailed when the profile as written cannot be measured."""
        yield from self._warm_up()
        calibration = yield from self._calibrate()
        kept = self._kept()
        if len(kept) < len(self.runner.setup.knobs):
            yield self.runner.note(notes.frozen(self.runner.setup.knobs, kept))
        climb = self._climbing = self._begin(kept, calibration)
        yield from self._climb(climb)
        yield from self._finals(climb)
        winner = yield from self._chosen(climb)
        if winner is not None:
            yield from self._confirm(winner)
            if self.runner.setup.shrinks:
                yield from self._shrink(winner, climb.knobs)

    def _warm_up(self) -> Iterator[Step]:
        runner = self.runner
        plan = engine_warm_up(runner.setup.budget_s, runner.setup.pace)
        why = "warm-up, not scored"
        _require((yield from runner.persistent_trial(Phase.WARM_UP, BASELINE, plan, why)))
        runner.fix_plans()

    def _calibrate(self) -> Generator[Step, None, Calibration]:
        """Repeated runs of the profile as written, and what they say of the noise."""
        plans = self.runner.plans
        rates, times, speeds = [], [], []
        for _ in range(plans.calibrating):
            trial = yield from self.runner.persistent_trial(
                Phase.CALIBRATE, BASELINE, plans.search, _AS_WRITTEN
            )
            run = _require(trial)
            rates.append(run.eps_paid)
            times.append(trial.at_s)
            speeds.append(run.speed)
        calibration = calibrate(rates, times, speeds)
        for text in notes.calibrated(calibration):
            yield self.runner.note(text)
        return calibration

    def _kept(self) -> tuple[Knob, ...]:
        """The knobs that the budget suffices for, the most promising ones, and those that earlier
        searches or trials changed, in their order."""
        setup = self.runner.setup
        every = affordable(setup.knobs, setup.budget_s, setup.pace)
        count = self.runner.plans.knobs_kept(len(every))
        promising = most_promising(every, count)
        changed = [one.changes for one in setup.earlier] + [one.changes for one in setup.prior]
        known = {path for changes in changed for path, _ in changes}
        return tuple(knob for knob in every if knob in promising or knob.path in known)

    def _begin(self, kept: tuple[Knob, ...], calibration: Calibration) -> Climb:
        """The climb, with what the calibration showed and what experts would try first."""
        runner, setup, knobs = self.runner, self.runner.setup, Knobs(kept)
        trial_s = runner.takes_s(runner.plans.search)
        space = knobs.space(setup.is_valid, trial_s, {Cost.NODE_RESTART: runner.restart_s()})
        strategy = setup.strategy(space, calibration.sigma)
        recipes = [
            *((one.changes, f"found by {one.run}") for one in setup.earlier),
            *((changes_of(one, setup.knobs), f"recipe: {one.name}") for one in RECIPES),
        ]
        known = [(knobs.known(changes), why) for changes, why in recipes]
        usable = [one for one in known if one[0] and setup.is_valid(one[0])]
        checks = Guard(space, 0, calibration.sigma)
        window_s = runner.plans.search.window_s
        noise = Noise(calibration.sigma, window_s, calibration.sigma_adjusted)
        climb = Climb(strategy, knobs, noise, usable, setup.limits, checks)
        calibrated = [one for one in runner.trials if one.phase is Phase.CALIBRATE]
        climb.tell(*(trial for trial in calibrated if trial.measurement is not None))
        climb.take_over(setup.prior)
        return climb

    def _climb(self, climb: Climb) -> Iterator[Step]:
        runner, plans = self.runner, self.runner.plans
        while self._free_s(climb) >= self._finals_s() + runner.takes_s(plans.search):
            asked = climb.ask()
            if asked is None:
                return
            changes, why = asked
            plan = replace(plans.search, loses_below=self._losing())
            trial = runner.trial(Phase.SEARCH, changes, plan, why)
            climb.tell(trial)
            yield trial

    def _finals_s(self) -> float:
        """What is kept for the finals, in seconds: nothing as long as there is little to choose
        from, as in a session that resumed late."""
        runner, plans = self.runner, self.runner.plans
        tried = sum(trial.phase is Phase.SEARCH for trial in runner.trials)
        return plans.finals * runner.takes_s(plans.final) if tried >= FEWEST_SEARCH_TRIALS else 0.0

    def _free_s(self, climb: Climb) -> float:
        """The seconds before the confirmation, if the best so far is what will be confirmed."""
        return self.runner.free_s(climb.winner(self.runner.trials) or BASELINE)

    def _losing(self) -> float:
        """The rate below which a window cannot win any more."""
        measured = [trial.measurement for trial in self.runner.trials]
        return _LOSING * max(one.eps for one in measured if one is not None)

    def _finals(self, climb: Climb) -> Iterator[Step]:
        """Good points again, on longer windows, where that helps most to choose among them."""
        plan = self.runner.plans.final
        while (left := int(self._free_s(climb) / self.runner.takes_s(plan))) > 0:
            changes = climb.again(left, plan)
            if changes is None:
                return
            why = "again, to choose among the best"
            trial = self.runner.trial(Phase.FINAL, changes, plan, why)
            climb.tell(trial)
            yield trial

    def _confirm(self, winner: Changes) -> Iterator[Step]:
        """Fresh pairs of the profile as written and the best found.

        At least six, or eight where the engine restarts between the sides; more while there is
        time, which depends on the clock and never on what the pairs show.  A winner that cannot be
        recommended ends it.
        """
        runner = self.runner
        plan = runner.confirm_plan(winner)
        for pair in range(1, MOST_PAIRS + 1):
            so_far = compared(pairs_of(runner.trials), lambda run: run.eps)
            enough = so_far is not None and so_far.enough
            if enough and runner.left_s() < runner.pair_s(plan, winner):
                return
            for changes in runner.pair_order(Phase.CONFIRM, BASELINE, winner):
                what = _AS_WRITTEN if changes == BASELINE else _BEST
                trial = runner.trial(Phase.CONFIRM, changes, plan, what, pair)
                yield trial
                if changes == winner and reason_of(trial, runner.setup.limits) is not None:
                    return

    def _chosen(self, climb: Climb) -> Generator[Step, None, Changes | None]:
        """The best found that is also fresh at a fixed rate, well below what either side carries;
        one that is not, gives way to the next best.  None without any."""
        winner = climb.winner(self.runner.trials)
        if winner is None or self.runner.plans.checks_s == 0:
            return winner
        per_second = check_rate(self._rates(winner))
        yield self._checked(climb, BASELINE, per_second, _AS_WRITTEN)
        for _ in range(_MOST_CHECKED):
            trial = self._checked(climb, winner, per_second, _BEST)
            yield trial
            if reason_of(trial, self.runner.setup.limits) is None:
                return winner
            winner = climb.winner(self.runner.trials)
            if winner is None:
                break
        return None

    def _checked(self, climb: Climb, changes: Changes, per_second: float, what: str) -> Trial:
        trial = self.runner.check(changes, per_second, f"{what}, at a fixed rate")
        climb.checked(trial)
        return trial

    def _rates(self, winner: Changes) -> list[float]:
        """What the profile as written and the best found have carried, once the engine was warm."""
        scored = [one for one in self.runner.trials if one.phase is not Phase.WARM_UP]
        measured = [one.measurement for one in scored if one.changes in (BASELINE, winner)]
        return [one.eps_paid for one in measured if one is not None]

    def _shrink(self, winner: Changes, knobs: Knobs) -> Iterator[Step]:
        """After the budget: undo changes of the winner that seem to matter least, and see."""
        runner = self.runner
        plan = _shrink_plan(runner, winner)
        axes = [Axis.of(knob) for knob in knobs.knobs]
        effects = effects_of(runner.trials, axes, winner)
        tried: tuple[Attempt, ...] = ()
        while (after := shorter(shrunk(winner, tried), effects, tried)) is not None:
            if not tried:
                yield runner.note(notes.shrinking(_shrinking_s(runner, plan, winner)))
            before = shrunk(winner, tried)
            for pair in range(1, SHRINK_PAIRS + 1):
                for changes in runner.pair_order(Phase.SHRINK, before, after):
                    what = _BEST if changes == before else "with fewer changes"
                    number = len(tried) * SHRINK_PAIRS + pair
                    yield runner.trial(Phase.SHRINK, changes, plan, what, number)
            attempts = attempts_of(runner.trials)
            if len(attempts) == len(tried):
                return
            tried = attempts


def _shrink_plan(runner: Runner, winner: Changes) -> TrialPlan:
    """The windows of the best measured again, unless so much beyond a short budget is too much."""
    plans = runner.plans
    is_long = _shrinking_s(runner, plans.final, winner) > _BEYOND * runner.setup.budget_s
    return plans.search if is_long else plans.final


def _shrinking_s(runner: Runner, plan: TrialPlan, winner: Changes) -> float:
    """At most, in seconds; restarts if the change of the node is what is tried to undo."""
    restarts_s = (1 + SHRINK_PAIRS) * runner.restart_s() if runner.turns(winner) else 0.0
    return MOST_ROUNDS * (2 * SHRINK_PAIRS * runner.takes_s(plan) + restarts_s)


def _require(trial: Trial) -> Measurement:
    if isinstance(trial.outcome, Measurement):
        return trial.outcome
    if not isinstance(trial.outcome, Failure):
        raise TypeError("a run at a fixed rate is no baseline")
    outcome = trial.outcome
    if outcome.kind is FailureKind.GUARDRAIL:
        raise GuardrailBreached(
            f"the profile as written breaches its own guardrails: {outcome.reason}: there is "
            "nothing to compare with, so it stays as it is"
        )
    raise JobFailed(f"the profile as written cannot be measured: {outcome}")
