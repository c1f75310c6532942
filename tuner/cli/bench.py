"""`rsyslog-tune bench`: measure one profile."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tuner.cli.bench_phases import Phases
from tuner.cli.blocks import lab_pace
from tuner.cli.console import result_json, say, working
from tuner.cli.exports import Exports, JsonFile, MarkdownFile
from tuner.cli.failures import require_none_failed
from tuner.cli.layout import show_blocks
from tuner.cli.metrics_file import MetricsFile, MetricsFileOption, running_metrics
from tuner.cli.options import (
    EngineChoice,
    EngineOption,
    Output,
    OutputOption,
    ProfilePath,
    UrlOption,
    duration_s,
)
from tuner.cli.profiles import load
from tuner.cli.site import Wanted, open_lab, prepare
from tuner.errors import GuardrailBreached
from tuner.lab.lab import Lab
from tuner.measure.measurement import Failure, Outcome, TrialPlan
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.trial import run_trial
from tuner.profile.model import Profile
from tuner.report.bench import Bench, bench_blocks, bench_json, summary
from tuner.report.figures import eps, seconds
from tuner.report.gauges import BENCH_PHASES, Gauges, with_outcome
from tuner.search.budget import trial_seconds

T = TypeVar("T")


def bench(
    profile: ProfilePath,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="How many runs.")] = 1,
    window: Annotated[
        str,
        typer.Option(help="The window of a run; once longer by as much when it is not steady."),
    ] = "10s",
    freshness: Annotated[
        bool,
        typer.Option(help="Measure freshness too, from when an event is due until it is found."),
    ] = True,
    sustain: Annotated[
        bool, typer.Option("--sustain", help="Find the highest rate that is carried for long.")
    ] = False,
    overload: Annotated[
        bool, typer.Option("--overload", help="Offer half as much again, and see it recover.")
    ] = False,
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Find what the engine carries without rsyslog.")
    ] = False,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    metrics_path: MetricsFileOption = None,
    export_json: JsonFile = None,
    export_markdown: MarkdownFile = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Measure a profile: events per second, delivery, CPU per event, freshness, and what limits it.

    Exits with 6 when events were lost or doubled or a guardrail was breached, with 1 when a run
    failed otherwise.
    """
    exports = Exports(export_json, export_markdown)
    exports.require_writable(profile)
    loaded = load(profile)
    wanted = Wanted(engine, elasticsearch)
    window_s = duration_s(window)
    chosen = Chosen(repeat, window_s, freshness, sustain, overload, ceiling)
    parent = Path(tempfile.gettempdir())
    gauges = Gauges("bench", loaded.profile.name, BENCH_PHASES, time.time(), planned=repeat)
    with running_metrics(metrics_path, gauges) as metrics:
        prepare(wanted, loaded.profile, say)
        with open_lab(wanted, loaded.profile, parent, say) as lab:
            measured = _measure(lab, loaded.profile, chosen, metrics)
    blocks, data = bench_blocks(measured), bench_json(measured)
    exports.write(data, blocks)
    if output is Output.JSON:
        result_json(data)
    else:
        show_blocks(blocks)
    _judge(measured)


@dataclass(frozen=True)
class Chosen:
    """What the options ask for."""

    repeat: int
    window_s: float
    freshness: bool
    sustain: bool
    overload: bool
    ceiling: bool


def _measure(lab: Lab, profile: Profile, chosen: Chosen, metrics: MetricsFile) -> Bench:
    """A run that gets the engine warm and is not kept, the runs, then the phases."""
    gauges = replace(metrics.gauges, engine=lab.engine.name, rsyslog=lab.rsyslog)
    metrics.update(replace(gauges, phase="warm-up"))
    pace = lab_pace(lab)
    warm_up = TrialPlan(pace.warm_up_s, 2 * pace.engine_warm_up_s)
    plan = TrialPlan(pace.warm_up_s, chosen.window_s, chosen.window_s, awaits_counters=True)
    outcomes: list[Outcome] = []
    with working("getting the engine warm") as tell:
        run_trial(lab, profile, warm_up, "t0", lambda stage: tell(f"getting warm: {stage}"))
        ends_s = time.monotonic() + chosen.repeat * trial_seconds(plan, pace.overhead_s, pace)
        for number in range(1, chosen.repeat + 1):
            run = f"run {number} of {chosen.repeat}"
            metrics.update(replace(metrics.gauges, phase="run", trial=number))
            outcome = run_trial(lab, profile, plan, f"t{number}", _stages(run, ends_s, tell))
            outcomes.append(outcome)
            metrics.update(with_outcome(metrics.gauges, outcome))
            say(f"{run}: {_what(outcome)}")
        found = Bench(
            profile=profile.name,
            engine=lab.engine.name,
            outcomes=tuple(outcomes),
            substitutions=tuple(str(one) for one in lab.bind(profile, "t").substitutions),
            freshness_limit_s=profile.guardrails.freshness_p99_s,
            message_bytes=None if profile.workload.replay else profile.workload.message_bytes.mean,
        )
        figures = summary(outcomes)
        if figures is None:
            return found
        phases = Phases(lab, profile, figures["eps_median"], chosen.window_s, tell)
        return _phases(found, phases, chosen, metrics)


def _stages(run: str, ends_s: float, tell: Callable[[str], None]) -> Callable[[str], None]:
    """Tells the stages of a run, and about how long the runs still take."""
    return lambda stage: tell(
        f"{run}: {stage}, about {seconds(ends_s - time.monotonic())} until the last run ends"
    )


def _phases(found: Bench, phases: Phases, chosen: Chosen, metrics: MetricsFile) -> Bench:
    """The phases that were chosen, after the runs."""

    def phase(name: str, run: Callable[[], T]) -> T:
        metrics.update(replace(metrics.gauges, phase=name))
        outcome = run()
        if isinstance(outcome, PacedMeasurement | Failure):
            metrics.update(with_outcome(metrics.gauges, outcome))
        return outcome

    return replace(
        found,
        freshness=phase("freshness", phases.freshness) if chosen.freshness else None,
        sustained=phase("sustain", phases.sustain) if chosen.sustain else None,
        overload=phase("overload", phases.overload) if chosen.overload else None,
        ceiling=phase("ceiling", phases.ceiling) if chosen.ceiling else None,
    )


def _what(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.reason}"
    return f"{eps(outcome.eps)} EPS"


def _judge(found: Bench) -> None:
    """Choose the exit code."""
    require_none_failed((*found.outcomes, found.freshness, found.overload))
    limit_s = found.freshness_limit_s
    fresh = found.freshness.freshness_s if isinstance(found.freshness, PacedMeasurement) else None
    if fresh is not None and fresh.p99 > limit_s:
        raise GuardrailBreached(
            f"freshness p99 is {fresh.p99:.1f} s, freshness_p99_s allows {limit_s:g} s"
        )
