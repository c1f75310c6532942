"""What a search needs of the world."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.search.budget import Pace
from tuner.search.farm import Event, Farm
from tuner.search.guardrails import Limits
from tuner.search.space import Space, Strategy
from tuner.search.study import Asked, Changes, Earlier, Trial
from tuner.space.knob import Cost, Knob


@dataclass(frozen=True)
class Setup:
    """How a search begins.

    `candidate` gives the profile of a point, `is_valid` says whether it may be proposed, and the
    `farm` measures it as was asked for; `begins` and `ended` hear of each trial.  A recommendation
    keeps the `limits`; what `earlier` searches ended with is measured first.  `strategy` is made of
    the space and the noise of one trial.  `clock` gives the seconds of the budget that are used.
    With `effects` the winner is taken apart before it is confirmed.  Every point that is proposed
    contains the `repairs`, and so does the baseline once it lost events without.  Where the
    baseline noise is above `refuse_noise`, it ends.

    `known` are the trials of the sessions before, `lost` the points of those that were lost with
    their machines; `deadly` points ended two sessions and are not measured again.
    """

    knobs: tuple[Knob, ...]
    candidate: Callable[[Changes], Profile]
    is_valid: Callable[[Changes], bool]
    farm: Farm
    strategy: Callable[[Space, float], Strategy]
    clock: Callable[[], float]
    budget_s: float
    pace: Pace
    rng: random.Random
    limits: Limits
    earlier: tuple[Earlier, ...] = ()
    effects: bool = True
    repairs: Changes = ()
    refuse_noise: float = math.inf
    begins: Callable[[Asked], None] = lambda _: None
    ended: Callable[[Event], None] = lambda _: None
    known: tuple[Trial, ...] = ()
    lost: tuple[Changes, ...] = ()
    deadly: frozenset[Changes] = frozenset()

    def node_part(self, changes: Changes) -> Changes:
        """Those of the changes that the engine must restart for."""
        restarting = {knob.path for knob in self.knobs if knob.cost is Cost.NODE_RESTART}
        return tuple(one for one in changes if one[0] in restarting)

    def restarts_for(self, changes: Changes) -> bool:
        """Whether the engine must restart between the profile as written and another point."""
        return bool(self.node_part(changes))
