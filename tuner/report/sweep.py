"""The variants of an experiment side by side, as text and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import TypeAdapter

from tuner.measure.blocks import Run, comparison, median
from tuner.measure.restarts import restarted
from tuner.profile.metric import Metric
from tuner.report.comparisons import figure, metric_json, ratio_text, remarks
from tuner.report.figures import size, table
from tuner.report.shown import shown
from tuner.space.experiment import Experiment, Projection

SCHEMA = 1
_DAY_S = 86_400
_PERIODS_S = {"second": 1, "minute": 60, "hour": 3600, "day": _DAY_S, "week": 7 * _DAY_S}


@dataclass(frozen=True)
class Sweep:
    """Everything that the runs of an experiment gave; `arms` are its variants in order, and
    `freshness_limit_s` the guardrail of the first."""

    experiment: Experiment
    arms: tuple[str, ...]
    engine: str
    machine: str
    seed: int
    runs: tuple[Run, ...]
    substitutions: tuple[str, ...]
    freshness_limit_s: float


_SWEEP = TypeAdapter(Sweep)


def sweep_json(sweep: Sweep) -> dict[str, object]:
    """Everything, with the comparison by each metric and the published figures as ratios."""
    fields: dict[str, object] = _SWEEP.dump_python(sweep, mode="json", by_alias=True)
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


def sweep_text(sweep: Sweep) -> str:
    """A table for each metric, ours beside theirs; the projection; what to doubt."""
    asked = sweep.experiment
    source = f"\npublished: {asked.source}" if asked.source else ""
    parts = [
        f"{asked.title}{source}\non {sweep.engine}, {sweep.machine}",
        *(_table(sweep, metric) for metric in asked.metrics),
        _restarts(sweep),
        "\n".join(_thresholds(sweep)),
        _projection(sweep, asked.projection),
        "\n".join(f"doubt: {one}" for one in remarks(sweep.runs)),
        "\n".join(f"not tested as written: {one}" for one in sweep.substitutions),
    ]
    return shown("\n\n".join(part for part in parts if part))


def published(sweep: Sweep, metric: Metric) -> dict[str, float]:
    """What somebody else measured of a metric, by variant; empty where nobody did."""
    return sweep.experiment.published.get(metric, {})


def published_ratio(sweep: Sweep, metric: Metric, arm: str) -> float | None:
    """A published figure over that of the first variant; None where either is missing."""
    figures = published(sweep, metric)
    first = sweep.arms[0]
    return figures[arm] / figures[first] if arm in figures and first in figures else None


def saved(ratio: float) -> str:
    """The share of space that is saved, 100 x (data - compressed) / data."""
    return f"{100 * (1 - ratio):.1f} %"


def _table(sweep: Sweep, metric: Metric) -> str:
    """Medians, ratios to the first variant with intervals, and the same as published."""
    about, theirs = metric.about, published(sweep, metric)
    header: tuple[str, ...] = ("variant", "ours", "to the first [95 %]")
    header += ("saved",) if metric.is_size else ()
    header += ("published", "to the first") if theirs else ()
    header += ("saved",) if metric.is_size and theirs else ()
    rows = [_row(sweep, metric, arm) for arm in sweep.arms]
    return f"{about.label}, {about.unit}:\n\n{table(header, rows)}"


def _row(sweep: Sweep, metric: Metric, arm: str) -> tuple[str, ...]:
    ours, theirs = median(sweep.runs, arm, metric), published(sweep, metric)
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
    """Our ratio to the first variant: of pairs of one block, else of the medians; None where either
    shows nothing."""
    found = comparison(sweep.runs, sweep.arms[0], arm, metric)
    if found is not None:
        return found.ratio
    ours = median(sweep.runs, arm, metric)
    first = median(sweep.runs, sweep.arms[0], metric)
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
    return "-" if ratio is None else saved(ratio)


def _restarts(sweep: Sweep) -> str:
    """What restarts of the engine between the variants mean for the figures; empty without any."""
    if not any(restarted(run.result) for run in sweep.runs):
        return ""
    first, *others = sweep.arms
    metrics = sweep.experiment.metrics
    found = [comparison(sweep.runs, first, arm, metric) for arm in others for metric in metrics]
    fitted = any(one is not None and one.restarted is not None for one in found)
    ratios = "the ratios are free of that" if fitted else "four blocks and more take that out"
    return f"the engine restarted between variants and is slower just after; {ratios}, medians not"


def _thresholds(sweep: Sweep) -> Iterator[str]:
    """Which variants keep the guardrail on freshness."""
    limit_s = sweep.freshness_limit_s
    for arm in sweep.arms:
        found = median(sweep.runs, arm, Metric.FRESHNESS_P99)
        if found is not None:
            kept = "within" if found <= limit_s else "ABOVE"
            yield f"{arm}: freshness p99 is {kept} freshness_p99_s, {limit_s:g} s"


def _projection(sweep: Sweep, wanted: Projection | None) -> str:
    """The space that a rate needs over time."""
    if wanted is None:
        return ""
    periods_s = {**_PERIODS_S, f"{wanted.days} days": wanted.days * _DAY_S}
    sizes = [
        (arm, metric, each)
        for metric in sweep.experiment.metrics
        if metric.is_size
        for arm in sweep.arms
        if (each := median(sweep.runs, arm, metric)) is not None
    ]
    header = ("at the rate", "events", *(f"{arm}: {m.about.label}" for arm, m, _ in sizes))
    rows = []
    for name, period_s in periods_s.items():
        events = wanted.events_per_second * period_s
        rows.append((name, f"{events:,}", *(size(each * events) for _, _, each in sizes)))
    return f"Space at {wanted.events_per_second:,} events per second:\n\n{table(header, rows)}"
