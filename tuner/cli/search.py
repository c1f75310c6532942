"""`rsyslog-tune search`: find the settings that carry the most events per second; and `report`,
which tells what a search found again, from its journal alone."""

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
from tuner.cli.place import Wanted, learnt_shares, open_place, pace_of, require_runnable
from tuner.cli.profiles import load, load_or_default, require_configuration
from tuner.cli.search_session import (
    Job,
    SessionResult,
    Stopwatch,
    asked_to_tune,
    has_changed,
    resumed,
    run_session,
    searchable,
    to_resume,
    with_results,
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

# What may stand beside --resume: it changes how a search is told of, not what it does.
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
    asked = Options(
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
        tuple(map(_bound, options.at_least or ())),
        options.front,
    )
    _require_shown(asked, options)
    loaded = replace(loaded, profile=asked_to_tune(loaded.profile, asked.actions))
    budget_s = _affordable(options.budget, engine, asked)
    require_runnable(Wanted(engine, asked.url, on_cluster=options.cluster), [loaded.profile])
    require_bases_taken([loaded.profile], runs_here=False)
    searchable(loaded.profile, asked)
    earlier = tuple((str(path), read(path)) for path in options.warm_start or ())
    if options.dry_run:
        _show_plan(loaded.profile, asked, budget_s, options)
        return
    with new_run_directory(options.run_dir, loaded.profile.name) as directory:
        job = Job(
            loaded, directory, asked, budget_s, options.seed, clock,
            warm_starts=earlier, on_cluster=options.cluster,
        )  # fmt: skip
        session = _search_in_lab(job, verbosity, options.metrics_path)
    _conclude(session, directory, options)


_BOUND = re.compile(r"(\w+)=([+-]?\d+(?:\.\d+)?)\s*%")
_IN_EVERY_RUN = (Objective.EPS, Objective.CPU, Objective.DISK, Objective.MEMORY)


def _bound(text: str) -> FigureBound:
    """What a gain must keep of another figure: `disk=-20%`."""
    match, names = _BOUND.fullmatch(text), {objective.value: objective for objective in Objective}
    if match is None or match[1] not in names or float(match[2]) <= -100:
        raise BadUsage(
            f"--at-least {text}: write a figure and how much it must change, such as disk=-20% or "
            "eps=-5%"
        )
    return FigureBound(names[match[1]], float(match[2]) / 100)


def _require_shown(asked: Options, options: SearchArguments) -> None:
    """Raise BadUsage where nothing would show the objective, or an option would not be used."""
    is_drain, at_rate = asked.objective is Objective.DRAIN, asked.objective.facts.at_rate
    if is_drain and asked.url is not None:
        raise BadUsage("--objective drain lets the engine hang: leave --elasticsearch out")
    if options.outage is not None and not is_drain:
        raise BadUsage("--outage goes with --objective drain")
    if asked.rate is not None and not at_rate:
        names = " and ".join(objective.value for objective in Objective if objective.facts.at_rate)
        raise BadUsage(f"--rate goes with --objective {names}: the others are measured at any rate")
    _require_stored(asked, asked.objective, f"--objective {asked.objective.value}")
    beside = [(f"--at-least {bound}", bound.objective) for bound in asked.at_least]
    if asked.front is not None:
        beside.append((f"--front {asked.front.value}", asked.front))
    for option, figure in beside:
        _require_stored(asked, figure, option)
        if figure is asked.objective:
            raise BadUsage(f"{option} is about what the search makes better by itself")
        if figure not in _IN_EVERY_RUN:
            names = ", ".join(objective.value for objective in _IN_EVERY_RUN)
            raise BadUsage(f"{option}: not every run shows that; use one of {names}")
        if figure is Objective.EPS and at_rate:
            raise BadUsage(
                f"{option}: with --objective {asked.objective.value} all rates are equal"
            )


def _require_stored(asked: Options, figure: Objective, option: str) -> None:
    """Raise BadUsage for what the sink, which stores nothing, does not show."""
    if asked.engine == EngineChoice.SINK.value and figure is Objective.DISK:
        raise BadUsage(f"{option} needs an engine: the sink stores nothing")


def _show_plan(profile: Profile, asked: Options, budget_s: float, options: SearchArguments) -> None:
    """What the budget will buy, as far as it can be said beforehand."""
    shares = learnt_shares(profile)
    profile = profile.tuning_by(dict(shares))
    turned = searchable(profile, asked, dict(shares))
    lines = [*shares_of_actions(profile, shares)]
    aside = aside_s(budget_s, has_front=asked.front is not None)
    lines += bought(budget_s, pace_of(options.engine), profile, turned, aside_s=aside)
    if options.cluster:
        lines.append("this is for one machine; those of the cluster share the trials and the pairs")
    mended = repairs(profile) if asked.repairs else ()
    fields = {
        "budget_s": budget_s,
        "knobs": [knob.path for knob in turned],
        "shares": dict(shares),
        "tuned": [profile.outputs[number].name for number in profile.tuned],
        "plan": lines,
        "repairs": [vars(repair) | {"why": repair.why} for repair in mended],
    }
    details = [f"- {line}" for line in lines]
    details.append(f"settings, the most promising first: {', '.join(ranked(profile, turned))}")
    details += [f"repair: {repair.text(profile)}" for repair in mended]
    print_result(options.output, "search plan", fields, "\n".join(details))


def _affordable(budget: str, engine: EngineChoice, asked: Options) -> float:
    budget_s = duration_s(budget)
    has_front = asked.front is not None
    smallest = smallest_budget_s(pace_of(engine), has_front=has_front)
    purpose = f"a search and six pairs{', and a front' * has_front}"
    if budget_s < smallest:
        raise BadUsage(f"--budget {budget} is too small for {purpose}: use {smallest:.0f}s or more")
    return budget_s


def _resume(
    directory: Path, options: SearchArguments, clock: Stopwatch, verbosity: Verbosity
) -> SessionResult:
    """A search that was ended before; one that was finished is only told again."""
    require_begun(directory)
    record = recorded_or_set_aside(directory)
    job = resumed(directory, record, clock, on_cluster=options.cluster)
    if record.study.ending is Ending.FINISHED:
        verbosity.say(f"the search in {directory} is already complete; rewriting its reports")
        return with_results(job, SessionResult(record.study, None), verbosity)
    if has_changed(job.loaded):
        verbosity.say(
            f"{job.loaded.path} changed since this search started; continuing with the original"
        )
    return _search_in_lab(job, verbosity, options.metrics_path)


def _search_in_lab(job: Job, verbosity: Verbosity, metrics_path: Path | None) -> SessionResult:
    """Open the lab that a search needs, and work on it there.  Results are written once the lab,
    which may have filled the disk, is gone."""
    profile = job.loaded.profile
    gauges = Gauges(profile.name, time.time())
    try:
        with (
            running_metrics(metrics_path, gauges) as metrics,
            open_place(job.wanted, [profile], job.directory, verbosity, job.options.allow) as place,
        ):
            job.clock.downloads_s = place.downloads_s
            session = run_session(job, place, verbosity, metrics)
    except Interrupted:
        # Before it went on with anything; what was measured is there as it was.
        if job.record is not None:
            verbosity.say(to_resume(job))
        raise
    return with_results(job, session, verbosity)


def _conclude(session: SessionResult, directory: Path, options: SearchArguments) -> None:
    """Print the verdict, whatever became of the files, and choose the exit code.  A search that was
    interrupted has one once there were pairs enough."""
    analysed = analyse(session.study)
    verdict = analysed.verdict
    if isinstance(session.error, Interrupted) and verdict.claimed is None:
        raise session.error
    after = next_command(analysed, directory) if session.error is None else None
    if options.output is OutputFormat.JSON:
        data = {**report_json(analysed), "run_directory": str(directory), "next": after}
        result_json(data)
    else:
        show_blocks(outcome_blocks(analysed))
        for title, name in (("report", "report.html"), ("best profile", "best.yaml")):
            if (directory / name).exists():
                result(f"{title}: {directory / name}")
        if after is not None:
            result(f"next: {after}")
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
