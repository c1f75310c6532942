"""Where the time of a search went: its phases, and the parts of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.report.drawing import Colour, Plot, svg
from tuner.report.figures import seconds
from tuner.report.search_time import TIME_HEADER, time_rows
from tuner.search.study import Phase, Study
from tuner.search.times import Overhead, Times, times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PARTS = ("start", "warm-up", "window", "drain", "settle", "stop")


def time_budget(study: Study) -> Plot | None:
    """The phases and, where the search measured something, the parts of its trials; None for a
    search without trials."""
    found = times(study)
    if found.total_s <= 0:
        return None
    title = "Where the time went"
    says = (
        f"Of {seconds(found.total_s)} the solid part was spent in windows whose rates count: "
        f"{found.measuring * 100:.0f} % of the budget, not counting what came after it."
    )
    if found.overhead is not None:
        says += " Below, the parts of one trial of the search, each a median."
    panels = 1 if found.overhead is None else 2

    def paint(figure: Figure) -> None:
        above, *below = figure.subplots(panels, 1, squeeze=False, height_ratios=(8, 6)[:panels])[
            :, 0
        ]
        _paint_phases(above, found)
        if found.overhead is not None:
            _paint_parts(below[0], found.overhead)

    drawn = svg("time", title, says, 110 + 140 * panels, paint)
    return Plot("time", title, says, drawn, TIME_HEADER, tuple(time_rows(found)))


def _paint_phases(axes: Axes, found: Times) -> None:
    rows = [("start", found.starts_s, 0.0)]
    rows += [
        (one.phase.value, one.seconds, 0.0 if one.phase is Phase.WARM_UP else one.windows_s)
        for one in found.phases
    ]
    rows += [("engine restarts", found.restarts_s, 0.0), ("between trials", found.between_s, 0.0)]
    shown = [row for row in rows if row[1] > 0]
    names = [name for name, _, _ in shown]
    bars = axes.barh(names, [all_s for _, all_s, _ in shown], color=Colour.BEST.value, alpha=0.35)
    axes.barh(names, [windows_s for _, _, windows_s in shown], color=Colour.BEST.value)
    axes.bar_label(bars, [seconds(all_s) for _, all_s, _ in shown], padding=3, fontsize=9)
    axes.set_title("by phase, seconds", color=Colour.MUTED.value)
    _finish(axes)


def _paint_parts(axes: Axes, found: Overhead) -> None:
    parts = found.parts
    values = (parts.start_s, parts.warm_up_s, parts.window_s, parts.drain_s, parts.settle_s,
              parts.stop_s)  # fmt: skip
    bars = axes.barh(_PARTS, values, color=Colour.BEST.value, alpha=0.35)
    axes.barh(("window",), (parts.window_s,), color=Colour.BEST.value)
    axes.bar_label(bars, fmt="%.1f s", padding=3, fontsize=9)
    axes.set_title("one trial of the search, seconds", color=Colour.MUTED.value)
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.margins(x=0.16)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
