"""The part of a search's report that says what each change gave, and what made no difference."""

from __future__ import annotations

from collections.abc import Mapping

from tuner.report.figures import percent, setting, table
from tuner.search.explain import SAME, Effect, Explained, explain
from tuner.search.shrink import RULED_OUT, TOLERATED
from tuner.search.study import Phase, Study
from tuner.search.verdict import Verdict
from tuner.space.knobs import Level

GUESS = (
    "A guess is what a regression makes of all trials of the search together, as if changes simply "
    "added up: it is not measured, and supports no claim."
)
EFFECTS_MEANT = (
    "Effects are on events per second over the window, with the work paid for that was put off "
    "past it, and with 95 % intervals. Measured means fresh pairs, with the change and without it, "
    f"after the choice. {GUESS}"
)
OTHERS_MEANT = "Of the settings that stay as written, by that guess:"


def what_each_change_gave(study: Study, verdict: Verdict) -> list[str]:
    """The effects of the changes, measured or guessed, and the knobs that stay as written."""
    if not study.of(Phase.SEARCH):
        return []
    found = explain(study, verdict)
    current = {axis.path: axis.current for axis in study.header.space}
    if not found.effects:
        text = f"All of this is a guess. {GUESS}"
        return ["## Which settings matter", text, *_others(found)]
    rows = [("<br>".join(changes), *rest) for changes, *rest in effect_rows(found, current)]
    shown = table(("setting, as written -> changed to", "effect", "how known"), rows)
    return ["## What each change gave", EFFECTS_MEANT, shown, *_others(found)]


def effect_rows(
    found: Explained, current: Mapping[str, Level]
) -> list[tuple[tuple[str, ...], str, str]]:
    """The changes that were measured alone or together, what they gave, and how that is known."""
    return [
        (
            tuple(_change_text(one, current) for one in group),
            _interval(group[0]),
            _how_known(group[0]),
        )
        for group in grouped(found)
    ]


def grouped(found: Explained) -> list[list[Effect]]:
    """The effects, and after each those of the changes that it was measured together with, of
    which some may have been measured alone as well."""
    by_path = {one.path: one for one in found.effects}
    groups = {frozenset({one.path, *one.together}): one for one in reversed(found.effects)}
    return [[one, *(by_path[path] for path in one.together)] for one in reversed(groups.values())]


def _change_text(effect: Effect, current: Mapping[str, Level]) -> str:
    return f"`{effect.path}` {setting(current[effect.path])} -> {setting(effect.level)}"


def _interval(effect: Effect) -> str:
    found = effect.estimate
    shown = f"{percent(found.ratio)} [{percent(found.low)}, {percent(found.high)}]"
    if not effect.together:
        return shown
    several = len(effect.together) + 1
    return f"{'both' if several == 2 else f'all {several}'} together {shown}"


def _how_known(effect: Effect) -> str:
    if effect.pairs == 0:
        return "guess, not measured"
    return f"measured, {effect.pairs} pairs{_of_undoing(effect)}"


def _of_undoing(effect: Effect) -> str:
    """Why it is not recommended or, where it seems to have given nothing, why it still is."""
    if effect.undone:
        return f"; undone, because that cost no more than {TOLERATED * 100:.0f} %"
    seems_idle = 1 / effect.estimate.ratio >= 1 - TOLERATED
    return f"; kept, because it may give {RULED_OUT * 100:.0f} % or more" if seems_idle else ""


def _others(found: Explained) -> list[str]:
    lines = [f"- {line}" for line in others(found)]
    return [OTHERS_MEANT, "\n".join(lines)] if lines else []


def others(found: Explained) -> list[str]:
    """The knobs that stay as written, by what is guessed of them."""
    named = (
        (f"made no difference of {SAME * 100:.0f} % or more", found.alike),
        ("slower at every other level that was tried, so best as written", found.slower),
        ("not tried enough to tell", found.unclear),
    )
    return [f"{says}: {_listed(paths)}" for says, paths in named if paths]


def _listed(paths: tuple[str, ...]) -> str:
    return ", ".join(f"`{path}`" for path in paths)
