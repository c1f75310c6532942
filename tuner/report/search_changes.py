"""Sections of a search's report: what to change with what each change gave, and what the other
settings seem to give."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tuner.report.figures import percent, setting
from tuner.report.plot_effects import cost_plot, effects_plot
from tuner.report.result import EffectGroup, StudyResult
from tuner.report.sections import (
    Block,
    Cell,
    Paragraph,
    ReportSection,
    Subheading,
    Table,
    beside_one_another,
    bullets,
)
from tuner.search.explain import SAME, Effect, Explained
from tuner.search.shrink import RULED_OUT, TOLERATED
from tuner.search.study import Phase
from tuner.search.verdict import Claim

ESTIMATED = (
    "An estimate comes from a regression over all trials of the search, as if changes simply added "
    "up: it is not measured, so no claim rests on it."
)
_AS_A_WHOLE = "What was confirmed is all of it together, not each change by itself. "
_MEANT = (
    "Effects are on events per second over the window, including deferred work, with 95 % "
    "intervals. Measured means fresh pairs, with the change and without it, after the choice; not "
    f"shown means that their interval holds 0 %, or that there were no such pairs. {ESTIMATED}"
)
_HEADER = ("change", "effect on the rate", "how known")


def change(result: StudyResult) -> ReportSection:
    """What is recommended: what is tuned, with what it gave and gives up, and apart from it the
    repairs."""
    return ReportSection("change", "What to change", tuple(_changes(result)))


def _changes(result: StudyResult) -> Iterator[Block]:
    groups = [one for one in result.effect_groups if not one[0].undone]
    if groups:
        yield Paragraph(f"{_AS_A_WHOLE if sum(map(len, groups)) > 1 else ''}{_MEANT}")
        yield Table("What to change", _HEADER, tuple(_row(one, result) for one in groups))
    elif not result.repaired and result.verdict.claim is not Claim.UNFINISHED:
        yield Paragraph("Nothing: `best.yaml` is the profile as written.")
    if result.given_up:
        yield Paragraph("Some of these changes give something up:")
        yield from bullets(result.given_up)
    if result.repaired:
        header = ("setting", "as written", "change to", "note")
        mended = tuple(
            (f"`{path}`", setting(result.as_written(path)), setting(level), one.why)
            for one in result.repaired
            for path, level in one.changes
        )
        yield Subheading("Repairs")
        yield Table("Repairs", header, mended)


def effects(result: StudyResult) -> ReportSection:
    """The effects as a plot, what was removed before the confirmation, and the settings that stay
    as written; nothing of a search that tried no other settings."""
    heading = "What each change gave" if result.effect_groups else "Which settings seem to matter"
    if not result.study.of(Phase.SEARCH):
        return ReportSection("effects", heading, ())
    blocks: list[Block] = [] if result.effect_groups else [Paragraph(ESTIMATED)]
    blocks += beside_one_another(effects_plot(result), cost_plot(result))
    removed = tuple(_row(one, result) for one in result.effect_groups if one[0].undone)
    if removed:
        blocks += [
            Subheading("Removed before the confirmation"),
            Table("Removed", _HEADER, removed),
        ]
    others = list(_others(result.explained))
    if others:
        blocks.append(Paragraph("Settings that stay as written, by the estimate:"))
        blocks += bullets(others)
    return ReportSection("effects", heading, tuple(blocks))


def _row(group: EffectGroup, result: StudyResult) -> tuple[Cell, ...]:
    return (tuple(_listed(group, result)), _effect(group), _how_known(group[0]))


def _listed(group: EffectGroup, result: StudyResult) -> Iterator[str]:
    """Each change of a group, and what to know of it."""
    for one in group:
        yield f"`{one.path}` {setting(result.current[one.path])} -> {setting(one.level)}"
        if note := result.note(one.path):
            yield note


def _effect(group: EffectGroup) -> tuple[str, ...]:
    """The effect of all that was measured together, some of which may be listed elsewhere because
    it was measured alone as well."""
    first = group[0]
    if not math.isfinite(first.estimate.high):
        return ("too few trials to tell", "not shown")
    low, high = percent(first.estimate.low), percent(first.estimate.high)
    shown = f"{percent(first.estimate.ratio)} [{low}, {high}]"
    count = len(first.together) + 1
    if count > 1:
        shown = f"{'both' if count == 2 else f'all {count}'} together {shown}"
    elsewhere = [path for path in first.together if path not in {one.path for one in group}]
    beside = (f"with {', '.join(f'`{path}`' for path in elsewhere)}",) if elsewhere else ()
    return (shown, *beside, *(() if first.is_shown or first.undone else ("not shown",)))


def _how_known(effect: Effect) -> str:
    """Whether it was measured, and why it is not recommended or, where no effect was shown, why it
    still is."""
    if effect.pairs == 0:
        return "estimated, not measured"
    measured = f"measured, {effect.pairs} pairs"
    if effect.undone:
        return f"{measured}; removed, because that cost no more than {TOLERATED * 100:.0f} %"
    if effect.is_shown:
        return measured
    seems_idle = 1 / effect.estimate.ratio >= 1 - TOLERATED
    why = (
        f"it may give {RULED_OUT * 100:.0f} % or more"
        if seems_idle
        else f"removing it seemed to cost more than {TOLERATED * 100:.0f} %"
    )
    return f"{measured}; kept, because {why}"


def _others(explained: Explained) -> Iterator[str]:
    """The settings that stay as written, by what is estimated of them."""
    named = (
        (f"made no difference of {SAME * 100:.0f} % or more", explained.alike),
        ("slower at every other level that was tried, so best as written", explained.slower),
        ("too few trials to tell", explained.unclear),
    )
    for text, paths in named:
        if paths:
            yield f"{text}: {', '.join(f'`{path}`' for path in paths)}"
