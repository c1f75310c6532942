"""Variants side by side, for people and for programs: two in pairs, or those of an experiment
beside what others published."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from enum import Enum

from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.machines import Decision, Gate, gate
from tuner.measure.paired import Comparison, least, most
from tuner.measure.series import Series, average, comparison, pairs, restarted
from tuner.profile.metric import Metric
from tuner.report.figures import figure, freshness_kept, interval, ratio_text, restart_text
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.report.series import (
    RATES,
    closing_blocks,
    conditions,
    machine_blocks,
    phase_blocks,
    series_json,
    speed_notes,
)
from tuner.schema.numerals import p_value, share, size
from tuner.space.experiment import Experiment, Projection

A, B = "A", "B"
COMPARED = (
    *RATES, Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.STORE, Metric.MEMORY,
    Metric.EPS_DURABLE, Metric.FLOOD_CPU,
)  # fmt: skip


class Difference(Enum):
    """What the pairs show of B over A: by both rates, with interval and exact test agreeing."""

    FASTER = "faster"
    SLOWER = "slower"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few pairs"


def compared(series: Series, metric: Metric) -> Comparison | None:
    """B over A by one metric."""
    return comparison(series.runs, A, B, metric)


def difference(series: Series) -> Difference:
    """What the pairs show."""
    rates = [compared(series, metric) for metric in RATES]
    shown = [rate for rate in rates if rate is not None and rate.enough]
    if len(shown) < len(RATES):
        return Difference.TOO_FEW
    if all(rate.shows_more for rate in shown):
        return Difference.FASTER
    return Difference.SLOWER if all(rate.shows_less for rate in shown) else Difference.NOT_SHOWN


def gate_of(series: Series, bar: float | None) -> Gate | None:
    """What becomes of a bar, by both rates; None without a bar or pairs."""
    rates = [pairs(series.runs, A, B, metric) for metric in RATES]
    return None if bar is None or len(rates[0].a) < 2 else gate(rates, bar)


def compare_json(series: Series, decided: Gate | None) -> dict[str, object]:
    """Everything, with what the pairs show and what became of a bar."""
    return series_json(
        series,
        "compare",
        COMPARED,
        difference=difference(series),
        interleaved=True,
        gate=decided,
    )


def compare_blocks(series: Series, decided: Gate | None) -> tuple[PlainBlock, ...]:
    """The sentence, a table by metric, freshness, the ceiling, and what to doubt."""
    return (
        *bullets(
            [
                *(f"{variant.name} is {variant.title}" for variant in series.variants),
                conditions(series),
            ]
        ),
        Paragraph(_sentence(series), is_lead=True),
        _table(series),
        *machine_blocks(series, Metric.EPS, "pair"),
        *bullets([*speed_notes(series, RATES), *_restarts(series)]),
        *phase_blocks(series),
        *closing_blocks(series, Metric.EPS),
        *([] if decided is None else [Paragraph(f"gate: {gate_text(decided)}")]),
    )


def _restarts(series: Series) -> Iterator[str]:
    steady = compared(series, Metric.EPS)
    if steady is not None and (text := restart_text(steady)):
        yield text


def _sentence(series: Series) -> str:
    shown = difference(series)
    steady, paid = (compared(series, metric) for metric in RATES)
    if steady is None or paid is None or shown is Difference.TOO_FEW:
        count, fewest = (0, FEWEST_PAIRS) if steady is None else (steady.pairs, steady.fewest)
        return f"No claim: {count} complete pairs, at least {fewest} are needed."
    of_both = most if shown is Difference.SLOWER else least
    both = of_both((steady, paid))
    change = interval(both)
    if shown is Difference.NOT_SHOWN:
        return (
            f"No difference is shown: B over A is {change}; {steady.pairs} such pairs can detect "
            f"a difference of {share(both.detectable)} or more."
        )
    return f"B is {shown.value} than A: {change} events per second."


def _table(series: Series) -> Table:
    header = ("metric, geometric mean", "A", "B", "B over A [95 %]", "p", "minimum detectable")
    rows = []
    for metric in COMPARED:
        ratio, about = compared(series, metric), metric.about
        sides = tuple(average(series.runs, side, metric) for side in (A, B))
        rows.append(
            (
                f"{about.label}, {about.unit}",
                *(figure(metric, side) for side in (sides if ratio is None else ratio.averages)),
                ratio_text(ratio),
                "-" if ratio is None else p_value(ratio.p).removeprefix("= "),
                "-" if ratio is None else share(ratio.detectable),
            )
        )
    return Table("B over A", header, tuple(rows))


def gate_text(decided: Gate) -> str:
    """What became of the bar."""
    bar = f"{decided.bar:g}"
    match decided.decision:
        case Decision.KEPT:
            return f"kept: B is shown to be above {bar} of A"
        case Decision.BELOW:
            return f"below: B is shown to be under {bar} of A"
        case Decision.INCONCLUSIVE:
            more = (
                "measure on a quieter machine, or with a lower bar"
                if decided.pairs_wanted is None
                else f"about {decided.pairs_wanted} pairs would decide it"
            )
            return f"inconclusive: the interval holds {bar} of A: {more}"


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
        blocks += [head, _metric_table(series, asked, metric)]
    blocks += machine_blocks(series, asked.metrics[0], "block")
    notes = (speed_notes(series, asked.metrics), _restart_notes(series, asked), _thresholds(series))
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


def _metric_table(series: Series, asked: Experiment, metric: Metric) -> Table:
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


def _restart_notes(series: Series, asked: Experiment) -> Iterator[str]:
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
