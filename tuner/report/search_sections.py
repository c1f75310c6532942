"""Sections of a search's report: what to change, what each change gave, and how that was found."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tuner.lint.repairs import every_change
from tuner.measure.measurement import Consequence, DoubtKind, Measurement
from tuner.report.drawing import ON_PAPER, Colour
from tuner.report.figures import eps, interval, mebibytes, percent, seconds, setting
from tuner.report.plot_course import course_plot, left_out, thinned, time_plot
from tuner.report.result import STEADY, EffectGroup, StudyResult
from tuner.report.runs import speed_text
from tuner.report.sections import (
    Block,
    Cell,
    Paragraph,
    Plot,
    ReportSection,
    Subheading,
    Table,
    beside_one_another,
    bullets,
)
from tuner.schema.path import short_names
from tuner.search.effects import OFTEN, SAME, Effect, EffectRatio, Explained, guess
from tuner.search.shrink import RULED_OUT, TOLERATED
from tuner.search.study import BASELINE, Phase, Study, Trial
from tuner.search.times import Times
from tuner.search.verdict import Claim
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
    paint = partial(_paint_effects, bars)
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


def _paint_effects(bars: Sequence[Bar], figure: Figure) -> None:
    axes = figure.subplots()
    axes.axvline(0, color=Colour.INK.value, linewidth=0.8)
    for row, bar in enumerate(bars):
        estimate = bar.estimate
        # An interval of which nothing is known has no end to draw.
        ends = (estimate.low, estimate.ratio, min(estimate.high, estimate.ratio * 4))
        low, middle, high = ((one - 1) * 100 for one in ends)
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
    shown = interval(first.estimate)
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


_NEVER_TESTED = (
    "message sizes, formats and connection counts other than the profile's workload",
    "what happens under overload and after a failure of the engine",
    "runs longer than the windows named at the end: merges of large segments come later",
)


def sure(result: StudyResult) -> ReportSection:
    """What the search said of itself: its noise, what it left out, what it did beyond its time,
    and what the doubts about its runs mean."""
    kinds = {doubt.kind for run in result.measured for doubt in run.doubts}
    doubts = [
        f"{kind.value} ({consequence.value}): {kind.advice}"
        for consequence in Consequence
        for kind in DoubtKind
        if kind in kinds and kind.consequence is consequence
    ]
    blocks: list[Block] = [*bullets(note.text for note in result.study.notes)]
    if doubts:
        blocks += [Subheading("What the doubts mean"), *bullets(doubts)]
    return ReportSection("sure", "How sure it can be", tuple(blocks))


def not_traded(result: StudyResult) -> ReportSection:
    """What holds of every valid trial."""
    runs = result.measured
    if not runs:
        return ReportSection("kept", "What was not traded", ())
    sent = sum(run.delivery.sent for run in runs)
    memory = mebibytes(max(run.shipper_rss_bytes for run in runs))
    limit = result.study.header.limits.rss_bytes
    allowed = "" if limit is None else f", of the {mebibytes(limit)} that rss_bytes allows"
    opened = ", ".join(one.name for one in result.opened)
    repaired = ", ".join(f"`{path}`" for path, _ in every_change(result.repaired))
    but = f", except what was opened: {opened}" if opened else ""
    but += f", except what was repaired: {repaired}" if repaired else ""
    tier = result.written.profile.guardrails.tier.value
    lines = [
        f"delivery: {sent:,} events sent in the {len(runs)} valid trials, every one "
        f"{result.delivered}; a trial that misses or doubles an event is invalid: "
        f"{len(result.losses) or 'none'} did",
        f"tier `{tier}`: durability, replicas, `_source`, retries and queue files are never "
        f"searched; `best.yaml` has them as you wrote them{but}",
        f"memory: rsyslogd used at most {memory}{allowed}",
    ]
    return ReportSection("kept", "What was not traded", tuple(bullets(lines)), short="Not traded")


def open_questions(result: StudyResult) -> ReportSection:
    """What a lab replaced, and what no trial shows."""
    study = result.study
    header = study.header
    lines = [f"changed for the lab: {line}" for line in header.substitutions]
    lines += header.untested
    if not result.is_sink:
        lines.append(
            "measured documents carry one more number, `rsyslog_tune_seq`, which identifies every "
            "event; the rendered files leave it out"
        )
    if not study.of(Phase.CHECK):
        lines.append(
            "freshness (the guardrail freshness_p99_s only bounds which refresh intervals are "
            "tried; it is measured where ten minutes are left after the engine's warm-up)"
        )
    blocks = tuple(bullets([*lines, *_NEVER_TESTED]))
    return ReportSection("open", "Not tested", blocks)


def course(result: StudyResult) -> ReportSection:
    """Every trial as a plot, and the seconds of each phase."""
    blocks = beside_one_another(course_plot(result), time_plot(result))
    if result.times.total_s > 0:
        blocks += bullets(list(_time_notes(result.times, result.study.header.budget_s)))
    return ReportSection("course", "The search", tuple(blocks))


def _time_notes(times: Times, budget_s: float) -> Iterator[str]:
    """How much of the budget was measuring, and what a trial takes beside that."""
    each = f" on each of {times.machines} machines" if times.machines > 1 else ""
    yield (
        f"measuring: {times.measuring * 100:.1f} % of the budget of {seconds(budget_s)}{each} was "
        f"windows of valid trials"
    )
    if (overhead := times.overhead) is not None:
        each_s = overhead.parts.by_name.items()
        parts = ", ".join(f"{name} {part_s:.1f} s" for name, part_s in each_s if name != "window")
        yield (
            f"a trial of the search took {overhead.median_s:.1f} s beside its window (median of "
            f"{overhead.trials} without a restart of the engine): {parts}. Start is a fresh index "
            "and rsyslogd, drain goes until the last event is indexed, settle is refresh, flush "
            "and the delivery check, stop removes everything; each is a median of its own"
        )


def how(result: StudyResult) -> ReportSection:
    """The command, the versions and the machine, the windows, and how numbers are made."""
    header = result.study.header
    plans = {trial.phase: trial.plan for trial in result.study.trials}
    command = header.command.replace("`", "'")
    windows = ", ".join(f"{phase.value} {plan.window_s:.1f} s" for phase, plan in plans.items())
    lines = [
        f"`{command}`, budget {seconds(header.budget_s)}, seed {header.seed}, "
        f"started {header.started}, {header.tool}",
        f"rsyslogd {header.rsyslog}, {header.engine}, {header.machine}",
        *speed_text(result.measured),
        f"windows: {windows}; each trial on a fresh index, with its own rsyslogd",
        "EPS is the rise of the engine's `indexing.index_total` over the window, which goes from "
        "one refresh under load to another; ± is the standard error from five batch means",
        "ratios are means of log-ratios of pairs, intervals are Student's t on them",
    ]
    heading = "How this was measured"
    return ReportSection("how", heading, tuple(bullets(lines)), short="How it was measured")
