"""The profile as written against the best found, pair by pair, with what it comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuner.measure.paired import Comparison
from tuner.report.drawing import Colour, Plot, svg
from tuner.report.figures import eps, interval, percent, restart_text
from tuner.report.rates import claimed_rate
from tuner.search.pairs import pairs_of
from tuner.search.study import Study
from tuner.search.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def pairs(study: Study, verdict: Verdict) -> Plot | None:
    """Both sides of each pair and their ratio, by the rate that the claim rests on; None without a
    comparison."""
    found, rate = verdict.claimed, claimed_rate(verdict)
    if found is None:
        return None
    rates = [(rate.of(before), rate.of(after)) for before, after in pairs_of(study.trials)]
    title = "The profile as written against the best found, pair by pair"
    says = (
        f"Events per second {rate.over} in {found.pairs} fresh pairs, and below them by how much "
        f"each pair differs: {interval(found)}, the band, with 95 % confidence."
    )
    if restarts := restart_text(found):
        says += f" Single pairs lie apart, because {restarts}."

    def paint(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _paint_rates(above, rates)
        _paint_changes(below, rates, found)
        figure.legend(loc="outside lower center", ncols=2)

    rows = tuple(
        (str(number), eps(before), eps(after), percent(after / before))
        for number, (before, after) in enumerate(rates, 1)
    )
    header = ("pair", "as written, EPS", "best found, EPS", "change")
    return Plot("pairs", title, says, svg("pairs", title, says, 300, paint), header, rows)


def _paint_rates(axes: Axes, rates: list[tuple[float, float]]) -> None:
    numbers = range(1, len(rates) + 1)
    befores, afters = zip(*rates, strict=True)
    axes.vlines(numbers, befores, afters, color=Colour.GRID.value, linewidth=2)
    axes.plot(numbers, befores, "o", color=Colour.WRITTEN.value, markersize=6,
              markerfacecolor=Colour.PAPER.value, label="as written")  # fmt: skip
    axes.plot(numbers, afters, "o", color=Colour.BEST.value, markersize=6, label="best found")
    axes.set_ylim(0, 1.12 * max(*befores, *afters))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("events per second", color=Colour.MUTED.value)


def _paint_changes(axes: Axes, rates: list[tuple[float, float]], found: Comparison) -> None:
    changes = [(after / before - 1) * 100 for before, after in rates]
    numbers = range(1, len(rates) + 1)
    low, middle, high = ((one - 1) * 100 for one in (found.low, found.ratio, found.high))
    axes.axhspan(low, high, color=Colour.BEST.value, alpha=0.18, linewidth=0)
    axes.axhline(middle, color=Colour.BEST.value, linewidth=1)
    axes.plot(numbers, changes, "D", color=Colour.INK.value, markersize=4)
    if axes.get_ylim()[0] < 0 < axes.get_ylim()[1]:
        axes.axhline(0, color=Colour.BAD.value, linewidth=1)
    axes.set_xticks(numbers)
    axes.set_xlabel("pair")
    axes.margins(y=0.25)
    axes.yaxis.set_major_formatter("{x:+.3g} %")
    axes.set_title("change, and the mean with its interval", color=Colour.MUTED.value)
