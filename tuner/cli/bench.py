"""`rsyslog-tune bench`: measure one profile, in runs and then in the phases that were chosen."""

from __future__ import annotations

import time

from tuner.cli.files import Exports, running_metrics
from tuner.cli.options import (
    duration_s,
)
from tuner.cli.place import pace_of, wanted_of
from tuner.cli.profiles import load
from tuner.cli.series import measured, require_none_failed
from tuner.cli.side_by_side import Course
from tuner.cli.usage.measuring import BenchArguments
from tuner.measure.measurement import TrialPlan
from tuner.measure.series import Arm
from tuner.report.bench import bench_blocks, bench_json
from tuner.report.metrics import BENCH_PHASES, Gauges

_PHASES = ("freshness", "sustain", "overload", "ceiling")


def bench(options: BenchArguments) -> None:
    """Carry out `rsyslog-tune bench`."""
    profile, repeat = options.profile, options.repeat
    exports = Exports(options.export_json, options.export_markdown)
    exports.require_writable(profile)
    measured_profile = load(profile).profile
    name, window_s = measured_profile.name, duration_s(options.window)
    pace = pace_of(options.engine)
    course = Course(
        arms=(Arm(name, measured_profile),),
        word="run",
        blocks=repeat,
        plan=TrialPlan(pace.warm_up_s, window_s, window_s, awaits_counters=True),
        pace=pace,
        seed=0,
        phases=tuple(phase for phase in _PHASES if getattr(options, phase)),
    )
    wanted = wanted_of(options)
    gauges = Gauges("bench", name, BENCH_PHASES, time.time(), planned=repeat)
    with running_metrics(options.metrics_path, gauges) as metrics:
        series, lost = measured(wanted, course, (name,), metrics=metrics)
    exports.publish(bench_json(series), bench_blocks(series), options.output)
    if lost is not None:
        raise lost
    require_none_failed(series)
