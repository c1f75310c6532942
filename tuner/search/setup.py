"""What a search needs of the world."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from tuner.profile.model import Profile
from tuner.search.budget import Pace
from tuner.search.farm import Evaluator
from tuner.search.guardrails import Limits
from tuner.search.space import Space, Strategy
from tuner.search.study import Changes, Earlier, Trial
from tuner.space.knob import Knob


@dataclass(frozen=True)
class Setup:
    """How a search begins.

    `candidate` gives the profile of a point, `is_valid` says whether it may be proposed, and
    `evaluator` measures it as was asked for.  A recommendation keeps the `limits`;
    what `earlier` searches ended with is measured first.  `strategy` is made of the space and
    the noise of one trial.  `clock` gives the seconds since the
    command started.  With `shrinks` the winner is made smaller before it is confirmed.  Every point
    that is proposed contains the `repairs`, and so does the baseline once it lost events without.
    `prior` trials were measured before the search began anew: it learns from them, and measures
    none of their points for the first time.  Where the baseline noise is above `refuse_noise`, it
    ends.
    """

    knobs: tuple[Knob, ...]
    candidate: Callable[[Changes], Profile]
    is_valid: Callable[[Changes], bool]
    evaluator: Evaluator
    strategy: Callable[[Space, float], Strategy]
    clock: Callable[[], float]
    budget_s: float
    pace: Pace
    rng: random.Random
    limits: Limits
    earlier: tuple[Earlier, ...] = ()
    shrinks: bool = True
    repairs: Changes = ()
    prior: tuple[Trial, ...] = ()
    refuse_noise: float = math.inf
