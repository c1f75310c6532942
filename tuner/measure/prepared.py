"""What a trial measures: a profile fitted to a lab, and what should come of its messages."""

from __future__ import annotations

import time
from dataclasses import dataclass

from tuner.lab.bind import Bound
from tuner.lab.copy import LabCopy, copied
from tuner.lab.lab import Lab, Learnt
from tuner.measure.learning import learnt
from tuner.profile.model import Profile
from tuner.space.knob import Knob
from tuner.space.knobs import knobs


@dataclass(frozen=True)
class PreparedTrial:
    """What a trial runs in a lab, under a `name` of its own: a profile, `bound` to that since
    `since_s`, the `copy` of its configuration, and what was `learnt` about its messages; `knobs`
    are those that can be turned there."""

    lab: Lab
    name: str
    bound: Bound
    copy: LabCopy
    learnt: Learnt
    knobs: tuple[Knob, ...]
    since_s: float

    @property
    def profile(self) -> Profile:
        """The profile, as bound."""
        return self.bound.profile

    @property
    def prefix(self) -> str:
        """What the names of the indices begin with that it writes to."""
        return self.copy.site.index_prefix


def prepare(lab: Lab, profile: Profile, name: str) -> PreparedTrial:
    """What a trial of `profile` runs, under a name that is unique in the run.  Raises Refused for
    what a lab cannot measure, and JobFailed where nothing is learnt of its messages."""
    since_s = time.monotonic()
    bound = lab.bind(profile, name)
    return PreparedTrial(
        lab=lab,
        name=name,
        bound=bound,
        copy=copied(bound.text, bound.site, numbers=lab.engine.tells_apart(profile)),
        learnt=learnt(lab, profile, bound.text.written),
        knobs=lab.engine.turns(knobs(bound.profile)),
        since_s=since_s,
    )
