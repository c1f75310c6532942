"""One session of a search in a lab: from nothing or from its journal, to the end of the search or
of the session, with its results."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tuner.cli.console import Voice, say
from tuner.cli.files import MetricsFile, write_results
from tuner.cli.search_job import (
    Job,
    dimensions,
    header_of,
    require_same,
    warm_start_notes,
)
from tuner.cli.search_progress import Progress, Running
from tuner.cli.search_screen import Screen, screen
from tuner.errors import Interrupted, JobFailed, TuneError, of_the_system
from tuner.lint.knobs_check import Checker
from tuner.report.figures import seconds
from tuner.report.metrics import of_header, of_intent, of_study, of_trials
from tuner.search.farm import MeasuringPlace
from tuner.search.journal import Journal, journal, reopened
from tuner.search.notes import bought
from tuner.search.record import Record, record_of
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.setup import Setup
from tuner.search.strategies import strategy
from tuner.search.study import (
    BASELINE,
    Asked,
    Ending,
    Header,
    LabFacts,
    Phase,
    Session,
    Study,
    Trial,
)
from tuner.space.knob import level_text


@dataclass(frozen=True)
class Worked:
    """What a session came to, and what ended it early, if anything did."""

    study: Study
    error: TuneError | Interrupted | None


def work_on(job: Job, place: MeasuringPlace, voice: Voice, metrics: MetricsFile) -> Worked:
    """Search, recording each trial as it happens."""
    facts = place.facts
    header = header_of(job, facts)
    metrics.update(of_header(metrics.gauges, header))
    record = _taken_over(job, place, header, voice)
    for line in header.substitutions:
        voice.say(f"changed for the lab: {line}")
    for line in warm_start_notes(job, header):
        voice.say(line)
    said: tuple[str, ...] = ()
    if job.record is None:
        said = tuple(bought(job.budget_s, job.pace, job.loaded.profile, dimensions(job, facts)))
        for line in said:
            voice.say(line)
        if job.repairs:
            names = ", ".join(f"{path} {level_text(level)}" for path, level in job.repairs)
            voice.say(f"repairs, not for speed, in every candidate: {names}")
        ends = datetime.now() + timedelta(seconds=job.budget_s - job.clock())
        voice.say(f"ends at about {ends:%H:%M:%S}; Ctrl-C ends it earlier, --resume continues")
    seen = screen(voice, _nothing_yet(job, facts), job.clock, said)
    with _journal(job, header) as lines, seen as shown:
        work = _Work(job, place, record, header.started, lines, shown, metrics)
        error = _ended_by(work.search)
        ending, reason = _told(error)
        try:
            lines.end(ending, job.clock(), reason)
        except JobFailed as lost:
            # Without its folder or any room there, whatever else failed did so for that.
            error = error if isinstance(error, Interrupted) else lost
            ending, reason = _told(error)
        shown.stop()
        study = replace(work.study, ending=ending, reason=reason)
        metrics.update(of_study(metrics.gauges, study))
    return Worked(study, error)


def written(job: Job, worked: Worked, voice: Voice) -> Worked:
    """Write the results; where that fails, it is the error of a search that had no other."""
    try:
        write_results(job.directory, job.loaded, worked.study)
    except JobFailed as unwritten:
        if worked.error is None:
            return replace(worked, error=unwritten)
        say(str(unwritten))
        return worked
    # Elsewhere, what failed here may well succeed.
    if isinstance(worked.error, Interrupted) or (worked.error is not None and job.on_cluster):
        voice.say(f"results so far: {job.directory / 'report.html'}")
        voice.say(to_resume(job))
    return worked


def to_resume(job: Job) -> str:
    """The command that goes on with a search that was ended."""
    again = " --cluster" if job.on_cluster else ""
    return f"to resume: rsyslog-tune search --resume {job.directory}{again}"


def _ended_by(search: Callable[[], None]) -> TuneError | Interrupted | None:
    """What ended a search early; None when it came to its end."""
    try:
        search()
    except (TuneError, Interrupted) as error:
        return error
    except OSError as error:
        return of_the_system(error)
    return None


def _told(error: TuneError | Interrupted | None) -> tuple[Ending, str]:
    """What the journal says of an end."""
    match error:
        case None:
            return Ending.FINISHED, ""
        case Interrupted():
            return Ending.INTERRUPTED, ""
        case _:
            return Ending.FAILED, str(error)


def _nothing_yet(job: Job, facts: LabFacts) -> Progress:
    """What is known of a search before its first trial."""
    title = f"{job.loaded.profile.name}, {facts.engine}, seed {job.seed}"
    return Progress(title, job.budget_s, dimensions(job, facts))


def _taken_over(job: Job, place: MeasuringPlace, header: Header, voice: Voice) -> Record:
    """What was measured before; what killed sessions left in an engine that outlived them is
    removed."""
    if job.record is None:
        return record_of(header, ())
    study = job.record.study
    require_same(study.header, header)
    for session in study.sessions:
        place.forget(session.run_id)
    voice.say(
        f"resuming {job.directory}: {len(study.trials)} trials done, "
        f"{seconds(job.record.spent_s)} of {seconds(job.budget_s)} used"
    )
    return job.record


def _journal(job: Job, header: Header) -> AbstractContextManager[Journal]:
    return journal(job.directory, header) if job.record is None else reopened(job.directory)


class _Work:
    """A search under way: each trial, as it begins and as it ends, goes into the journal, onto the
    screen and into the metrics."""

    def __init__(
        self,
        job: Job,
        place: MeasuringPlace,
        record: Record,
        started: str,
        lines: Journal,
        shown: Screen,
        metrics: MetricsFile,
    ) -> None:
        self.study = record.study
        self._job, self._place, self._record, self._started = job, place, record, started
        self._lines, self._shown, self._metrics = lines, shown, metrics
        self._phase: Phase | None = None

    def search(self) -> None:
        """Search, or go on with it, to its end."""
        job, place, record, header = self._job, self._place, self._record, self.study.header
        checker = Checker(job.loaded, job.options.allow, job.repairs)
        farm = place.farm(self._show)
        known = self.study.trials
        session = Session(
            self._started, os.getpid(), place.run_id, len(known), job.clock(), farm.machines
        )
        self._lines.session(session)
        self.study = replace(self.study, sessions=(*self.study.sessions, session))
        for trial in known:
            self._shown.took_over(trial, None, trial.number, job.budget_s - trial.ended_s)
        runner = Runner(
            Setup(
                knobs=dimensions(job, place.facts),
                candidate=job.candidate if job.loaded.profile.base else checker.profile,
                is_valid=checker.is_valid,
                farm=farm,
                strategy=lambda space, sigma: strategy(
                    job.options.strategy, space, job.seed, sigma
                ),
                clock=job.clock,
                budget_s=job.budget_s,
                pace=job.pace,
                # The pairs of another session are in an order of their own.
                rng=random.Random(f"{job.seed} {len(known)}" if known else job.seed),
                limits=header.limits,
                earlier=header.earlier,
                shrinks=job.options.shrinks,
                repairs=job.repairs,
                refuse_noise=job.options.refuse_noise or math.inf,
                begins=self._begins,
                ended=self._lines.trial,
                known=known,
                lost=record.lost,
                deadly=record.deadly,
            )
        )
        search = Search(runner)
        for step in search.run():
            if isinstance(step, Trial):
                self.study = replace(self.study, trials=(*self.study.trials, step))
                leader, left_s = search.leader(), job.budget_s - job.clock()
                expected = runner.trials_expected(BASELINE if leader is None else leader.changes)
                self._shown.ended(step, leader, expected, left_s)
                gauges = of_trials(self._metrics.gauges, runner.trials, expected, left_s)
                self._metrics.update(gauges)
            else:
                self._lines.note(step)
                self.study = replace(self.study, notes=(*self.study.notes, step))
                if step.text not in self._shown.said:
                    self._shown.say(step.text)

    def _begins(self, asked: Asked) -> None:
        if asked.phase is not self._phase:
            self._lines.phase(asked.phase, self._job.clock())
            self._phase = asked.phase
        self._lines.intent(asked, self._job.clock())
        left_s = self._job.budget_s - self._job.clock()
        self._metrics.update(of_intent(self._metrics.gauges, asked, left_s))
        self._show(asked, f"on {asked.machine}" if asked.machine else "starting")

    def _show(self, asked: Asked, stage: str) -> None:
        now_s = self._job.clock()
        self._shown.began(Running(asked.number, asked.phase, asked.pair, stage, now_s))
