"""The place where a command measures: a lab on this machine, or those of the cluster; what they
are, and how a trial is measured in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tuner.cli.console import Voice
from tuner.cli.options import EngineChoice
from tuner.cli.site import Wanted, open_lab, prepare, require_runnable, tell_of_others
from tuner.engine.owned import Owner, remove
from tuner.flood.schedule import fixed
from tuner.host.programs import chosen_rsyslogd
from tuner.host.usage import cores, cpu_model, describe_machine
from tuner.lab.lab import Lab
from tuner.measure.ceiling import Ceiling, CeilingPlan, ceiling
from tuner.measure.measurement import TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.sustain import overload_plan
from tuner.measure.trial import Survivor, Tell, run_trial
from tuner.profile.model import Profile
from tuner.render.fingerprint import fingerprint
from tuner.search.budget import NODE_PACE, SINK_PACE, Pace
from tuner.search.farm import Farm, FarmOfOne, MeasuringPlace, Telling
from tuner.search.study import Asked, Axis, Fingerprint, LabFacts
from tuner.space.knobs import knobs

MeasureTrial = Callable[[Asked, Profile, Tell], Result]
"""Measures a profile as was asked for, and tells of its stages."""


@contextmanager
def open_place(
    wanted: Wanted,
    profiles: Sequence[Profile],
    parent: Path,
    voice: Voice,
    allow: Sequence[str] = (),
) -> Iterator[MeasuringPlace]:
    """The place for these profiles, gone afterwards: the engine is that of the first, of which a
    search may also turn what it is allowed to weaken; a lab here has its files below `parent`."""
    if wanted.on_cluster:
        require_runnable(wanted, profiles)
        # Needs more than a lab here.
        from tuner.cli.cluster_labs import labs_of_cluster

        with labs_of_cluster(wanted, profiles, allow, voice) as place:
            yield place
        return
    downloads_s = prepare(wanted, profiles, voice.say)
    tell_of_others(voice.say)
    with ExitStack() as stack:
        with voice.working("starting the lab"):
            lab = stack.enter_context(open_lab(wanted, profiles[0], parent, voice.say))
        yield place_of(lab, profiles, allow, pace_of(wanted.engine), downloads_s)


def pace_of(engine: EngineChoice) -> Pace:
    """What a kind of lab needs in seconds."""
    return SINK_PACE if engine is EngineChoice.SINK else NODE_PACE


def place_of(
    lab: Lab, profiles: Sequence[Profile], allow: Sequence[str], pace: Pace, downloads_s: float
) -> MeasuringPlace:
    """A lab on this machine."""
    measure = measuring_in(lab, profiles[0], pace)

    def farm(telling: Telling) -> Farm:
        return FarmOfOne(lambda asked, wanted: measure(asked, wanted, partial(telling, asked)))

    def forget(run_id: str) -> None:
        owner = Owner(run_id)
        remove(lab.client, owner, owner.prefix)

    return MeasuringPlace(
        facts_of(lab, profiles, allow),
        lab.owner.run_id,
        farm,
        forget,
        lambda _, profile, tell: ceiling_in(lab, profile, pace, tell),
        downloads_s,
    )


def facts_of(lab: Lab, profiles: Sequence[Profile], allow: Sequence[str]) -> LabFacts:
    """What a lab is for these profiles, with the settings of the first that a search may turn,
    also those that weaken what is allowed to be."""
    first, *beside = (
        tuple(str(one) for one in lab.bind(profile, "trial").substitutions) for profile in profiles
    )
    facts = lab.engine.facts
    nodes = f"{facts.data_nodes} data nodes, {facts.processors} processors"
    base = profiles[0].base
    workload = profiles[0].workload.model_dump(mode="json", by_alias=True)
    chosen = chosen_rsyslogd()
    return LabFacts(
        engine=lab.engine.name,
        machine=describe_machine(),
        substitutions=first,
        turned=tuple(Axis.of(one) for one in lab.engine.turns(knobs(profiles[0], allow))),
        fingerprint=Fingerprint(
            rsyslog=lab.rsyslog if chosen is None else f"{lab.rsyslog} ({chosen})",
            engine=f"{lab.engine.name}, {nodes}",
            hardware=f"{cpu_model()}, {describe_machine()}",
            workload=fingerprint(workload if base is None else [workload, base.kept.written.text]),
            heap=lab.engine.heap or "",
        ),
        beside=tuple(beside),
        restarts=lab.engine.restarts,
        fixes_node=lab.engine.fixes_node,
        cores=cores() if lab.is_here else None,
    )


def measuring_in(lab: Lab, written: Profile, pace: Pace) -> MeasureTrial:
    """How a trial is measured in `lab`; an engine that had to be restarted gets warm first, with
    the profile as `written`."""
    survivor = Survivor(lab, written, TrialPlan(pace.warm_up_s, pace.engine_warm_up_s))

    def measure(asked: Asked, profile: Profile, tell: Tell) -> Result:
        def run(name: str, tell: Tell) -> Result:
            if asked.per_second is None:
                return run_trial(lab, profile, asked.plan, name, tell)
            return run_paced(lab, profile, _pacing(asked.plan, asked.per_second), name, tell)

        return survivor.measured(profile, run, f"t{asked.number + 1}", tell)

    return measure


def ceiling_in(lab: Lab, profile: Profile, pace: Pace, tell: Tell) -> Ceiling:
    """What the engine of `lab` carries of the documents of `profile` without rsyslog, once it is
    warm."""
    restarted = lab.engine.run_with(profile) > 0
    warm_up_s = pace.engine_warm_up_s if restarted else 0.0
    return ceiling(lab, profile, tell, CeilingPlan(engine_warm_up_s=warm_up_s))


def _pacing(plan: TrialPlan, per_second: float) -> Pacing:
    if plan.overloads:
        return overload_plan(per_second, plan.window_s).pacing
    whole_s = plan.warm_up_s + plan.window_s
    return Pacing(fixed(per_second), whole_s, plan.warm_up_s, whole_s)
