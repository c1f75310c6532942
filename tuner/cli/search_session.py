"""One session of a search in a lab: from nothing or from its journal, to the end of the search or
of the session, with its results."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Mapping
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
    upgrades,
    warm_start_notes,
)
from tuner.cli.search_progress import Progress, Running
from tuner.cli.search_screen import Screen, screen
from tuner.errors import Interrupted, JobFailed, TuneError, of_the_system
from tuner.lint.knobs_check import Checker
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.report.figures import seconds
from tuner.report.metrics import of_header, of_intent, of_study, of_trials
from tuner.search.farm import Lost, MeasuringPlace
from tuner.search.forecast import trials_expected
from tuner.search.journal import Journal, journal, reopened
from tuner.search.notes import begun_anew, bought
from tuner.search.record import Record, record_of
from tuner.search.replay import Diverged, Replay
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
    Note,
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
        session = Session(header.started, os.getpid(), place.run_id)
        farm = _ShownFarm(place, job, shown, metrics)
        replay = Replay(record, lines, session, farm, job.clock)
        error = _ended_by(lambda: _search(job, facts, replay, shown, metrics, header))
        ending, reason = _told(error)
        try:
            lines.end(ending, job.clock(), reason)
        except JobFailed as lost:
            # Without its folder or any room there, whatever else failed did so for that.
            error = error if isinstance(error, Interrupted) else lost
            ending, reason = _told(error)
        shown.stop()
        study = replay.study(ending, reason)
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
        again = " --cluster" if job.on_cluster else ""
        voice.say(f"to resume: rsyslog-tune search --resume {job.directory}{again}")
    return worked


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
        f"resuming {job.directory}: {len(job.record.trials) + len(job.record.prior)} trials done, "
        f"{seconds(job.record.spent_s)} of {seconds(job.budget_s)} used"
    )
    return job.record


def _journal(job: Job, header: Header) -> AbstractContextManager[Journal]:
    return journal(job.directory, header) if job.record is None else reopened(job.directory)


class _ShownFarm:
    """The machines of a place, with each trial shown, and in the metrics, as it begins."""

    def __init__(
        self, place: MeasuringPlace, job: Job, shown: Screen, metrics: MetricsFile
    ) -> None:
        self._farm = place.farm(self._show)
        self._job, self._shown, self._metrics = job, shown, metrics

    @property
    def machines(self) -> tuple[str, ...]:
        return self._farm.machines

    def start(self, asked: Asked, profile: Profile) -> None:
        left_s = self._job.budget_s - self._job.clock()
        self._metrics.update(of_intent(self._metrics.gauges, asked, left_s))
        self._show(asked, f"on {asked.machine}" if asked.machine else "starting")
        self._farm.start(asked, profile)

    def wait(self, timeout_s: float) -> Mapping[int, Result | Lost]:
        return self._farm.wait(timeout_s)

    def drop(self, machine: str) -> None:
        self._farm.drop(machine)

    def _show(self, asked: Asked, stage: str) -> None:
        now_s = self._job.clock()
        self._shown.began(Running(asked.number, asked.phase, asked.pair, stage, now_s))


def _search(
    job: Job, facts: LabFacts, replay: Replay, shown: Screen, metrics: MetricsFile, now: Header
) -> None:
    """Search to the end; where it cannot repeat what the journal holds, it begins anew with all
    trials of that as observations, in what is left of the budget."""
    try:
        _run(job, facts, replay, shown, metrics)
        replay.require_all_taken()
    except Diverged as diverged:
        reasons = upgrades(replay.record.study.header, now) or (
            f"{diverged}, a bug: please report it",
        )
        replay.begin_anew()
        record = replay.record
        note = Note(begun_anew(len(record.prior), reasons), replay.now_s())
        replay.note(note)
        shown.begin_anew(record.study.trials, job.budget_s - job.clock())
        shown.say(note.text)
        _run(job, facts, replay, shown, metrics)


def _run(job: Job, facts: LabFacts, replay: Replay, shown: Screen, metrics: MetricsFile) -> None:
    """Search, and show each step that was not taken over."""
    checker = Checker(job.loaded, job.options.allow, job.repairs)
    runner = Runner(
        Setup(
            knobs=dimensions(job, facts),
            candidate=checker.profile,
            is_valid=checker.is_valid,
            evaluator=replay,
            strategy=lambda space, sigma: strategy(job.options.strategy, space, job.seed, sigma),
            clock=replay.now_s,
            budget_s=job.budget_s,
            pace=job.pace,
            rng=random.Random(job.seed),
            shrinks=job.options.shrinks,
            repairs=job.repairs,
            limits=replay.record.study.header.limits,
            earlier=replay.record.study.header.earlier,
            prior=replay.record.prior,
            refuse_noise=job.options.refuse_noise or math.inf,
        )
    )
    search, taken_over = Search(runner), len(replay.record.trials)
    for step in search.run():
        is_new = len(runner.trials) > taken_over
        if isinstance(step, Trial):
            leader, left_s = search.leader(), job.budget_s - job.clock()
            expected = trials_expected(runner, BASELINE if leader is None else leader.changes)
            tell = shown.ended if is_new else shown.took_over
            tell(step, leader, expected, left_s)
            metrics.update(of_trials(metrics.gauges, runner.trials, expected, left_s))
        else:
            replay.note(step)
            if is_new and step.text not in shown.said:
                shown.say(step.text)
