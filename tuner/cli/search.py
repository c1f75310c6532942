"""`rsyslog-tune search`: find the settings that carry the most events per second."""

from __future__ import annotations

import contextlib
import random
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tuner import __version__
from tuner.cli.console import result, result_json, say, working
from tuner.cli.options import (
    EngineChoice,
    EngineOption,
    Output,
    OutputOption,
    UrlOption,
    duration_s,
)
from tuner.cli.profiles import load_or_default
from tuner.cli.progress import Progress, fitted
from tuner.cli.run_directory import default_run_directory, make_run_directory, write_results
from tuner.cli.site import Wanted, open_lab, prepare
from tuner.errors import BadUsage, GuardrailBreached, Interrupted, JobFailed, NoImprovement
from tuner.host.usage import describe_machine
from tuner.lab.lab import Lab
from tuner.measure.measurement import Outcome, TrialPlan
from tuner.measure.trial import run_trial
from tuner.profile.candidate import candidate
from tuner.profile.knobs import knobs, of_rsyslog
from tuner.profile.load import LoadedProfile
from tuner.profile.model import Profile
from tuner.report.search_json import report
from tuner.report.search_markdown import headline, is_sink
from tuner.search.budget import NODE_PACE, SINK_PACE, Pace, smallest_budget_s
from tuner.search.journal import journal
from tuner.search.search import Search, Setup
from tuner.search.study import SCHEMA, Ending, Header, Study, Trial
from tuner.search.verdict import Claim, judge


@dataclass(frozen=True)
class Job:
    """A search as asked for: what, where, how long.  `clock` gives the seconds used so far."""

    loaded: LoadedProfile
    directory: Path
    budget_s: float
    seed: int
    pace: Pace
    clock: Callable[[], float]


def search(
    profile: Annotated[
        Path | None,
        typer.Argument(
            help="The profile; without one rsyslog-tune.yaml here, else the shipped default.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[str, typer.Option(help="Wall-clock time, downloads excluded.")] = "30m",
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same choices.")] = 1,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(help="Where results go; must be new or empty.", show_default=False),
    ] = None,
    require_gain: Annotated[
        bool, typer.Option("--require-gain", help="Exit with 7 when no improvement is shown.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Search for settings that carry more events per second, and prove what they gain.

    Writes trials.jsonl, best.yaml, the rendered files of it, report.md and report.json.
    """
    started = time.monotonic()
    loaded = load_or_default(profile)
    pace = SINK_PACE if engine is EngineChoice.SINK else NODE_PACE
    budget_s = _affordable(budget, pace)
    wanted = Wanted(engine, elasticsearch)
    directory = make_run_directory(run_dir or default_run_directory(loaded.profile.name))
    try:
        downloaded_s = prepare(wanted, loaded.profile, say)
        job = Job(loaded, directory, budget_s, seed, pace,
                  lambda: time.monotonic() - started - downloaded_s)  # fmt: skip
        with contextlib.ExitStack() as stack:
            with working("starting the lab"):
                lab = stack.enter_context(open_lab(wanted, loaded.profile, directory, say))
            study = _run(job, lab)
    finally:
        with contextlib.suppress(OSError):
            directory.rmdir()  # only when nothing was written
            if run_dir is None:
                directory.parent.rmdir()  # only when it holds no other run
    _conclude(study, directory, require_gain, output)


def _affordable(budget: str, pace: Pace) -> float:
    budget_s = duration_s(budget)
    smallest = smallest_budget_s(pace)
    if budget_s < smallest:
        raise BadUsage(
            f"--budget {budget} is too small for a search and six pairs: "
            f"the smallest is {smallest:.0f}s"
        )
    return budget_s


def _run(job: Job, lab: Lab) -> Study:
    """Search, recording each trial as it happens; the report is written however it ends."""
    header = _header(job, lab)
    for line in header.substitutions:
        say(f"not tested as written: {line}")
    trials: list[Trial] = []
    ending = Ending.FAILED
    with journal(job.directory, header) as record:
        try:
            for trial in _trials(job, lab):
                trials.append(trial)
                record.trial(trial)
            ending = Ending.FINISHED
        except Interrupted:
            ending = Ending.INTERRUPTED
            raise
        finally:
            record.end(ending)
            study = Study(header, tuple(trials), ending)
            write_results(job.directory, job.loaded, study)
            if ending is not Ending.FINISHED:
                say(f"what is known so far is in {job.directory / 'report.md'}")
    return study


def _trials(job: Job, lab: Lab) -> Iterator[Trial]:
    """The trials of the search, a line said for each."""
    dimensions = knobs(job.loaded.profile)
    if lab.is_sink:
        dimensions = of_rsyslog(dimensions)
    progress = Progress()
    with working("first trial") as tell:

        def evaluate(profile: Profile, plan: TrialPlan, number: int) -> Outcome:
            def show(stage: str) -> None:
                tell(progress.status(number, stage, job.budget_s - job.clock()))

            return run_trial(lab, profile, plan, f"t{number + 1}", show)

        running = Search(
            Setup(
                knobs=dimensions,
                candidate=lambda changes: candidate(job.loaded, changes).profile,
                evaluate=evaluate,
                clock=job.clock,
                budget_s=job.budget_s,
                pace=job.pace,
                rng=random.Random(job.seed),
            )
        )
        for trial in running.run():
            left_s = job.budget_s - job.clock()
            say(fitted(progress.line(trial, running.trials_left(), left_s)))
            yield trial


def _header(job: Job, lab: Lab) -> Header:
    profile = job.loaded.profile
    return Header(
        schema=SCHEMA,
        tool=f"rsyslog-tune {__version__}",
        started=time.strftime("%Y-%m-%d %H:%M:%S %z"),
        command=shlex.join(["rsyslog-tune", *sys.argv[1:]]),
        profile_path=str(job.loaded.path),
        profile_text=job.loaded.text,
        budget_s=job.budget_s,
        seed=job.seed,
        engine=lab.engine_name,
        rsyslog=lab.rsyslog,
        machine=describe_machine(),
        substitutions=tuple(str(one) for one in lab.bind(profile, "trial").substitutions),
        profile_layers=job.loaded.layers,
    )


def _conclude(study: Study, directory: Path, require_gain: bool, output: Output) -> None:
    """Print the verdict and choose the exit code."""
    verdict = judge(study)
    if output is Output.JSON:
        result_json({**report(study), "run_directory": str(directory)})
    else:
        if is_sink(study):
            result("Against the sink, not an engine: what rsyslog can do by itself.")
        result(headline(study, verdict).replace("**", ""))
        result(f"report: {directory / 'report.md'}\nbest profile: {directory / 'best.yaml'}")
    if verdict.claim is Claim.INFEASIBLE:
        raise GuardrailBreached(verdict.claim.value)
    if verdict.claim is Claim.UNFINISHED:
        raise JobFailed(verdict.claim.value)
    if verdict.claim is Claim.NOT_SHOWN and require_gain:
        raise NoImprovement("no improvement shown")
