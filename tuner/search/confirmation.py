"""The last trials of a search: the winner at a fixed rate, and fresh pairs of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial

from tuner.errors import JobFailed
from tuner.measure.machines import outliers
from tuner.measure.measurement import Failure, TrialPlan
from tuner.search import notes
from tuner.search.climb import Climb
from tuner.search.crew import Piece, Work
from tuner.search.guardrails import check_rate
from tuner.search.pairs import candidate_of, compared, gains_of, pairs_of
from tuner.search.runner import Runner
from tuner.search.study import BASELINE, Changes, Phase, Step, Trial
from tuner.search.verdict import MOST_PAIRS, disqualified, reason_of

BEST = "the best found"
"""What the winner is called in trials."""


@dataclass
class Confirmation:
    """Measures a winner against the profile as written; the climb learns what fails."""

    runner: Runner
    climb: Climb

    def pairs(self, winner: Changes) -> Iterator[Step]:
        """Fresh pairs of the baseline and exactly the point that is handed over.

        At least six, or eight where the engine restarts between the sides; more while there is
        time, which depends on the clock and never on what the pairs show.  A pair in which a run
        failed by a hiccup is measured again; a winner that cannot be recommended ends it, and where
        the profile as written lost events before there were enough, they begin again with its
        repairs.  Raises JobFailed where time has run out before.
        """
        runner = self.runner
        plan, planned = runner.plans.confirm, runner.planned_pairs(winner)
        runs = runner.of(Phase.CONFIRM)
        begun = len({one.pair for one in runs if one.changes == winner})
        number = max((one.pair or 0 for one in runs), default=0)
        complete = len(pairs_of(runner.trials)) if candidate_of(runner.trials) == winner else 0
        is_over = False

        def take(machine: str) -> Piece | None:
            nonlocal plan, begun, number
            if machine not in runner.pairing(winner):
                return None
            if is_over or begun == max(MOST_PAIRS, len(runner.machines)):
                return None
            plan = runner.confirm_plan(
                plan, winner, max(1, planned - complete - len(runner.under_way))
            )
            pair_s = runner.pair_s(plan, winner)
            if self._has_enough(pair_s + runner.setup.pace.end_s):
                return None
            if not runner.has_time(pair_s):
                self._require_time((runner.fewest_pairs(winner) - complete) * pair_s)
                return None
            begun, number = begun + 1, number + 1
            return partial(paired, plan, number)

        def paired(plan: TrialPlan, pair: int, machine: str) -> Work:
            nonlocal complete, is_over
            trial = yield from self._pair(winner, plan, pair, machine)
            if not isinstance(trial.outcome, Failure):
                complete += 1
            else:
                is_over = self._gives_up(winner, trial)
                if not is_over and trial.lost_as_written and runner.is_repaired:
                    complete = 0
                    yield runner.note(notes.repaired(trial))
            return trial

        yield from runner.spread(take)
        for text in notes.standing_out(outliers(gains_of(runner.trials)), "the gain"):
            yield runner.note(text)

    def _gives_up(self, winner: Changes, failed: Trial) -> bool:
        """Whether no more pairs are made after one that failed: the winner cannot be recommended,
        or the profile as written lost events once there were enough."""
        runner = self.runner
        if disqualified(runner.trials, winner, runner.setup.limits) is not None:
            self.climb.checked(failed)
            return True
        return failed.lost_as_written and runner.is_repaired and self._has_enough()

    def _require_time(self, needed_s: float) -> None:
        """Raise JobFailed where no pair under way may still be enough."""
        if not self.runner.under_way:
            raise JobFailed(notes.too_short(self.runner.crew.now_s() + needed_s))

    def _has_enough(self, seconds: float = math.inf) -> bool:
        """Whether the pairs can show something, and so many seconds are not left for more."""
        so_far = compared(pairs_of(self.runner.trials), lambda run: run.eps)
        return so_far is not None and so_far.enough and self.runner.left_s() < seconds

    def _pair(self, winner: Changes, plan: TrialPlan, pair: int, machine: str) -> Work:
        """One pair of the confirmation, on one machine; it is complete unless its last run
        failed."""
        runner = self.runner
        for changes in runner.pair_order(Phase.CONFIRM, BASELINE, winner, machine):
            what = runner.baseline if changes == BASELINE else BEST
            trial = yield from runner.trial(Phase.CONFIRM, changes, plan, what, pair)
            if isinstance(trial.outcome, Failure):
                if trial.is_hiccup:
                    yield runner.note(notes.repeating(trial, "the pair"))
                break
        return trial

    def is_fresh(self, winner: Changes) -> Generator[Step, None, bool]:
        """Run both sides at a fixed rate, the baseline only once."""
        checks = self.runner.of(Phase.CHECK)
        per_second = checks[0].per_second if checks else None
        if per_second is None:
            per_second = check_rate(self._rates(winner))
            yield from self._checked(BASELINE, per_second, lambda: self.runner.baseline)
        if not any(one.changes == winner for one in checks):
            yield from self._checked(winner, per_second, lambda: BEST)
        of_winner = [one for one in self.runner.of(Phase.CHECK) if one.changes == winner]
        return reason_of(of_winner[-1], self.runner.setup.limits) is None

    def _checked(
        self, changes: Changes, per_second: float, what: Callable[[], str]
    ) -> Iterator[Step]:
        """A run at a fixed rate, made once more after a hiccup."""

        def work(_: str) -> Work:
            trial = yield from self.runner.persistently(
                lambda again: self.runner.check(
                    changes, per_second, f"{what()}, at a fixed rate{again}"
                )
            )
            self.climb.checked(trial)
            return trial

        left = [work]
        yield from self.runner.spread(lambda _: left.pop() if left else None)

    def _rates(self, winner: Changes) -> list[float]:
        """What the baseline and the best found have carried, once the engine was warm."""
        scored = [one for one in self.runner.trials if one.phase is not Phase.WARM_UP]
        measured = [one.measurement for one in scored if one.changes in (BASELINE, winner)]
        return [one.eps_paid for one in measured if one is not None]
