"""Where a search measures: what its lab is, and how a trial is measured in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tuner.engine.owned import Owner, remove
from tuner.flood.schedule import fixed
from tuner.host.usage import cpu_model, describe_machine
from tuner.lab.lab import Lab
from tuner.measure.measurement import TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.survival import Survivor
from tuner.measure.trial import Tell, run_trial
from tuner.profile.model import Profile
from tuner.render.fingerprint import fingerprint
from tuner.search.budget import Pace
from tuner.search.farm import Farm, FarmOfOne
from tuner.search.study import Asked, Axis, Fingerprint, LabFacts
from tuner.space.knobs import knobs

Telling = Callable[[Asked, str], None]
"""Hears of the stages of a trial."""

MeasureTrial = Callable[[Asked, Profile, Tell], Result]
"""Measures a profile as was asked for, and tells of its stages."""


@dataclass(frozen=True)
class SearchPlace:
    """Where a search measures: what its labs are, the run that owns what it creates there, and its
    machines; `forget` removes what an earlier run has left in an engine that outlived it."""

    facts: LabFacts
    run_id: str
    farm: Callable[[Telling], Farm]
    forget: Callable[[str], None]


def place_of(lab: Lab, profile: Profile, allow: Sequence[str], pace: Pace) -> SearchPlace:
    """A lab on this machine."""
    measure = measuring_in(lab, profile, pace)

    def farm(telling: Telling) -> Farm:
        return FarmOfOne(lambda asked, wanted: measure(asked, wanted, partial(telling, asked)))

    def forget(run_id: str) -> None:
        owner = Owner(run_id)
        remove(lab.client, owner, owner.prefix)

    return SearchPlace(facts_of(lab, profile, allow), lab.owner.run_id, farm, forget)


def facts_of(lab: Lab, profile: Profile, allow: Sequence[str]) -> LabFacts:
    """What a lab is for a search of `profile`, with the settings that it may also weaken."""
    facts = lab.engine.facts
    nodes = f"{facts.data_nodes} data nodes, {facts.processors} processors"
    return LabFacts(
        engine=lab.engine.name,
        machine=describe_machine(),
        substitutions=tuple(str(one) for one in lab.bind(profile, "trial").substitutions),
        turned=tuple(Axis.of(one) for one in lab.engine.turns(knobs(profile, allow))),
        fingerprint=Fingerprint(
            rsyslog=lab.rsyslog,
            engine=f"{lab.engine.name}, {nodes}",
            hardware=f"{cpu_model()}, {describe_machine()}",
            workload=fingerprint(profile.workload.model_dump(mode="json", by_alias=True)),
            heap=lab.engine.heap or "",
        ),
    )


def measuring_in(lab: Lab, written: Profile, pace: Pace) -> MeasureTrial:
    """How a trial is measured in `lab`; an engine that had to be restarted gets warm first, with
    the profile as `written`."""
    survivor = Survivor(lab, written, TrialPlan(pace.warm_up_s, pace.engine_warm_up_s))

    def measure(asked: Asked, profile: Profile, tell: Tell) -> Result:
        def run(name: str, tell: Tell) -> Result:
            if asked.per_second is None:
                return run_trial(lab, profile, asked.plan, name, tell)
            lead_s, whole_s = asked.plan.warm_up_s, asked.plan.warm_up_s + asked.plan.window_s
            pacing = Pacing(fixed(asked.per_second), whole_s, lead_s, whole_s)
            return run_paced(lab, profile, pacing, name, tell)

        return survivor.measured(profile, run, f"t{asked.number + 1}", tell)

    return measure
