"""The variants of an experiment side by side, for people, for programs and as a picture."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from tuner.measure.blocks import Run, average, by_machine, comparison, values
from tuner.measure.metrics import restarted
from tuner.profile.metric import Metric
from tuner.report.compare import (
    NAMELESS,
    RATES,
    machine_table,
    machines_standing_out,
    metric_json,
    remarks,
)
from tuner.report.drawing import matplotlib_settings
from tuner.report.figures import figure, ratio_text, raw_and_adjusted
from tuner.report.sections import (
    Paragraph,
    PlainBlock,
    Table,
    bullets,
)
from tuner.schema.numerals import size
from tuner.space.experiment import Experiment, Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SCHEMA = 2
_OURS, _THEIRS = "#1f6fb2", "#d07a1c"
_WIDTH_IN, _ROW_IN, _AROUND_IN = 8.0, 0.42, 1.0
_DAY_S = 86_400
_PERIODS_S = {"second": 1, "minute": 60, "hour": 3600, "day": _DAY_S, "week": 7 * _DAY_S}


@dataclass(frozen=True)
class Sweep:
    """Everything that the runs of an experiment gave; `arms` are its variants in order, and
    `freshness_limit_s` the guardrail of the first."""

    experiment: Experiment
    arms: tuple[str, ...]
    engine: str
    rsyslog: str
    machine: str
    seed: int
    runs: tuple[Run, ...]
    substitutions: tuple[str, ...]
    freshness_limit_s: float
    untested: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


_SWEEP = TypeAdapter(Sweep)


def sweep_json(sweep: Sweep) -> dict[str, object]:
    """Everything, with the comparison by each metric and the published figures as ratios."""
    left_out = None if by_machine(sweep.runs) else NAMELESS
    fields: dict[str, object] = _SWEEP.dump_python(
        sweep, mode="json", by_alias=True, exclude=left_out
    )
    metrics = {
        metric.value: {
            **metric_json(sweep.runs, sweep.arms, metric),
            "published": published(sweep, metric),
            "published_to_the_first": {
                arm: published_ratio(sweep, metric, arm) for arm in published(sweep, metric)
            },
        }
        for metric in sweep.experiment.metrics
    }
    return {"schema": SCHEMA, "kind": "sweep", "metrics": metrics, **fields}


def sweep_blocks(sweep: Sweep) -> tuple[PlainBlock, ...]:
    """A table for each metric, ours beside the published figures; the projection; what to doubt."""
    asked = sweep.experiment
    head = [
        asked.title,
        *([f"published: {asked.source}"] if asked.source else []),
        f"on rsyslogd {sweep.rsyslog}, {sweep.engine}, {sweep.machine}",
    ]
    blocks = bullets(head)
    for metric in asked.metrics:
        blocks += [Paragraph(f"{metric.about.label}, {metric.about.unit}:"), _table(sweep, metric)]
    if by_machine(sweep.runs):
        blocks.append(machine_table(sweep.runs, sweep.arms, asked.metrics[0], "blocks"))
    notes = [*_by_speed(sweep), *_restarts(sweep), *_thresholds(sweep)]
    blocks += bullets(notes)
    if asked.projection is not None:
        blocks += _projection(sweep, asked.projection)
    apart = machines_standing_out(sweep.runs, sweep.arms, asked.metrics[0])
    doubts = [f"doubt: {one}" for one in (*sweep.doubts, *apart, *remarks(sweep.runs))]
    doubts += [f"not tested: {one}" for one in sweep.untested]
    blocks += bullets([*doubts, *(f"changed for the lab: {one}" for one in sweep.substitutions)])
    return tuple(blocks)


def published(sweep: Sweep, metric: Metric) -> dict[str, float]:
    """What somebody else measured of a metric, by variant; empty where nobody did."""
    return sweep.experiment.published.get(metric, {})


def published_ratio(sweep: Sweep, metric: Metric, arm: str) -> float | None:
    """A published figure over that of the first variant; None where either is missing."""
    figures = published(sweep, metric)
    first = sweep.arms[0]
    return figures[arm] / figures[first] if arm in figures and first in figures else None


def _table(sweep: Sweep, metric: Metric) -> Table:
    """Geometric means, ratios to the first variant with intervals, and the same as published."""
    theirs = published(sweep, metric)
    header: tuple[str, ...] = ("variant", "ours, geometric mean", "to the first [95 %]")
    header += ("saved",) if metric.is_size else ()
    header += ("published", "to the first") if theirs else ()
    header += ("saved",) if metric.is_size and theirs else ()
    rows = tuple(_row(sweep, metric, arm) for arm in sweep.arms)
    return Table(metric.about.label, header, rows)


def _row(sweep: Sweep, metric: Metric, arm: str) -> tuple[str, ...]:
    ours, theirs = average(sweep.runs, arm, metric), published(sweep, metric)
    cells = [arm, figure(metric, ours), _ratio(sweep, metric, arm)]
    if metric.is_size:
        cells.append(_saved(ratio_to_the_first(sweep, metric, arm)))
    if theirs:
        ratio = published_ratio(sweep, metric, arm)
        cells += [figure(metric, theirs.get(arm)), "-" if ratio is None else f"{ratio:.3f}"]
        if metric.is_size:
            cells.append(_saved(ratio))
    return tuple(cells)


def ratio_to_the_first(sweep: Sweep, metric: Metric, arm: str) -> float | None:
    """Our ratio to the first variant: of pairs of one block, else of the averages; None where one
    of them shows nothing."""
    found = comparison(sweep.runs, sweep.arms[0], arm, metric)
    if found is not None:
        return found.ratio
    ours = average(sweep.runs, arm, metric)
    first = average(sweep.runs, sweep.arms[0], metric)
    return ours / first if ours is not None and first else None


def _ratio(sweep: Sweep, metric: Metric, arm: str) -> str:
    if arm == sweep.arms[0]:
        return "1"
    found = comparison(sweep.runs, sweep.arms[0], arm, metric)
    if found is not None:
        return ratio_text(found)
    ratio = ratio_to_the_first(sweep, metric, arm)
    return "-" if ratio is None else f"{ratio:.3f}"


def _saved(ratio: float | None) -> str:
    """The share of space that is saved, 100 x (data - compressed) / data."""
    return "-" if ratio is None else f"{100 * (1 - ratio):.1f} %"


def _by_speed(sweep: Sweep) -> Iterator[str]:
    """Each ratio of rates with and without what the machine's speed explains."""
    first, *others = sweep.arms
    for metric in sweep.experiment.metrics:
        for arm in others if metric in RATES else ():
            found = comparison(sweep.runs, first, arm, metric)
            if found is not None and found.by_speed is not None:
                yield f"{arm} to {first}, {metric.about.label}: {raw_and_adjusted(found)}"


def _restarts(sweep: Sweep) -> Iterator[str]:
    """What restarts of the engine between the variants mean for the figures."""
    if not any(restarted(run.result) for run in sweep.runs):
        return
    first, *others = sweep.arms
    metrics = sweep.experiment.metrics
    ratios_of = [comparison(sweep.runs, first, arm, each) for arm in others for each in metrics]
    fitted = any(one is not None and one.restarted is not None for one in ratios_of)
    ratios = "the ratios are free of that" if fitted else "four blocks and more take that out"
    yield f"the engine restarted between variants and is slower just after; {ratios}, averages not"


def _thresholds(sweep: Sweep) -> Iterator[str]:
    """Which variants keep the guardrail on freshness."""
    limit_s = sweep.freshness_limit_s
    for arm in sweep.arms:
        found = average(sweep.runs, arm, Metric.FRESHNESS_P99)
        if found is not None:
            kept = "within" if found <= limit_s else "ABOVE"
            yield f"{arm}: freshness p99 is {kept} freshness_p99_s, {limit_s:g} s"


def _projection(sweep: Sweep, asked: Projection) -> list[PlainBlock]:
    """The space that a rate needs over time."""
    periods_s = {**_PERIODS_S, f"{asked.days} days": asked.days * _DAY_S}
    sizes = [
        (arm, metric, each)
        for metric in sweep.experiment.metrics
        if metric.is_size
        for arm in sweep.arms
        if (each := average(sweep.runs, arm, metric)) is not None
    ]
    header = ("at the rate", "events", *(f"{arm}: {m.about.label}" for arm, m, _ in sizes))
    rows = []
    for name, period_s in periods_s.items():
        events = asked.events_per_second * period_s
        rows.append((name, f"{events:,}", *(size(each * events) for _, _, each in sizes)))
    head = f"Space at {asked.events_per_second:,} events per second:"
    return [Paragraph(head), Table("Space", header, tuple(rows))]


def sweep_svg(sweep: Sweep) -> str:
    """A picture with one panel for each metric: ratios to the first variant, ours with their 95 %
    intervals, published ones beside them.

    matplotlib is imported here: it takes half a second, which only this needs.
    """
    from matplotlib.figure import Figure

    metrics = [metric for metric in sweep.experiment.metrics if _is_drawn(sweep, metric)]
    panel_in = _AROUND_IN + _ROW_IN * len(sweep.arms)
    height_in = panel_in * max(1, len(metrics)) + 0.5
    with matplotlib_settings({}):
        picture = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        picture.suptitle(sweep.experiment.title, wrap=True)
        for number, metric in enumerate(metrics, 1):
            _panel(picture.add_subplot(len(metrics), 1, number), sweep, metric)
        written = io.StringIO()
        picture.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _is_drawn(sweep: Sweep, metric: Metric) -> bool:
    """Whether a metric has a first variant to compare with."""
    return (average(sweep.runs, sweep.arms[0], metric) or 0.0) > 0


def _panel(axes: Axes, sweep: Sweep, metric: Metric) -> None:
    """One metric: a row for each variant, the first on top."""
    about, rows = metric.about, range(len(sweep.arms))
    direction = "more is better" if about.more_is_better else "less is better"
    axes.set_title(f"{about.label}, ratio to the first ({direction})", fontsize=10)
    axes.axvline(1.0, color="grey", linewidth=0.8)
    for row, arm in zip(rows, sweep.arms, strict=True):
        _ours(axes, sweep, metric, row, arm)
        theirs = published_ratio(sweep, metric, arm)
        if theirs is not None:
            axes.plot([theirs], [row + 0.18], "D", color=_THEIRS, markersize=6)
    axes.set_yticks(list(rows), sweep.arms)
    axes.set_ylim(len(sweep.arms) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.3)
    axes.tick_params(axis="x", labelsize=8)
    axes.plot([], [], "o", color=_OURS, label="ours, 95 % interval")
    if published(sweep, metric):
        axes.plot([], [], "D", color=_THEIRS, label="published")
    axes.legend(fontsize=8)


def _ours(axes: Axes, sweep: Sweep, metric: Metric, row: int, arm: str) -> None:
    """The ratio with its interval, over the single blocks."""
    ratio = ratio_to_the_first(sweep, metric, arm)
    if ratio is None or ratio <= 0:
        return
    first = values(sweep.runs, sweep.arms[0], metric)
    each = values(sweep.runs, arm, metric)
    singles = [each[block] / first[block] for block in each if first.get(block, 0.0) > 0]
    at = row - 0.12
    axes.plot(singles, [at] * len(singles), ".", color=_OURS, alpha=0.4, markersize=5)
    axes.plot([ratio], [at], "o", color=_OURS, markersize=6)
    found = comparison(sweep.runs, sweep.arms[0], arm, metric)
    if found is not None and arm != sweep.arms[0]:
        axes.plot([found.low, found.high], [at, at], color=_OURS, linewidth=2)
