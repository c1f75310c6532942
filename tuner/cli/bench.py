"""`rsyslog-tune bench`: measure one profile, in runs and then in the phases that were chosen."""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tuner.cli.console import result_json, say, working
from tuner.cli.files import (
    Exports,
    JsonFile,
    MarkdownFile,
    MetricsFile,
    MetricsFileOption,
    running_metrics,
)
from tuner.cli.layout import show_blocks
from tuner.cli.options import (
    LOCAL,
    EngineChoice,
    EngineOption,
    LocalProfile,
    OutputFormat,
    OutputOption,
    UrlOption,
    duration_s,
    load,
)
from tuner.cli.runs import lab_pace, require_none_failed
from tuner.cli.site import Wanted, open_lab, prepare, tell_of_others
from tuner.engines.index import MappingStyle
from tuner.errors import GuardrailBreached
from tuner.flood.schedule import fixed
from tuner.lab.lab import Lab
from tuner.measure.ceiling import Ceiling, CeilingPlan, ceiling
from tuner.measure.measurement import Failure, Outcome, TrialPlan
from tuner.measure.overload import Overload, overload_of, overload_plan
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.sustain import Goal, LoadTrial, bounds, search_load, why_not
from tuner.measure.trial import run_trial
from tuner.profile.model import Profile
from tuner.report.bench import Bench, Sustained, bench_blocks, bench_json, summary
from tuner.report.figures import eps, seconds
from tuner.report.gauges import BENCH_PHASES, Gauges, with_outcome
from tuner.search.budget import trial_seconds

T = TypeVar("T")


def bench(
    profile: LocalProfile = LOCAL,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="Number of runs.")] = 1,
    window: Annotated[
        str,
        typer.Option(
            help="Length of a run's window; extended once, to twice that, when the rate "
            "is not steady."
        ),
    ] = "10s",
    freshness: Annotated[
        bool,
        typer.Option(
            help="Also measure freshness: the time from when an event is due until a "
            "search finds it."
        ),
    ] = True,
    sustain: Annotated[
        bool, typer.Option("--sustain", help="Find the maximum sustainable rate.")
    ] = False,
    overload: Annotated[
        bool, typer.Option("--overload", help="Run at 150 % load, then measure recovery.")
    ] = False,
    ceiling: Annotated[
        bool, typer.Option("--ceiling", help="Measure the engine's own ceiling, without rsyslog.")
    ] = False,
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    metrics_path: MetricsFileOption = None,
    export_json: JsonFile = None,
    export_markdown: MarkdownFile = None,
    output: OutputOption = OutputFormat.TEXT,
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
    chosen = BenchOptions(repeat, window_s, freshness, sustain, overload, ceiling)
    parent = Path(tempfile.gettempdir())
    gauges = Gauges("bench", loaded.profile.name, BENCH_PHASES, time.time(), planned=repeat)
    with running_metrics(metrics_path, gauges) as metrics:
        prepare(wanted, [loaded.profile], say)
        tell_of_others(say)
        with open_lab(wanted, loaded.profile, parent, say) as lab:
            measured = _measure(lab, loaded.profile, chosen, metrics)
    blocks, data = bench_blocks(measured), bench_json(measured)
    exports.write(data, blocks)
    if output is OutputFormat.JSON:
        result_json(data)
    else:
        show_blocks(blocks)
    _judge(measured)


@dataclass(frozen=True)
class BenchOptions:
    """What the options ask for."""

    repeat: int
    window_s: float
    freshness: bool
    sustain: bool
    overload: bool
    ceiling: bool


def _measure(lab: Lab, profile: Profile, chosen: BenchOptions, metrics: MetricsFile) -> Bench:
    """A warm-up run, which is not kept, then the runs, then the phases."""
    gauges = replace(metrics.gauges, engine=lab.engine.name, rsyslog=lab.rsyslog)
    metrics.update(replace(gauges, phase="warm-up"))
    pace = lab_pace(lab)
    warm_up = TrialPlan(pace.warm_up_s, 2 * pace.engine_warm_up_s)
    plan = TrialPlan(pace.warm_up_s, chosen.window_s, chosen.window_s, awaits_counters=True)
    outcomes: list[Outcome] = []
    with working("warming up the engine") as tell:
        run_trial(lab, profile, warm_up, "t0", lambda stage: tell(f"warm-up: {stage}"))
        ends_s = time.monotonic() + chosen.repeat * trial_seconds(plan, pace.overhead_s, pace)
        for number in range(1, chosen.repeat + 1):
            run = f"run {number} of {chosen.repeat}"
            metrics.update(replace(metrics.gauges, phase="run", trial=number))
            outcome = run_trial(lab, profile, plan, f"t{number}", _stages(run, ends_s, tell))
            outcomes.append(outcome)
            metrics.update(with_outcome(metrics.gauges, outcome))
            say(f"{run}: {_what(outcome)}")
        measured = Bench(
            profile=profile.name,
            engine=lab.engine.name,
            outcomes=tuple(outcomes),
            substitutions=tuple(str(one) for one in lab.bind(profile, "t").substitutions),
            freshness_limit_s=profile.guardrails.freshness_p99_s,
            message_bytes=None if profile.workload.replay else profile.workload.message_bytes.mean,
        )
        figures = summary(outcomes)
        if figures is None:
            return measured
        phases = Phases(lab, profile, figures["eps_median"], chosen.window_s, tell)
        return _phases(measured, phases, chosen, metrics)


def _stages(run: str, ends_s: float, tell: Callable[[str], None]) -> Callable[[str], None]:
    """Shows the stages of a run, and about how long the runs still take."""
    return lambda stage: tell(
        f"{run}: {stage}, about {seconds(ends_s - time.monotonic())} until the last run ends"
    )


def _phases(measured: Bench, phases: Phases, chosen: BenchOptions, metrics: MetricsFile) -> Bench:
    """The phases that were chosen, after the runs."""

    def phase(name: str, run: Callable[[], T]) -> T:
        metrics.update(replace(metrics.gauges, phase=name))
        outcome = run()
        if isinstance(outcome, PacedMeasurement | Failure):
            metrics.update(with_outcome(metrics.gauges, outcome))
        return outcome

    return replace(
        measured,
        freshness=phase("freshness", phases.freshness) if chosen.freshness else None,
        sustained=phase("sustain", phases.sustain) if chosen.sustain else None,
        overload=phase("overload", phases.overload) if chosen.overload else None,
        ceiling=phase("ceiling", phases.ceiling) if chosen.ceiling else None,
    )


def _what(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.reason}"
    return f"{eps(outcome.eps)} EPS"


def _judge(measured: Bench) -> None:
    """Choose the exit code."""
    require_none_failed((*measured.outcomes, measured.freshness, measured.overload))
    limit_s = measured.freshness_limit_s
    fresh = (
        measured.freshness.freshness_s if isinstance(measured.freshness, PacedMeasurement) else None
    )
    if fresh is not None and fresh.p99 > limit_s:
        raise GuardrailBreached(
            f"freshness p99 is {fresh.p99:.1f} s, freshness_p99_s allows {limit_s:g} s"
        )


_LEAD_S = 2.0
# Freshness is judged where a pipeline should run, not where it is full.
_SHARE = 0.7
_FIRST_SHARE = 0.9
_OVERLOAD = 1.5


@dataclass
class Phases:
    """Runs the phases one after the other in a lab; `rate` is the median of the runs, or what the
    profile's workload asks for, and `window_s` what was asked for a run."""

    lab: Lab
    profile: Profile
    rate: float
    window_s: float
    tell: Callable[[str], None]
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def freshness(self) -> PacedMeasurement | Failure | None:
        """From due to searchable, at seven tenths of the measured rate or at the profile's own;
        None where nothing is kept that could be searched."""
        if self.profile.measured.index.mapping is MappingStyle.NONE:
            return None
        fixed_rate = self.profile.workload.rate != "max"
        rate, judged_s = self.rate if fixed_rate else _SHARE * self.rate, self._judged_s()
        self._begin(f"freshness: {eps(rate)} events per second for {judged_s:g} s")
        return self._paced(rate, judged_s)

    def sustain(self) -> Sustained:
        """The maximum sustainable rate, beginning a little below the measured one."""
        goal = Goal(trial_s=self.window_s, enough_s=3 * self.window_s)

        def evaluate(load: float) -> LoadTrial:
            self.tell(f"sustainable rate: {eps(load)} events per second")
            outcome = self._paced(load, self.window_s)
            reason = why_not(outcome, self.profile)
            say(f"{eps(load)} events per second: {reason or 'carried'}")
            return LoadTrial(load, self.window_s, reason, outcome)

        trials = search_load(evaluate, goal, _FIRST_SHARE * self.rate)
        return Sustained(bounds(trials, goal), trials)

    def overload(self) -> Overload | Failure:
        """150 % of the measured rate, for the length of a window."""
        plan = overload_plan(self.rate, _OVERLOAD, self.window_s)
        self._begin(
            f"overload: {eps(plan.over_per_second)} events per second for {plan.over_s:g} s"
        )
        outcome = run_paced(self.lab, self.profile, plan.pacing, self._name(), lambda _: None)
        return outcome if isinstance(outcome, Failure) else overload_of(plan, outcome)

    def ceiling(self) -> Ceiling:
        """What the warm engine carries without rsyslog."""
        self._begin("the engine's ceiling")
        return ceiling(self.lab, self.profile, say, CeilingPlan(engine_warm_up_s=0.0))

    def _paced(self, per_second: float, judged_s: float) -> PacedMeasurement | Failure:
        whole_s = _LEAD_S + judged_s
        pacing = Pacing(fixed(per_second), whole_s, _LEAD_S, whole_s)
        return run_paced(self.lab, self.profile, pacing, self._name(), lambda _: None)

    def _judged_s(self) -> float:
        """As long as a window, and whole refresh intervals, two at least: freshness goes up and
        down with them."""
        interval_s = self.lab.engine.refresh_s(self.profile.measured)
        if not interval_s:
            return self.window_s
        return interval_s * max(2, math.ceil(self.window_s / interval_s))

    def _begin(self, phase: str) -> None:
        """Show which phase begins: as it goes on, and as a line that stays."""
        self.tell(phase)
        say(phase)

    def _name(self) -> str:
        return f"p{next(self._numbers)}"
