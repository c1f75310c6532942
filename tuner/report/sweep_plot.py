"""The variants of an experiment as a picture: ours beside theirs, in SVG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tuner.measure.blocks import comparison, median, values
from tuner.profile.metric import Metric
from tuner.report.drawing import settings
from tuner.report.sweep import Sweep, published, published_ratio, ratio_to_the_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS = "#1f6fb2", "#d07a1c"
_WIDTH_IN, _ROW_IN, _AROUND_IN = 8.0, 0.42, 1.0


def sweep_svg(sweep: Sweep) -> str:
    """A picture with one panel for each metric: ratios to the first variant, ours with their 95 %
    intervals, published ones beside them.

    matplotlib is imported here: it takes half a second, which only this needs.
    """
    from matplotlib.figure import Figure

    metrics = [metric for metric in sweep.experiment.metrics if _is_drawn(sweep, metric)]
    panel_in = _AROUND_IN + _ROW_IN * len(sweep.arms)
    height_in = panel_in * max(1, len(metrics)) + 0.5
    with settings({}):
        picture = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
        picture.suptitle(sweep.experiment.title, wrap=True)
        for number, metric in enumerate(metrics, 1):
            _panel(picture.add_subplot(len(metrics), 1, number), sweep, metric)
        written = io.StringIO()
        picture.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _is_drawn(sweep: Sweep, metric: Metric) -> bool:
    """Whether a metric has a first variant to compare with."""
    return (median(sweep.runs, sweep.arms[0], metric) or 0.0) > 0


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
