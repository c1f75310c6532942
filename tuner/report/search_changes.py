"""Sections of a search's report: what to change, what each change gave, and what was taken back."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.candidate import with_main_queue
from tuner.lint.repairs import every_change
from tuner.report.figures import Rate, interval, setting
from tuner.report.result import EffectGroup, StudyResult
from tuner.report.sections import (
    Block,
    Cell,
    Paragraph,
    ReportSection,
    Subheading,
    Table,
    bullets,
)
from tuner.search.effects import RULED_OUT, TOLERATED, effects_of
from tuner.search.study import Changes, Phase
from tuner.search.verdict import Claim


def change(result: StudyResult) -> ReportSection:
    """What is recommended: what is tuned, with what it gave and gives up, and apart from it the
    repairs."""
    return ReportSection("change", "What to change", tuple(_changes(result)))


def _changes(result: StudyResult) -> Iterator[Block]:
    groups = [group for group in result.effect_groups if not group.taken_back]
    if groups:
        yield Table("What to change", _HEADER, tuple(_row(group, result) for group in groups))
        yield Paragraph(how_effects_are_known(result))
        yield from bullets(_together(result))
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


def _together(result: StudyResult) -> Iterator[str]:
    """Which changes gave more together, or less, than they did alone."""

    def called(changes: Changes) -> str:
        return " + ".join(f"`{result.name(path)}`" for path, _ in changes)

    effects = result.verdict.effects
    for interaction in () if effects is None else effects.interactions:
        (first, second), *others = interaction.pairs
        more = "more" if interaction.estimate.ratio > 1 else "less"
        alike = [f"{called(a)} with {called(b)}" for a, b in others]
        yield (
            f"{called(first)} and {called(second)} gave {more} together than alone: "
            f"{interval(interaction.estimate)}"
            + (f"; these runs cannot tell it from {', or '.join(alike)}" if alike else "")
        )


def _row(group: EffectGroup, result: StudyResult) -> tuple[Cell, ...]:
    return (tuple(_listed(group, result)), effect_text(group, result.claimed_rate))


def _listed(group: EffectGroup, result: StudyResult) -> Iterator[str]:
    """Each change of a group, and what to know of it."""
    for path, level in group.changes:
        yield f"`{result.name(path)}` {setting(result.current[path])} -> {setting(level)}"
        if note := result.note(path):
            yield note


def effect_text(group: EffectGroup, rate: Rate) -> str:
    """What a group gave: `+12.0 % [+8.1 %, +16.1 %]`, `together ...` of several changes."""
    if group.estimate is None:
        return "not measured by itself: the engine restarts for it"
    return f"{'together ' if len(group.changes) > 1 else ''}{interval(rate.change(group.estimate))}"
