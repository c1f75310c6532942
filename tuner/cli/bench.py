"""`rsyslog-tune bench`: measure one profile, in runs and then in the phases that were chosen."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tuner.cli.console import OutputFormat
from tuner.cli.files import Exports, running_metrics
from tuner.cli.options import (
    EngineChoice,
    duration_s,
)
from tuner.cli.place import Wanted, pace_of
from tuner.cli.profiles import load, templates_of
from tuner.cli.series import measured, require_none_failed
from tuner.cli.side_by_side import Course
from tuner.host.programs import choose_rsyslogd
from tuner.measure.measurement import TrialPlan
from tuner.measure.series import Arm
from tuner.report.bench import bench_blocks, bench_json
from tuner.report.metrics import BENCH_PHASES, Gauges


def bench(
    profile: Path,
    repeat: int,
    window: str,
    freshness: bool,
    sustain: bool,
    overload: bool,
    ceiling: bool,
    engine: EngineChoice,
    elasticsearch: str | None,
    cluster: bool,
    templates: Path | None,
    metrics_path: Path | None,
    export_json: Path | None,
    export_markdown: Path | None,
    rsyslogd: Path | None,
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune bench`."""
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
