"""How many trials a search will make, for those who wait for it."""

from __future__ import annotations

from collections import Counter

from tuner.search.budget import SHRINK_TRIALS
from tuner.search.runner import Runner
from tuner.search.study import BASELINE, Changes, Phase
from tuner.search.verdict import MOST_PAIRS


def trials_expected(runner: Runner, best: Changes) -> int:
    """About the number of the last trial, if `best` is what will be confirmed."""
    last, highest = runner.trials[-1], max(trial.number for trial in runner.trials)
    confirming = runner.of(Phase.CONFIRM)
    if confirming:
        winners = [trial.changes for trial in confirming if trial.changes != BASELINE]
        winner = winners[-1] if winners else best
        at_once = len(runner.pairing(winner))
        more = at_once * int(max(0.0, runner.left_s()) / runner.pair_s(confirming[-1].plan, winner))
        runs = Counter(trial.pair or 0 for trial in confirming)
        begun = len({trial.pair for trial in confirming if trial.changes == winner})
        pairs_left = min(MOST_PAIRS - begun, max(runner.fewest_pairs(winner) - begun, more))
        halves = sum(count % 2 for count in runs.values())
        return highest + halves + 2 * pairs_left
    checks = 2 if runner.plans.checks_s and last.phase is not Phase.CHECK else 0
    before = 0 if last.phase is Phase.CHECK else _before_checks(runner, best)
    return highest + before + checks + 2 * runner.planned_pairs(best)


def _before_checks(runner: Runner, best: Changes) -> int:
    """How many trials still fit: those of the search, the finals, and those that try a smaller
    change."""
    plans, free_s, phase = runner.plans, max(0.0, runner.free_s(best)), runner.trials[-1].phase
    machines, shrinking = len(runner.machines), SHRINK_TRIALS * runner.rounds_left()
    if phase is Phase.SHRINK:
        return shrinking
    final_s = runner.takes_s(plans.final)
    if phase is Phase.FINAL:
        return machines * int(free_s / final_s) + shrinking
    searching_s = max(0.0, free_s - plans.finals * final_s / machines)
    searching = machines * int(searching_s / runner.takes_s(plans.search))
    return searching + plans.finals + shrinking
