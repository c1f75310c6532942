"""To the smallest change that keeps the gain: undo what seems to matter least, and look; pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tuner.measure.measurement import Measurement
from tuner.measure.paired import Comparison
from tuner.search.budget import SHRINK_PAIRS
from tuner.search.pairs import compared
from tuner.search.study import Changes, Phase, Trial

TOLERATED = 0.01
"""What a shorter list of changes may cost as measured, as a fraction."""
RULED_OUT = 0.05
"""What its 95 % interval must rule out: a test of non-inferiority.  Without it, by simulation, one
search in six lost more than 2 % where runs differ by 5 %, and one in three at 20 %."""


@dataclass(frozen=True)
class Attempt:
    """A shorter change against the one it was made of: kept when it costs at most 1 %, and is shown
    to cost less than 5 %."""

    before: Changes
    after: Changes
    comparison: Comparison

    @property
    def undone(self) -> tuple[str, ...]:
        """The paths that went back to what the profile says."""
        return tuple(path for path, _ in self.before if path not in dict(self.after))

    @property
    def kept(self) -> bool:
        """Whether the shorter change takes the place of the longer one."""
        cost = self.comparison
        return cost.ratio >= 1.0 - TOLERATED and cost.low >= 1.0 - RULED_OUT


def pairs_of_next_round(trials: Sequence[Trial]) -> range:
    """The numbers of the pairs of another round."""
    numbers = [trial.pair or 0 for trial in trials if trial.phase is Phase.SHRINK]
    rounds = math.ceil(max(numbers, default=0) / SHRINK_PAIRS)
    return range(rounds * SHRINK_PAIRS + 1, (rounds + 1) * SHRINK_PAIRS + 1)


def attempts_of(trials: Sequence[Trial]) -> tuple[Attempt, ...]:
    """What was tried to make changes smaller, from complete rounds of pairs, in order."""
    rounds: dict[int, list[Trial]] = {}
    for trial in trials:
        if trial.phase is Phase.SHRINK and trial.pair is not None:
            rounds.setdefault((trial.pair - 1) // SHRINK_PAIRS, []).append(trial)
    attempts = (_attempt(one) for one in rounds.values())
    return tuple(attempt for attempt in attempts if attempt is not None)


def attempts_from(winner: Changes, trials: Sequence[Trial]) -> tuple[Attempt, ...]:
    """Those that began with this winner, or with what earlier ones of them left of it."""
    chain: list[Attempt] = []
    for attempt in attempts_of(trials):
        if attempt.before == shrunk(winner, chain):
            chain.append(attempt)
    return tuple(chain)


def attempts_to(changes: Changes, trials: Sequence[Trial]) -> tuple[Attempt, ...]:
    """Those that left this point of what had been chosen; none where it was chosen itself."""
    chains = [attempts_from(one.before, trials) for one in attempts_of(trials)]
    leading = [chain for chain in chains if shrunk(chain[0].before, chain) == changes]
    return max(leading, key=len, default=())


def shrunk(winner: Changes, attempts: Sequence[Attempt]) -> Changes:
    """What is left of the winner's changes after these attempts."""
    for attempt in attempts:
        if attempt.kept:
            winner = attempt.after
    return winner


def shorter(
    changes: Changes,
    effects: dict[str, float],
    attempts: Sequence[Attempt],
    is_valid: Callable[[Changes], bool],
) -> Changes | None:
    """The next change to try: without the half that seems to matter least or, once that was too
    much, without half as many; None when there is nothing left to try.  Only what has an effect
    among `effects` is undone, as a logarithm by its path.

    Of what was too much, something may matter among what has not been undone since: all of that is
    not undone again."""
    left = {path for path, _ in changes if path in effects}
    if len(left) < 2:
        return None
    too_much = [left.intersection(one.undone) for one in attempts if not one.kept]
    matter = {path for paths in too_much if len(paths) == 1 for path in paths}
    ranked = sorted(left - matter, key=lambda path: (effects[path], path))
    count = len(ranked) // 2
    while count > 0:
        undone = set(ranked[:count])
        rest = tuple(one for one in changes if one[0] not in undone)
        if not any(paths and paths <= undone for paths in too_much) and is_valid(rest):
            return rest
        count //= 2
    return None


def _attempt(trials: Sequence[Trial]) -> Attempt | None:
    """One round: the longer change comes first in each pair's record by its length."""
    points = sorted({trial.changes for trial in trials}, key=len, reverse=True)
    if len(points) != 2:
        return None
    before, after = points
    sides: dict[int, dict[Changes, Measurement]] = {}
    for trial in trials:
        if trial.pair is not None and isinstance(trial.outcome, Measurement):
            sides.setdefault(trial.pair, {})[trial.changes] = trial.outcome
    pairs = [both for both in sides.values() if len(both) == 2]
    if len(pairs) < SHRINK_PAIRS:
        return None
    comparison = compared([(both[before], both[after]) for both in pairs], lambda run: run.eps_paid)
    return None if comparison is None else Attempt(before, after, comparison)
