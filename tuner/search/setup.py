"""What a search needs of the world."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.search.budget import Pace
from tuner.search.farm import Event, Farm
from tuner.search.space import Space, Strategy
from tuner.search.study import Asked, Changes, Header, Record
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
        return tuple(change for change in changes if change[0] in restarting)

    def restarts_for(self, changes: Changes) -> bool:
        """Whether the engine must restart between the profile as written and another point."""
        return bool(self.node_part(changes))


@dataclass(frozen=True)
class Setup:
    """How a search begins, or goes on with its `record`: `farm` measures the profiles of its
    candidates, and `strategy` is made of the space and the noise of one trial.

    `used_s` says how many seconds of the budget are used, `pace` what its lab takes of them.
    `begins` hears of each trial before it runs, and `ended` of what became of it.
    """

    record: Record
    candidates: Candidates
    farm: Farm
    strategy: Callable[[Space, float], Strategy]
    rng: random.Random
    used_s: Callable[[], float]
    pace: Pace
    begins: Callable[[Asked], None] = lambda _: None
    ended: Callable[[Event], None] = lambda _: None

    @property
    def header(self) -> Header:
        """What was asked for."""
        return self.record.study.header
