"""The climb: what a strategy proposes as changes of the profile, and what it learns of trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.measure.measurement import Measurement
from tuner.search.finalists import next_replication
from tuner.search.points import Knobs, preferred
from tuner.search.space import Observation, Strategy
from tuner.search.study import Changes, Trial


@dataclass
class Climb:
    """A strategy on the knobs of a profile; `sigma` is the noise of a whole trial's logarithm.

    What experts would try, `recipes` with why, is measured before the strategy is asked.

    It climbs on the rate from the first event sent to everything refreshed and flushed: the rate of
    a short window flatters settings that postpone work past it, and is the noisier of the two.
    """

    strategy: Strategy
    knobs: Knobs
    sigma: float
    recipes: list[tuple[Changes, str]]

    def ask(self) -> tuple[Changes, str] | None:
        """What to measure next and why; None when nothing is left."""
        if self.recipes:
            return self.recipes.pop(0)
        proposal = self.strategy.ask()
        return None if proposal is None else (self.knobs.changes(proposal.point), proposal.why)

    def tell(self, trial: Trial) -> None:
        """Learn what a trial showed; a window that was cut short counts for less."""
        point, outcome = self.knobs.point(trial.changes), trial.outcome
        if not isinstance(outcome, Measurement):
            self.strategy.tell(Observation(point, math.nan, self.sigma, trial.at_s, False))
            return
        share = min(1.0, outcome.window_s / trial.plan.window_s)
        error = self.sigma / math.sqrt(max(share, 0.1))
        value = math.log(outcome.eps_durable)
        self.strategy.tell(Observation(point, value, error, trial.at_s))

    def again(self, left: int) -> Changes | None:
        """Which good point to measure again with so many trials left; None when it is clear."""
        point = next_replication(self.strategy.beliefs(), self.sigma, left)
        return None if point is None else self.knobs.changes(point)

    def winner(self, trials: Sequence[Trial]) -> Changes | None:
        """What to confirm; None where nothing but the profile as written could be measured."""
        return preferred(self.strategy.beliefs(), self.knobs, trials)
