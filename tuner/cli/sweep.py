"""`rsyslog-tune sweep`: the variants of an experiment file side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.cli.console import OutputFormat, print_result, result, say
from tuner.cli.files import Exports, new_run_directory
from tuner.cli.options import (
    EngineChoice,
    duration_s,
)
from tuner.cli.place import Wanted, pace_of, require_runnable, wanted_of
from tuner.cli.series import measured, require_none_failed
from tuner.cli.side_by_side import Course
from tuner.cli.usage.measuring import SweepArguments
from tuner.lint.load_experiment import LoadedExperiment, load_experiment
from tuner.measure.measurement import TrialPlan
from tuner.measure.series import Arm, Series
from tuner.report.sections import PlainBlock
from tuner.report.sweep import sweep_blocks, sweep_json, sweep_svg
from tuner.schema.numerals import seconds
from tuner.validate.rsyslogd import require_bases_taken
from tuner.writing import write_whole


def sweep(options: SweepArguments) -> None:
    """Carry out `rsyslog-tune sweep`."""
    loaded, output = load_experiment(options.file), options.output
    asked = loaded.experiment
    warnings = (str(warning) for variant in loaded.variants for warning in variant.warnings)
    for text in (*dict.fromkeys(warnings), *loaded.doubts):
        say(text)
    wanted = wanted_of(options, EngineChoice(asked.engine))
    course = _course(loaded, options, wanted.engine)
    if options.dry_run:
        profiles = [arm.profile for arm in course.arms]
        require_runnable(wanted, profiles)
        require_bases_taken(profiles, runs_here=False)
        _tell_plan(course, wanted, output)
        return
    with new_run_directory(options.run_dir, asked.name) as directory:
        exports = Exports(directory / "sweep.json", directory / "sweep.md")

        def write(series: Series) -> tuple[Mapping[str, object], Sequence[PlainBlock]]:
            data = {**sweep_json(series, asked), "run_directory": str(directory)}
            blocks = sweep_blocks(series, asked)
            exports.write(data, blocks)
            write_whole(directory / "sweep.svg", sweep_svg(series, asked))
            return data, blocks

        def interrupted(series: Series) -> None:
            write(series)
            say(f"results so far are in {directory}")

        series, lost = measured(
            wanted, course, [arm.name for arm in course.arms], directory, doubts=loaded.doubts,
            interrupted=interrupted,
        )  # fmt: skip
        exports.show(*write(series), output)
    if output is not OutputFormat.JSON:
        result(f"\nplot: {directory / 'sweep.svg'}")
    if lost is not None:
        raise lost
    require_none_failed(series)


def _course(loaded: LoadedExperiment, options: SweepArguments, engine: EngineChoice) -> Course:
    pace, asked = pace_of(engine), loaded.experiment
    window_s = duration_s(options.window or asked.window)
    reads_files = any(metric.reads_files for metric in asked.metrics)
    return Course(
        arms=tuple(Arm(variant.name, variant.profile) for variant in loaded.variants),
        word="block",
        blocks=options.repeats or asked.repeats,
        plan=TrialPlan(pace.warm_up_s, window_s, awaits_counters=True, reads_files=reads_files),
        pace=pace,
        seed=options.seed,
        judges_freshness=asked.judges_freshness,
    )


def _tell_plan(course: Course, wanted: Wanted, output: OutputFormat) -> None:
    """The variants, and how long one machine takes to measure them, from the start of its lab."""
    pace, names = course.pace, [arm.name for arm in course.arms]
    took_s = pace.start_s + 2 * pace.engine_warm_up_s + course.runs_s
    alone = " for one machine; those of the cluster share the blocks" if wanted.on_cluster else ""
    lines = [f"- {name}" for name in names]
    lines.append(f"{course.blocks} blocks of {len(names)} runs: about {seconds(took_s)}{alone}")
    fields = {"variants": names, "repeats": course.blocks, "about_s": took_s}
    print_result(output, "sweep plan", fields, "\n".join(lines))
