"""Measurements of one profile, for people and for programs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed
from tuner.measure.measurement import Failure, Measurement, Result
from tuner.measure.series import Series, by_machine
from tuner.profile.metric import Metric
from tuner.reading import json_of
from tuner.report.runs import (
    bottleneck_blocks,
    effective_blocks,
    effective_table,
    run_cells,
    speed_text,
)
from tuner.report.sections import Paragraph, PlainBlock, Table
from tuner.report.series import (
    SCHEMA,
    closing_blocks,
    conditions,
    machine_blocks,
    phase_blocks,
    series_json,
)
from tuner.schema.numerals import eps, mebibytes


@dataclass(frozen=True)
class RunSpread:
    """Median and range of the valid runs; coefficients of variation, 0 for a single run."""

    eps_median: float
    eps_min: float
    eps_max: float
    eps_cv: float
    shipper_cpu_cv: float
    engine_cpu_cv: float
    valid: int


def bench_json(series: Series) -> dict[str, object]:
    """All runs, and the median and spread of those that are valid."""
    return series_json(series, "bench", (), summary=spread(series))


def read_bench(text: str, name: str) -> Series:
    """What `bench_json` wrote to the file of that name; raises JobFailed when it did not."""
    try:
        fields = json_of(text)
        kind, schema = fields["kind"], fields["schema"]
    except (ValueError, KeyError, TypeError):
        raise JobFailed(f"{name} is not output of `bench --output json`") from None
    if (kind, schema) != ("bench", SCHEMA):
        raise JobFailed(
            f"{name} is a {kind} of schema {schema}, this version reads a bench of {SCHEMA}: "
            "measure again with `bench --output json`"
        )
    try:
        return TypeAdapter(Series).validate_python(fields)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise JobFailed(f"{name} is damaged at {place}: measure again") from None


def bench_blocks(series: Series) -> tuple[PlainBlock, ...]:
    """A table with one row a run, the median below it, what limited the run in the middle, the
    phases that were asked for, then what to doubt and what was changed for the lab."""
    (variant,), runs = series.variants, series.runs
    header: tuple[str, ...] = (
        "run", "EPS", "sent", "indexed", "rsyslogd µs/event", "engine µs/event",
        "rsyslogd memory", "doubts",
    )  # fmt: skip
    rows = tuple(_row(run.block, run.result) for run in runs)
    if by_machine(runs):
        header = (*header, "machine")
        rows = tuple((*row, run.machine) for row, run in zip(rows, runs, strict=True))
    head = Paragraph(f"{variant.title} {conditions(series)}", is_lead=True)
    blocks: list[PlainBlock] = [head, Table("Runs", header, rows)]
    runs_spread = spread(series)
    if runs_spread is not None and runs_spread.valid > 1:
        text = (
            f"median {eps(runs_spread.eps_median)} EPS, from {eps(runs_spread.eps_min)} to "
            f"{eps(runs_spread.eps_max)}, coefficient of variation {runs_spread.eps_cv:.1%}; "
            f"CPU per event of rsyslogd {runs_spread.shipper_cpu_cv:.1%}, engine "
            f"{runs_spread.engine_cpu_cv:.1%}"
        )
        blocks.append(Paragraph(text))
    blocks += map(Paragraph, speed_text(_valid(series)))
    blocks += machine_blocks(series, Metric.EPS, "run")
    blocks += _middle_blocks(series)
    return (*blocks, *phase_blocks(series), *closing_blocks(series, Metric.EPS))


def _middle_blocks(series: Series) -> list[PlainBlock]:
    """What limited the run in the middle, which stands for the others; the first one when all have
    failed."""
    valid = sorted(_valid(series), key=lambda run: run.eps)
    middle: Result = valid[len(valid) // 2] if valid else series.runs[0].result
    blocks: list[PlainBlock] = []
    if isinstance(middle, Measurement):
        blocks += effective_blocks(middle)
        if middle.effective is not None:
            blocks.append(effective_table(middle.effective, "Configured and effective"))
    if not isinstance(middle, Measurement | Failure) or middle.verdict is None:
        return blocks
    return [*blocks, *bottleneck_blocks(middle.verdict)]


def _valid(series: Series) -> list[Measurement]:
    return [run.result for run in series.runs if isinstance(run.result, Measurement)]


def spread(series: Series) -> RunSpread | None:
    """That of the valid runs; None when there is none."""
    runs = _valid(series)
    if not runs:
        return None
    rates = [run.eps for run in runs]
    return RunSpread(
        eps_median=statistics.median(rates),
        eps_min=min(rates),
        eps_max=max(rates),
        eps_cv=_variation(rates),
        shipper_cpu_cv=_variation([run.shipper_cpu_us for run in runs]),
        engine_cpu_cv=_variation([run.engine_cpu_us for run in runs]),
        valid=len(runs),
    )


def _variation(numbers: Sequence[float]) -> float:
    mean = statistics.fmean(numbers)
    return statistics.stdev(numbers) / mean if len(numbers) > 1 and mean > 0 else 0.0


def _row(number: int, result: Result) -> tuple[str, ...]:
    memory, doubts = "-", "failed"
    if isinstance(result, Measurement):
        memory = mebibytes(result.shipper_rss_bytes)
        doubts = ", ".join(doubt.kind.value for doubt in result.doubts)
    return (str(number), *run_cells(result), memory, doubts)
