"""How many trials a search will make, for those who wait for it."""

from __future__ import annotations

from tuner.search.budget import SHRINK_TRIALS
from tuner.search.runner import Runner
from tuner.search.study import BASELINE, Changes, Phase
from tuner.search.verdict import MOST_PAIRS


def trials_expected(runner: Runner, best: Changes) -> int:
    """About the number of the last trial, if `best` is what will be confirmed."""
    last = runner.trials[-1]
    confirming = [trial for trial in runner.trials if trial.phase is Phase.CONFIRM]
    if confirming:
        winners = [trial.changes for trial in confirming if trial.changes != BASELINE]
        winner = winners[-1] if winners else best
        more = int(max(0.0, runner.left_s()) / runner.pair_s(last.plan, winner))
        pair = last.pair or 0
        pairs_left = min(MOST_PAIRS - pair, max(runner.fewest_pairs(winner) - pair, more))
        is_half = sum(trial.pair == pair for trial in confirming) % 2
        return last.number + is_half + 2 * pairs_left
    checks = 2 if runner.plans.checks_s and last.phase is not Phase.CHECK else 0
    before = 0 if last.phase is Phase.CHECK else _before_checks(runner, best)
    return last.number + before + checks + 2 * runner.planned_pairs(best)


def _before_checks(runner: Runner, best: Changes) -> int:
    """How many trials still fit: those of the search, the finals, and those that try a smaller
    change."""
    plans, free_s, phase = runner.plans, max(0.0, runner.free_s(best)), runner.trials[-1].phase
    shrinking = SHRINK_TRIALS * runner.rounds_left()
    if phase is Phase.SHRINK:
        return shrinking
    final_s = runner.takes_s(plans.final)
    if phase is Phase.FINAL:
        return int(free_s / final_s) + shrinking
    searching_s = max(0.0, free_s - plans.finals * final_s)
    return int(searching_s / runner.takes_s(plans.search)) + plans.finals + shrinking
