"""`rsyslog-tune search`: find the settings that carry the most events per second."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from tuner.cli.console import OutputFormat, Verbosity, print_result, result, result_json
from tuner.cli.files import new_run_directory, require_begun, running_metrics, writing_to
from tuner.cli.layout import show_blocks
from tuner.cli.options import (
    EngineChoice,
    duration_s,
    given_beside,
    verbosity_of,
)
from tuner.cli.place import Wanted, open_place, pace_of, require_runnable
from tuner.cli.profiles import load, load_or_default, require_configuration
from tuner.cli.search_session import (
    Job,
    Stopwatch,
    Worked,
    has_changed,
    recorded_or_set_aside,
    require_same_base,
    require_strategy,
    resumed,
    searchable,
    to_resume,
    work_on,
    written,
)
from tuner.errors import BadUsage, GuardrailBreached, Interrupted, JobFailed, NoImprovement
from tuner.host.programs import choose_rsyslogd
from tuner.lint.load import snippets_of
from tuner.lint.repairs import repairs
from tuner.profile.model import Profile
from tuner.report.metrics import SEARCH_PHASES, Gauges
from tuner.report.result import analyse
from tuner.report.search_report import next_command, outcome_blocks, report_json
from tuner.search.budget import smallest_budget_s
from tuner.search.journal import read
from tuner.search.notes import bought, ranked
from tuner.search.strategies import StrategyName
from tuner.search.study import Ending, Options
from tuner.search.verdict import Claim
from tuner.space.guarantees import allowed
from tuner.validate.rsyslogd import require_bases_taken

# What may stand beside --resume: it changes how a search is told of, not what it does.
_BESIDE_RESUME = {
    "resume", "cluster", "require_gain", "rsyslogd", "output", "metrics_path", "quiet", "verbose",
}  # fmt: skip


def search(
    context: typer.Context,
    profile: Path | None,
    conf: Path | None,
    sample: Path | None,
    budget: str,
    seed: int,
    strategy: StrategyName,
    effects: bool,
    allow: list[str] | None,
    repair: bool,
    dry_run: bool,
    engine: EngineChoice,
    elasticsearch: str | None,
    cluster: bool,
    run_dir: Path | None,
    resume: Path | None,
    warm_start: list[Path] | None,
    refuse_noise: float | None,
    require_gain: bool,
    metrics_path: Path | None,
    rsyslogd: Path | None,
    output: OutputFormat,
    quiet: bool,
    verbose: bool,
) -> None:
    """Carry out `rsyslog-tune search`."""
    choose_rsyslogd(rsyslogd)
    clock = Stopwatch(time.monotonic())
    verbosity = verbosity_of(quiet, verbose)
    if resume is not None:
        if given := given_beside(context, _BESIDE_RESUME):
            raise BadUsage(f"--resume keeps the options of the search: remove {', '.join(given)}")
        with writing_to(resume):
            worked = _gone_on(resume, cluster, clock, verbosity, metrics_path)
        _conclude(worked, resume, require_gain, output)
        return
    require_configuration(conf, profile)
    if sample is not None and conf is None:
        raise BadUsage("--sample goes with --conf: in a profile it is workload.sample")
    loaded = load_or_default(profile) if conf is None else load(conf, sample)
    allowed(loaded.profile, allow or ())
    snippets_of(loaded)
    options = Options(
        engine.value,
        elasticsearch,
        strategy,
        effects,
        tuple(allow or ()),
        repair,
        None if refuse_noise is None else refuse_noise / 100,
    )
    budget_s = _affordable(budget, engine)
    wanted = Wanted(engine, elasticsearch, on_cluster=cluster)
    require_runnable(wanted, [loaded.profile])
    require_bases_taken([loaded.profile], runs_here=False)
    searchable(loaded.profile, options)
    if dry_run:
        _tell_plan(loaded.profile, options, budget_s, output, on_cluster=cluster)
        return
    earlier = tuple((str(path), read(path)) for path in warm_start or ())
    with new_run_directory(run_dir, loaded.profile.name) as directory:
        job = Job(
            loaded, directory, options, budget_s, seed, clock,
            warm_starts=earlier, on_cluster=cluster,
        )  # fmt: skip
        worked = _studied(job, verbosity, metrics_path)
    _conclude(worked, directory, require_gain, output)


def _tell_plan(
    profile: Profile, options: Options, budget_s: float, output: OutputFormat, *, on_cluster: bool
) -> None:
    """What the budget will buy, as far as it can be said beforehand."""
    turned = searchable(profile, options)
    lines = list(bought(budget_s, pace_of(EngineChoice(options.engine)), profile, turned))
    if on_cluster:
        lines.append("this is for one machine; those of the cluster share the trials and the pairs")
    mended = repairs(profile) if options.repairs else ()
    fields = {
        "budget_s": budget_s,
        "knobs": [knob.path for knob in turned],
        "plan": lines,
        "repairs": [vars(one) | {"why": one.why} for one in mended],
    }
    details = [f"- {line}" for line in lines]
    details.append(f"settings, the most promising first: {', '.join(ranked(profile, turned))}")
    details += [f"repair: {one.text(profile)}" for one in mended]
    print_result(output, "search plan", fields, "\n".join(details))


def _affordable(budget: str, engine: EngineChoice) -> float:
    budget_s = duration_s(budget)
    smallest = smallest_budget_s(pace_of(engine))
    if budget_s < smallest:
        raise BadUsage(
            f"--budget {budget} is too small for a search and six pairs: "
            f"use {smallest:.0f}s or more"
        )
    return budget_s


def _gone_on(
    directory: Path,
    on_cluster: bool,
    clock: Stopwatch,
    verbosity: Verbosity,
    metrics_path: Path | None,
) -> Worked:
    """A search that was ended before; one that was finished is only told again."""
    require_begun(directory)
    record = recorded_or_set_aside(directory)
    job = resumed(directory, record, clock, on_cluster=on_cluster)
    if record.study.ending is Ending.FINISHED:
        verbosity.say(f"the search in {directory} is already complete; rewriting its reports")
        return written(job, Worked(record.study, None), verbosity)
    require_strategy(record.study.header)
    require_same_base(job.loaded)
    if has_changed(job.loaded):
        verbosity.say(
            f"{job.loaded.path} changed since this search started; continuing with the original"
        )
    return _studied(job, verbosity, metrics_path)


def _studied(job: Job, verbosity: Verbosity, metrics_path: Path | None) -> Worked:
    """Open the lab that a search needs, and work on it there.  Results are written once the lab,
    which may have filled the disk, is gone."""
    profile = job.loaded.profile
    gauges = Gauges("search", profile.name, SEARCH_PHASES, time.time())
    try:
        with (
            running_metrics(metrics_path, gauges) as metrics,
            open_place(job.wanted, [profile], job.directory, verbosity, job.options.allow) as place,
        ):
            job.clock.downloads_s = place.downloads_s
            worked = work_on(job, place, verbosity, metrics)
    except Interrupted:
        # Before it went on with anything; what was measured is there as it was.
        if job.record is not None:
            verbosity.say(to_resume(job))
        raise
    return written(job, worked, verbosity)


def _conclude(worked: Worked, directory: Path, require_gain: bool, output: OutputFormat) -> None:
    """Print the verdict, whatever became of the files, and choose the exit code.  A search that was
    interrupted has one once there were pairs enough."""
    analysed = analyse(worked.study)
    verdict = analysed.verdict
    if isinstance(worked.error, Interrupted) and verdict.claimed is None:
        raise worked.error
    after = next_command(analysed, directory) if worked.error is None else None
    if output is OutputFormat.JSON:
        data = {**report_json(analysed), "run_directory": str(directory), "next": after}
        result_json(data)
    else:
        show_blocks(outcome_blocks(analysed))
        for what, name in (("report", "report.html"), ("best profile", "best.yaml")):
            if (directory / name).exists():
                result(f"{what}: {directory / name}")
        if after is not None:
            result(f"next: {after}")
    if worked.error is not None:
        raise worked.error
    if verdict.claim is Claim.INFEASIBLE:
        raise GuardrailBreached(verdict.claim.value)
    if verdict.claim is Claim.UNFINISHED:
        raise JobFailed(verdict.claim.value)
    if verdict.claim is Claim.NOT_SHOWN and require_gain:
        raise NoImprovement("no improvement shown")
