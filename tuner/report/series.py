"""What is said of any series of runs, for people and for programs: machines, doubts, failures, and
what the lab changed; `bench`, `compare` and `sweep` add what each is about."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from pydantic_core import to_jsonable_python

from tuner.measure.machines import outliers
from tuner.measure.measurement import Doubt, DoubtKind, Failure
from tuner.measure.series import (
    Run,
    Series,
    average,
    by_machine,
    ceiling_shares,
    comparison,
    pairs,
    values,
)
from tuner.profile.metric import Metric
from tuner.report.figures import figure, on, raw_and_adjusted
from tuner.report.sections import PlainBlock, Table, bullets
from tuner.search.notes import standing_out

SCHEMA = 4
RATES = (Metric.EPS, Metric.EPS_PAID)


def series_json(
    series: Series, kind: str, metrics: Sequence[Metric], **face: object
) -> dict[str, object]:
    """Everything that was measured, with the comparison by each metric, and what a command adds."""
    fields: dict[str, object] = to_jsonable_python(
        {
            "schema": SCHEMA,
            "kind": kind,
            **face,
            "metrics": {metric.value: _metric(series, metric) for metric in metrics},
            "ceiling_shares": dict(ceiling_shares(series)),
            **vars(series),
        }
    )
    return fields


def _metric(series: Series, metric: Metric) -> dict[str, object]:
    """What each variant showed of a metric, and how it compares with the first."""
    about, runs = metric.about, series.runs
    first, *others = series.names
    return {
        "label": about.label,
        "unit": about.unit,
        "more_is_better": about.more_is_better,
        "values": {name: list(values(runs, name, metric).values()) for name in series.names},
        "averages": {name: average(runs, name, metric) for name in series.names},
        "to_the_first": {name: comparison(runs, first, name, metric) for name in others},
    }


def conditions(series: Series) -> str:
    """Where it was measured: `on rsyslogd 8.2302, sink, 2 cores`."""
    return f"on rsyslogd {series.rsyslog}, {series.engine}, {series.machine}"


def machine_blocks(series: Series, metric: Metric, word: str) -> list[PlainBlock]:
    """A row for each machine: its blocks (each called a `word`), the geometric mean of each variant
    and, of two, how the second compares with the first; nothing of one machine."""
    first, *others = series.names
    header = ("machine", f"{word}s", *(f"{name}, {metric.about.label}" for name in series.names))
    header += (f"{others[0]} over {first}",) if len(others) == 1 else ()
    rows = []
    for machine, own in by_machine(series.runs).items():
        blocks = ", ".join(str(block) for block in sorted({run.block for run in own}))
        means = (figure(metric, average(own, name, metric)) for name in series.names)
        cells = [machine, blocks, *means]
        if len(others) == 1:
            gains = _gains(own, first, others[0], metric)
            cells.append(f"{math.exp(statistics.fmean(gains)):.3f}" if gains else "-")
        rows.append(tuple(cells))
    return [Table("By machine", header, tuple(rows))] if rows else []


def speed_notes(series: Series, metrics: Sequence[Metric]) -> Iterator[str]:
    """Each ratio of rates with and without what the machine's speed explains."""
    first, *others = series.names
    for metric in metrics:
        for name in others if metric in RATES else ():
            compared = comparison(series.runs, first, name, metric)
            if compared is not None and compared.by_speed is not None:
                yield f"{name} over {first}, {metric.about.label}: {raw_and_adjusted(compared)}"


def closing_blocks(series: Series, metric: Metric) -> list[PlainBlock]:
    """What to doubt, which runs failed, what was not tested and what the lab changed."""
    doubts = (*series.doubts, *_standing_out(series, metric), *_doubts(series))
    return bullets(
        [
            *(f"doubt: {text}" for text in doubts),
            *_failures(series),
            *(f"not tested: {text}" for text in series.untested),
            *(f"changed for the lab: {text}" for text in _substitutions(series)),
        ]
    )


def _run_name(series: Series, run: Run) -> str:
    """What a run is called: by its variant, where there are several, and its block."""
    return f"{f'{run.arm}, ' * (len(series.variants) > 1)}{_block(series, run)}"


def _block(series: Series, run: Run) -> str:
    word = "block" if len(series.variants) > 1 else "run"
    return f"{word} {run.block}{on(run.machine)}"


def _doubts(series: Series) -> Iterator[str]:
    """Doubts about the runs of each variant, each with how many had it and its first figure."""
    first: dict[tuple[str, DoubtKind], tuple[Run, Doubt]] = {}
    having: dict[tuple[str, DoubtKind], set[int]] = {}
    for number, run in enumerate(series.runs):
        for doubt in () if isinstance(run.result, Failure) else run.result.doubts:
            first.setdefault((run.arm, doubt.kind), (run, doubt))
            having.setdefault((run.arm, doubt.kind), set()).add(number)
    for (name, kind), (run, doubt) in first.items():
        count, runs = len(having[name, kind]), sum(run.arm == name for run in series.runs)
        yield (
            f"{f'{name}, ' * (len(series.variants) > 1)}{count} of {runs} runs: {kind.value} "
            f"({kind.consequence.value}; {_block(series, run)}: {doubt.figure}): {kind.advice}"
        )


def _failures(series: Series) -> Iterator[str]:
    for run in series.runs:
        if isinstance(run.result, Failure):
            yield f"{_run_name(series, run)} failed: {run.result}"


def _substitutions(series: Series) -> Iterator[str]:
    """What no variant had as written, once, and what single ones had not, with their names."""
    changed = {one.name: one.substitutions for one in series.variants}
    for text in dict.fromkeys(text for texts in changed.values() for text in texts):
        names = [name for name, texts in changed.items() if text in texts]
        yield text if len(names) == len(changed) else f"{', '.join(names)}: {text}"


def _standing_out(series: Series, metric: Metric) -> Iterator[str]:
    """The machines that differ from the others, in a sentence each: in what the first variant
    shows, and in how the others compare with it."""
    first, *others = series.names
    label, machines = metric.about.label, by_machine(series.runs)
    levels = {name: _logs(values(own, first, metric).values()) for name, own in machines.items()}
    yield from standing_out(outliers(levels), f"{label} of {first}")
    for other in others:
        gains = {name: _gains(own, first, other, metric) for name, own in machines.items()}
        yield from standing_out(outliers(gains), f"{label} of {other} over {first}")


def _logs(shown: Iterable[float]) -> list[float]:
    return [math.log(value) for value in shown if value > 0]


def _gains(runs: Sequence[Run], first: str, other: str, metric: Metric) -> list[float]:
    """The logarithms of a variant over the first, of each block that both completed."""
    both = pairs(runs, first, other, metric)
    return _logs(b / a for a, b in zip(both.a, both.b, strict=True))
