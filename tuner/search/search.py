"""The course of a search: warm up, measure the profile as written, climb, confirm."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tuner.errors import BadProfile, JobFailed
from tuner.measure.measurement import Failure, Measurement, Outcome, TrialPlan
from tuner.profile.knobs import Knob
from tuner.profile.model import Profile
from tuner.search.budget import Pace, Spending, engine_warm_up, reserve_s, spend, trial_seconds
from tuner.search.climber import Climber
from tuner.search.study import BASELINE, Changes, Phase, Trial
from tuner.search.verdict import MINIMUM_PAIRS

_MOST_PAIRS = 16


@dataclass(frozen=True)
class Setup:
    """What a search needs of the world.

    `candidate` gives the validated profile of a point or raises BadProfile, `evaluate` measures it
    as the trial of that number (-1 is the warm-up), `clock` gives the seconds since the command
    started, `rng` chooses among moves.
    """

    knobs: tuple[Knob, ...]
    candidate: Callable[[Changes], Profile]
    evaluate: Callable[[Profile, TrialPlan, int], Outcome]
    clock: Callable[[], float]
    budget_s: float
    pace: Pace
    rng: random.Random


_WARM_UP_NUMBER = -1


@dataclass
class Search:
    """A running search; `run` gives every trial as it is known, the confirmation last."""

    setup: Setup
    _next: int = _WARM_UP_NUMBER
    _overheads_s: list[float] = field(default_factory=list)
    _spending: Spending | None = None

    def run(self) -> Iterator[Trial]:
        """Raises JobFailed when the profile as written, trial 0, cannot be measured."""
        pace = self.setup.pace
        warm_up = engine_warm_up(self.setup.budget_s, pace)
        first = self._trial(Phase.WARM_UP, BASELINE, warm_up, "gets the engine warm; not scored")
        yield first
        _require(first)
        self._spending = spend(self._left_s(), self._overhead_s(), pace)
        baseline = self._trial(Phase.SEARCH, BASELINE, self._plans.search, "the profile as written")
        yield baseline
        _require(baseline)
        climber = Climber(self.setup.knobs, self._is_valid, self.setup.rng)
        climber.tell(BASELINE, baseline.outcome)
        yield from self._climb(climber)
        yield from self._confirm(climber)

    @property
    def _plans(self) -> Spending:
        """How the budget is divided, known once the warm-up showed what a trial costs."""
        return self._spending or spend(self._left_s(), self._overhead_s(), self.setup.pace)

    def trials_left(self) -> int:
        """About how many trials of the search still fit before the confirmation."""
        plans, overhead_s = self._plans, self._overhead_s()
        reserved_s = reserve_s(plans.confirm, overhead_s, self.setup.pace)
        free_s = self._left_s() - reserved_s
        return max(0, int(free_s / trial_seconds(plans.search, overhead_s, self.setup.pace)))

    def _climb(self, climber: Climber) -> Iterator[Trial]:
        plan = self._plans.search
        while self.trials_left() > 0:
            proposal = climber.ask()
            if proposal is None:
                return
            trial = self._trial(Phase.SEARCH, proposal.changes, plan, proposal.why)
            climber.tell(proposal.changes, trial.outcome)
            yield trial

    def _confirm(self, climber: Climber) -> Iterator[Trial]:
        """Fresh pairs of the profile as written and the best found, in random order.

        At least six; more while there is time, which depends on the clock and never on what the
        pairs show.  A winner that fails ends it: such a profile is not recommended.
        """
        winner = climber.best_challenger()
        if winner is None:
            return
        plan = self._plans.confirm
        for pair in range(1, _MOST_PAIRS + 1):
            pair_s = 2 * trial_seconds(plan, self._overhead_s(), self.setup.pace)
            if pair > MINIMUM_PAIRS and self._left_s() < pair_s:
                return
            order = [BASELINE, winner]
            self.setup.rng.shuffle(order)
            for changes in order:
                what = "the profile as written" if changes == BASELINE else "the best found"
                trial = self._trial(Phase.CONFIRM, changes, plan, what, pair)
                yield trial
                if changes == winner and isinstance(trial.outcome, Failure):
                    return

    def _trial(
        self, phase: Phase, changes: Changes, plan: TrialPlan, why: str, pair: int | None = None
    ) -> Trial:
        number = self._next
        self._next += 1
        at_s = self.setup.clock()
        profile = self.setup.candidate(changes)
        outcome = self.setup.evaluate(profile, plan, number)
        if isinstance(outcome, Measurement):
            planned_s = trial_seconds(plan, 0.0, self.setup.pace)
            self._overheads_s.append(max(0.0, outcome.total_s - planned_s))
        return Trial(number, phase, changes, why, plan, outcome, at_s, pair)

    def _overhead_s(self) -> float:
        recent = self._overheads_s[-5:]
        return statistics.fmean(recent) if recent else self.setup.pace.overhead_s

    def _left_s(self) -> float:
        return self.setup.budget_s - self.setup.clock()

    def _is_valid(self, changes: Changes) -> bool:
        try:
            self.setup.candidate(changes)
        except BadProfile:
            return False
        return True


def _require(trial: Trial) -> None:
    if isinstance(trial.outcome, Failure):
        reason = f"{trial.outcome.kind.value}: {trial.outcome.reason}"
        raise JobFailed(f"the profile as written cannot be measured: {reason}")
