"""`rsyslog-tune sweep`: the variants of an experiment file side by side."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import (
    OutputFormat,
    Verbosity,
    print_result,
    result,
    result_json,
    say,
    working,
)
from tuner.cli.files import new_run_directory
from tuner.cli.layout import show_blocks
from tuner.cli.options import (
    ClusterOption,
    EngineChoice,
    OutputOption,
    RsyslogdOption,
    TemplatesOption,
    UrlOption,
    duration_s,
)
from tuner.cli.place import Wanted, open_place, pace_of, require_runnable
from tuner.cli.profiles import templates_of
from tuner.cli.runs import (
    SideBySide,
    begins_block,
    last_known,
    reported_runs,
    require_none_failed,
)
from tuner.errors import Interrupted
from tuner.host.programs import choose_rsyslogd
from tuner.lint.load_experiment import LoadedExperiment, load_experiment
from tuner.measure.blocks import Arm, Run
from tuner.measure.measurement import TrialPlan
from tuner.render.tree import write_whole
from tuner.report.markdown import blocks_markdown
from tuner.report.sweep import Sweep, sweep_blocks, sweep_json, sweep_svg
from tuner.schema.numerals import seconds
from tuner.search.budget import Pace, trial_seconds
from tuner.search.farm import MeasuringPlace
from tuner.search.guardrails import interval_s
from tuner.search.study import LabFacts
from tuner.validate.rsyslogd import require_bases_taken

ExperimentPath = Annotated[Path, typer.Argument(help="The experiment, a YAML file.")]
Repeats = Annotated[int | None, typer.Option(min=1, max=100, help="Repeats; overrides the file.")]
Window = Annotated[str | None, typer.Option(help="Length of a run's window; overrides the file.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random order within blocks.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check the file and all variants, measure nothing.")
]
OtherEngine = Annotated[EngineChoice | None, typer.Option(help="node or sink; overrides the file.")]
RunDir = Annotated[Path | None, typer.Option(help="Where results go; must be new or empty.")]


def sweep(
    file: ExperimentPath,
    repeats: Repeats = None,
    window: Window = None,
    seed: Seed = 1,
    dry_run: DryRun = False,
    engine: OtherEngine = None,
    elasticsearch: UrlOption = None,
    cluster: ClusterOption = False,
    templates: TemplatesOption = None,
    run_dir: RunDir = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Measure the variants of an experiment file side by side, and print them beside what others
    published.

    Every variant runs once in each block, in random order.  Writes sweep.md, sweep.json and
    sweep.svg, also when it is interrupted.  Exits with 6 when a run lost or doubled events or
    breached a guardrail, with 1 when one failed otherwise.  An engine that dies is started again
    and the run repeated once; after three losses in a row it exits with 4, with what was measured
    so far.

    With --cluster the blocks are spread over its machines, each block on one.
    """
    choose_rsyslogd(rsyslogd)
    loaded = load_experiment(file)
    asked = loaded.experiment
    for warning in dict.fromkeys(str(one) for each in loaded.variants for one in each.warnings):
        say(warning)
    for doubt in loaded.doubts:
        say(doubt)
    profiles = [variant.profile for variant in loaded.variants]
    wanted = Wanted(
        engine or EngineChoice(asked.engine),
        elasticsearch,
        templates_of(templates),
        on_cluster=cluster,
    )
    window_s = duration_s(window or asked.window)
    if dry_run:
        require_runnable(wanted, profiles)
        require_bases_taken(profiles, runs_here=False)
        _tell_plan(loaded, repeats or asked.repeats, window_s, wanted, output)
        return
    with (
        new_run_directory(run_dir, asked.name) as directory,
        open_place(wanted, profiles, directory, Verbosity.NORMAL) as place,
        working("starting") as tell,
    ):
        course = Course(repeats or asked.repeats, window_s, pace_of(wanted.engine), seed, directory)
        found, lost = last_known(_stages(loaded, place, course, tell))
        _write(found, directory)
    if output is OutputFormat.JSON:
        result_json({**sweep_json(found), "run_directory": str(directory)})
    else:
        show_blocks(sweep_blocks(found))
        result(f"\nplot: {directory / 'sweep.svg'}")
    if lost is not None:
        raise lost
    require_none_failed(run.result for run in found.runs)


def _tell_plan(
    loaded: LoadedExperiment,
    repeats: int,
    window_s: float,
    wanted: Wanted,
    output: OutputFormat,
) -> None:
    """The variants, and how long one machine takes to measure them."""
    pace = pace_of(wanted.engine)
    arms = _arms(loaded)
    judges = loaded.experiment.judges_freshness
    took_s = _lasts_s(arms, _plan(loaded, pace, window_s), repeats, pace, judges)
    names = [arm.name for arm in arms]
    alone = " for one machine; those of the cluster share the blocks" if wanted.on_cluster else ""
    lines = [f"- {name}" for name in names]
    lines.append(f"{repeats} blocks of {len(names)} runs: about {seconds(took_s)}{alone}")
    fields = {"variants": names, "repeats": repeats, "about_s": took_s}
    print_result(output, "sweep plan", fields, "\n".join(lines))


def _lasts_s(
    arms: Sequence[Arm], plan: TrialPlan, count: int, pace: Pace, judges_freshness: bool
) -> float:
    """About how many seconds so many blocks take, from the start of the lab."""
    waits_s = sum(interval_s(arm.profile) for arm in arms) if judges_freshness else 0.0
    run_s = len(arms) * trial_seconds(plan, pace.overhead_s, pace) + waits_s
    restarts = len({arm.node for arm in arms}) - 1
    restart_s = pace.start_s + pace.engine_warm_up_s
    return pace.start_s + 2 * pace.engine_warm_up_s + count * (run_s + restarts * restart_s)


def _arms(loaded: LoadedExperiment) -> tuple[Arm, ...]:
    return tuple(Arm(variant.name, variant.profile) for variant in loaded.variants)


def _plan(loaded: LoadedExperiment, pace: Pace, window_s: float) -> TrialPlan:
    """What a run that saturates is like."""
    reads_files = any(metric.reads_files for metric in loaded.experiment.metrics)
    return TrialPlan(pace.warm_up_s, window_s, awaits_counters=True, reads_files=reads_files)


@dataclass(frozen=True)
class Course:
    """How many blocks, how long the window of a run, what the labs need, what decides the order,
    where results go."""

    repeats: int
    window_s: float
    pace: Pace
    seed: int
    directory: Path


def _stages(
    loaded: LoadedExperiment, place: MeasuringPlace, course: Course, tell: Callable[[str], None]
) -> Iterator[Sweep]:
    """What is known after each run, each told as it ends; an interrupt leaves that in files."""
    asked = loaded.experiment
    arms = _arms(loaded)
    side_by_side = SideBySide(
        place,
        arms,
        _plan(loaded, course.pace, course.window_s),
        course.pace,
        random.Random(course.seed),
        begins_block(tell, course.repeats),
        judges_freshness=asked.judges_freshness,
    )
    found = Sweep(
        experiment=asked,
        arms=tuple(arm.name for arm in arms),
        engine=place.facts.engine,
        rsyslog=place.facts.fingerprint.rsyslog,
        machine=place.facts.machine,
        seed=course.seed,
        runs=(),
        substitutions=tuple(_substitutions(place.facts, arms)),
        untested=place.facts.untested,
        freshness_limit_s=arms[0].profile.guardrails.freshness_p99_s,
        doubts=loaded.doubts,
    )
    began_s = time.monotonic()

    def left(runs: Sequence[Run], _: Run) -> str:
        each_s = (time.monotonic() - began_s) / len(runs)
        runs_left = max(0, len(arms) * course.repeats - len(runs))
        return f"  (about {seconds(each_s * runs_left)} left)"

    try:
        for _, runs in reported_runs(side_by_side, course.repeats, "block", left):
            found = replace(found, runs=runs)
            yield found
    except Interrupted:
        if found.runs:
            _write(found, course.directory)
            say(f"results so far are in {course.directory}")
        raise


def _substitutions(facts: LabFacts, arms: Sequence[Arm]) -> Iterator[str]:
    """What no variant had as written, once, and what single ones had not, with their names."""
    changed = (facts.substitutions, *facts.beside)
    each = {arm.name: texts for arm, texts in zip(arms, changed, strict=True)}
    for text in dict.fromkeys(text for texts in each.values() for text in texts):
        names = [name for name, texts in each.items() if text in texts]
        yield text if len(names) == len(arms) else f"{', '.join(names)}: {text}"
    if facts.fixes_node and len({arm.node for arm in arms}) > 1:
        yield "node settings: the running engine keeps its own for all variants"


def _write(found: Sweep, directory: Path) -> None:
    """Write the results as text, for programs and as a picture."""
    write_whole(directory / "sweep.json", json.dumps(sweep_json(found), indent=2) + "\n")
    write_whole(directory / "sweep.md", blocks_markdown(sweep_blocks(found)))
    write_whole(directory / "sweep.svg", sweep_svg(found))
