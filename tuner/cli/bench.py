"""`rsyslog-tune bench`: measure one profile, in runs and then in the phases that were chosen."""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from tuner.cli.console import OutputFormat, Verbosity, say, working
from tuner.cli.files import (
    Exports,
    JsonFile,
    MarkdownFile,
    MetricsFile,
    MetricsFileOption,
    running_metrics,
)
from tuner.cli.options import (
    LOCAL,
    ClusterOption,
    EngineChoice,
    EngineOption,
    OutputOption,
    ProfilePath,
    RsyslogdOption,
    TemplatesOption,
    UrlOption,
    duration_s,
)
from tuner.cli.place import Wanted, open_place, pace_of
from tuner.cli.profiles import load, templates_of
from tuner.cli.runs import SideBySide, last_known, reported_runs, require_none_failed
from tuner.engines.index import MappingStyle
from tuner.errors import GuardrailBreached, Unreachable
from tuner.host.programs import choose_rsyslogd
from tuner.lab.engine import stores
from tuner.measure.blocks import Arm
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.sustain import (
    LoadTrial,
    Overload,
    bounds,
    next_load,
    overload_of,
    overload_plan,
    why_not,
)
from tuner.profile.model import Profile
from tuner.report.bench import Bench, Sustained, bench_blocks, bench_json, median_on, summary
from tuner.report.figures import on
from tuner.report.metrics import BENCH_PHASES, Gauges
from tuner.schema.numerals import eps, seconds
from tuner.search.budget import Pace, trial_seconds
from tuner.search.farm import MeasuringPlace
from tuner.search.guardrails import LEAD_S, check_rate, interval_s
from tuner.search.study import BASELINE, Asked, Phase, Trial

T = TypeVar("T")

_RUN = "run"
_FIRST_SHARE = 0.9


@dataclass(frozen=True)
class BenchOptions:
    """What the options ask for."""

    repeat: int
    window_s: float
    freshness: bool
    sustain: bool
    overload: bool
    ceiling: bool


class BenchCourse:
    """Runs a profile and then the phases that were chosen, on the machines of a place, and goes on
    after a run that lost the engine."""

    def __init__(
        self,
        place: MeasuringPlace,
        profile: Profile,
        chosen: BenchOptions,
        pace: Pace,
        metrics: MetricsFile,
        tell: Callable[[str], None],
    ) -> None:
        self._profile = profile
        self._chosen = chosen
        self._metrics = metrics
        self._tell = tell
        self._stores = stores(place.facts.engine)
        plan = TrialPlan(pace.warm_up_s, chosen.window_s, chosen.window_s, awaits_counters=True)
        self._runs_s = chosen.repeat * trial_seconds(plan, pace.overhead_s, pace)
        self._ends_s = math.inf
        self._side = SideBySide(
            place, [Arm(_RUN, profile)], plan, pace, random.Random(0), self._begins,
            telling=self._stage,
        )  # fmt: skip

    def stages(self, measured: Bench) -> Iterator[Bench]:
        """What is known after each run and, where one gave a rate, after each phase."""
        for known in self._runs(measured):
            measured = known
            yield measured
        if summary(measured.outcomes) is not None:
            yield from self._phases(measured)

    def _runs(self, measured: Bench) -> Iterator[Bench]:
        """What is known after each run; one to warm up, which is not kept, comes first on each
        machine."""
        for run, runs in reported_runs(self._side, self._chosen.repeat, "run", lambda _, __: ""):
            if run is not None:
                self._count(run.result)
            outcomes = (one.result for one in runs)
            measured = replace(
                measured,
                outcomes=tuple(one for one in outcomes if not isinstance(one, PacedMeasurement)),
                machines=tuple(one.machine for one in runs if one.machine),
            )
            yield measured

    def _phases(self, measured: Bench) -> Iterator[Bench]:
        """What is known after each phase that was chosen, each on one machine, at rates by the
        median of its runs or by what the profile's workload asks for."""
        if self._chosen.freshness:
            fresh, measured = self._phase("freshness", measured, self._freshness)
            measured = replace(measured, freshness=fresh)
            yield measured
        if self._chosen.sustain:
            sustained, measured = self._phase("sustain", measured, self._sustain)
            measured = replace(measured, sustained=sustained)
            yield measured
        if self._chosen.overload:
            overload, measured = self._phase("overload", measured, self._overload)
            measured = replace(measured, overload=overload)
            yield measured
        if self._chosen.ceiling:
            self._enter("ceiling")
            self._say("the engine's ceiling")
            ceiling, machine = self._side.ceiling(self._profile)
            yield replace(_with_phase(measured, "ceiling", machine), ceiling=ceiling)

    def _phase(
        self,
        name: str,
        measured: Bench,
        course: Callable[[str, float], Generator[Asked, Trial, T]],
    ) -> tuple[T, Bench]:
        """What a phase comes to, and `measured` with its machine."""
        self._enter(name)

        def work(machine: str) -> Generator[Asked, Trial, T]:
            yield from self._side.warm(machine)
            per_second = median_on(measured, machine)
            if per_second is None:
                raise RuntimeError("no run gave a rate")
            result = yield from course(machine, per_second)
            return result

        result, machine = self._side.alone(work, lambda trial: self._count(trial.outcome))
        return result, _with_phase(measured, name, machine)

    def _freshness(
        self, machine: str, per_second: float
    ) -> Generator[Asked, Trial, PacedMeasurement | Failure | None]:
        """From due to searchable, at seven tenths of the measured rate or at the profile's own;
        None where nothing is kept that could be searched."""
        if self._profile.measured.index.mapping is MappingStyle.NONE:
            return None
        fixed_rate = self._profile.workload.rate != "max"
        rate = per_second if fixed_rate else check_rate([per_second])
        judged_s = self._judged_s()
        self._say(f"freshness{on(machine)}: {eps(rate)} events per second for {judged_s:g} s")
        return (yield from self._paced(machine, rate, TrialPlan(LEAD_S, judged_s)))

    def _sustain(self, machine: str, per_second: float) -> Generator[Asked, Trial, Sustained]:
        """The maximum sustainable rate, beginning a little below the measured one."""
        window_s = self._chosen.window_s
        enough_s = 3 * window_s
        trials: list[LoadTrial] = []
        while (load := next_load(trials, enough_s, _FIRST_SHARE * per_second)) is not None:
            self._tell(f"sustainable rate{on(machine)}: {eps(load)} events per second")
            outcome = yield from self._paced(machine, load, TrialPlan(LEAD_S, window_s))
            reason = why_not(outcome, self._profile)
            say(f"{eps(load)} events per second: {reason or 'carried'}")
            trials.append(LoadTrial(load, window_s, reason, outcome))
        return Sustained(bounds(trials, enough_s), tuple(trials))

    def _overload(
        self, machine: str, per_second: float
    ) -> Generator[Asked, Trial, Overload | Failure]:
        """150 % of the measured rate, for the length of a window."""
        plan = overload_plan(per_second, self._chosen.window_s)
        self._say(
            f"overload{on(machine)}: {eps(plan.over_per_second)} events per second for "
            f"{plan.over_s:g} s"
        )
        trial = TrialPlan(0.0, self._chosen.window_s, overloads=True)
        outcome = yield from self._paced(machine, per_second, trial)
        return outcome if isinstance(outcome, Failure) else overload_of(plan, outcome)

    def _paced(
        self, machine: str, per_second: float, plan: TrialPlan
    ) -> Generator[Asked, Trial, PacedMeasurement | Failure]:
        """A run by a schedule; the second one where the first lost the engine."""
        asked = Asked(0, Phase.CHECK, BASELINE, _RUN, plan, per_second=per_second, machine=machine)
        trial = yield from self._side.run(asked)
        if isinstance(trial.outcome, Measurement):
            raise TypeError("a run by a schedule does not saturate")
        return trial.outcome

    def _judged_s(self) -> float:
        """As long as a window, and whole refresh intervals, two at least: freshness goes up and
        down with them."""
        window_s = self._chosen.window_s
        # What arrives in the sink is found at once.
        refresh_s = interval_s(self._profile) if self._stores else 0.0
        if not refresh_s:
            return window_s
        return refresh_s * max(2, math.ceil(window_s / refresh_s))

    def _begins(self, asked: Asked) -> None:
        """Show which run begins; the time that all take counts from the first."""
        if asked.phase is Phase.WARM_UP:
            self._enter("warm-up")
        elif asked.pair is not None:
            self._ends_s = min(self._ends_s, time.monotonic() + self._runs_s)
            self._enter("run", asked.pair)

    def _stage(self, asked: Asked, stage: str) -> None:
        """Show the stages of a run here, and about how long the runs still take."""
        if asked.phase is Phase.WARM_UP:
            self._tell(f"warm-up: {stage}")
        elif asked.pair is not None:
            self._tell(
                f"run {asked.pair} of {self._chosen.repeat}: {stage}, about "
                f"{seconds(self._ends_s - time.monotonic())} until the last run ends"
            )

    def _count(self, result: Result) -> None:
        gauges = self._metrics.gauges
        self._metrics.update(replace(gauges, outcomes=(*gauges.outcomes, result)))

    def _enter(self, phase: str, trial: int | None = None) -> None:
        gauges = replace(self._metrics.gauges, phase=phase)
        self._metrics.update(gauges if trial is None else replace(gauges, trial=trial))

    def _say(self, phase: str) -> None:
        """Show which phase begins: as it goes on, and as a line that stays."""
        self._tell(phase)
        say(phase)


def _with_phase(measured: Bench, name: str, machine: str) -> Bench:
    """`measured` with the machine of a phase, where that has a name."""
    named = ((name, machine),) if machine else ()
    return replace(measured, phases_on=(*measured.phases_on, *named))


def bench(
    profile: ProfilePath = LOCAL,
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
    cluster: ClusterOption = False,
    templates: TemplatesOption = None,
    metrics_path: MetricsFileOption = None,
    export_json: JsonFile = None,
    export_markdown: MarkdownFile = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Measure a profile: events per second, delivery, CPU per event, freshness, and what limits it.

    Exits with 6 when events were lost or doubled or a guardrail was breached, with 1 when a run
    failed otherwise.  An engine that dies is started again and the run repeated once; after three
    losses in a row it exits with 4, with what was measured so far.

    With --cluster the runs are spread over its machines; each phase after them is on one.
    """
    choose_rsyslogd(rsyslogd)
    exports = Exports(export_json, export_markdown)
    exports.require_writable(profile)
    loaded = load(profile)
    wanted = Wanted(engine, elasticsearch, templates_of(templates), on_cluster=cluster)
    window_s = duration_s(window)
    chosen = BenchOptions(repeat, window_s, freshness, sustain, overload, ceiling)
    parent = Path(tempfile.gettempdir())
    gauges = Gauges("bench", loaded.profile.name, BENCH_PHASES, time.time(), planned=repeat)
    with (
        running_metrics(metrics_path, gauges) as metrics,
        open_place(wanted, [loaded.profile], parent, Verbosity.NORMAL) as place,
    ):
        measured, lost = _measure(place, loaded.profile, chosen, pace_of(engine), metrics)
    exports.publish(bench_json(measured), bench_blocks(measured), output)
    if lost is not None:
        raise lost
    _judge(measured)


def _measure(
    place: MeasuringPlace, profile: Profile, chosen: BenchOptions, pace: Pace, metrics: MetricsFile
) -> tuple[Bench, Unreachable | None]:
    """The runs, then the phases; where the engine or the last machine is lost for good, what was
    measured before that, and the loss."""
    facts = place.facts
    gauges = replace(metrics.gauges, engine=facts.engine, rsyslog=facts.fingerprint.rsyslog)
    metrics.update(gauges)
    measured = Bench(
        profile=profile.name,
        engine=facts.engine,
        rsyslog=facts.fingerprint.rsyslog,
        outcomes=(),
        substitutions=facts.substitutions,
        untested=facts.untested,
        freshness_limit_s=profile.guardrails.freshness_p99_s,
        message_bytes=profile.workload.mean_message_bytes,
    )
    with working("warming up the engine") as tell:
        course = BenchCourse(place, profile, chosen, pace, metrics, tell)
        return last_known(course.stages(measured))


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
