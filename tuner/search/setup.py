"""What a search needs of the world."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tuner.profile.model import Profile
from tuner.search.budget import Pace
from tuner.search.farm import Event, Farm
from tuner.search.guardrails import Limits
from tuner.search.space import Space, Strategy
from tuner.search.study import Asked, Changes, Earlier, Trial
from tuner.space.knob import Cost, Knob


@dataclass(frozen=True)
class Candidates:
    """The points that may be proposed: what they turn, the `profile` of each, whether it is valid,
    and the repairs that each contains, as the baseline does once it lost events without."""

    knobs: tuple[Knob, ...]
    profile: Callable[[Changes], Profile]
    is_valid: Callable[[Changes], bool]
    repairs: Changes = ()

    def node_part(self, changes: Changes) -> Changes:
        """Those of the changes that the engine must restart for."""
        restarting = {knob.path for knob in self.knobs if knob.cost is Cost.NODE_RESTART}
        return tuple(one for one in changes if one[0] in restarting)

    def restarts_for(self, changes: Changes) -> bool:
        """Whether the engine must restart between the profile as written and another point."""
        return bool(self.node_part(changes))


@dataclass(frozen=True)
class Budget:
    """The seconds of a search, those that are used, and what its lab takes of them."""

    seconds: float
    used_s: Callable[[], float]
    pace: Pace


@dataclass(frozen=True)
class Rules:
    """A recommendation keeps the `limits`; with `effects` the winner is taken apart before it is
    confirmed; where the baseline noise is above `refuse_noise`, the search ends."""

    limits: Limits
    effects: bool = True
    refuse_noise: float = math.inf


@dataclass(frozen=True)
class Past:
    """The trials of the sessions before, the points of those that were `lost` with their machines,
    and the `deadly` ones that ended two sessions, which are not measured again; and what earlier
    `searches` ended with, which is measured first."""

    trials: tuple[Trial, ...] = ()
    lost: tuple[Changes, ...] = ()
    deadly: frozenset[Changes] = frozenset()
    searches: tuple[Earlier, ...] = ()


@dataclass(frozen=True)
class TrialListener:
    """Hears of each trial before it runs, and of what became of it."""

    begins: Callable[[Asked], None] = lambda _: None
    ended: Callable[[Event], None] = lambda _: None


@dataclass(frozen=True)
class Setup:
    """How a search begins: `farm` measures the profiles of its candidates, and `strategy` is made
    of the space and the noise of one trial."""

    candidates: Candidates
    farm: Farm
    strategy: Callable[[Space, float], Strategy]
    rng: random.Random
    budget: Budget
    rules: Rules
    past: Past = field(default_factory=Past)
    listener: TrialListener = field(default_factory=TrialListener)
