"""Metrics of several runs as readers write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from tuner.measure.blocks import Run, comparison, median, values
from tuner.measure.measurement import Failure
from tuner.measure.paired import Comparison
from tuner.profile.metric import Metric
from tuner.report.figures import eps, mebibytes


def figure(metric: Metric, value: float | None) -> str:
    """A figure with as many digits as it deserves: `71,234`, `6.12`, `93 MiB`; `-` for none."""
    if value is None:
        return "-"
    if metric is Metric.MEMORY:
        return mebibytes(round(value))
    return eps(value) if value >= 999.5 else f"{value:.3g}"


def ratio_text(found: Comparison | None) -> str:
    """A ratio with its 95 % interval: `1.171 [1.120, 1.224]`; `-` for none."""
    if found is None:
        return "-"
    return f"{found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}]"


def metric_json(runs: Sequence[Run], arms: Sequence[str], metric: Metric) -> dict[str, object]:
    """What each arm showed of a metric, and how it compares with the first."""
    about = metric.about
    first, *others = arms
    found = {arm: comparison(runs, first, arm, metric) for arm in others}
    return {
        "label": about.label,
        "unit": about.unit,
        "more_is_better": about.more_is_better,
        "values": {arm: list(values(runs, arm, metric).values()) for arm in arms},
        "medians": {arm: median(runs, arm, metric) for arm in arms},
        "to_the_first": {arm: None if one is None else asdict(one) for arm, one in found.items()},
    }


def remarks(runs: Sequence[Run]) -> Iterator[str]:
    """Doubts about the runs, each with how many had it, and every failure."""
    doubts = Counter(
        (run.arm, doubt.kind)
        for run in runs
        if not isinstance(run.result, Failure)
        for doubt in run.result.doubts
    )
    for (arm, kind), count in doubts.items():
        of = sum(run.arm == arm for run in runs)
        yield f"{arm}, {count} of {of} runs: {kind.value}: {kind.advice}"
    for run in runs:
        if isinstance(run.result, Failure):
            yield f"{run.arm}, block {run.block} failed: {run.result}"
