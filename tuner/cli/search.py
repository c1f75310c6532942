"""`rsyslog-tune search` finds the settings that carry the most events per second; `report` prints
the report of a search again, from its journal."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path

from tuner.cli.console import OutputFormat, Verbosity, print_result, result, result_json, say
from tuner.cli.files import (
    new_run_directory,
    recorded_or_set_aside,
    require_begun,
    running_metrics,
    write_reports,
    writing_to,
)
from tuner.cli.layout import show_blocks
from tuner.cli.options import EngineChoice, duration_s, verbosity_of
from tuner.cli.place import LabSpec, learnt_shares, open_place, pace_of, require_runnable
from tuner.cli.profiles import load, load_or_default, require_configuration
from tuner.cli.search_session import (
    Job,
    SessionResult,
    Stopwatch,
    has_changed,
    resume_hint,
    resumed_job,
    run_session,
    searchable,
    tuning_outputs,
    write_session,
)
from tuner.cli.usage.measuring import ReportArguments, SearchArguments
from tuner.errors import BadUsage, GuardrailBreached, Interrupted, JobFailed, Locked, NoImprovement
from tuner.lab.check import require_bases_taken
from tuner.lint.load import snippets_of
from tuner.lint.repairs import repairs
from tuner.profile.model import Profile
from tuner.profile.objective import FigureBound, Objective
from tuner.report.markdown import report_markdown
from tuner.report.metrics import Gauges
from tuner.report.result import analyse
from tuner.report.search_report import next_command, outcome_blocks, report_json, search_report
from tuner.report.traffic import shares_of_actions
from tuner.search.budget import aside_s, smallest_budget_s
from tuner.search.journal import read
from tuner.search.notes import bought, ranked
from tuner.search.study import OUTAGE_S, Ending, Options
from tuner.search.verdict import Claim
from tuner.space.guarantees import allowed

# Options allowed with --resume: they change what is printed, or where it runs, not the search.
_BESIDE_RESUME = {
    "resume", "cluster", "require_gain", "rsyslogd", "output", "metrics_path", "quiet", "verbose",
}  # fmt: skip


def search(options: SearchArguments) -> None:
    """Carry out `rsyslog-tune search`."""
    clock = Stopwatch(time.monotonic())
    verbosity = verbosity_of(options.quiet, options.verbose)
    if options.resume is not None:
        if given := options.given_beside(_BESIDE_RESUME):
            raise BadUsage(f"--resume keeps the options of the search: remove {', '.join(given)}")
        with writing_to(options.resume, "a search"):
            session = _resume(options.resume, options, clock, verbosity)
        _conclude(session, options.resume, options)
        return
    profile, conf, sample, engine = options.profile, options.conf, options.sample, options.engine
    require_configuration(conf, profile)
    if sample is not None and conf is None:
        raise BadUsage("--sample goes with --conf: in a profile it is workload.sample")
    loaded = load_or_default(profile) if conf is None else load(conf, sample)
    allow, noise = tuple(options.allow or ()), options.refuse_noise
    allowed(loaded.profile, allow)
    snippets_of(loaded)
    request = Options(
        engine.value,
        options.elasticsearch,
        options.effects,
        allow,
        options.repair,
        None if noise is None else noise / 100,
        tuple(options.action or ()),
        options.objective or loaded.profile.search.objective,
        options.rate,
        OUTAGE_S if options.outage is None else duration_s(options.outage),
        tuple(map(_figure_bound, options.at_least or ())),
        options.front,
    )
    _require_measured(request, options)
    loaded = replace(loaded, profile=tuning_outputs(loaded.profile, request.actions))
    budget_s = _budget_s(options.budget, engine, request)
    require_runnable(LabSpec(engine, request.url, on_cluster=options.cluster), [loaded.profile])
    require_bases_taken([loaded.profile], runs_here=False)
    searchable(loaded.profile, request)
    earlier = tuple((str(path), read(path)) for path in options.warm_start or ())
    if options.dry_run:
        _preview(loaded.profile, request, budget_s, options)
        return
    with new_run_directory(options.run_dir, loaded.profile.name) as directory:
        job = Job(
            loaded, directory, request, budget_s, options.seed, clock,
            warm_starts=earlier, on_cluster=options.cluster,
        )  # fmt: skip
        session = _search_in_lab(job, verbosity, options.metrics_path)
    _conclude(session, directory, options)


_BOUND = re.compile(r"(\w+)=([+-]?\d+(?:\.\d+)?)\s*%")
_IN_EVERY_RUN = (Objective.EPS, Objective.CPU, Objective.DISK, Objective.MEMORY)


def _figure_bound(text: str) -> FigureBound:
    """Parse the bound that a gain must keep for another figure: `disk=-20%`."""
    match, names = _BOUND.fullmatch(text), {objective.value: objective for objective in Objective}
    if match is None or match[1] not in names or float(match[2]) <= -100:
        raise BadUsage(
            f"--at-least {text}: write a figure and how much it must change, such as disk=-20% or "
            "eps=-5%"
        )
    return FigureBound(names[match[1]], float(match[2]) / 100)


def _require_measured(request: Options, options: SearchArguments) -> None:
    """Raise BadUsage if no run can measure the objective, or if an option has no effect."""
    is_drain, at_rate = request.objective is Objective.DRAIN, request.objective.facts.at_rate
    if is_drain and request.url is not None:
        raise BadUsage("--objective drain lets the engine hang: leave --elasticsearch out")
    if options.outage is not None and not is_drain:
        raise BadUsage("--outage goes with --objective drain")
    if request.rate is not None and not at_rate:
        names = " and ".join(objective.value for objective in Objective if objective.facts.at_rate)
        raise BadUsage(f"--rate goes with --objective {names}: the others are measured at any rate")
    _require_stored(request, request.objective, f"--objective {request.objective.value}")
    beside = [(f"--at-least {bound}", bound.objective) for bound in request.at_least]
    if request.front is not None:
        beside.append((f"--front {request.front.value}", request.front))
    for option, figure in beside:
        _require_stored(request, figure, option)
        if figure is request.objective:
            raise BadUsage(f"{option} is about what the search makes better by itself")
        if figure not in _IN_EVERY_RUN:
            names = ", ".join(objective.value for objective in _IN_EVERY_RUN)
            raise BadUsage(f"{option}: not every run shows that; use one of {names}")
        if figure is Objective.EPS and at_rate:
            raise BadUsage(
                f"{option}: with --objective {request.objective.value} all rates are equal"
            )


def _require_stored(request: Options, figure: Objective, option: str) -> None:
    """Raise BadUsage for disk use with the sink, which stores nothing."""
    if request.engine == EngineChoice.SINK.value and figure is Objective.DISK:
        raise BadUsage(f"{option} needs an engine: the sink stores nothing")


def _preview(profile: Profile, request: Options, budget_s: float, options: SearchArguments) -> None:
    """Print the plan of the search: what the budget is enough for, as estimated beforehand."""
    shares = learnt_shares(profile)
    profile = profile.tuning_by(dict(shares))
    turned = searchable(profile, request, dict(shares))
    lines = [*shares_of_actions(profile, shares)]
    aside = aside_s(budget_s, has_front=request.front is not None)
    lines += bought(budget_s, pace_of(options.engine), profile, turned, aside_s=aside)
    if options.cluster:
        lines.append("this is for one machine; those of the cluster share the trials and the pairs")
    fixes = repairs(profile) if request.repairs else ()
    fields = {
        "budget_s": budget_s,
        "knobs": [knob.path for knob in turned],
        "shares": dict(shares),
        "tuned": [profile.outputs[number].name for number in profile.tuned],
        "plan": lines,
        "repairs": [vars(repair) | {"why": repair.why} for repair in fixes],
    }
    details = [f"- {line}" for line in lines]
    details.append(f"settings, the most promising first: {', '.join(ranked(profile, turned))}")
    details += [f"repair: {repair.text(profile)}" for repair in fixes]
    print_result(options.output, "search plan", fields, "\n".join(details))


def _budget_s(budget: str, engine: EngineChoice, request: Options) -> float:
    budget_s = duration_s(budget)
    has_front = request.front is not None
    smallest = smallest_budget_s(pace_of(engine), has_front=has_front)
    purpose = f"a search and six pairs{', and a front' * has_front}"
    if budget_s < smallest:
        raise BadUsage(f"--budget {budget} is too small for {purpose}: use {smallest:.0f}s or more")
    return budget_s


def _resume(
    directory: Path, options: SearchArguments, clock: Stopwatch, verbosity: Verbosity
) -> SessionResult:
    """Continue an interrupted search; of a finished one, only write the reports again."""
    require_begun(directory)
    record = recorded_or_set_aside(directory)
    job = resumed_job(directory, record, clock, on_cluster=options.cluster)
    if record.study.ending is Ending.FINISHED:
        verbosity.say(f"the search in {directory} is already complete; rewriting its reports")
        return write_session(job, SessionResult(record.study, None), verbosity)
    if has_changed(job.loaded):
        verbosity.say(
            f"{job.loaded.path} changed since this search started; continuing with the original"
        )
    return _search_in_lab(job, verbosity, options.metrics_path)


def _search_in_lab(job: Job, verbosity: Verbosity, metrics_path: Path | None) -> SessionResult:
    """Open the lab of a search and run a session in it.  Results are written after the lab is
    removed, as it may have filled the disk."""
    profile = job.loaded.profile
    gauges = Gauges(profile.name, time.time())
    try:
        with (
            running_metrics(metrics_path, gauges) as metrics,
            open_place(job.spec, [profile], job.directory, verbosity, job.options.allow) as place,
        ):
            job.clock.downloads_s = place.downloads_s
            session = run_session(job, place, verbosity, metrics)
    except Interrupted:
        # Interrupted before the session started: the journal is unchanged.
        if job.record is not None:
            verbosity.say(resume_hint(job))
        raise
    return write_session(job, session, verbosity)


def _conclude(session: SessionResult, directory: Path, options: SearchArguments) -> None:
    """Print the verdict, even if files could not be written, and choose the exit code.  An
    interrupted search has a verdict if it ran enough pairs."""
    analysed = analyse(session.study)
    verdict = analysed.verdict
    if isinstance(session.error, Interrupted) and verdict.claimed is None:
        raise session.error
    next_step = next_command(analysed, directory) if session.error is None else None
    if options.output is OutputFormat.JSON:
        data = {**report_json(analysed), "run_directory": str(directory), "next": next_step}
        result_json(data)
    else:
        show_blocks(outcome_blocks(analysed))
        for title, name in (("report", "report.html"), ("best profile", "best.yaml")):
            if (directory / name).exists():
                result(f"{title}: {directory / name}")
        if next_step is not None:
            result(f"next: {next_step}")
    if session.error is not None:
        raise session.error
    if verdict.claim is Claim.INFEASIBLE:
        raise GuardrailBreached(verdict.claim.value)
    if verdict.claim is Claim.UNFINISHED:
        raise JobFailed(verdict.claim.value)
    if verdict.claim is Claim.NOT_SHOWN and options.require_gain:
        raise NoImprovement("no improvement shown")


def report(options: ReportArguments) -> None:
    """Carry out `rsyslog-tune report`."""
    run_directory = options.run_directory
    analysed = analyse(read(run_directory))
    if options.output is OutputFormat.JSON:
        result_json(report_json(analysed))
    else:
        result(report_markdown(search_report(analysed, run_directory)))
    try:
        with writing_to(run_directory, "a report"):
            write_reports(run_directory, analysed)
    except (JobFailed, Locked) as why:
        say(f"printed only: {why}")
    else:
        say(f"report: {run_directory / 'report.html'}")
