"""What the trials of a running search take, and what of its budget they leave."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tuner.measure.enough import FEWEST_PAIRS, FEWEST_RESTARTING, fewest_pairs
from tuner.measure.measurement import Failure, Measurement, TrialPlan
from tuner.search.budget import (
    FEWEST_SEARCH_TRIALS,
    MOST_BLOCKS,
    Spending,
    checks_s,
    counts,
    fitted,
    grace_s,
    spend,
    trial_seconds,
)
from tuner.search.effects import complete
from tuner.search.farm import PATIENCE_S, Machines, Setup, longest_s
from tuner.search.study import BASELINE, Asked, Changes, Phase, Trial
from tuner.search.verdict import recipe_of

_RECENT = 5
_SIDES = 2
# The windows of the pairs become a little shorter where a trial took longer than it had before.
_NEARLY = 0.2
# Set aside for the pairs, as a factor: with one pair too few nothing can be claimed, and what is
# left over becomes another pair.
_SPARE = 1.1
# What the others wait for a machine at most, of the budget.
_PATIENCE_SHARE = 0.25


@dataclass
class Forecast:
    """Reckons with the `trials` so far, to which it adds those that it learns of, and with how the
    budget was divided; `aside_s` of it are for what follows the confirmation."""

    setup: Setup
    trials: list[Trial]
    machines: Machines
    aside_s: float = 0.0
    _beside_s: list[tuple[Trial, float]] = field(default_factory=list, init=False)
    _restarts_s: list[float] = field(default_factory=list, init=False)
    _spending: Spending | None = field(default=None, init=False)

    def learn(self, trial: Trial) -> None:
        """Keep a trial that has ended, what it took beside its warm-up and window, and what the
        restart before it took."""
        if (overhead_s := self._own_overhead_s(trial)) is not None:
            self._beside_s.append((trial, overhead_s))
        # Each session starts an engine of its own, and one that refused was started twice.
        counts = trial.phase is not Phase.WARM_UP and not isinstance(trial.outcome, Failure)
        restarted, spent = self._restarts_before(trial.changes, trial.machine), trial.outcome.spent
        if restarted and counts and spent is not None:
            self._restarts_s.append(spent.restart_s)
        self.trials.append(trial)

    @property
    def plans(self) -> Spending:
        """How the budget is divided, by what trials took up to the last `fix_plans`."""
        return self._spending or self._spend()

    def fix_plans(self) -> None:
        """Divide the budget by what trials have taken so far: after the warm-up, and again after
        the calibration, by whose plan the search goes on."""
        self._spending = self._spend()

    def _spend(self) -> Spending:
        setup = self.setup
        first = [trial for trial in self._trials_in(Phase.WARM_UP) if trial.number < 0]
        began_s = max((trial.ended_s for trial in first), default=self.machines.now_s())
        warm_up_s = [
            seconds for trial in first if (seconds := self._own_overhead_s(trial)) is not None
        ]
        calibrating_s = [
            overhead_s for trial, overhead_s in self._beside_s if trial.phase is Phase.CALIBRATE
        ]
        fixed_s = checks_s(setup.candidates.profile(BASELINE), setup.candidates.knobs, setup.pace)
        left_s = setup.header.budget_s - self.aside_s - began_s
        machines = len(self.machines.names)

        def by(overheads_s: Sequence[float]) -> Spending:
            overhead_s = statistics.fmean(overheads_s) if overheads_s else setup.pace.overhead_s
            return spend(left_s, overhead_s, setup.pace, fixed_s, machines)

        plans = by(warm_up_s)
        return replace(by(calibrating_s), search=plans.search) if calibrating_s else plans

    def left_s(self) -> float:
        """The seconds that are left of the budget, but for those that were set aside."""
        return self.setup.header.budget_s - self.aside_s - self.machines.now_s()

    def free_s(self, best: Changes) -> float:
        """The seconds that are left before the winner is taken apart, if `best` is the point that
        will be confirmed."""
        return self.spare_s(best) - self.blocks_s(self._blocks_kept(best), best)

    def _climb_s(self) -> float:
        """What half of the planned climb, but for the trials that were made, takes in seconds: so
        much is not given up for what follows it."""
        planned = min(self.plans.searching, max(FEWEST_SEARCH_TRIALS, self.plans.searching // 2))
        missing = max(0, planned - len(self._trials_in(Phase.SEARCH)))
        return self._by_each(missing) * self.takes_s(self.plans.search)

    def _blocks_kept(self, best: Changes) -> int:
        """How many of the blocks that are still planned are kept for: where trials take longer
        than planned they give way to the climb first."""
        planned, climb_s = self.blocks_left(), self._climb_s()
        if not climb_s:
            return planned
        finals_s = self._by_each(self.plans.finals) * self.takes_s(self.plans.final)
        room_s = self.spare_s(best) - climb_s - finals_s
        return next((count for count in counts(planned) if self.blocks_s(count, best) <= room_s), 0)

    def has_room(self, best: Changes) -> bool:
        """Whether one more trial fits before the finals, if `best` is what will be confirmed.

        The first few may take time from the windows of the pairs, as long as those can still show
        something, and the very first from the grace.
        """
        trial_s = self.takes_s(self.plans.search)
        if self.free_s(best) >= self._finals_s(best) + trial_s:
            return True
        tried = sum(bool(trial.changes) for trial in self.trials)
        if not tried:
            return self.has_time(trial_s + self.least_pairs_s(best))
        return tried < FEWEST_SEARCH_TRIALS and self.leaves_pairs(trial_s, best)

    def trials_left(self, best: Changes) -> float:
        """How many trials of the search fit before the finals, one at least."""
        free_s = self.free_s(best) - self._finals_s(best)
        by_each = max(1.0, free_s / self.takes_s(self.plans.search))
        return by_each * len(self.machines.names)

    def _finals_s(self, best: Changes) -> float:
        """What is kept for the finals, in seconds: nothing as long as there is little to choose
        from, as in a session that resumed late, and no more than the climb leaves."""
        if len(self._trials_in(Phase.SEARCH)) < FEWEST_SEARCH_TRIALS:
            return 0.0
        finals_s = self._by_each(self.plans.finals) * self.takes_s(self.plans.final)
        return min(finals_s, max(0.0, self.spare_s(best) - self._climb_s()))

    def spare_s(self, best: Changes) -> float:
        """The seconds that are left before the runs at a fixed rate and the confirmation of
        `best`."""
        plans = self.plans
        checks_s = 0.0 if self._trials_in(Phase.CHECK) else plans.checks_s
        restarts = self._restarts(best, self.planned_pairs(best))
        if checks_s and self.setup.candidates.restarts_for(best):
            restarts += _SIDES
        pairs_s = (
            _SPARE * self._pairs_by_each(best, plans.pairs) * self._runs_s(plans.confirm, best)
        )
        beyond_s = self.beyond_s(best, recipe_of(self.trials, best)) if plans.beyond else 0.0
        aside_s = checks_s + restarts * self.restart_s() + self.setup.pace.end_s + beyond_s
        return self.left_s() - pairs_s - aside_s

    def beyond_s(self, winner: Changes, recipe: Trial | None) -> float:
        """What the fewest pairs take of a winner and the recipe that it goes beyond, in seconds; 0
        without one, and where the engine must restart for either."""
        if recipe is None or any(map(self.setup.candidates.restarts_for, (winner, recipe.changes))):
            return 0.0
        return self._by_each(FEWEST_PAIRS) * self.pair_s(self.plans.final, winner)

    def blocks_left(self) -> int:
        """How many blocks that take the winner apart are still planned."""
        if not self.setup.header.options.effects:
            return 0
        return max(0, self.plans.blocks - len(self._trials_in(Phase.EFFECTS)) // _SIDES)

    def blocks_of(self, best: Changes) -> int:
        """How many blocks a design that takes `best` apart may have: those that were measured, and
        those that still fit."""
        return len(complete(self.trials, best)) + self._blocks_that_fit(best)

    def _blocks_that_fit(self, best: Changes) -> int:
        """How many fit into the time beside the confirmation of `best`, of those that were planned
        and of what the climb left; the last may take a little of the time of its pairs."""
        spare_s = self.spare_s(best)
        if self.plans.needs_pairs_for_effects:
            spare_s = self.left_s() - self.least_pairs_s(best) - self.setup.pace.end_s
        fit = len(self.machines.names) * (spare_s / self.blocks_s(1, best) + _NEARLY)
        most = (
            MOST_BLOCKS - len(complete(self.trials, best))
            if self.setup.header.options.effects
            else 0
        )
        return min(most, max(0, int(fit)))

    def has_room_for_block(self, winner: Changes, blocks: int) -> bool:
        """Whether the next block of a design fits, of which so many are left.  The last may take
        time from the pairs, but for the fewest: without it every effect is less sure."""
        if blocks == 1 and self.leaves_pairs(self.blocks_s(1, winner), winner):
            return True
        return blocks > 0 and self._blocks_that_fit(winner) > 0

    def blocks_s(self, blocks: int, best: Changes) -> float:
        """What so many blocks of two runs take that take `best` apart, in seconds: their settings
        lie between those of the sides of a pair."""
        return self._by_each(blocks) * self._runs_s(self.plans.search, best)

    def takes_s(self, plan: TrialPlan) -> float:
        """What a trial by this plan takes, in seconds, as trials went lately."""
        recent = [seconds for _, seconds in self._overheads_s()[-_RECENT:]]
        overhead_s = statistics.fmean(recent) if recent else self.setup.pace.overhead_s
        return trial_seconds(plan, overhead_s, self.setup.pace)

    def next_s(self, changes: Changes, plan: TrialPlan, machine: str) -> float:
        """What a trial of a point would take now, in seconds, with the restart that it needs."""
        restarts = self._restarts_before(changes, machine)
        return self.takes_s(plan) + (self.restart_s() if restarts else 0.0)

    def longest_s(self, asked: Asked) -> float:
        """After how many seconds a trial does not come back any more; where others wait for its
        machine, that is no longer than a share of the budget, and not beyond its end."""
        length_s = self.next_s(asked.changes, asked.plan, asked.machine)
        if len(self.machines.names) == 1:
            return longest_s(length_s)
        budget_s = self.setup.header.budget_s
        most_s = longest_s(length_s, min(PATIENCE_S, _PATIENCE_SHARE * budget_s))
        return max(longest_s(length_s, 0.0), min(most_s, self.left_s() + grace_s(budget_s)))

    def _restarts_before(self, changes: Changes, machine: str) -> bool:
        """Whether the engine restarts between what a machine measured last and a point."""
        last = next((t.changes for t in reversed(self.trials) if t.machine == machine), BASELINE)
        return self.setup.candidates.node_part(changes) != self.setup.candidates.node_part(last)

    def confirm_plan(self, plan: TrialPlan, winner: Changes, pairs: int) -> TrialPlan:
        """The plan of the next of so many pairs, with shorter windows where time has run short."""
        left_s = self.left_s() - self._restarts(winner, pairs) * self.restart_s()
        by_each = self._pairs_by_each(winner, pairs)
        return fitted(plan, left_s, self._pair_overhead_s(winner), self.setup.pace, by_each)

    def planned_pairs(self, winner: Changes) -> int:
        """How many pairs are planned for a confirmation: no more than it needs where the engine
        restarts in each."""
        return FEWEST_RESTARTING if self.setup.candidates.restarts_for(winner) else self.plans.pairs

    def fewest_pairs(self, winner: Changes) -> int:
        """How many pairs a confirmation needs."""
        return fewest_pairs(restarting=self.setup.candidates.restarts_for(winner))

    def least_pairs_s(self, winner: Changes) -> float:
        """What the fewest pairs that can show anything take, with the shortest windows."""
        shortest = replace(self.plans.confirm, window_s=self.setup.pace.window_s)
        by_each = self._pairs_by_each(winner, self.fewest_pairs(winner))
        return by_each * self.pair_s(shortest, winner)

    def fits(self, changes: Changes) -> bool:
        """Whether the fewest pairs of a point still fit into the time."""
        return self.has_time(self.least_pairs_s(changes))

    def is_too_late(self, winner: Changes) -> bool:
        """Whether not even half of the fewest pairs fit: trials may get faster again, but not so
        much."""
        return not self.has_time(self.least_pairs_s(winner) / 2)

    def leaves_pairs(self, seconds: float, winner: Changes) -> bool:
        """Whether the fewest pairs of a point fit into the budget after so many seconds."""
        return self.left_s() >= seconds + self.least_pairs_s(winner) + self.setup.pace.end_s

    def has_time(self, seconds: float) -> bool:
        """Whether so much can still be done without going too far beyond the budget."""
        ends_s = seconds + self.setup.pace.end_s
        return self.left_s() + grace_s(self.setup.header.budget_s) >= ends_s

    def at_once(self, winner: Changes) -> int:
        """How many machines measure the pairs of a point: one where the engine restarts in each,
        as half of the runs do not count then, and the others are no pairs."""
        return 1 if self.setup.candidates.restarts_for(winner) else len(self.machines.names)

    def pair_s(self, plan: TrialPlan, winner: Changes) -> float:
        """What one more pair takes, in seconds."""
        restart_s = self.restart_s() if self.setup.candidates.restarts_for(winner) else 0.0
        return self._runs_s(plan, winner) + restart_s

    def _runs_s(self, plan: TrialPlan, best: Changes) -> float:
        """What the runs of a pair take, in seconds."""
        return _SIDES * trial_seconds(plan, self._pair_overhead_s(best), self.setup.pace)

    def _pair_overhead_s(self, best: Changes) -> float:
        """What each run of a pair takes beside its warm-up and window: the profile as written may
        drain for longer than what was found, and lately hardly ran, and what else was tried for
        longer than `best`; without a run of that, the others stand for it.  On a machine that just
        became busy it is what the last two trials took."""
        overheads = self._overheads_s()
        written = [seconds for changes, seconds in overheads if changes == BASELINE]
        with_best = [seconds for changes, seconds in overheads if changes == best != BASELINE]
        candidates = [seconds for changes, seconds in overheads if changes != BASELINE]
        sides = (written[-_RECENT:], (with_best or candidates)[-_RECENT:])
        means = [statistics.fmean(side) for side in sides if side]
        if not means:
            return self.setup.pace.overhead_s
        lately = statistics.fmean(seconds for _, seconds in overheads[-_SIDES:])
        return max(lately, statistics.fmean(means))

    def restart_s(self) -> float:
        """What restarting the engine took in the mean, in seconds, until it was warm again."""
        pace, restarts_s = self.setup.pace, self._restarts_s
        return statistics.fmean(restarts_s) if restarts_s else pace.start_s + pace.engine_warm_up_s

    def _restarts(self, winner: Changes, pairs: int) -> int:
        """How often the engine restarts in so many pairs, and perhaps before the first."""
        if self.setup.candidates.restarts_for(winner):
            return pairs + 1
        return int(
            bool(self.trials) and self.setup.candidates.restarts_for(self.trials[-1].changes)
        )

    def _by_each(self, count: int) -> int:
        """How many trials each machine makes, at most, of `count` that all machines share."""
        return math.ceil(count / len(self.machines.names))

    def _pairs_by_each(self, winner: Changes, pairs: int) -> int:
        """How many of so many pairs of a point one machine measures."""
        return math.ceil(pairs / self.at_once(winner))

    @property
    def planned_trials(self) -> int:
        """How many trials there will be about, as the budget was divided."""
        plans, machines = self.plans, len(self.machines.names)
        checks = _SIDES if plans.checks_s else 0
        runs = _SIDES * (self.setup.header.options.effects * plans.blocks + plans.pairs)
        return machines * plans.calibrating + plans.searching + plans.finals + checks + runs

    def _trials_in(self, phase: Phase) -> list[Trial]:
        return [trial for trial in self.trials if trial.phase is phase]

    def _own_overhead_s(self, trial: Trial) -> float | None:
        """What a whole trial took beside its warm-up and window; None of others."""
        if not isinstance(trial.outcome, Measurement):
            return None
        if trial.plan.loses_below is not None and trial.outcome.window_s < trial.plan.window_s:
            return None
        return max(0.0, trial.outcome.total_s - trial_seconds(trial.plan, 0.0, self.setup.pace))

    def _overheads_s(self) -> list[tuple[Changes, float]]:
        """What trials took beside their warm-up and window, each with its point: that of warm-ups,
        in which the engine is slow and leaves more to settle, where there are no others."""
        scored = [entry for entry in self._beside_s if entry[0].phase is not Phase.WARM_UP]
        return [(trial.changes, seconds) for trial, seconds in scored or self._beside_s]
