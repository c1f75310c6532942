"""The section of a search's report about its front: points that trade one figure for another."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from tuner.profile.objective import Objective
from tuner.report.figures import interval
from tuner.report.result import StudyResult
from tuner.report.sections import (
    Block,
    Bullets,
    Colour,
    Paragraph,
    PlainBlock,
    Plot,
    ReportSection,
    Table,
)
from tuner.schema.numerals import percent
from tuner.search.effects import EffectRatio
from tuner.search.front import FrontPoint, front_of
from tuner.space.knob import level_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WRITTEN, _LETTERS = "A", ascii_uppercase[1:]


def front(result: StudyResult) -> ReportSection:
    """Each point with both figures, as a picture and a table; without blocks where there is
    none."""
    blocks: tuple[Block, ...] = ()
    if result.study.header.options.front is not None and (points := front_of(result.study)):
        blocks = (_plot(result, result.study.header.options.front, points), _table(result, points))
    return ReportSection("front", "What one figure costs in the other", blocks)


def front_blocks(result: StudyResult) -> tuple[PlainBlock, ...]:
    """A line for each point: what it gains, what it costs, and what it changes."""
    points = front_of(result.study)
    lines = tuple("; ".join(_cells(result, point)) for point in points)
    title = "Points none of which is better in both figures, each by fresh pairs:"
    return (Paragraph(title), Bullets(lines)) if lines else ()


def _cells(result: StudyResult, point: FrontPoint) -> tuple[str, str, str]:
    rate, other = result.claimed_rate, result.study.header.options.front or Objective.EPS
    changes = (
        f"{result.name(path)} {level_text(result.as_written(path))} -> {level_text(level)}"
        for path, level in point.changes
    )
    return (
        f"{interval(rate.change(point.gain))} {rate.facts.label}",
        f"{interval(point.other)} {other.facts.label}",
        ", ".join(changes),
    )


def _table(result: StudyResult, points: tuple[FrontPoint, ...]) -> Table:
    written = (_WRITTEN, "as written", "", "")
    rows = (
        (letter, *_cells(result, point)) for letter, point in zip(_LETTERS, points, strict=False)
    )
    header = ("point", "gain", "beside it", "changes")
    return Table("The front, by fresh pairs with the profile as written", header, (written, *rows))


def _plot(result: StudyResult, other: Objective, points: tuple[FrontPoint, ...]) -> Plot:
    rate = result.claimed_rate
    moved = [(rate.change(point.gain), _estimate(point)) for point in points]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        _paint(axes, _WRITTEN, EffectRatio(1, 1, 1), EffectRatio(1, 1, 1), Colour.WRITTEN)
        for letter, (gain, beside) in zip(_LETTERS, moved, strict=False):
            _paint(axes, letter, gain, beside, Colour.BEST)
        axes.set_xlabel(f"{other.facts.label}, change")
        axes.set_title(f"{rate.facts.label}, change", color=Colour.MUTED.value)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:+.3g} %")

    says = (
        "Points of the search none of which is better in both figures, with 95 % intervals, beside "
        f"the profile as written ({_WRITTEN})."
    )
    rows = tuple(
        (letter, percent(gain.ratio), percent(beside.ratio))
        for letter, (gain, beside) in zip(_LETTERS, moved, strict=False)
    )
    header = ("point", rate.facts.label, other.facts.label)
    return Plot("front", "The front", says, 300, paint, header, rows)


def _estimate(point: FrontPoint) -> EffectRatio:
    return EffectRatio(point.other.ratio, point.other.low, point.other.high)


def _paint(axes: Axes, letter: str, up: EffectRatio, across: EffectRatio, colour: Colour) -> None:
    x, y = ((ratio.ratio - 1) * 100 for ratio in (across, up))
    errors = (
        [[(ratio.ratio - ratio.low) * 100], [(ratio.high - ratio.ratio) * 100]]
        for ratio in (across, up)
    )
    x_error, y_error = errors
    axes.errorbar(x, y, xerr=x_error, yerr=y_error, fmt="o", color=colour.value)
    axes.annotate(letter, (x, y), textcoords="offset points", xytext=(6, 6))
