"""`rsyslog-tune bench`: measure one profile, in runs and then in the phases that were chosen."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat
from tuner.cli.files import (
    Exports,
    JsonFile,
    MarkdownFile,
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
from tuner.cli.place import Wanted, pace_of
from tuner.cli.profiles import load, templates_of
from tuner.cli.series import measured, require_none_failed
from tuner.cli.side_by_side import Course
from tuner.host.programs import choose_rsyslogd
from tuner.measure.blocks import Arm
from tuner.measure.measurement import TrialPlan
from tuner.report.bench import bench_blocks, bench_json
from tuner.report.metrics import BENCH_PHASES, Gauges


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
    measured_profile = load(profile).profile
    name, window_s, pace = measured_profile.name, duration_s(window), pace_of(engine)
    chosen = {"freshness": freshness, "sustain": sustain, "overload": overload, "ceiling": ceiling}
    course = Course(
        arms=(Arm(name, measured_profile),),
        word="run",
        blocks=repeat,
        plan=TrialPlan(pace.warm_up_s, window_s, window_s, awaits_counters=True),
        pace=pace,
        seed=0,
        phases=tuple(phase for phase, is_chosen in chosen.items() if is_chosen),
    )
    wanted = Wanted(engine, elasticsearch, templates_of(templates), on_cluster=cluster)
    gauges = Gauges("bench", name, BENCH_PHASES, time.time(), planned=repeat)
    with running_metrics(metrics_path, gauges) as metrics:
        parent = Path(tempfile.gettempdir())
        series, lost = measured(wanted, course, (name,), parent, metrics)
    exports.publish(bench_json(series), bench_blocks(series), output)
    if lost is not None:
        raise lost
    require_none_failed(series)
