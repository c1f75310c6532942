"""Where a command measures: in a lab on this machine, by its options, or in the labs of the
cluster; opens them and collects their facts."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from tuner.cli.console import Verbosity, working
from tuner.cli.options import EngineChoice
from tuner.cli.profiles import templates_of
from tuner.cli.usage.measuring import Exporting, SweepArguments
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.engine.owned import Owner, remove
from tuner.engines.versions import distribution_for
from tuner.errors import BadUsage, Refused, TuneError
from tuner.flood.workload import remarks_on, require_traffic
from tuner.host.allow import require_allowed
from tuner.host.lock import measuring
from tuner.host.process import UNPRIVILEGED, daemons_can_read
from tuner.host.programs import CHOSEN_RSYSLOGD, chosen_rsyslogd, rsyslog_version
from tuner.host.usage import busy_share, cores, cpu_model, describe_machine
from tuner.lab import standing
from tuner.lab.bind import require_bindable
from tuner.lab.check import require_bases_taken, require_omelasticsearch
from tuner.lab.distribution import provide
from tuner.lab.lab import Lab, attached_lab, new_run_id, node_lab, remove_leftovers, sink_lab
from tuner.lab.scratch import remove_abandoned, scratch
from tuner.measure.learning import learnt
from tuner.measure.measurement import DISTURBED, TrialPlan
from tuner.measure.place import LabTrials
from tuner.measure.trial import Tell
from tuner.profile.model import Profile
from tuner.render.artefacts import render
from tuner.render.templates import Templates, fingerprint
from tuner.search.budget import NODE_PACE, SINK_PACE, Pace
from tuner.search.farm import Farm, FarmOfOne, MeasuringPlace, Telling
from tuner.search.study import Axis, Fingerprint, LabFacts, Shares
from tuner.space.knobs import knobs


@dataclass(frozen=True)
class LabSpec:
    """The lab that the options choose: with which engine, or the URL of an existing one; with which
    templates, None for the shipped ones; on this machine, or on the running cluster."""

    engine: EngineChoice
    url: str | None
    templates: Templates | None = None
    on_cluster: bool = False

    @property
    def starts_node(self) -> bool:
        """Whether the lab has an engine of its own."""
        return self.url is None and self.engine is EngineChoice.NODE


def lab_spec(
    options: Exporting | SweepArguments, by_default: EngineChoice = EngineChoice.NODE
) -> LabSpec:
    """The lab that the options of a command choose."""
    engine, site = options.engine or by_default, templates_of(options.templates)
    return LabSpec(engine, options.elasticsearch, site, on_cluster=options.cluster)


def require_runnable(spec: LabSpec, profiles: Sequence[Profile], rsyslog: str = "") -> None:
    """Raise BadUsage or Refused for options and profiles that a lab cannot measure.  Without the
    version `rsyslog`, the release of each profile is assumed."""
    if spec.on_cluster and chosen_rsyslogd() is not None:
        raise BadUsage(
            f"--rsyslogd and {CHOSEN_RSYSLOGD} choose the rsyslogd of this machine: leave them out "
            "with --cluster, whose machines run their own"
        )
    if spec.url is not None:
        if spec.engine is EngineChoice.SINK:
            raise BadUsage("--engine sink and --elasticsearch cannot be combined")
        # On a cluster the collector checks its own allow list, and logs in.
        if not spec.on_cluster:
            require_allowed(spec.url)
    for profile in profiles:
        _require_measurable(spec, profile, rsyslog)
    if spec.starts_node:
        distribution_for(profiles[0].release)


def _require_measurable(spec: LabSpec, profile: Profile, rsyslog: str) -> None:
    require_bindable(profile, rsyslog or profile.release.rsyslog)
    if not spec.on_cluster:
        require_traffic(profile)
        if spec.url is not None:
            _require_login(spec.url, profile)
    if spec.templates is not None:
        render(profile, spec.templates)


def prepare(spec: LabSpec, profiles: Sequence[Profile], tell: Tell) -> float:
    """Check all requirements before anything starts, and download the engine of the first profile
    if it is needed.

    Returns the seconds of the download, which do not count against the budget.
    """
    require_omelasticsearch()
    require_runnable(spec, profiles, rsyslog_version())
    require_bases_taken(profiles)
    for remark in dict.fromkeys(chain.from_iterable(map(remarks_on, profiles))):
        tell(remark)
    if not spec.starts_node:
        return 0.0
    return provide(distribution_for(profiles[0].release), tell)


def warn_of_other_load(tell: Tell) -> None:
    """Warn if other processes keep this machine busy; call it before starting our own."""
    used = busy_share()
    if used >= DISTURBED:
        tell(
            f"other processes use {used:.0%} of the CPU; results will be noisy: stop them, or "
            "measure elsewhere"
        )


def _require_login(url: str, profile: Profile) -> None:
    """Raise Refused for an API key, or if rsyslogd cannot read the files that it logs in with.

    As root we start rsyslogd as an unprivileged user; a copy for it could be read by every process
    of that user.
    """
    if profile.measured.apikey is not None:
        raise Refused(
            f"outputs[{profile.measured.name}].apikey: measurements log in to {url} with a name "
            "and a password: use auth in the profile that you measure with"
        )
    files = [secret.file for secret in profile.secrets]
    for tls in (output.tls for output in profile.indexed if output.tls is not None):
        files += [tls.cacert, tls.mycert, tls.myprivkey]
    for path in files:
        if path is not None and Path(path).exists() and not daemons_can_read(path):
            raise Refused(
                f"{path} is needed to log in, and rsyslogd, which runs as {UNPRIVILEGED} when you "
                "are root, cannot read it: run this without root as a user who can, or give "
                f"{UNPRIVILEGED} access to it (setfacl -m u:{UNPRIVILEGED}:r {path})"
            )


@contextmanager
def prepared_lab(spec: LabSpec, profile: Profile, tell: Tell) -> Iterator[Lab]:
    """A lab for `profile` with temporary files, after checking its requirements."""
    prepare(spec, [profile], tell)
    with open_lab(spec, profile, Path(tempfile.gettempdir()), tell) as lab:
        yield lab


@contextmanager
def open_lab(spec: LabSpec, profile: Profile, parent: Path, tell: Tell) -> Iterator[Lab]:
    """A lab for `profile`, the only one on this machine, with its files below `parent`; removed
    afterwards.

    Leftovers of killed runs are removed first.
    """
    with measuring("rsyslog-tune"):
        for abandoned in remove_abandoned():
            tell(f"removed {abandoned}, left by a killed run")
        sockets = any(part.transport == "unix" for part in profile.flooded)
        with (
            scratch(parent, holds_sockets=sockets) as folder,
            _lab(spec, profile, folder, tell) as lab,
        ):
            yield replace(lab, templates=spec.templates)


def _lab(spec: LabSpec, profile: Profile, folder: Path, tell: Tell) -> AbstractContextManager[Lab]:
    run_id = new_run_id()
    if spec.url is not None:
        return _attached(client_for(spec.url, profile), folder, run_id, None, tell)
    if spec.engine is EngineChoice.SINK:
        return sink_lab(folder, run_id)
    distribution = distribution_for(profile.release)
    lab = standing.usable(distribution.version, profile.lab.nodes)
    if lab is not None:
        require_allowed(lab.url)
        tell(f"using the running lab at {lab.url}")
        client = EngineClient(lab.url, other_urls=lab.others)
        return _attached(client, folder, run_id, lab.heap, tell)
    tell(f"starting {distribution.engine.value} {distribution.version}")
    return node_lab(profile, folder, run_id)


def _attached(
    client: EngineClient, folder: Path, run_id: str, heap: str | None, tell: Tell
) -> AbstractContextManager[Lab]:
    """A lab on a running engine, from which leftovers of killed runs are removed first."""
    for line in remove_leftovers(client):
        tell(line)
    return attached_lab(client, folder, run_id, heap)


@contextmanager
def open_place(
    spec: LabSpec,
    profiles: Sequence[Profile],
    parent: Path | None,
    verbosity: Verbosity,
    allow: Sequence[str] = (),
) -> Iterator[MeasuringPlace]:
    """The place to measure these profiles, with the engine of the first one; removed afterwards.

    `allow` names the guarantees that a search may weaken.  The files of a lab on this machine are
    below `parent`, or temporary ones.
    """
    if spec.on_cluster:
        require_runnable(spec, profiles)
        # Imported here, as only a cluster needs Dask.
        from tuner.cli.cluster_lab import labs_of_cluster

        with labs_of_cluster(spec, profiles, allow, verbosity) as place:
            yield place
        return
    downloads_s = prepare(spec, profiles, verbosity.say)
    warn_of_other_load(verbosity.say)
    with ExitStack() as stack:
        with verbosity.working("starting the lab"):
            folder = parent or Path(tempfile.gettempdir())
            lab = stack.enter_context(open_lab(spec, profiles[0], folder, verbosity.say))
        trials = trials_in(lab, profiles[0], pace_of(spec.engine))

        def farm(telling: Telling) -> Farm:
            return FarmOfOne(
                lambda asked, profile: trials.trial(
                    profile, asked.plan, asked.per_second, asked.name, partial(telling, asked)
                )
            )

        def forget(run_id: str) -> None:
            owner = Owner(run_id)
            remove(lab.client, owner, owner.prefix)

        yield MeasuringPlace(
            facts_of(lab, profiles, allow),
            lab.owner.run_id,
            farm,
            forget,
            lambda _, profile, tell: trials.ceiling(profile, tell),
            downloads_s,
        )


def learnt_shares(profile: Profile) -> Shares:
    """The documents per event of each output, measured in a lab with a sink if there are several
    outputs; none on failure, which the search itself reports later."""
    if len(profile.indexed) < 2:
        return ()
    sink = LabSpec(EngineChoice.SINK, None)
    with (
        suppress(TuneError),
        working("learning which messages take which way"),
        open_place(sink, [profile], None, Verbosity.QUIET) as place,
    ):
        return place.facts.shares
    return ()


def pace_of(engine: EngineChoice) -> Pace:
    """The durations that a lab with this kind of engine needs."""
    return SINK_PACE if engine is EngineChoice.SINK else NODE_PACE


def trials_in(lab: Lab, written: Profile, pace: Pace) -> LabTrials:
    """The trials of a lab, with the warm-up times of `pace`."""
    return LabTrials(lab, written, TrialPlan(pace.warm_up_s, pace.engine_warm_up_s))


def facts_of(lab: Lab, profiles: Sequence[Profile], allow: Sequence[str]) -> LabFacts:
    """The facts of a lab for these profiles, with the settings of the first that a search may vary,
    including those that weaken a guarantee in `allow`."""
    first, *beside = (
        tuple(map(str, lab.bind(profile, "trial").substitutions)) for profile in profiles
    )
    facts = lab.engine.facts
    nodes = f"{facts.data_nodes} data nodes, {facts.processors} processors"
    base = profiles[0].base
    workload = profiles[0].workload.model_dump(mode="json", by_alias=True)
    chosen = chosen_rsyslogd()
    expected = [learnt(lab, profile) for profile in profiles]
    untested = dict.fromkeys(line for learning in expected for line in learning.untested)
    shares = expected[0].shares
    turned = knobs(profiles[0].tuning_by(shares), allow, shares)
    return LabFacts(
        engine=lab.engine.name,
        machine=describe_machine(),
        substitutions=first,
        turned=tuple(map(Axis.of, lab.engine.turns(turned))),
        fingerprint=Fingerprint(
            rsyslog=lab.rsyslog if chosen is None else f"{lab.rsyslog} ({chosen})",
            engine=f"{lab.engine.name}, {nodes}",
            hardware=f"{cpu_model()}, {describe_machine()}",
            workload=fingerprint(workload if base is None else [workload, base.kept.text]),
            heap=lab.engine.heap or "",
        ),
        beside=tuple(beside),
        untested=tuple(untested),
        shares=tuple(shares.items()),
        restarts=lab.engine.restarts,
        fixes_node=lab.engine.fixes_node,
        cores=cores() if lab.is_here else None,
    )
