"""What each change gave, measured or estimated, and EPS against the CPU that an event costs."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tuner.measure.measurement import Measurement
from tuner.report.drawing import ON_PAPER, Colour
from tuner.report.figures import eps, percent
from tuner.report.plot_course import left_out, thinned
from tuner.report.result import STEADY, EffectGroup, StudyResult
from tuner.report.sections import Plot
from tuner.schema.path import short_names
from tuner.search.explain import OFTEN
from tuner.search.guess import EffectRatio, guess
from tuner.search.study import BASELINE, Phase, Study, Trial
from tuner.space.knob import Level, level_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 12
_LONGEST = 60


@dataclass(frozen=True)
class Bar:
    """One effect to draw: its name, the estimate, and whether it was measured."""

    name: str
    estimate: EffectRatio
    measured: bool


def effects_plot(result: StudyResult) -> Plot | None:
    """The effects of the winner's changes; where there is no winner, what is estimated of
    the settings that seemed to matter most.  None where nothing was searched."""
    bars = _of_changes(result) or _of_estimates(result.study)
    if not bars:
        return None
    estimates = sum(not bar.measured for bar in bars)
    known = "all measured" if not estimates else f"{estimates} of {len(bars)} estimated"
    title = "What each change gave" if result.explained.effects else "Which settings seem to matter"
    says = (
        f"By how much each change moves the rate, with its 95 % interval ({known}): filled is "
        "measured in fresh pairs, hollow is estimated from all trials and supports no claim."
    )

    def paint(figure: Figure) -> None:
        _paint_effects(figure, bars)

    rows = tuple(
        (
            bar.name.replace("\n", " "),
            percent(bar.estimate.ratio),
            percent(bar.estimate.low),
            percent(bar.estimate.high),
            "measured" if bar.measured else "estimated",
        )
        for bar in bars
    )
    header = ("change", "effect", "at least", "at most", "how known")
    height = 60 + (42 if any("\n" in bar.name for bar in bars) else 30) * len(bars)
    return Plot("effects", title, says, height, paint, header, rows)


def _of_changes(result: StudyResult) -> list[Bar]:
    current = result.current
    short = short_names(list(current))
    return [
        Bar(_group_name(group, current, short), group[0].estimate, group[0].pairs > 0)
        for group in result.effect_groups
    ]


def _of_estimates(study: Study) -> list[Bar]:
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
        estimates = [(guessed.of(axis.path, level), level) for level in levels]
        if estimates:
            estimate, level = max(estimates, key=lambda one: _size(one[0]))
            bars.append(Bar(_name(short[axis.path], axis.current, level), estimate, False))
    return sorted(bars, key=lambda bar: -_size(bar.estimate))[:_MOST]


def _size(estimate: EffectRatio) -> float:
    return abs(math.log(estimate.ratio))


def _group_name(group: EffectGroup, current: dict[str, Level], short: dict[str, str]) -> str:
    first = group[0]
    if first.together:
        paths = [first.path, *first.together]
        return _wrapped(f"{len(paths)} together: {', '.join(short[path] for path in paths)}")
    return _name(short[first.path], current[first.path], first.level)


def _name(short: str, current: Level, level: Level) -> str:
    return _wrapped(f"{short}: {level_text(current)} -> {level_text(level)}")


def _wrapped(name: str) -> str:
    """A name in two lines where it is longer than the drawing is wide."""
    return "\n".join(textwrap.wrap(name, _LONGEST, max_lines=2, placeholder=" ..."))


def _paint_effects(figure: Figure, bars: Sequence[Bar]) -> None:
    axes = figure.subplots()
    axes.axvline(0, color=Colour.INK.value, linewidth=0.8)
    for row, bar in enumerate(bars):
        low, middle, high = ((one - 1) * 100 for one in _drawn(bar.estimate))
        axes.hlines(row, low, high, color=Colour.BEST.value, linewidth=2, alpha=0.5)
        face = Colour.BEST.value if bar.measured else Colour.PAPER.value
        axes.plot([middle], [row], "o", color=Colour.BEST.value, markersize=6,
                  markerfacecolor=face)  # fmt: skip
        axes.text(0.0, row - 0.32, bar.name, transform=axes.get_yaxis_transform(), fontsize=9,
                  va="center", bbox=ON_PAPER)  # fmt: skip
    axes.set_ylim(len(bars) - 0.6, -0.7)
    axes.set_yticks([])
    axes.grid(visible=False, axis="y")
    axes.spines.left.set_visible(False)
    axes.xaxis.set_major_formatter("{x:+.0f} %")
    axes.set_xlabel("effect on the rate")


def _drawn(estimate: EffectRatio) -> tuple[float, float, float]:
    """An interval of which nothing is known has no end to draw."""
    return estimate.low, estimate.ratio, min(estimate.high, estimate.ratio * 4)


def cost_plot(result: StudyResult) -> Plot | None:
    """EPS against CPU per event; None before anything was measured."""
    runs = [
        (trial, trial.measurement)
        for trial in result.study.trials
        if trial.measurement is not None and trial.phase is not Phase.WARM_UP
    ]
    if not runs:
        return None
    sides = "rsyslogd" if result.is_sink else "rsyslogd and the engine"
    title = "What an event costs, and how many are carried"
    says = (
        f"Each run by the CPU time of {sides} for one event: along a dotted line the same number "
        "of cores is busy, so what moves up such a line gains by making events cheaper, and what "
        "moves across the lines by using more of the machine."
        f"{left_out([trial for trial, _ in runs])}"
    )
    points = [(_kind(trial), _cpu_us(run, result), STEADY.of(run)) for trial, run in runs]
    some = {trial.number for trial in thinned([trial for trial, _ in runs])}
    drawn = [one for one, (trial, _) in zip(points, runs, strict=True) if trial.number in some]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for kind, look in _LOOKS.items():
            dots = [(cpu_us, rate) for name, cpu_us, rate in drawn if name == kind]
            if dots:
                axes.plot(*zip(*dots, strict=True), "o", label=kind, **look)
        axes.set_xlim(0, 1.15 * max(cpu_us for _, cpu_us, _ in points))
        axes.set_ylim(0, 1.08 * max(rate for _, _, rate in points))
        _paint_cores(axes, max(cpu_us * rate for _, cpu_us, rate in points) / 1e6)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_title("events per second", color=Colour.MUTED.value)
        axes.set_xlabel(f"CPU microseconds per event, {sides}")
        figure.legend(loc="outside lower center", ncols=3)

    rows = tuple(_cost_row(kind, points) for kind in _LOOKS if any(p[0] == kind for p in points))
    header = ("runs", "how many", "CPU us per event, median", "EPS, median", "cores busy, median")
    return Plot("cost", title, says, 240, paint, header, rows)


_WRITTEN, _BEST, _OTHER = "as written, confirming", "best found, confirming", "other runs"
_LOOKS: dict[str, dict[str, Any]] = {
    _OTHER: {"color": Colour.MUTED.value, "markersize": 3, "markeredgewidth": 0, "alpha": 0.5},
    _WRITTEN: {"color": Colour.WRITTEN.value, "markersize": 5, "markerfacecolor": "none"},
    _BEST: {"color": Colour.BEST.value, "markersize": 5},
}


def _kind(trial: Trial) -> str:
    if trial.phase is not Phase.CONFIRM:
        return _OTHER
    return _WRITTEN if trial.changes == BASELINE else _BEST


def _cpu_us(run: Measurement, result: StudyResult) -> float:
    """The sink's own CPU says nothing: it stands for an engine."""
    return run.shipper_cpu_us + (0.0 if result.is_sink else run.engine_cpu_us)


def _paint_cores(axes: Axes, most: float) -> None:
    """Lines of one core busy, of two and so on, as many as were ever busy."""
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    for busy in range(1, math.ceil(most - 0.25) + 1):
        first_us = max(busy * 1e6 / top, right / 100)
        if first_us >= right:
            break
        at_us = [first_us + (right - first_us) * step / 40 for step in range(41)]
        axes.plot(at_us, [busy * 1e6 / one for one in at_us], ":", color=Colour.MUTED.value,
                  linewidth=0.8)  # fmt: skip
        name = "1 core busy" if busy == 1 else f"{busy} cores busy"
        axes.text(right, busy * 1e6 / right, name, ha="right", va="center", fontsize=8,
                  color=Colour.MUTED.value, bbox=ON_PAPER)  # fmt: skip


def _cost_row(kind: str, points: Sequence[tuple[str, float, float]]) -> tuple[str, ...]:
    ours = [(cpu_us, rate) for name, cpu_us, rate in points if name == kind]
    cpu_us = statistics.median(one for one, _ in ours)
    rate = statistics.median(one for _, one in ours)
    busy = statistics.median(each_us * each for each_us, each in ours) / 1e6
    return (kind, str(len(ours)), f"{cpu_us:.1f}", eps(rate), f"{busy:.2f}")
