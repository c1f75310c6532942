"""Sections of a search's report: what to change, what each change gave, what was taken back, and
the points that trade one figure for another."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_uppercase
from typing import TYPE_CHECKING

from tuner.lint.candidate import with_main_queue
from tuner.lint.repairs import every_change
from tuner.measure.contrast import Estimate
from tuner.report.figures import Rate, interval, setting
from tuner.report.result import EffectGroup, StudyResult
from tuner.report.sections import (
    Block,
    Bullets,
    Cell,
    Colour,
    Paragraph,
    PlainBlock,
    Plot,
    ReportSection,
    Subheading,
    Table,
    bullets,
)
from tuner.search.effects import RULED_OUT, TOLERATED, EffectRatio, effects_of
from tuner.search.study import Phase
from tuner.search.verdict import Claim, FrontPoint

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def change(result: StudyResult) -> ReportSection:
    """What is recommended: what is tuned, with what it gave and gives up, and apart from it the
    repairs."""
    return ReportSection("change", "What to change", tuple(_changes(result)))


def _changes(result: StudyResult) -> Iterator[Block]:
    groups = [group for group in result.effect_groups if not group.taken_back]
    if groups:
        yield Table("What to change", _HEADER, tuple(_row(group, result) for group in groups))
        yield Paragraph(how_effects_are_known(result))
        if main_queue := with_main_queue(result.written.profile, dict(result.verdict.changes)):
            yield Paragraph(main_queue)
    elif not result.repaired and result.verdict.claim is not Claim.UNFINISHED:
        yield Paragraph("Nothing: `best.yaml` is the profile as written.")
    costs = [*(concession.text for concession in result.given_up), *map(str, result.costs)]
    if costs:
        yield Subheading("What it costs")
        yield from bullets(costs)
    if result.repaired:
        header = ("setting", "as written", "change to", "note")
        mended = tuple(
            (f"`{result.name(path)}`", setting(result.as_written(path)), setting(level), repair.why)
            for repair in result.repaired
            for path, level in repair.changes
        )
        yield Subheading("Repairs")
        yield Table("Repairs", header, mended)


_HEADER = ("change", "what it gave")


def how_effects_are_known(result: StudyResult) -> str:
    """Which runs the effects are from, and what they come to together."""
    effects, scored = result.verdict.effects, result.scored
    if effects is None:
        if len(result.effect_groups[0].changes) == 1:
            return f"By the fresh pairs, on {scored.label}."
        return (
            f"By the fresh pairs, on {scored.label}. What each change gave was not "
            f"measured{_why_not_apart(result)}."
        )
    together = f"all of them together {interval(scored.change(effects.whole))}"
    handed_over = [
        at for at, group in enumerate(effects.groups) if {*group} <= {*result.verdict.confirmed}
    ]
    back = [at for at in range(len(effects.groups)) if at not in handed_over]
    if back:
        together = (
            f"those that are kept together {interval(scored.change(effects.of(*handed_over)))}, "
            f"those that were taken back {interval(scored.change(effects.of(*back)))}"
        )
    if effects.beside is not None:
        repaired = dict(every_change(result.repaired)).keys()
        only_repairs = dict(effects.held).keys() <= repaired
        restarts = "" if only_repairs else " and what the engine restarts for"
        beside = interval(scored.change(effects.beside))
        together += f"; the repairs{restarts}, by the pairs alone, {beside}"
    also = ", and by the fresh pairs" if effects.pairs else ""
    return (
        f"By {2 * effects.blocks} runs before the pairs, each with about half of the changes and "
        f"beside one with the other half{also}, on {scored.label}, with 95 % intervals; "
        f"{together}. The claim rests on the fresh pairs alone."
    )


def _why_not_apart(result: StudyResult) -> str:
    """Why the winner was not taken apart, as the end of a sentence."""
    if not result.study.header.options.effects:
        return " (--no-effects)"
    if not result.study.of(Phase.EFFECTS):
        return ": a larger budget has time for it"
    return ": no valid runs tell them apart"


def taken_back(result: StudyResult) -> ReportSection:
    """What was taken back before the confirmation, with why and what it gave."""
    back = tuple(_row(group, result) for group in result.effect_groups if group.taken_back)
    table = Table("Taken back", _HEADER, back)
    blocks = (Paragraph(_why_taken_back(result)), table) if back else ()
    return ReportSection("back", "Taken back before the confirmation", blocks, short="Taken back")


def _why_taken_back(result: StudyResult) -> str:
    """By what was known when that was decided: the pairs came after it."""
    then = effects_of(result.study.trials, result.verdict.chosen)
    gave = "" if then is None else f" they gave {interval(then.of(*then.taken_back))} together:"
    return (
        f"By the runs before the pairs{gave} without them the rate is at most "
        f"{TOLERATED * 100:.0f} % lower by the estimate, and shown to be less than "
        f"{RULED_OUT * 100:.0f} % lower. The intervals below are by the pairs, too."
    )


def _row(group: EffectGroup, result: StudyResult) -> tuple[Cell, ...]:
    return (tuple(_listed(group, result)), effect_text(group, result.claimed_rate))


def _listed(group: EffectGroup, result: StudyResult) -> Iterator[str]:
    """Each change of a group, and what to know of it."""
    for path, level in group.changes:
        yield result.changed_code(path, level)
        if note := result.note(path):
            yield note


def effect_text(group: EffectGroup, rate: Rate) -> str:
    """What a group gave: `+12.0 % [+8.1 %, +16.1 %]`, `together ...` of several changes."""
    if group.estimate is None:
        return "not measured by itself: the engine restarts for it"
    return f"{'together ' if len(group.changes) > 1 else ''}{interval(rate.change(group.estimate))}"


_WRITTEN, _LETTERS = "A", ascii_uppercase[1:]


def front(result: StudyResult) -> ReportSection:
    """The points that trade one figure for another, as a picture and a table; without blocks where
    there are none."""
    points = tuple(zip(_LETTERS, result.front, strict=False))
    rows = [(letter, *_figures(result, point)) for letter, point in points]
    header = ("point", "gain", "beside it", "changes")
    table = Table(
        "The front, by fresh pairs with the profile as written",
        header,
        ((_WRITTEN, "as written", "", ""), *rows),
    )
    says = (
        "Points of the search none of which is better in both figures, with 95 % intervals, beside "
        f"the profile as written ({_WRITTEN})."
    )

    def paint(figure: Figure) -> None:
        axes, rate = figure.subplots(), result.claimed_rate
        _paint(axes, _WRITTEN, EffectRatio(1, 1, 1), EffectRatio(1, 1, 1), Colour.WRITTEN)
        for letter, point in points:
            _paint(axes, letter, rate.change(point.gain), point.other, Colour.BEST)
            axes.set_xlabel(f"{point.objective.facts.label}, change")
        axes.set_title(f"{rate.facts.label}, change", color=Colour.MUTED.value)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:+.3g} %")

    plot = Plot("front", "The front", says, 300, paint, header[:3], tuple(row[:3] for row in rows))
    return ReportSection(
        "front", "What one figure costs in the other", (plot, table) if points else ()
    )


def _paint(
    axes: Axes, letter: str, up: EffectRatio, across: EffectRatio | Estimate, colour: Colour
) -> None:
    x, y = (100 * (ratio.ratio - 1) for ratio in (across, up))
    x_error, y_error = (
        [[100 * (ratio.ratio - ratio.low)], [100 * (ratio.high - ratio.ratio)]]
        for ratio in (across, up)
    )
    axes.errorbar(x, y, xerr=x_error, yerr=y_error, fmt="o", color=colour.value)
    axes.annotate(letter, (x, y), textcoords="offset points", xytext=(6, 6))


def front_blocks(result: StudyResult) -> Iterator[PlainBlock]:
    """A line for each such point: what it gains, what it costs, and what it changes."""
    if result.front:
        best = "The best in both figures: nothing that was measured trades one for the other"
        several = "Points none of which is better in both figures, each by fresh pairs"
        yield Paragraph(f"{several if len(result.front) > 1 else best}:")
        yield Bullets(tuple("; ".join(_figures(result, point)) for point in result.front))


def _figures(result: StudyResult, point: FrontPoint) -> tuple[str, str, str]:
    rate = result.claimed_rate
    return (
        f"{interval(rate.change(point.gain))} {rate.facts.label}",
        f"{interval(point.other)} {point.objective.facts.label}",
        ", ".join(result.changed(path, level) for path, level in point.changes),
    )
