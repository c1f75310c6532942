"""The course of a search: warm up, calibrate, climb, measure the best again, make its change
smaller, check, confirm.

Everything it does is a function of its seed, the clock and the outcomes of its trials, so that a
journal of those is enough to resume it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace

from tuner.errors import JobFailed, Refused
from tuner.measure.measurement import Failure, TrialPlan, others_used
from tuner.search import notes
from tuner.search.budget import FEWEST_SEARCH_TRIALS, engine_warm_up
from tuner.search.calibration import FEWEST_RATES, Calibration, calibrate, required
from tuner.search.climb import Climb, Leader, begun, kept_knobs
from tuner.search.guardrails import check_rate
from tuner.search.guess import effects_of
from tuner.search.pairs import candidate_of, compared, pairs_of
from tuner.search.runner import Runner
from tuner.search.shrink import (
    Attempt,
    attempts_from,
    pairs_of_next_round,
    shorter,
    shrunk,
)
from tuner.search.study import BASELINE, Axis, Changes, Note, Phase, Trial
from tuner.search.verdict import MOST_PAIRS, disqualified, reason_of

# A rate this far below the best so far cannot win: its window is cut short.
_LOSING = 0.9
# So many of the best are run at a fixed rate, until one of them keeps the guardrails there.
_MOST_CHECKED = 3
# The windows of the pairs become a little shorter where a trial took longer than it had before.
_NEARLY = 0.8
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
        """Raises JobFailed when the baseline cannot be measured, or the budget is too short for
        the pairs, and Refused by the noise."""
        yield from self._warm_up()
        calibration = yield from self._calibrate()
        kept = kept_knobs(self.runner)
        if len(kept) < len(self.runner.setup.knobs):
            yield self.runner.note(notes.frozen(self.runner.setup.knobs, kept))
        climb = self._climbing = begun(self.runner, kept, calibration)
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
        trial = yield from self._persistently(
            lambda again: runner.trial(Phase.WARM_UP, BASELINE, plan, f"warm-up, not scored{again}")
        )
        required(trial)
        runner.fix_plans()

    def _persistently(self, run: Callable[[str], Trial]) -> Generator[Step, None, Trial]:
        """Run, and again after a hiccup, or with its repairs where the profile lost events as
        written."""
        runner = self.runner
        trial = yield from runner.persistently(run)
        if trial.lost_as_written and runner.is_repaired:
            yield runner.note(notes.repaired(trial))
            trial = yield from runner.persistently(run)
        return trial

    def _calibrate(self) -> Generator[Step, None, Calibration]:
        """Repeated runs of the baseline, and what they say of the noise."""
        runner, plans = self.runner, self.runner.plans
        trial_s = runner.takes_s(plans.search)
        trials: list[Trial] = []
        while len(trials) < plans.calibrating:
            if len(trials) >= FEWEST_RATES and not runner.leaves_pairs(2 * trial_s, BASELINE):
                break
            trial = yield from self._persistently(
                lambda again: runner.trial(
                    Phase.CALIBRATE, BASELINE, plans.search, f"{runner.baseline}{again}"
                )
            )
            required(trial)
            trials = [one for one in (*trials, trial) if one.repaired is trial.repaired]
        runs, times = list(map(required, trials)), [one.at_s for one in trials]
        calibration = calibrate([one.eps_paid for one in runs], times, [one.speed for one in runs])
        for text in notes.calibrated(calibration, others_used(runs)):
            yield runner.note(text)
        if calibration.sigma > (allowed := runner.setup.refuse_noise):
            raise Refused(notes.too_noisy(calibration, allowed))
        return calibration

    def _climb(self, climb: Climb) -> Iterator[Step]:
        while self.runner.has_room(self._best(climb)) and (asked := climb.ask()) is not None:
            yield from self._try(climb, *asked)

    def _try(self, climb: Climb, changes: Changes, why: str) -> Iterator[Step]:
        """Measure a point for the first time; a hiccup tells nothing of it."""
        runner = self.runner
        plan = replace(runner.plans.search, loses_below=self._losing())
        trial = yield from runner.persistently(
            lambda again: runner.trial(Phase.SEARCH, changes, plan, f"{why}{again}")
        )
        climb.tell(trial)

    def _best(self, climb: Climb) -> Changes:
        """What would be confirmed now, to reckon with its time."""
        return climb.winner(self.runner.trials) or BASELINE

    def _losing(self) -> float:
        """The rate below which a window cannot win any more."""
        measured = [trial.measurement for trial in self.runner.trials]
        return _LOSING * max(one.eps for one in measured if one is not None)

    def _finals(self, climb: Climb) -> Iterator[Step]:
        """Good points again, on longer windows, where that helps most to choose among them."""
        runner, plan = self.runner, self.runner.plans.final
        for _ in range(runner.plans.finals):
            left = int(runner.free_s(self._best(climb)) / runner.takes_s(plan))
            changes = climb.again(left, plan, lambda one: runner.next_s(one, plan))
            if changes is None:
                return
            trial = runner.trial(Phase.FINAL, changes, plan, "again, to choose among the best")
            self._learn(climb, trial)
            yield trial

    def _learn(self, climb: Climb, trial: Trial) -> None:
        """Tell the climb of a run of a good point, but not of the first of its hiccups."""
        if not trial.is_hiccup or self._disqualified(trial.changes):
            climb.tell(trial)

    def _confirm(self, climb: Climb, winner: Changes) -> Iterator[Step]:
        """Fresh pairs of the baseline and exactly the point that is handed over.

        At least six, or eight where the engine restarts between the sides; more while there is
        time, which depends on the clock and never on what the pairs show.  A pair in which a run
        failed by a hiccup is measured again; a winner that cannot be recommended ends it, and where
        the profile as written lost events before there were enough, they begin again with its
        repairs.  Raises JobFailed where time has run out before.
        """
        runner = self.runner
        plan, planned, complete = runner.plans.confirm, runner.planned_pairs(winner), 0
        for pair in range(1, MOST_PAIRS + 1):
            plan = runner.confirm_plan(plan, winner, max(1, planned - complete))
            pair_s = runner.pair_s(plan, winner)
            so_far = compared(pairs_of(runner.trials), lambda run: run.eps)
            enough = so_far is not None and so_far.enough
            if enough and runner.left_s() < pair_s + runner.setup.pace.end_s:
                return
            if not runner.has_time(pair_s):
                needed_s = (runner.fewest_pairs(winner) - complete) * pair_s
                raise JobFailed(notes.too_short(runner.setup.clock() + needed_s))
            if (yield from self._pair(winner, plan, pair)):
                complete += 1
            elif self._disqualified(winner):
                climb.checked(runner.trials[-1])
                return
            elif (lost := runner.trials[-1]).lost_as_written and runner.is_repaired:
                if enough:
                    return
                complete = 0
                yield runner.note(notes.repaired(lost))

    def _pair(self, winner: Changes, plan: TrialPlan, pair: int) -> Generator[Step, None, bool]:
        """One pair of the confirmation; whether it is complete."""
        runner = self.runner
        for changes in runner.pair_order(Phase.CONFIRM, BASELINE, winner):
            what = runner.baseline if changes == BASELINE else _BEST
            trial = runner.trial(Phase.CONFIRM, changes, plan, what, pair)
            yield trial
            if isinstance(trial.outcome, Failure):
                if trial.is_hiccup:
                    yield runner.note(notes.repeating(trial, "the pair"))
                return False
        return True

    def _may_be(self, changes: Changes) -> bool:
        return self.runner.setup.is_valid(changes) and not self._disqualified(changes)

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
                too_short = notes.too_short(runner.setup.clock() + needed_s)
                if candidate_of(runner.trials) is None:
                    raise JobFailed(too_short)
                yield runner.note(too_short)
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
        """Run both sides at a fixed rate, the baseline only once."""
        runner = self.runner
        checks = [one for one in runner.trials if one.phase is Phase.CHECK]
        per_second = checks[0].per_second if checks else None
        if per_second is None:
            per_second = check_rate(self._rates(winner))
            yield from self._checked(climb, BASELINE, per_second, lambda: runner.baseline)
        trial = yield from self._checked(climb, winner, per_second, lambda: _BEST)
        return reason_of(trial, runner.setup.limits) is None

    def _checked(
        self, climb: Climb, changes: Changes, per_second: float, what: Callable[[], str]
    ) -> Generator[Step, None, Trial]:
        """A run at a fixed rate, made once more after a hiccup."""
        trial = yield from self._persistently(
            lambda again: self.runner.check(
                changes, per_second, f"{what()}, at a fixed rate{again}"
            )
        )
        climb.checked(trial)
        return trial

    def _rates(self, winner: Changes) -> list[float]:
        """What the baseline and the best found have carried, once the engine was warm."""
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
            after = shorter(before, effects, tried, self._may_be)
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
