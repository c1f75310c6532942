"""`rsyslog-tune plan`: capacity on paper."""

from __future__ import annotations

from pathlib import Path

from tuner.cli.layout import print_blocks
from tuner.cli.usage.measuring import PlanArguments, rate_of
from tuner.errors import BadUsage, JobFailed
from tuner.lab.engine import stores
from tuner.measure.measurement import Measurement
from tuner.plan import (
    Figure,
    Measured,
    Origin,
    Sample,
    inputs_of,
    measured_by_search,
    measured_of,
    plan_range,
    sample_of,
)
from tuner.plan import plan as plan_of
from tuner.reading import required_content
from tuner.report.bench import read_bench
from tuner.report.plan import PlannedRate, plans_blocks, plans_json
from tuner.schema.numerals import counted
from tuner.search.journal import read

_SAMPLE_BYTES = 64 * 1024**2
_NO_FIGURES = ("rate", "run", "sample", "output")


def plan(options: PlanArguments) -> None:
    """Carry out `rsyslog-tune plan`."""
    given = {
        name: Figure(getattr(options, name), Origin.GIVEN, f"by {option}")
        for name, option in options.given.items()
        if name not in _NO_FIGURES
    }
    measured, lines = _measured(options.run), _sample(options.sample)
    plans = []
    for part in options.rate.split(","):
        figures = {**given, "rate": Figure(rate_of(part), Origin.GIVEN, "by --rate")}
        inputs = inputs_of(figures, measured, lines)
        reach = plan_range(figures, measured, lines)
        plans.append(PlannedRate(inputs, plan_of(inputs), measured, reach))
    print_blocks(options.output, plans_json(plans), plans_blocks(plans))


def _measured(run: Path | None) -> Measured | None:
    """The measurements of a run directory, or of the output of `bench`."""
    if run is None:
        return None
    if run.is_dir():
        return measured_by_search(read(run), str(run))
    try:
        text = required_content(run).decode()
    except UnicodeDecodeError:
        raise JobFailed(f"{run} is not output of `bench --output json`: it is not text") from None
    bench = read_bench(text, str(run))
    (variant,) = bench.variants
    runs = [run.result for run in bench.runs if isinstance(run.result, Measurement)]
    title = f"bench of {variant.title} on {bench.engine}, {counted(len(runs), 'valid run')}"
    return measured_of(runs, str(run), title, variant.message_bytes, stored=stores(bench.engine))


def _sample(path: Path | None) -> Sample | None:
    if path is None:
        return None
    lines = sample_of(required_content(path, _SAMPLE_BYTES), str(path))
    if lines is None:
        raise BadUsage(f"--sample {path} has no lines")
    return lines
