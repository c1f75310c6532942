"""What a search needs of the world, and the trials it makes of it, with the time they take."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, replace

from tuner.measure.measurement import TrialPlan
from tuner.measure.paired import FEWEST_RESTARTING, fewest_pairs
from tuner.search.budget import (
    FEWEST_SEARCH_TRIALS,
    SHRINK_PAIRS,
    SHRINK_TRIALS,
    Spending,
    fitted,
    grace_s,
    spend,
    trial_seconds,
)
from tuner.search.guardrails import checks_s
from tuner.search.measuring import Measuring
from tuner.search.study import BASELINE, Changes, Phase

_RECENT = 5
_SIDES = 2
# Set aside for the pairs, as a factor: with one pair too few nothing can be claimed, and what is
# left over becomes another pair.
_SPARE = 1.1


@dataclass
class Runner(Measuring):
    """Makes trials, and knows what time they leave."""

    _spending: Spending | None = None

    @property
    def plans(self) -> Spending:
        """How the budget is divided, fixed once the warm-up showed what a trial costs."""
        return self._spending or self._spend()

    def fix_plans(self) -> None:
        """Divide the budget by what the first warm-up took, in whatever session that was."""
        self._spending = self._spend()

    def _spend(self) -> Spending:
        setup = self.setup
        first = [one for one in self.of(Phase.WARM_UP) if one.number < 0]
        began_s = max((one.ended_s for one in first), default=self.crew.now_s())
        own_s = [seconds for one in first if (seconds := self.own_overhead_s(one)) is not None]
        overhead_s = statistics.fmean(own_s) if own_s else setup.pace.overhead_s
        fixed_s = checks_s(setup.candidate(BASELINE), setup.knobs, setup.pace)
        left_s = setup.budget_s - began_s
        return spend(left_s, overhead_s, setup.pace, fixed_s, len(self.machines))

    def free_s(self, best: Changes) -> float:
        """The seconds that are left before the change is made smaller, if `best` is the point that
        will be confirmed."""
        return self.spare_s(best) - self.rounds_left() * self.round_s(best, best)

    def has_room(self, best: Changes) -> bool:
        """Whether one more trial fits before the finals, if `best` is what will be confirmed.

        The first few may take time from the pairs, as long as those can still show something, and
        the very first from the grace.
        """
        trial_s = self.takes_s(self.plans.search)
        if self.free_s(best) >= self._finals_s() + trial_s:
            return True
        tried = sum(bool(one.changes) for one in self.trials)
        if not tried:
            return self.has_time(trial_s + self.least_pairs_s(best))
        return tried < FEWEST_SEARCH_TRIALS and self.leaves_pairs(trial_s, best)

    def _finals_s(self) -> float:
        """What is kept for the finals, in seconds: nothing as long as there is little to choose
        from, as in a session that resumed late."""
        tried = sum(trial.phase is Phase.SEARCH for trial in self.trials)
        finals_s = self._rounds(self.plans.finals) * self.takes_s(self.plans.final)
        return finals_s * (tried >= FEWEST_SEARCH_TRIALS)

    def spare_s(self, best: Changes) -> float:
        """The seconds that are left before the runs at a fixed rate and the confirmation of
        `best`."""
        plans, is_checked = self.plans, any(one.phase is Phase.CHECK for one in self.trials)
        checks_s = 0.0 if is_checked else plans.checks_s
        restarts = self._restarts(best, self.planned_pairs(best))
        if checks_s and self.turns(best):
            restarts += _SIDES
        pairs_s = _SPARE * self._each(best, plans.pairs) * self._runs_s(plans.confirm)
        aside_s = checks_s + restarts * self.restart_s() + self.setup.pace.end_s
        return self.left_s() - pairs_s - aside_s

    def rounds_left(self) -> int:
        """How many rounds that try a smaller change are still planned."""
        if not self.setup.shrinks:
            return 0
        runs = sum(trial.phase is Phase.SHRINK for trial in self.trials)
        return max(0, self.plans.shrinks - runs // SHRINK_TRIALS)

    def round_s(self, before: Changes, after: Changes) -> float:
        """What a round of pairs of two points takes, in seconds."""
        pairs = self._rounds(SHRINK_PAIRS)
        restarts = 0 if self._node_part(before) == self._node_part(after) else pairs + 1
        runs_s = _SIDES * pairs * self.takes_s(self.plans.search)
        return runs_s + restarts * self.restart_s()

    def takes_s(self, plan: TrialPlan) -> float:
        """What a trial by this plan takes, in seconds, as trials went lately."""
        return trial_seconds(plan, self.overhead_s(), self.setup.pace)

    def next_s(self, changes: Changes, plan: TrialPlan, machine: str) -> float:
        """What a trial of a point would take now, in seconds, with the restart that it needs."""
        stays = self._node_part(changes) == self._node_part(self._last_on(machine))
        return self.takes_s(plan) + (0.0 if stays else self.restart_s())

    def confirm_plan(self, plan: TrialPlan, winner: Changes, pairs: int) -> TrialPlan:
        """The plan of the next of so many pairs, with shorter windows where time has run short."""
        left_s = self.left_s() - self._restarts(winner, pairs) * self.restart_s()
        return fitted(
            plan, left_s, self.pair_overhead_s(), self.setup.pace, self._each(winner, pairs)
        )

    def planned_pairs(self, winner: Changes) -> int:
        """How many pairs are planned for a confirmation: no more than it needs where the engine
        restarts in each."""
        return FEWEST_RESTARTING if self.turns(winner) else self.plans.pairs

    def least_pairs_s(self, winner: Changes) -> float:
        """What the fewest pairs that can show anything take, with the shortest windows."""
        shortest = replace(self.plans.confirm, window_s=self.setup.pace.window_s)
        pairs = self._each(winner, self.fewest_pairs(winner))
        return pairs * self.pair_s(shortest, winner)

    def fits(self, changes: Changes) -> bool:
        """Whether the fewest pairs of a point still fit into the time."""
        return self.has_time(self.least_pairs_s(changes))

    def leaves_pairs(self, seconds: float, winner: Changes) -> bool:
        """Whether the fewest pairs of a point fit into the budget after so many seconds."""
        return self.left_s() >= seconds + self.least_pairs_s(winner) + self.setup.pace.end_s

    def has_time(self, seconds: float) -> bool:
        """Whether so much can still be done without going too far beyond the budget."""
        ends_s = seconds + self.setup.pace.end_s
        return self.left_s() + grace_s(self.setup.budget_s) >= ends_s

    def fewest_pairs(self, winner: Changes) -> int:
        """How many pairs a confirmation needs."""
        return fewest_pairs(restarting=self.turns(winner))

    def pair_order(self, phase: Phase, one: Changes, other: Changes, machine: str) -> list[Changes]:
        """Which side of the next pair runs first: by chance; where the engine must restart between
        the sides, the one that ran last, so that each follows a restart as often as the other."""
        order = [one, other]
        self.setup.rng.shuffle(order)
        ran = [trial for trial in self.trials if trial.machine == machine]
        if ran and ran[-1].phase is phase:
            last = self._node_part(ran[-1].changes)
            order.sort(key=lambda side: self._node_part(side) != last)
        return order

    def pairing(self, winner: Changes) -> tuple[str, ...]:
        """The machines that measure the pairs of a point: one where the engine restarts in each,
        as half of the runs do not count then, and the others are no pairs."""
        return self.machines[:1] if self.turns(winner) else self.machines

    def _each(self, winner: Changes, pairs: int) -> int:
        """How many of so many pairs of a point one machine measures."""
        return math.ceil(pairs / len(self.pairing(winner)))

    def pair_s(self, plan: TrialPlan, winner: Changes) -> float:
        """What one more pair takes, in seconds."""
        return self._runs_s(plan) + (self.restart_s() if self.turns(winner) else 0.0)

    def _runs_s(self, plan: TrialPlan) -> float:
        """What the runs of a pair take, in seconds."""
        return _SIDES * trial_seconds(plan, self.pair_overhead_s(), self.setup.pace)

    def restart_s(self) -> float:
        """What restarting the engine took in the mean, in seconds, until it was warm again."""
        pace, restarts_s = self.setup.pace, self._restarts_s
        return statistics.fmean(restarts_s) if restarts_s else pace.start_s + pace.engine_warm_up_s

    def _restarts(self, winner: Changes, pairs: int) -> int:
        """How often the engine restarts in so many pairs, and perhaps before the first."""
        if self.turns(winner):
            return pairs + 1
        return int(bool(self.trials) and self.turns(self.trials[-1].changes))

    def turns(self, changes: Changes) -> bool:
        """Whether the engine must restart between the profile as written and another point."""
        return self._node_part(changes) != self._node_part(BASELINE)

    def overhead_s(self) -> float:
        """What a trial took lately beside its warm-up and window."""
        recent = [seconds for _, seconds in self._overheads_s[-_RECENT:]]
        return statistics.fmean(recent) if recent else self.setup.pace.overhead_s

    def pair_overhead_s(self) -> float:
        """The same of the runs of a pair: the profile as written may drain for longer than what
        was found, and lately hardly ran."""
        sides = [
            [seconds for is_written, seconds in self._overheads_s if is_written is side][-_RECENT:]
            for side in (True, False)
        ]
        known = [statistics.fmean(side) for side in sides if side]
        return statistics.fmean(known) if known else self.setup.pace.overhead_s

    def left_s(self) -> float:
        """The seconds that are left of the budget."""
        return self.setup.budget_s - self.crew.now_s()

    def _rounds(self, count: int) -> int:
        """How many trials each machine makes, at most, of `count` that all machines share."""
        return math.ceil(count / len(self.machines))
