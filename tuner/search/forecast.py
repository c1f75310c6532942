"""How many trials a search will have had at the end of its budget, as far as it can be said now."""

from __future__ import annotations

from tuner.search.runner import Runner
from tuner.search.study import BASELINE, Changes, Phase
from tuner.search.verdict import MOST_PAIRS

_SIDES = 2


def trials_expected(runner: Runner, best: Changes) -> int:
    """About the number of the last trial, if `best` is what will be confirmed; what comes beyond
    the budget is not counted."""
    last = runner.trials[-1]
    confirming = [trial for trial in runner.trials if trial.phase is Phase.CONFIRM]
    if last.phase is Phase.SHRINK:
        return confirming[-1].number
    if confirming:
        winner = next((trial.changes for trial in confirming if trial.changes != BASELINE), best)
        more = int(max(0.0, runner.left_s()) / runner.pair_s(last.plan, winner))
        pair = last.pair or 0
        pairs_left = min(MOST_PAIRS - pair, max(runner.fewest_pairs(winner) - pair, more))
        is_half = sum(trial.pair == pair for trial in confirming) % _SIDES
        return last.number + is_half + _SIDES * pairs_left
    checks = _SIDES if runner.plans.checks_s and last.phase is not Phase.CHECK else 0
    return (
        last.number + _before_confirming(runner, best) + checks + _SIDES * runner.fewest_pairs(best)
    )


def _before_confirming(runner: Runner, best: Changes) -> int:
    """How many trials still fit: those of the search and, once those are over, the finals."""
    plans, free_s = runner.plans, max(0.0, runner.free_s(best))
    final_s = runner.takes_s(plans.final)
    if runner.trials[-1].phase is Phase.FINAL:
        return int(free_s / final_s)
    searching_s = max(0.0, free_s - plans.finals * final_s)
    return int(searching_s / runner.takes_s(plans.search)) + plans.finals
