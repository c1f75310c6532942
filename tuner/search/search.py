"""The course of a search: warm up, calibrate, climb, measure the best again, make its change
smaller, check, confirm.

Everything it does is a function of its seed, the clock and the outcomes of its trials, so that a
journal of those is enough to resume it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from tuner.errors import Refused
from tuner.measure.measurement import Failure, TrialPlan, others_used
from tuner.search import notes
from tuner.search.budget import FEWEST_SEARCH_TRIALS, affordable, engine_warm_up
from tuner.search.calibration import Calibration, calibrate, required
from tuner.search.checks import check_rate
from tuner.search.climb import Climb, Leader, Noise
from tuner.search.guess import effects_of
from tuner.search.pairs import compared, pairs_of
from tuner.search.points import Knobs
from tuner.search.runner import Runner
from tuner.search.shrink import (
    Attempt,
    attempts_from,
    pairs_of_next_round,
    shorter,
    shrunk,
)
from tuner.search.strategies.model import Guard
from tuner.search.study import BASELINE, Axis, Changes, Note, Phase, Trial
from tuner.search.verdict import MOST_PAIRS, disqualified, reason_of
from tuner.space.knob import Cost, Knob
from tuner.space.knobs import most_promising
from tuner.space.recipes import RECIPES, changes_of, in_recipes

# A rate this far below the best so far cannot win: its window is cut short.
_LOSING = 0.9
# So many of the best are run at a fixed rate, until one of them keeps the guardrails there.
_MOST_CHECKED = 3
# The windows of the pairs become a little shorter where a trial took longer than it had before.
_NEARLY = 0.8
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
        """Raises JobFailed when the profile as written cannot be measured, Refused by the noise."""
        yield from self._warm_up()
        calibration = yield from self._calibrate()
        kept = self._kept()
        if len(kept) < len(self.runner.setup.knobs):
            yield self.runner.note(notes.frozen(self.runner.setup.knobs, kept))
        climb = self._climbing = self._begin(kept, calibration)
        trials, before = self.runner.trials, -1
        # What the finals choose may need less time for its pairs than what led before them.
        while len(trials) > before:
            before = len(trials)
            yield from self._climb(climb)
            yield from self._finals(climb)
        while (winner := (yield from self._chosen(climb))) is not None:
            yield from self._confirm(climb, winner)
            if not self._disqualified(winner):
                return

    def _warm_up(self) -> Iterator[Step]:
        runner = self.runner
        plan = engine_warm_up(runner.setup.budget_s, runner.setup.pace)
        trial = yield from runner.persistently(
            lambda again: runner.trial(Phase.WARM_UP, BASELINE, plan, f"warm-up, not scored{again}")
        )
        required(trial)
        runner.fix_plans()

    def _calibrate(self) -> Generator[Step, None, Calibration]:
        """Repeated runs of the profile as written, and what they say of the noise."""
        runner, plans = self.runner, self.runner.plans
        runs, times = [], []
        for _ in range(plans.calibrating):
            trial = yield from runner.persistently(
                lambda again: runner.trial(
                    Phase.CALIBRATE, BASELINE, plans.search, f"{_AS_WRITTEN}{again}"
                )
            )
            runs.append(required(trial))
            times.append(trial.at_s)
        calibration = calibrate([one.eps_paid for one in runs], times, [one.speed for one in runs])
        for text in notes.calibrated(calibration, others_used(runs)):
            yield runner.note(text)
        if calibration.sigma > (allowed := runner.setup.refuse_noise):
            raise Refused(notes.too_noisy(calibration, allowed))
        return calibration

    def _kept(self) -> tuple[Knob, ...]:
        """The knobs that the budget suffices for, the most promising ones, and those that recipes,
        earlier searches or trials changed, in their order."""
        setup = self.runner.setup
        every = affordable(setup.knobs, setup.budget_s, setup.pace)
        count = self.runner.plans.knobs_kept(len(every))
        changed = [one.changes for one in setup.earlier] + [one.changes for one in setup.prior]
        known = {path for changes in changed for path, _ in changes}
        return most_promising(every, count, known | in_recipes(every))

    def _begin(self, kept: tuple[Knob, ...], calibration: Calibration) -> Climb:
        """The climb, with what the calibration showed and what experts would try first."""
        runner, setup = self.runner, self.runner.setup
        knobs = Knobs(kept, setup.repairs)
        trial_s = runner.takes_s(runner.plans.search)
        space = knobs.space(setup.is_valid, trial_s, {Cost.NODE_RESTART: runner.restart_s()})
        strategy = setup.strategy(space, calibration.sigma)
        recipes = [
            *((one.changes, f"found by {one.run}") for one in setup.earlier),
            *((changes_of(one, setup.knobs), f"recipe: {one.name}") for one in RECIPES),
        ]
        known = [(knobs.known(changes), why) for changes, why in recipes]
        if setup.repairs:
            known.insert(0, (setup.repairs, "repairs, not for speed"))
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
        runner, plan = self.runner, self.runner.plans.final
        for _ in range(runner.plans.finals):
            left = int(self._free_s(climb) / runner.takes_s(plan))
            changes = climb.again(left, plan, lambda one: runner.next_s(one, plan))
            if changes is None:
                return
            why = "again, to choose among the best"
            trial = runner.trial(Phase.FINAL, changes, plan, why)
            self._learn(climb, trial)
            yield trial

    def _learn(self, climb: Climb, trial: Trial) -> None:
        """Tell the climb of a run of a good point, but not of the first of its hiccups."""
        if not trial.is_hiccup or self._disqualified(trial.changes):
            climb.tell(trial)

    def _confirm(self, climb: Climb, winner: Changes) -> Iterator[Step]:
        """Fresh pairs of the profile as written and exactly the point that is handed over.

        At least six, or eight where the engine restarts between the sides; more while there is
        time, which depends on the clock and never on what the pairs show.  A pair in which a run
        failed by a hiccup is measured again; a winner that cannot be recommended ends it, and so
        does time that has run out.
        """
        runner = self.runner
        plan, planned, complete = runner.plans.confirm, runner.planned_pairs(winner), 0
        for pair in range(1, MOST_PAIRS + 1):
            plan = runner.confirm_plan(plan, winner, max(1, planned - complete))
            if not runner.has_time(runner.pair_s(plan, winner)):
                return
            so_far = compared(pairs_of(runner.trials), lambda run: run.eps)
            enough = so_far is not None and so_far.enough
            if enough and runner.left_s() < runner.pair_s(plan, winner) + runner.setup.pace.end_s:
                return
            if (yield from self._pair(winner, plan, pair)):
                complete += 1
            elif self._disqualified(winner):
                climb.checked(runner.trials[-1])
                return

    def _pair(self, winner: Changes, plan: TrialPlan, pair: int) -> Generator[Step, None, bool]:
        """One pair of the confirmation; whether it is complete."""
        runner = self.runner
        for changes in runner.pair_order(Phase.CONFIRM, BASELINE, winner):
            what = _AS_WRITTEN if changes == BASELINE else _BEST
            trial = runner.trial(Phase.CONFIRM, changes, plan, what, pair)
            yield trial
            if isinstance(trial.outcome, Failure):
                if trial.is_hiccup:
                    yield runner.note(notes.repeating(trial, "the pair"))
                return False
        return True

    def _disqualified(self, changes: Changes) -> bool:
        return disqualified(self.runner.trials, changes, self.runner.setup.limits) is not None

    def _chosen(self, climb: Climb) -> Generator[Step, None, Changes | None]:
        """The point to confirm: the best found, made smaller, that is also fresh at a fixed rate
        well below what either side carries; what is not gives way to the next best.  None without
        any."""
        runner = self.runner
        for _ in range(_MOST_CHECKED):
            winner = climb.winner(runner.trials, runner.fits) or climb.winner(runner.trials)
            needed_s = runner.least_pairs_s(winner or BASELINE)
            was_idle = winner is None and not any(trial.changes for trial in runner.trials)
            if was_idle or not runner.fits(winner or BASELINE):
                needed_s += was_idle * FEWEST_SEARCH_TRIALS * runner.takes_s(runner.plans.search)
                yield runner.note(notes.too_short(runner.setup.clock() + needed_s))
                return None
            if winner is None or self._disqualified(winner):
                return None
            winner = yield from self._shrink(climb, winner)
            if self._disqualified(winner):
                continue
            if runner.plans.checks_s == 0 or (yield from self._is_fresh(climb, winner)):
                return winner
        return None

    def _is_fresh(self, climb: Climb, winner: Changes) -> Generator[Step, None, bool]:
        """Run both sides at a fixed rate, the profile as written only once."""
        checks = [one for one in self.runner.trials if one.phase is Phase.CHECK]
        per_second = checks[0].per_second if checks else None
        if per_second is None:
            per_second = check_rate(self._rates(winner))
            yield from self._checked(climb, BASELINE, per_second, _AS_WRITTEN)
        trial = yield from self._checked(climb, winner, per_second, _BEST)
        return reason_of(trial, self.runner.setup.limits) is None

    def _checked(
        self, climb: Climb, changes: Changes, per_second: float, what: str
    ) -> Generator[Step, None, Trial]:
        """A run at a fixed rate, made once more after a hiccup."""
        why = f"{what}, at a fixed rate"
        trial = yield from self.runner.persistently(
            lambda again: self.runner.check(changes, per_second, f"{why}{again}")
        )
        climb.checked(trial)
        return trial

    def _rates(self, winner: Changes) -> list[float]:
        """What the profile as written and the best found have carried, once the engine was warm."""
        scored = [one for one in self.runner.trials if one.phase is not Phase.WARM_UP]
        measured = [one.measurement for one in scored if one.changes in (BASELINE, winner)]
        return [one.eps_paid for one in measured if one is not None]

    def _shrink(self, climb: Climb, winner: Changes) -> Generator[Step, None, Changes]:
        """What is left of a winner without the changes that seem to matter least, as far as pairs
        with and without them show that they do not help; the winner itself where time is short."""
        runner, plan = self.runner, self.runner.plans.search
        tuned = tuple(one for one in winner if one not in runner.setup.repairs)
        effects = effects_of(runner.trials, [Axis.of(knob) for knob in climb.knobs.knobs], tuned)
        tried: tuple[Attempt, ...] = ()
        for _ in range(runner.rounds_left()):
            before = shrunk(winner, tried)
            after = shorter(before, effects, tried, runner.setup.is_valid)
            if after is None or runner.spare_s(before) < _NEARLY * runner.round_s(before, after):
                return before
            for pair in pairs_of_next_round(runner.trials):
                for changes in runner.pair_order(Phase.SHRINK, before, after):
                    what = _BEST if changes == before else "with fewer changes"
                    trial = runner.trial(Phase.SHRINK, changes, plan, what, pair)
                    self._learn(climb, trial)
                    yield trial
                    if isinstance(trial.outcome, Failure):
                        return before
            tried = attempts_from(winner, runner.trials)
        return shrunk(winner, tried)
