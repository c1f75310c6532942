"""One session of a search in a lab: starts a search or resumes it from its journal, runs it until
it ends or is interrupted, and writes the results."""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from posixpath import abspath
from types import MappingProxyType

from tuner import __version__
from tuner.cli.console import Verbosity, say
from tuner.cli.files import MetricsFile, copy_snippets, write_results
from tuner.cli.options import EngineChoice
from tuner.cli.place import LabSpec, pace_of
from tuner.cli.search_screen import Progress, Running, Screen, screen
from tuner.errors import BadUsage, Interrupted, JobFailed, Refused, TuneError, of_the_system
from tuner.host.signals import ignore_signals
from tuner.lint.candidate import Checker, candidate
from tuner.lint.load import LoadedProfile, parse_profile, with_secrets
from tuner.lint.repairs import every_change, repairs
from tuner.profile.model import Profile
from tuner.profile.objective import Objective
from tuner.profile.sample import is_sample
from tuner.profile.schema import unknown_outputs
from tuner.reading import content
from tuner.report.metrics import of_intent, of_trials
from tuner.report.traffic import shares_of_actions
from tuner.schema.numerals import seconds
from tuner.script.secrets import recordable, recordable_profile
from tuner.search.budget import Pace, aside_s
from tuner.search.farm import AND, Candidates, MeasuringPlace, Setup
from tuner.search.journal import Began, Ended, Intent, Journal, journal, record_of, reopened
from tuner.search.notes import bought, in_lab, repairs_made
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.strategies.gaussian import Gaussian
from tuner.search.study import (
    SCHEMA,
    Asked,
    Axis,
    Changes,
    Earlier,
    Ending,
    Header,
    LabFacts,
    Limits,
    Options,
    Phase,
    Record,
    Session,
    Study,
    Trial,
)
from tuner.search.verdict import earlier_points, judge
from tuner.space.knob import Knob
from tuner.space.knobs import knobs, of_rsyslog, sooner, without_node
from tuner.writing import raw_of

# The last bit of their arithmetic can decide between similar points, so versions are recorded.
_LIBRARIES = ("numpy", "scipy")


@dataclass
class Stopwatch:
    """The used seconds of a budget, without downloads: those of earlier sessions, plus those since
    this command started at `started_s` of `time.monotonic`."""

    started_s: float
    before_s: float = 0.0
    downloads_s: float = 0.0

    def __call__(self) -> float:
        """The seconds used."""
        return self.before_s + time.monotonic() - self.started_s - self.downloads_s


@dataclass(frozen=True)
class Job:
    """A search to run: its profile, options, budget and run directory.

    `record` is the content of its journal, None for a new search.  `warm_starts` are earlier
    searches, with their run directories, whose best points are measured first.  With `on_cluster`
    it runs in the labs of the running cluster.
    """

    loaded: LoadedProfile
    directory: Path
    options: Options
    budget_s: float
    seed: int
    clock: Stopwatch
    record: Record | None = None
    warm_starts: tuple[tuple[str, Study], ...] = ()
    on_cluster: bool = False

    @property
    def spec(self) -> LabSpec:
        """The lab that the search runs in."""
        engine = EngineChoice(self.options.engine)
        return LabSpec(engine, self.options.url, on_cluster=self.on_cluster)

    @property
    def pace(self) -> Pace:
        """The durations that this lab needs."""
        return pace_of(EngineChoice(self.options.engine))

    def tuning_by(self, shares: Mapping[str, float]) -> Job:
        """The job, tuning only the outputs whose share of the documents is large enough."""
        profile = self.loaded.profile.tuning_by(shares)
        return replace(self, loaded=replace(self.loaded, profile=profile))

    def candidate(self, changes: Changes) -> Profile:
        """The profile with `changes`, parsed again from its text."""
        return candidate(self.loaded, changes).profile

    @property
    def repairs(self) -> Changes:
        """The repairs, which every candidate contains."""
        return every_change(repairs(self.loaded.profile)) if self.options.repairs else ()


def resumed_job(directory: Path, record: Record, clock: Stopwatch, *, on_cluster: bool) -> Job:
    """The job that continues a recorded search, and its used budget."""
    header = record.study.header
    clock.before_s = record.spent_s
    leaf = (header.profile_path, header.profile_text)
    (path, text), *layers = with_secrets((leaf, *header.profile_layers), recordable_profile)
    beside = header.profile_base and with_secrets(header.profile_base, recordable)
    loaded = parse_profile(text, path, layers, beside)
    return Job(
        loaded=replace(loaded, profile=tuning_outputs(loaded.profile, header.options.actions)),
        directory=directory,
        options=header.options,
        budget_s=header.budget_s,
        seed=header.seed,
        clock=clock,
        record=record,
        on_cluster=on_cluster,
    )


def tuning_outputs(profile: Profile, names: Sequence[str]) -> Profile:
    """The profile, set to tune only the outputs with these names, if any are given.  Raises
    BadUsage for a name that no output into the engine has."""
    unknown = unknown_outputs(profile, names)
    if unknown is not None:
        raise BadUsage(unknown)
    return profile.tuning(tuple(names)) if names else profile


def has_changed(begun_with: LoadedProfile) -> bool:
    """Whether the file of a profile, or its sample, has changed since.  A growing log does not
    count: the search keeps what it learnt from it.

    Raises Refused if a file of its base has changed, as the results would not fit it.
    """
    base = begun_with.profile.base
    sources = {} if base is None else base.kept.sources
    if changed := [path for path, text in sources.items() if _differs(Path(path), text)]:
        raise _refused([f"{path}, its base, has changed since" for path in changed])
    files = {begun_with.path: begun_with.text}
    learnt = begun_with.profile.workload.learnt
    with contextlib.suppress(OSError):
        if learnt is not None and is_sample(Path(learnt.path)):
            files[Path(learnt.path)] = learnt.text
    return any(_differs(path, text) for path, text in files.items() if str(path) not in sources)


def _differs(path: Path, text: str) -> bool:
    """Whether the content of a file differs from `text`; False if it cannot be read."""
    try:
        return content(path) != raw_of(text)
    except OSError:
        return False


def searchable(
    profile: Profile, options: Options, shares: Mapping[str, float] = MappingProxyType({})
) -> tuple[Knob, ...]:
    """The knobs of a search, as far as they are known before its lab is open; raises BadUsage if
    there are none."""
    turned = knobs(profile, options.allow, shares)
    if options.engine == EngineChoice.SINK.value:
        turned = of_rsyslog(turned)
    if options.objective is Objective.FRESHNESS:
        turned = sooner(turned)
    return _require_some(turned if options.url is None else without_node(turned))


def dimensions(job: Job, facts: LabFacts) -> tuple[Knob, ...]:
    """The knobs of a search in an open lab; raises BadUsage if there are none."""
    levels = {axis.path: axis.levels for axis in facts.turned}
    turned = (
        replace(knob, levels=levels[knob.path])
        for knob in knobs(job.loaded.profile, job.options.allow, dict(facts.shares))
        if knob.path in levels
    )
    return _require_some(tuple(turned))


def _require_some(turned: tuple[Knob, ...]) -> tuple[Knob, ...]:
    if not turned:
        raise BadUsage(
            "no settings are left to search here: see search in the profile (freeze, only, keep); "
            "settings of the node are searched only in an engine that the lab starts, and those of "
            "the engine not in the sink"
        )
    return turned


def header_of(job: Job, facts: LabFacts, turned: tuple[Knob, ...]) -> Header:
    """The first line of the journal: what to search, and where it runs."""
    profile = job.loaded.profile
    return Header(
        schema=SCHEMA,
        tool=f"rsyslog-tune {__version__}",
        started=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        command=shlex.join(["rsyslog-tune", *sys.argv[1:]]),
        profile_path=str(job.loaded.path.absolute()),
        profile_text=recordable_profile(job.loaded.text),
        budget_s=job.budget_s,
        seed=job.seed,
        engine=facts.engine,
        rsyslog=facts.fingerprint.rsyslog,
        machine=facts.machine,
        substitutions=facts.substitutions,
        profile_layers=tuple(
            (abspath(name), recordable_profile(text)) for name, text in job.loaded.layers
        ),
        profile_base=job.loaded.beside_without_secrets,
        earlier=_earlier(job, turned),
        libraries=tuple(f"{name} {version(name)}" for name in _LIBRARIES),
        untested=facts.untested,
        shares=facts.shares,
        limits=Limits.of(profile.guardrails),
        options=job.options,
        fingerprint=facts.fingerprint,
        space=tuple(map(Axis.of, turned)),
    )


def _earlier(job: Job, turned: tuple[Knob, ...]) -> tuple[Earlier, ...]:
    """The best points of the warm starts; a resumed search has them in its header."""
    if job.record is not None:
        return job.record.study.header.earlier
    return tuple(
        point for run, study in job.warm_starts for point in earlier_points(run, study, turned)
    )


def warm_start_notes(job: Job, header: Header) -> Iterator[str]:
    """One line for each warm start: the number of its points, and how its conditions differed."""
    for run, study in job.warm_starts:
        points = sum(point.run == run for point in header.earlier)
        text = f"{run} gives {points} points to begin with"
        elsewhere = study.header.fingerprint.differences(header.fingerprint)
        if elsewhere:
            text += f", measured under different conditions: {'; '.join(elsewhere)}"
        yield text


def require_same(before: Header, now: Header) -> None:
    """Raise Refused unless new measurements are comparable with the earlier ones.  A subset of the
    earlier machines is enough."""
    machines, earlier = (set(header.fingerprint.hardware.split(AND)) for header in (now, before))
    hardware = (before if machines <= earlier else now).fingerprint.hardware
    reasons = [*before.fingerprint.differences(replace(now.fingerprint, hardware=hardware))]
    if before.space != now.space:
        reasons.append("its settings or their levels have changed")
    if reasons:
        raise _refused(reasons)


def _refused(reasons: Sequence[str]) -> Refused:
    return Refused(f"the search cannot be resumed here: {'; '.join(reasons)}: start a new search")


@dataclass(frozen=True)
class SessionResult:
    """The study after a session, and the error that ended the session early, if any."""

    study: Study
    error: TuneError | Interrupted | None


def run_session(
    job: Job, place: MeasuringPlace, verbosity: Verbosity, metrics: MetricsFile
) -> SessionResult:
    """Run the search, and record each trial in the journal as it ends."""
    facts = place.facts
    job = job.tuning_by(dict(facts.shares))
    profile, turned = job.loaded.profile, dimensions(job, facts)
    header = header_of(job, facts, turned)
    gauges = replace(metrics.gauges, engine=header.engine, rsyslog=header.rsyslog)
    metrics.update(replace(gauges, budget_s=header.budget_s))
    record = _record_so_far(job, place, header, verbosity)
    lines = [
        *in_lab(header.substitutions, in_full=verbosity is Verbosity.VERBOSE),
        *(f"not tested: {line}" for line in header.untested),
        *shares_of_actions(profile, header.shares),
        *warm_start_notes(job, header),
    ]
    plan: tuple[str, ...] = ()
    if job.record is None:
        machines = len(place.farm(lambda _asked, _stage: None).machines)
        aside = aside_s(job.budget_s, has_front=job.options.front is not None)
        plan = tuple(bought(job.budget_s, job.pace, profile, turned, machines, aside))
        lines += plan
        if job.repairs:
            lines.append(repairs_made(profile, job.repairs))
        ends = datetime.now() + timedelta(seconds=job.budget_s - job.clock())
        lines.append(f"ends at about {ends:%H:%M:%S}; Ctrl-C ends it earlier, --resume continues")
    for line in lines:
        verbosity.say(line)
    title = f"{profile.name}, {facts.engine}, seed {job.seed}"
    progress = Progress(title, job.budget_s, profile, turned)
    if job.record is None:
        open_journal = journal(job.directory, header)
        copy_snippets(job.directory, job.loaded)
    else:
        open_journal = reopened(job.directory)
    with open_journal as journal_lines, screen(verbosity, progress, job.clock, plan) as shown:
        run = _Recorder(job, place, turned, record, header.started, journal_lines, shown, metrics)
        error = _run_search(run.search)
        ending, reason = _ending(error)
        try:
            journal_lines.write(Ended(ending, job.clock(), reason))
        except JobFailed as failure:
            # If the folder of the journal is gone or full, other errors are consequences of that.
            error = error if isinstance(error, Interrupted) else failure
            ending, reason = _ending(error)
        shown.stop()
        study = replace(run.study, ending=ending, reason=reason)
        metrics.update(replace(metrics.gauges, claimed=judge(study).claimed))
    return SessionResult(study, error)


def write_session(job: Job, session: SessionResult, verbosity: Verbosity) -> SessionResult:
    """Write the results; if that fails, the failure is the session's error, unless it has one."""
    try:
        write_results(job.directory, job.loaded, session.study)
    except JobFailed as failure:
        if session.error is None:
            return replace(session, error=failure)
        say(str(failure))
        return session
    # On a cluster a resumed search can succeed on other machines.
    if isinstance(session.error, Interrupted) or (session.error is not None and job.on_cluster):
        verbosity.say(f"results so far: {job.directory / 'report.html'}")
        verbosity.say(resume_hint(job))
    return session


def resume_hint(job: Job) -> str:
    """The hint that names the command to resume a search."""
    option = " --cluster" if job.on_cluster else ""
    return f"to resume: rsyslog-tune search --resume {job.directory}{option}"


def _run_search(search: Callable[[], None]) -> TuneError | Interrupted | None:
    """Run a search, and return the error that ended it early.  None if it is complete; signals are
    then ignored until its reports are written."""
    try:
        search()
        ignore_signals()
    except (TuneError, Interrupted) as error:
        return error
    except OSError as error:
        return of_the_system(error)
    return None


def _ending(error: TuneError | Interrupted | None) -> tuple[Ending, str]:
    """The ending and its reason, as recorded in the journal."""
    if error is None:
        return Ending.FINISHED, ""
    if isinstance(error, Interrupted):
        return Ending.INTERRUPTED, ""
    return Ending.FAILED, str(error)


def _record_so_far(job: Job, place: MeasuringPlace, header: Header, verbosity: Verbosity) -> Record:
    """The record so far.  Removes what earlier sessions, if they were killed, left in a running
    engine."""
    if job.record is None:
        return record_of(header, ())
    study = job.record.study
    require_same(study.header, header)
    for session in study.sessions:
        place.forget(session.run_id)
    verbosity.say(
        f"resuming {job.directory}: {len(study.trials)} trials done, "
        f"{seconds(job.record.spent_s)} of {seconds(job.budget_s)} used"
    )
    return job.record


@dataclass
class _Recorder:
    """A running search, which reports the start and end of each trial to the journal, the screen
    and the metrics."""

    job: Job
    place: MeasuringPlace
    turned: tuple[Knob, ...]
    record: Record
    started: str
    lines: Journal
    shown: Screen
    metrics: MetricsFile
    _phase: Phase | None = None

    def __post_init__(self) -> None:
        self.study = self.record.study

    def search(self) -> None:
        """Start or continue the search, and run it to its end."""
        job, place = self.job, self.place
        checker = Checker(job.loaded, job.options.allow, job.repairs)
        farm = place.farm(self._show)
        trials = self.study.trials
        started, count = self.started, len(trials)
        session = Session(started, os.getpid(), place.run_id, count, job.clock(), farm.machines)
        self.lines.write(session)
        self.study = replace(self.study, sessions=(*self.study.sessions, session))
        for trial in trials:
            self.shown.took_over(trial)
        runner = Runner(
            Setup(
                record=self.record,
                candidates=Candidates(
                    self.turned,
                    job.candidate if job.loaded.profile.base else checker.profile,
                    checker.is_valid,
                    job.repairs,
                ),
                farm=farm,
                strategy=lambda space, sigma: Gaussian(space, job.seed, sigma),
                # Each session draws its own order of the pairs.
                rng=random.Random(f"{job.seed} {count}" if trials else job.seed),
                used_s=job.clock,
                pace=job.pace,
                begins=self._begins,
                ended=self.lines.write,
            )
        )
        search = Search(runner)
        for step in search.run():
            if isinstance(step, Trial):
                self.study = replace(self.study, trials=(*self.study.trials, step))
                left_s, planned = job.budget_s - job.clock(), runner.forecast.planned_trials
                self.shown.ended(step, search.leader(), left_s)
                gauges = of_trials(self.metrics.gauges, runner.trials, planned, left_s)
                self.metrics.update(gauges)
            else:
                self.lines.write(step)
                self.study = replace(self.study, notes=(*self.study.notes, step))
                if step.text not in self.shown.announced:
                    self.shown.say(step.text)

    def _begins(self, asked: Asked) -> None:
        if asked.phase is not self._phase:
            self.lines.write(Began(asked.phase, self.job.clock()))
            self._phase = asked.phase
        self.lines.write(Intent(asked, self.job.clock()))
        left_s = self.job.budget_s - self.job.clock()
        self.metrics.update(of_intent(self.metrics.gauges, asked, left_s))
        self._show(asked, f"on {asked.machine}" if asked.machine else "starting")

    def _show(self, asked: Asked, stage: str) -> None:
        now_s = self.job.clock()
        self.shown.began(Running(asked.number, asked.phase, asked.pair, stage, now_s))
