"""What each change gave, measured or guessed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuner.profile.short_names import short_names
from tuner.report.drawing import ON_PAPER, Colour, Plot, svg
from tuner.report.figures import percent
from tuner.report.search_explained import grouped
from tuner.search.explain import OFTEN, Effect, Explained
from tuner.search.guess import Estimate, guess
from tuner.search.study import Phase, Study
from tuner.space.knobs import Level, level_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 12
_LONGEST = 60


@dataclass(frozen=True)
class Bar:
    """One effect to draw: its name, the estimate, and whether it was measured."""

    name: str
    estimate: Estimate
    measured: bool


def effects(study: Study, found: Explained) -> Plot | None:
    """The effects of the winner's changes; where there is no winner, what the search guesses of
    the settings that seemed to matter most.  None where nothing was searched."""
    bars = _of_changes(study, found) or _of_guesses(study)
    if not bars:
        return None
    guesses = sum(not bar.measured for bar in bars)
    known = "all measured" if not guesses else f"{guesses} of {len(bars)} guessed"
    title = "What each change gave" if found.effects else "Which settings seem to matter"
    says = (
        f"By how much each change moves the rate, with its 95 % interval ({known}): filled is "
        "measured in fresh pairs, hollow is a guess from all trials and supports no claim."
    )

    def paint(figure: Figure) -> None:
        _paint(figure, bars)

    rows = tuple(
        (
            bar.name,
            percent(bar.estimate.ratio),
            percent(bar.estimate.low),
            percent(bar.estimate.high),
            "measured" if bar.measured else "guess",
        )
        for bar in bars
    )
    header = ("change", "effect", "at least", "at most", "how known")
    height = 60 + 30 * len(bars)
    return Plot("effects", title, says, svg("effects", title, says, height, paint), header, rows)


def _of_changes(study: Study, found: Explained) -> list[Bar]:
    current = {axis.path: axis.current for axis in study.header.space}
    short = short_names(list(current))
    bars = [
        Bar(_group_name(group, current, short), group[0].estimate, group[0].pairs > 0)
        for group in grouped(found)
    ]
    return sorted(bars, key=lambda bar: -bar.estimate.ratio)


def _of_guesses(study: Study) -> list[Bar]:
    """Of each setting the level that seems to move the rate most, the largest first."""
    if not study.of(Phase.SEARCH):
        return []
    axes = study.header.space
    short = short_names([axis.path for axis in axes])
    guessed = guess(study.trials, axes)
    bars = []
    for axis in axes:
        levels = [
            level
            for level in axis.levels
            if level != axis.current and guessed.tried.get((axis.path, level), 0) >= OFTEN
        ]
        found = [(guessed.of(axis.path, level), level) for level in levels]
        if found:
            estimate, level = max(found, key=lambda one: _size(one[0]))
            bars.append(Bar(_name(short[axis.path], axis.current, level), estimate, False))
    return sorted(bars, key=lambda bar: -_size(bar.estimate))[:_MOST]


def _size(estimate: Estimate) -> float:
    return abs(math.log(estimate.ratio))


def _group_name(group: Sequence[Effect], current: dict[str, Level], short: dict[str, str]) -> str:
    first = group[0]
    if first.together:
        paths = [first.path, *first.together]
        return f"{len(paths)} together: {', '.join(short[path] for path in paths)}"
    return _name(short[first.path], current[first.path], first.level)


def _name(short: str, current: Level, level: Level) -> str:
    return f"{short}: {level_text(current)} -> {level_text(level)}"


def _paint(figure: Figure, bars: Sequence[Bar]) -> None:
    axes = figure.subplots()
    axes.axvline(0, color=Colour.INK.value, linewidth=0.8)
    for row, bar in enumerate(bars):
        low, middle, high = ((one - 1) * 100 for one in _seen(bar.estimate))
        axes.hlines(row, low, high, color=Colour.BEST.value, linewidth=2, alpha=0.5)
        face = Colour.BEST.value if bar.measured else Colour.PAPER.value
        axes.plot([middle], [row], "o", color=Colour.BEST.value, markersize=6,
                  markerfacecolor=face)  # fmt: skip
        cut = bar.name if len(bar.name) <= _LONGEST else f"{bar.name[: _LONGEST - 3]}..."
        axes.text(0.0, row - 0.32, cut, transform=axes.get_yaxis_transform(), fontsize=9,
                  va="center", bbox=ON_PAPER)  # fmt: skip
    axes.set_ylim(len(bars) - 0.6, -0.7)
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.spines.left.set_visible(False)
    axes.xaxis.set_major_formatter("{x:+.0f} %")
    axes.set_xlabel("effect on the rate")


def _seen(estimate: Estimate) -> tuple[float, float, float]:
    """An interval of which nothing is known has no end to draw."""
    return estimate.low, estimate.ratio, min(estimate.high, estimate.ratio * 4)
