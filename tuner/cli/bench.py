"""`rsyslog-tune bench`, `compare` and `sweep`: one profile, two, or the variants of an experiment,
in blocks of runs and then in the phases that were chosen."""

from __future__ import annotations

from pathlib import Path

from tuner.cli.console import OutputFormat, print_result, say
from tuner.cli.files import Exports, new_run_directory
from tuner.cli.options import EngineChoice, duration_s
from tuner.cli.place import LabSpec, lab_spec, pace_of, require_runnable
from tuner.cli.profiles import CONFIGURATION, load
from tuner.cli.series import Course, End, measured
from tuner.cli.usage.measuring import BenchArguments, CompareArguments, Exporting, SweepArguments
from tuner.errors import BadUsage, BelowTheBar, GuardrailBreached, JobFailed
from tuner.lab.check import require_bases_taken
from tuner.lint.load_experiment import LoadedExperiment, load_experiment
from tuner.measure.enough import fewest_pairs
from tuner.measure.machines import Decision
from tuner.measure.measurement import Failure, FailureKind, PacedMeasurement, TrialPlan
from tuner.measure.series import Arm, Series
from tuner.profile.model import Profile
from tuner.report.bench import bench_blocks, bench_json
from tuner.report.compare import (
    A,
    B,
    compare_blocks,
    compare_json,
    gate_of,
    gate_text,
    sweep_blocks,
    sweep_json,
)
from tuner.schema.numerals import counted, seconds

_PHASES = ("freshness", "sustain", "overload", "ceiling")


def bench(options: BenchArguments) -> None:
    """Carry out `rsyslog-tune bench`."""
    exports = Exports(options.export_json, options.export_markdown)
    exports.require_writable(options.profile)
    profile, window_s = load(options.profile).profile, duration_s(options.window)
    pace = pace_of(options.engine)
    course = Course(
        arms=(Arm(profile.name, profile),),
        word="run",
        blocks=options.repeat,
        plan=TrialPlan(pace.warm_up_s, window_s, window_s, awaits_counters=True),
        pace=pace,
        seed=0,
        phases=_phases(options),
    )
    series, end = measured(lab_spec(options), course, (profile.name,))
    exports.publish(bench_json(series), bench_blocks(series), options.output, end)
    require_whole(series, end)


def _phases(options: Exporting) -> tuple[str, ...]:
    """The phases after the runs that were asked for."""
    return tuple(phase for phase in _PHASES if getattr(options, phase, False))


def compare(options: CompareArguments) -> None:
    """Carry out `rsyslog-tune compare`."""
    exports = Exports(options.export_json, options.export_markdown)
    exports.require_writable(options.a, options.b)
    for path in (options.a, options.b):
        if path.is_dir():
            raise BadUsage(f"{path} is a folder: compare two profiles, such as {path}/best.yaml")
    series, end = measured_pair(options)
    decided = gate_of(series, options.fail_below)
    data, blocks = compare_json(series, decided), compare_blocks(series, decided)
    exports.publish(data, blocks, options.output, end)
    require_whole(series, end)
    if decided is None or decided.decision is Decision.KEPT:
        return
    text = gate_text(decided)
    raise (BelowTheBar if decided.decision is Decision.BELOW else JobFailed)(text)


def measured_pair(options: CompareArguments) -> tuple[Series, End]:
    """Measure both profiles on labs of the release of `a`, as `last_known` gives it."""
    a, b, spec = options.a, options.b, lab_spec(options)
    first, second, doubts = under_one_workload(load(a).profile, load(b).profile, a)
    if first.workload.rate != "max":
        doubts.append("workload.rate is fixed: both sides were offered exactly that rate")
    arms, pace = (Arm(A, first), Arm(B, second)), pace_of(spec.engine)
    plan = TrialPlan(pace.warm_up_s, duration_s(options.window), awaits_counters=True)
    course = Course(arms, "pair", options.pairs, plan, pace, options.seed, _phases(options))
    _require_enough(course, restarts=spec.starts_node)
    return measured(spec, course, (str(a), str(b)), None, doubts)


def under_one_workload(a: Profile, b: Profile, path: Path) -> tuple[Profile, Profile, list[str]]:
    """Both profiles with the workload of A, and what that leaves in doubt; a configuration, in
    which no workload can stand, has that of the profile on top of one beside it."""
    if path.suffix == CONFIGURATION and b.base is not None:
        return a.model_copy(update={"workload": b.workload}), b, []
    if b.workload == a.workload:
        return a, b, []
    doubt = "the workloads differ: both sides were measured with that of A"
    return a, b.model_copy(update={"workload": a.workload}), [doubt]


def _require_enough(course: Course, *, restarts: bool) -> None:
    """Raise BadUsage for fewer pairs than can show anything."""
    fewest = fewest_pairs(restarting=restarts and course.nodes > 1)
    if course.blocks < fewest:
        raise BadUsage(
            f"--pairs {course.blocks} is too few: the node sections differ, so the engine restarts "
            f"between the sides, and runs just after a restart do not count; {fewest} suffice"
        )


def sweep(options: SweepArguments) -> None:
    """Carry out `rsyslog-tune sweep`."""
    loaded, output = load_experiment(options.file), options.output
    asked = loaded.experiment
    warnings = (str(warning) for variant in loaded.variants for warning in variant.warnings)
    for text in (*dict.fromkeys(warnings), *loaded.doubts):
        say(text)
    spec = lab_spec(options, EngineChoice(asked.engine))
    course = _course_of(loaded, options, spec.engine)
    if options.dry_run:
        profiles = [arm.profile for arm in course.arms]
        require_runnable(spec, profiles)
        require_bases_taken(profiles, runs_here=False)
        _show_plan(course, spec, output)
        return
    with new_run_directory(options.run_dir, asked.name) as directory:
        series, end = measured(
            spec, course, [arm.name for arm in course.arms], directory, loaded.doubts
        )
        data = {**sweep_json(series, asked), "run_directory": str(directory)}
        exports = Exports(directory / "sweep.json", directory / "sweep.md")
        exports.publish(data, sweep_blocks(series, asked), output, end)
    require_whole(series, end)


def _course_of(loaded: LoadedExperiment, options: SweepArguments, engine: EngineChoice) -> Course:
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


def _show_plan(course: Course, spec: LabSpec, output: OutputFormat) -> None:
    """The variants, and how long one machine takes to measure them, from the start of its lab."""
    pace, names = course.pace, [arm.name for arm in course.arms]
    took_s = pace.start_s + 2 * pace.engine_warm_up_s + course.runs_s
    alone = " for one machine; those of the cluster share the blocks" if spec.on_cluster else ""
    lines = [f"- {name}" for name in names]
    lines.append(f"{course.blocks} blocks of {len(names)} runs: about {seconds(took_s)}{alone}")
    fields = {"variants": names, "repeats": course.blocks, "about_s": took_s}
    print_result(output, "sweep plan", fields, "\n".join(lines))


_BREACHED = (FailureKind.DELIVERY, FailureKind.GUARDRAIL)


def require_whole(series: Series, end: End = None) -> None:
    """Raise what ended it early, and GuardrailBreached or JobFailed where a run or a phase failed,
    or a variant is not as fresh as its guardrail asks for."""
    if end is not None:
        raise end
    fresh = [(variant.freshness, variant.freshness_limit_s) for variant in series.variants]
    outcomes = [*(run.result for run in series.runs), *(outcome for outcome, _ in fresh)]
    failures = [outcome for outcome in (*outcomes, series.overload) if isinstance(outcome, Failure)]
    breaches = [
        failure
        for failure in failures
        if failure.kind in _BREACHED or (failure.delivery is not None and failure.delivery.lost > 0)
    ]
    count = f"{counted(len(failures), 'run')} failed"
    if breaches:
        raise GuardrailBreached(f"{count}: {breaches[0].reason}")
    if failures:
        raise JobFailed(f"{count}: {failures[0].reason}")
    for outcome, limit_s in fresh:
        measured_s = outcome.freshness_s if isinstance(outcome, PacedMeasurement) else None
        if measured_s is not None and measured_s.p99 > limit_s:
            raise GuardrailBreached(
                f"freshness p99 is {measured_s.p99:.1f} s, freshness_p99_s allows {limit_s:g} s"
            )
