"""The fresh pairs that a claim rests on, and what they compare; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from tuner.measure.machines import compare_across
from tuner.measure.measurement import Measurement
from tuner.measure.metrics import restarts, speeds
from tuner.measure.paired import Comparison, least
from tuner.search.calibration import over_baseline
from tuner.search.study import BASELINE, RECIPE, Changes, Phase, Trial

Pair = tuple[Measurement, Measurement]


def candidate_of(trials: Sequence[Trial]) -> Changes | None:
    """The point that the pairs of the confirmation are of, None before the first: the last one,
    where others had to give way to it."""
    sides = [one.changes for one in trials if one.phase is Phase.CONFIRM]
    return next((changes for changes in reversed(sides) if changes != BASELINE), None)


def pairs_of(trials: Sequence[Trial]) -> tuple[Pair, ...]:
    """The complete pairs of the point that was confirmed last, baseline first: with the profile as
    written or, where that lost events before they were enough, with its repairs.

    Two runs on two machines, or that another session lies between, are no neighbours, and no pair.
    """
    return tuple(pair for pair, _ in confirming(trials))


def machines_of(trials: Sequence[Trial]) -> tuple[str, ...]:
    """The machine of each of those pairs."""
    return tuple(after.machine for _, (_, after) in confirming(trials))


def gains_of(trials: Sequence[Trial]) -> dict[str, list[float]]:
    """The gains of the pairs on each machine, as logarithms."""
    logs: dict[str, list[float]] = {}
    for (before, after), (_, trial) in confirming(trials):
        logs.setdefault(trial.machine, []).append(math.log(after.eps_paid / before.eps_paid))
    return logs


def recipe_of(trials: Sequence[Trial], winner: Changes) -> Trial | None:
    """The run of the best recipe, where a winner goes beyond it; None where it is that one, or some
    of its changes."""
    tried = [one for one in trials if one.phase is Phase.SEARCH and one.why.startswith(RECIPE)]
    best, _ = max(over_baseline(tried, trials), key=lambda one: one[1], default=(None, 0.0))
    return None if best is None or {*winner} <= {*best.changes} else best


def recipe_pairs_of(trials: Sequence[Trial]) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """The complete pairs of the point that was confirmed last with the recipe that it goes beyond,
    the recipe first, and the machine of each."""
    winner = candidate_of(trials)
    runs = [one for one in trials if one.phase is Phase.RECIPE]
    recipe = next((one.changes for one in reversed(runs) if one.changes != winner), None)
    found = list(_neighbours(runs, recipe, winner))
    return tuple(pair for pair, _ in found), tuple(after.machine for _, (_, after) in found)


def confirming(trials: Sequence[Trial]) -> list[tuple[Pair, tuple[Trial, Trial]]]:
    """Those of `pairs_of`, each with the trials that it is of."""
    runs = [one for one in trials if one.phase is Phase.CONFIRM]
    every = list(_neighbours(runs, BASELINE, candidate_of(trials)))
    written = [one for one in every if not one[1][0].repaired]
    if not any(one.repaired for one in runs) or are_enough([pair for pair, _ in written]):
        return written
    return [one for one in every if one[1][0].repaired]


def are_enough(pairs: Sequence[Pair]) -> bool:
    """Whether pairs can show anything."""
    found = compared(pairs, lambda run: run.eps)
    return found is not None and found.enough


def is_repaired(trials: Sequence[Trial]) -> bool:
    """Whether the baseline is the profile with its repairs, as it lost events as written: by the
    pairs, where there are any."""
    paired = [before for _, (before, _) in confirming(trials)]
    return any(one.repaired for one in paired or trials)


def _neighbours(
    runs: Sequence[Trial], before: Changes | None, after: Changes | None
) -> Iterator[tuple[Pair, tuple[Trial, Trial]]]:
    """The complete pairs of two points, each with the trials that it is of."""
    for first, second in pairwise(sorted(runs, key=lambda one: (one.pair or 0, one.machine))):
        a, b = first.measurement, second.measurement
        together = (first.pair, first.machine) == (second.pair, second.machine)
        adjacent = together and first.ended_s == second.at_s
        both = {first.changes, second.changes} == {before, after}
        if adjacent and both and a is not None and b is not None:
            is_first = first.changes == before
            yield ((a, b), (first, second)) if is_first else ((b, a), (second, first))


def lesser_gain(pairs: Sequence[Pair], machines: Sequence[str]) -> Comparison | None:
    """The gain that is claimed of pairs: the smaller one of the rates over the windows and of those
    with the work put off paid for; None with less than two."""
    of_rates = (lambda run: run.eps, lambda run: run.eps_paid)
    found = [one for one in (compared(pairs, of, machines) for of in of_rates) if one is not None]
    return least(found) if found else None


def compared(
    pairs: Sequence[Pair],
    of: Callable[[Measurement], float | None],
    machines: Sequence[str] = (),
    *,
    by_speed: bool = True,
) -> Comparison | None:
    """The second side of the pairs over the first by one figure, adjusted `by_speed` where the runs
    have a probe beside them, and across `machines` where several measured them; None with less than
    two pairs, or where a run does not show the figure: CPU is counted in ticks of 10 ms, so that a
    short run can show none, and our sink has nothing on disk."""
    before, after = [a for a, _ in pairs], [b for _, b in pairs]
    first, second = ([one for one in map(of, side) if one] for side in (before, after))
    if len(pairs) < 2 or not len(first) == len(second) == len(pairs):
        return None
    of_machine = speeds(before, after) if by_speed else None
    return compare_across(first, second, machines, restarts(before, after), of_machine)
