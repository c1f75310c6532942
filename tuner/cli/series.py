"""The runs of `bench`, `compare` and `sweep`: first the blocks, then the phases, with their
progress and the exit code."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tuner.cli.console import Verbosity, say, working
from tuner.cli.files import MetricsFile
from tuner.cli.place import Wanted, open_place
from tuner.cli.side_by_side import Course, SideBySide, run_of
from tuner.engines.index import MappingStyle
from tuner.errors import GuardrailBreached, Interrupted, JobFailed, Unreachable
from tuner.lab.engine import stores
from tuner.measure.measurement import (
    Failure,
    FailureKind,
    Measurement,
    PacedMeasurement,
    Result,
    TrialPlan,
)
from tuner.measure.series import Arm, MeasuredProfile, Run, Series, values
from tuner.measure.sustain import (
    LoadTrial,
    Sustained,
    bounds,
    next_load,
    overload_of,
    overload_plan,
    why_not,
)
from tuner.profile.metric import Metric
from tuner.report.figures import on
from tuner.schema.numerals import counted, eps, percent, seconds
from tuner.search.budget import LEAD_S, check_rate, interval_s
from tuner.search.farm import MeasuringPlace
from tuner.search.study import Asked, LabFacts, Phase, Trial

_FIRST_SHARE = 0.9
_KEPT_NODE = "node settings: the running engine keeps its own for all that is measured"


def measured(
    wanted: Wanted,
    course: Course,
    titles: Sequence[str],
    parent: Path | None = None,
    *,
    metrics: MetricsFile | None = None,
    doubts: Sequence[str] = (),
    interrupted: Callable[[Series], None] = lambda _: None,
) -> tuple[Series, Unreachable | None]:
    """What a course measures in a place of its own, as `last_known` gives it.

    `titles` say what each arm is.  What is known by an interrupt is left to `interrupted`.
    """
    profiles = [arm.profile for arm in course.arms]
    with (
        open_place(wanted, profiles, parent, Verbosity.NORMAL) as place,
        working("warming up the engine") as tell,
    ):
        series = unmeasured(course, place.facts, titles, doubts)
        return last_known(Measuring(place, course, metrics, tell).stages(series), interrupted)


def last_known(
    stages: Iterable[Series], interrupted: Callable[[Series], None] = lambda _: None
) -> tuple[Series, Unreachable | None]:
    """The last of the stages; where the engine or the last machine is lost for good, what was known
    before that, and the loss.  Raises Unreachable where nothing was."""
    last: Series | None = None
    try:
        for series in stages:
            last = series
    except Unreachable as lost:
        if last is None:
            raise
        return last, lost
    except Interrupted:
        if last is not None:
            interrupted(last)
        raise
    if last is None:
        raise RuntimeError("nothing was measured")
    return last, None


def unmeasured(
    course: Course, facts: LabFacts, titles: Sequence[str], doubts: Sequence[str]
) -> Series:
    """A series before its first run."""
    fixed = [_KEPT_NODE] if facts.fixes_node and course.nodes > 1 else []
    changed = (facts.substitutions, *facts.beside)
    return Series(
        variants=tuple(
            MeasuredProfile(
                arm.name,
                title,
                arm.profile.guardrails.freshness_p99_s,
                substitutions,
                message_bytes=arm.profile.workload.mean_message_bytes,
            )
            for arm, title, substitutions in zip(course.arms, titles, changed, strict=True)
        ),
        engine=facts.engine,
        rsyslog=facts.fingerprint.rsyslog,
        machine=facts.machine,
        seed=course.seed,
        doubts=(*doubts, *fixed),
        untested=facts.untested,
        cores=facts.cores,
    )


class Measuring:
    """Measures a course in a place, and tells how far it has come."""

    def __init__(
        self,
        place: MeasuringPlace,
        course: Course,
        metrics: MetricsFile | None,
        tell: Callable[[str], None],
    ) -> None:
        self._course = course
        self._metrics = metrics
        self._tell = tell
        self._stores = stores(place.facts.engine)
        self._update(engine=place.facts.engine, rsyslog=place.facts.fingerprint.rsyslog)
        self._side = SideBySide(place, course, self._begins, self._stage)
        self._began_s = math.inf
        self._ended = 0
        self._phases = {
            "freshness": self._freshness,
            "sustain": self._sustain,
            "overload": self._overload,
        }

    def stages(self, series: Series) -> Iterator[Series]:
        """What is known after each run and, where all arms gave a rate, after each phase.

        Each run is yielded before it is printed: Ctrl-C in between loses none.
        """
        for run, runs in self._side.blocks():
            if run is not None:
                self._count(run.result)
            series, self._ended = replace(series, runs=runs), len(runs)
            if runs:
                yield series
            if run is not None:
                self._tell_run(run, runs)
        if any(series.median_eps(name) is None for name in series.names):
            return
        for phase in self._course.phases:
            self._update(phase=phase)
            series, machine = self._phase(phase, series)
            if machine:
                series = replace(series, phases_on=(*series.phases_on, (phase, machine)))
            yield series

    def _phase(self, phase: str, series: Series) -> tuple[Series, str]:
        """What is known after a phase, and its machine, where it is begun anew if one is lost."""
        if phase == "ceiling":
            self._say("the engine's ceiling")
            ceiling, machine = self._side.ceiling(self._course.arms[0].profile)
            return replace(series, ceiling=ceiling), machine

        def work(machine: str) -> Generator[Asked, Trial, Series]:
            yield from self._side.warm(machine)
            return (yield from self._phases[phase](series, machine))

        return self._side.alone(work, lambda trial: self._count(trial.outcome))

    def _freshness(self, series: Series, machine: str) -> Generator[Asked, Trial, Series]:
        """From due to searchable, of each arm at one rate: seven tenths of the lowest median, or
        that of the workload; nothing where nothing is kept that could be searched."""
        medians = [series.median_eps(name, machine) or 0.0 for name in series.names]
        variants = []
        for arm, variant in zip(self._course.arms, series.variants, strict=True):
            if arm.profile.measured.index.mapping is MappingStyle.NONE:
                variants.append(variant)
                continue
            rate = arm.profile.workload.rate
            per_second = check_rate(medians) if rate == "max" else float(rate)
            judged_s = self._judged_s(arm)
            where = f"{self._named(arm.name)}{on(machine)}"
            self._say(f"freshness{where}: {eps(per_second)} events per second for {judged_s:g} s")
            plan = TrialPlan(LEAD_S, judged_s)
            fresh = yield from self._paced(arm, machine, per_second, plan)
            variants.append(replace(variant, freshness=fresh))
        return replace(series, variants=tuple(variants))

    def _judged_s(self, arm: Arm) -> float:
        """As long as a window, and whole refresh intervals, two at least: freshness goes up and
        down with them."""
        window_s = self._course.plan.window_s
        # What arrives in the sink is found at once.
        refresh_s = interval_s(arm.profile) if self._stores else 0.0
        return refresh_s * max(2, math.ceil(window_s / refresh_s)) if refresh_s else window_s

    def _sustain(self, series: Series, machine: str) -> Generator[Asked, Trial, Series]:
        """The maximum sustainable rate of the first arm, beginning a little below the measured
        one."""
        arm, window_s = self._course.arms[0], self._course.plan.window_s
        enough_s, first = 3 * window_s, _FIRST_SHARE * (series.median_eps(arm.name, machine) or 0.0)
        trials: list[LoadTrial] = []
        while (load := next_load(trials, enough_s, first)) is not None:
            self._tell(f"sustainable rate{on(machine)}: {eps(load)} events per second")
            outcome = yield from self._paced(arm, machine, load, TrialPlan(LEAD_S, window_s))
            reason = why_not(outcome, arm.profile)
            say(f"{eps(load)} events per second: {reason or 'carried'}")
            trials.append(LoadTrial(load, window_s, reason, outcome))
        return replace(series, sustained=Sustained(bounds(trials, enough_s), tuple(trials)))

    def _overload(self, series: Series, machine: str) -> Generator[Asked, Trial, Series]:
        """150 % of the measured rate of the first arm, for the length of a window."""
        arm, window_s = self._course.arms[0], self._course.plan.window_s
        per_second = series.median_eps(arm.name, machine) or 0.0
        plan = overload_plan(per_second, window_s)
        over = f"{eps(plan.over_per_second)} events per second for {plan.over_s:g} s"
        self._say(f"overload{on(machine)}: {over}")
        trial = TrialPlan(0.0, window_s, overloads=True)
        outcome = yield from self._paced(arm, machine, per_second, trial)
        if isinstance(outcome, Failure):
            return replace(series, overload=outcome)
        return replace(series, overload=overload_of(plan, outcome))

    def _paced(
        self, arm: Arm, machine: str, per_second: float, plan: TrialPlan
    ) -> Generator[Asked, Trial, PacedMeasurement | Failure]:
        """A run by a schedule; the second one where the first lost the engine."""
        trial = yield from self._side.run(run_of(arm, plan, machine, per_second=per_second))
        if isinstance(trial.outcome, Measurement):
            raise TypeError("a run by a schedule does not saturate")
        return trial.outcome

    def _named(self, arm: str) -> str:
        """An arm, where there is more than one."""
        return f" of {arm}" if len(self._course.arms) > 1 else ""

    def _begins(self, asked: Asked) -> None:
        """Count a run that begins; the time that all take counts from the first."""
        if asked.phase is Phase.WARM_UP:
            self._update(phase="warm-up")
        elif asked.pair is not None:
            self._began_s = min(self._began_s, time.monotonic())
            self._update(phase="run", trial=asked.pair)
        self._stage(asked, "starting")

    def _stage(self, asked: Asked, stage: str) -> None:
        """Show the stages of a run here, and about how long the runs still take."""
        where = f"{self._named(asked.why)}{on(asked.machine)}"
        if asked.phase is Phase.WARM_UP:
            self._tell(f"warm-up{on(asked.machine)}: {stage}")
        elif asked.pair is not None:
            self._tell(f"{self._counted(asked.pair)}{where}: {stage}{self._left()}")

    def _counted(self, block: int) -> str:
        return f"{self._course.word} {block} of {self._course.blocks}"

    def _left(self) -> str:
        """How long the runs still take: as planned before the first one ended, then by those."""
        course, took_s = self._course, time.monotonic() - self._began_s
        left = len(course.arms) * course.blocks - self._ended
        left_s = took_s / self._ended * left if self._ended else course.runs_s
        return f" (about {seconds(left_s)} left)" if left > 0 else ""

    def _tell_run(self, run: Run, runs: tuple[Run, ...]) -> None:
        """Say what a run gave and, of two arms, what its pair shows once both ran:
        `pair 3 of 8, A on lab1: 71,234 EPS`."""
        arms = self._course.arms
        named, ratio = f"  {run.arm}" if len(arms) > 1 else "", ""
        if len(arms) == 2:
            first, other = (arm.name for arm in arms)
            a, b = (values(runs, arm, Metric.EPS).get(run.block) for arm in (first, other))
            ratio = f", {other} over {first} {percent(b / a)}" if a and b else ""
        gave = f"{self._counted(run.block)}{named}{on(run.machine)}: {result_text(run.result)}"
        say(f"{gave}{ratio}{self._left()}")

    def _count(self, result: Result) -> None:
        if self._metrics is not None:
            self._update(outcomes=(*self._metrics.gauges.outcomes, result))

    def _update(self, **changes: Any) -> None:
        """Tell whoever looks at the metrics, where there are any."""
        if self._metrics is not None:
            self._metrics.update(replace(self._metrics.gauges, **changes))

    def _say(self, phase: str) -> None:
        """Show which phase begins: as it goes on, and as a line that stays."""
        self._tell(phase)
        say(phase)


def result_text(result: Result) -> str:
    """What a run gave, in a few words."""
    match result:
        case Failure():
            return f"failed: {result}"
        case PacedMeasurement(freshness_s=fresh) if fresh is not None:
            return f"{eps(result.eps)} EPS, freshness p99 {fresh.p99:.2f} s"
        case _:
            return f"{eps(result.eps)} EPS"


_BREACHED = (FailureKind.DELIVERY, FailureKind.GUARDRAIL)


def require_whole(series: Series, lost: Unreachable | None) -> None:
    """Raise what was lost, else see require_none_failed."""
    if lost is not None:
        raise lost
    require_none_failed(series)


def require_none_failed(series: Series) -> None:
    """Raise GuardrailBreached or JobFailed where a run or a phase failed, and where a variant is
    not as fresh as its guardrail asks for."""
    fresh = [(variant.freshness, variant.freshness_limit_s) for variant in series.variants]
    results = [*(run.result for run in series.runs), *(result for result, _ in fresh)]
    failures = [result for result in (*results, series.overload) if isinstance(result, Failure)]
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
    for result, limit_s in fresh:
        if not isinstance(result, PacedMeasurement) or result.freshness_s is None:
            continue
        p99_s = result.freshness_s.p99
        if p99_s > limit_s:
            raise GuardrailBreached(
                f"freshness p99 is {p99_s:.1f} s, freshness_p99_s allows {limit_s:g} s"
            )
