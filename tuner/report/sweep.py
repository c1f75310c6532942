"""The variants of an experiment side by side, for people and for programs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tuner.measure.series import Series, average, comparison, restarted
from tuner.profile.metric import Metric
from tuner.report.figures import figure, freshness_kept, ratio_text
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.report.series import closing_blocks, conditions, machine_blocks, series_json, speed_notes
from tuner.schema.numerals import size
from tuner.space.experiment import Experiment, Projection

_DAY_S = 86_400
_PERIODS_S = {"second": 1, "minute": 60, "hour": 3600, "day": _DAY_S, "week": 7 * _DAY_S}


def sweep_json(series: Series, asked: Experiment) -> dict[str, object]:
    """Everything, with the comparison by each metric and the published figures as ratios."""
    theirs = {
        metric.value: {
            name: published_ratio(series, asked, metric, name) for name in published(asked, metric)
        }
        for metric in asked.metrics
    }
    return series_json(
        series, "sweep", asked.metrics, published_to_the_first=theirs, experiment=asked
    )


def sweep_blocks(series: Series, asked: Experiment) -> tuple[PlainBlock, ...]:
    """A table for each metric, ours beside the published figures; the projection; what to doubt."""
    source = [f"published: {asked.source}"] if asked.source else []
    blocks = bullets([asked.title, *source, conditions(series)])
    for metric in asked.metrics:
        head = Paragraph(f"{metric.about.label}, {metric.about.unit}:")
        blocks += [head, _table(series, asked, metric)]
    blocks += machine_blocks(series, asked.metrics[0], "block")
    notes = (speed_notes(series, asked.metrics), _restarts(series, asked), _thresholds(series))
    blocks += bullets(itertools.chain(*notes))
    if asked.projection is not None:
        blocks += _projection(series, asked, asked.projection)
    return (*blocks, *closing_blocks(series, asked.metrics[0]))


def published(asked: Experiment, metric: Metric) -> dict[str, float]:
    """What somebody else measured of a metric, by variant; empty where nobody did."""
    return asked.published.get(metric, {})


def published_ratio(series: Series, asked: Experiment, metric: Metric, arm: str) -> float | None:
    """A published figure over that of the first variant; None where either is missing."""
    figures = published(asked, metric)
    first = series.names[0]
    return figures[arm] / figures[first] if arm in figures and first in figures else None


def _table(series: Series, asked: Experiment, metric: Metric) -> Table:
    """Geometric means, ratios to the first variant with intervals, and the same as published."""
    theirs = published(asked, metric)
    header: tuple[str, ...] = ("variant", "ours, geometric mean", "to the first [95 %]")
    header += ("saved",) if metric.is_size else ()
    header += ("published", "to the first") if theirs else ()
    header += ("saved",) if metric.is_size and theirs else ()
    rows = tuple(_row(series, asked, metric, arm) for arm in series.names)
    return Table(metric.about.label, header, rows)


def _row(series: Series, asked: Experiment, metric: Metric, arm: str) -> tuple[str, ...]:
    ours, theirs = average(series.runs, arm, metric), published(asked, metric)
    cells = [arm, figure(metric, ours), _ratio(series, metric, arm)]
    if metric.is_size:
        cells.append(_saved(ratio_to_the_first(series, metric, arm)))
    if theirs:
        ratio = published_ratio(series, asked, metric, arm)
        cells += [figure(metric, theirs.get(arm)), "-" if ratio is None else f"{ratio:.3f}"]
        if metric.is_size:
            cells.append(_saved(ratio))
    return tuple(cells)


def ratio_to_the_first(series: Series, metric: Metric, arm: str) -> float | None:
    """Our ratio to the first variant: of pairs of one block, else of the averages; None where one
    of them shows nothing."""
    pairs_ratio = comparison(series.runs, series.names[0], arm, metric)
    if pairs_ratio is not None:
        return pairs_ratio.ratio
    ours = average(series.runs, arm, metric)
    first = average(series.runs, series.names[0], metric)
    return ours / first if ours is not None and first else None


def _ratio(series: Series, metric: Metric, arm: str) -> str:
    if arm == series.names[0]:
        return "1"
    pairs_ratio = comparison(series.runs, series.names[0], arm, metric)
    if pairs_ratio is not None:
        return ratio_text(pairs_ratio)
    ratio = ratio_to_the_first(series, metric, arm)
    return "-" if ratio is None else f"{ratio:.3f}"


def _saved(ratio: float | None) -> str:
    """The share of space that is saved, 100 x (data - compressed) / data."""
    return "-" if ratio is None else f"{100 * (1 - ratio):.1f} %"


def _restarts(series: Series, asked: Experiment) -> Iterator[str]:
    """What restarts of the engine between the variants mean for the figures."""
    if not any(restarted(run.result) for run in series.runs):
        return
    first, *others = series.names
    metrics = asked.metrics
    ratios_of = [
        comparison(series.runs, first, arm, metric) for arm in others for metric in metrics
    ]
    fitted = any(ratio is not None and ratio.restarted is not None for ratio in ratios_of)
    ratios = "the ratios are free of that" if fitted else "four blocks and more take that out"
    yield f"the engine restarted between variants and is slower just after; {ratios}, averages not"


def _thresholds(series: Series) -> Iterator[str]:
    """Which variants keep their guardrail on freshness."""
    for variant in series.variants:
        p99_s = average(series.runs, variant.name, Metric.FRESHNESS_P99)
        if p99_s is not None:
            kept = freshness_kept(p99_s, variant.freshness_limit_s)
            yield f"{variant.name}: freshness {kept}"


def _projection(series: Series, asked: Experiment, projection: Projection) -> list[PlainBlock]:
    """The space that a rate needs over time."""
    periods_s = {**_PERIODS_S, f"{projection.days} days": projection.days * _DAY_S}
    sizes = [
        (arm, metric, mean)
        for metric in asked.metrics
        if metric.is_size
        for arm in series.names
        if (mean := average(series.runs, arm, metric)) is not None
    ]
    header = ("at the rate", "events", *(f"{arm}: {m.about.label}" for arm, m, _ in sizes))
    rows = []
    for name, period_s in periods_s.items():
        events = projection.events_per_second * period_s
        rows.append((name, f"{events:,}", *(size(mean * events) for _, _, mean in sizes)))
    head = f"Space at {projection.events_per_second:,} events per second:"
    return [Paragraph(head), Table("Space", header, tuple(rows))]
