"""`rsyslog-tune bench`: measure one profile, in runs and then in the phases that were chosen."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.bench_course import BenchCourse, BenchOptions
from tuner.cli.console import Voice, working
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
    OutputFormat,
    OutputOption,
    ProfilePath,
    RsyslogdOption,
    TemplatesOption,
    UrlOption,
    duration_s,
    load,
    templates_of,
)
from tuner.cli.place import open_place, pace_of
from tuner.cli.runs import require_none_failed
from tuner.cli.site import Wanted
from tuner.errors import GuardrailBreached, Unreachable
from tuner.host.programs import choose_rsyslogd
from tuner.measure.paced_summary import PacedMeasurement
from tuner.profile.model import Profile
from tuner.report.bench import Bench, bench_blocks, bench_json, summary
from tuner.report.metrics import BENCH_PHASES, Gauges
from tuner.search.budget import Pace
from tuner.search.farm import MeasuringPlace


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
        open_place(wanted, [loaded.profile], parent, Voice()) as place,
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
        freshness_limit_s=profile.guardrails.freshness_p99_s,
        message_bytes=None if profile.workload.replay else profile.workload.message_bytes.mean,
    )
    try:
        with working("warming up the engine") as tell:
            course = BenchCourse(place, profile, chosen, pace, metrics, tell)
            for known in course.runs(measured):
                measured = known
            if summary(measured.outcomes) is not None:
                for known in course.phases(measured):
                    measured = known
    except Unreachable as lost:
        if not measured.outcomes:
            raise
        return measured, lost
    return measured, None


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
