"""Sections of a search's report: what to change, what each change gave, and how that was found."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tuner.lint.candidate import with_main_queue
from tuner.lint.repairs import every_change
from tuner.measure.measurement import Consequence, DoubtKind, Measurement
from tuner.report.drawing import ON_PAPER, Colour
from tuner.report.figures import interval, setting, widened
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
from tuner.schema.numerals import eps, mebibytes, percent, seconds
from tuner.search.budget import NODE_PACE, SINK_PACE, minutes_for_effects, trial_seconds
from tuner.search.effects import RULED_OUT, TOLERATED, EffectRatio, effects_of
from tuner.search.study import BASELINE, RECIPE, Changes, Phase, Trial
from tuner.search.times import Times
from tuner.search.verdict import Claim
from tuner.space.knob import level_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LONGEST = 60


def effects_plot(result: StudyResult) -> Plot | None:
    """What each group of changes gave, by the designed experiment; None without one."""
    current = result.current
    names = result.names
    bars = [
        (
            "; ".join(
                f"{names[path]}: {level_text(current[path])} -> {level_text(level)}"
                for path, level in group.changes
            )
            + (" (taken back)" if group.taken_back else ""),
            group.estimate,
        )
        for group in result.effect_groups
        if group.estimate is not None
    ]
    if result.verdict.effects is None or not bars:
        return None
    says = (
        "By how much each change moves the rate, with its 95 % interval, by runs with and without "
        "it that stand beside one another."
    )
    rows = tuple(
        (name, percent(one.ratio), percent(one.low), percent(one.high)) for name, one in bars
    )
    drawn = [(_wrapped(name), one) for name, one in bars]
    height = 60 + (42 if any("\n" in name for name, _ in drawn) else 30) * len(drawn)
    header = ("change", "effect", "at least", "at most")
    paint = partial(_paint_effects, drawn)
    return Plot("effects", "What each change gave", says, height, paint, header, rows)


def _wrapped(name: str) -> str:
    """A name in two lines where it is longer than the drawing is wide."""
    return "\n".join(textwrap.wrap(name, _LONGEST, max_lines=2, placeholder=" ..."))


def _paint_effects(bars: Sequence[tuple[str, EffectRatio]], figure: Figure) -> None:
    axes = figure.subplots()
    axes.axvline(0, color=Colour.INK.value, linewidth=0.8)
    for row, (name, estimate) in enumerate(bars):
        ends = (estimate.low, estimate.ratio, estimate.high)
        low, middle, high = ((one - 1) * 100 for one in ends)
        axes.hlines(row, low, high, color=Colour.BEST.value, linewidth=2, alpha=0.5)
        axes.plot([middle], [row], "o", color=Colour.BEST.value, markersize=6)
        axes.text(0.0, row - 0.32, name, transform=axes.get_yaxis_transform(), fontsize=9,
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


def change(result: StudyResult) -> ReportSection:
    """What is recommended: what is tuned, with what it gave and gives up, and apart from it the
    repairs."""
    return ReportSection("change", "What to change", tuple(_changes(result)))


def _changes(result: StudyResult) -> Iterator[Block]:
    groups = [one for one in result.effect_groups if not one.taken_back]
    if groups:
        yield Table("What to change", _HEADER, tuple(_row(one, result) for one in groups))
        yield Paragraph(how_effects_are_known(result))
        if kept := with_main_queue(result.written, dict(result.verdict.changes)):
            yield Paragraph(kept)
    elif not result.repaired and result.verdict.claim is not Claim.UNFINISHED:
        yield Paragraph("Nothing: `best.yaml` is the profile as written.")
    costs = [*(one.text for one in result.given_up), *map(str, result.costs)]
    if costs:
        yield Subheading("What it costs")
        yield from bullets(costs)
    if result.repaired:
        header = ("setting", "as written", "change to", "note")
        mended = tuple(
            (f"`{result.name(path)}`", setting(result.as_written(path)), setting(level), one.why)
            for one in result.repaired
            for path, level in one.changes
        )
        yield Subheading("Repairs")
        yield Table("Repairs", header, mended)


_HEADER = ("change", "what it gave")


def how_effects_are_known(result: StudyResult) -> str:
    """Which runs the effects are from, and what they come to together."""
    found = result.verdict.effects
    if found is None:
        if len(result.effect_groups[0].changes) == 1:
            return "By the fresh pairs, on events per second including deferred work."
        return (
            "By the fresh pairs, on events per second including deferred work. What each change "
            f"gave was not measured{_why_not_apart(result)}."
        )
    together = f"all of them together {interval(found.whole)}"
    kept = [at for at, of in enumerate(found.groups) if {*of} <= {*result.verdict.confirmed}]
    back = [at for at in range(len(found.groups)) if at not in kept]
    if back:
        together = (
            f"those that are kept together {interval(found.of(*kept))}, those that were taken back "
            f"{interval(found.of(*back))}"
        )
    if found.beside is not None:
        repaired = dict(every_change(result.repaired)).keys()
        more = "" if dict(found.held).keys() <= repaired else " and what the engine restarts for"
        together += f"; the repairs{more}, by the pairs alone, {interval(found.beside)}"
    also = ", and by the fresh pairs" if found.pairs else ""
    return (
        f"By {2 * found.blocks} runs before the pairs, each with about half of the changes and "
        f"beside one with the other half{also}, on events per second including deferred work, with "
        f"95 % intervals; {together}. The claim rests on the fresh pairs alone."
    )


def _why_not_apart(result: StudyResult) -> str:
    """Why the winner was not taken apart, as the end of a sentence."""
    header, minutes = result.study.header, _minutes(result)
    if not header.options.effects:
        return " (--no-effects)"
    if 60 * minutes > header.budget_s:
        return f": a budget of {minutes} minutes has time for it"
    return ": no valid runs tell them apart"


def _minutes(result: StudyResult) -> int:
    """The smallest budget that has time to take a winner apart where trials take as long as they
    did here."""
    study, pace = result.study, SINK_PACE if result.is_sink else NODE_PACE
    took_s = [
        one.ended_s - one.at_s - trial_seconds(one.plan, 0.0, pace)
        for one in study.trials
        if one.phase is not Phase.WARM_UP and one.measurement is not None
    ]
    begun_s = max((one.ended_s for one in study.of(Phase.WARM_UP)), default=0.0)
    return minutes_for_effects(begun_s, max(0.0, statistics.median(took_s)), pace)


def effects(result: StudyResult) -> ReportSection:
    """The effects as a plot, which changes work together, and what was taken back before the
    confirmation; nothing of a search that tried no other settings."""
    heading = "What each change gave" if result.effect_groups else "What an event costs"
    if not result.study.of(Phase.SEARCH):
        return ReportSection("effects", heading, ())
    blocks: list[Block] = beside_one_another(effects_plot(result), cost_plot(result))
    blocks += bullets(_together(result))
    back = tuple(_row(one, result) for one in result.effect_groups if one.taken_back)
    if back:
        blocks += [
            Subheading("Taken back before the confirmation"),
            Paragraph(_why_taken_back(result)),
            Table("Taken back", _HEADER, back),
        ]
    return ReportSection("effects", heading, tuple(blocks))


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

    found = result.verdict.effects
    for one in () if found is None else found.interactions:
        (first, second), *others = one.pairs
        more = "more" if one.estimate.ratio > 1 else "less"
        alike = [f"{called(a)} with {called(b)}" for a, b in others]
        yield (
            f"{called(first)} and {called(second)} gave {more} together than alone: "
            f"{interval(one.estimate)}"
            + (f"; these runs cannot tell it from {', or '.join(alike)}" if alike else "")
        )


def _row(group: EffectGroup, result: StudyResult) -> tuple[Cell, ...]:
    return (tuple(_listed(group, result)), effect_text(group))


def _listed(group: EffectGroup, result: StudyResult) -> Iterator[str]:
    """Each change of a group, and what to know of it."""
    for path, level in group.changes:
        yield f"`{result.name(path)}` {setting(result.current[path])} -> {setting(level)}"
        if note := result.note(path):
            yield note


def effect_text(group: EffectGroup) -> str:
    """What a group gave: `+12.0 % [+8.1 %, +16.1 %]`, `together ...` of several changes."""
    if group.estimate is None:
        return "not measured by itself: the engine restarts for it"
    return f"{'together ' if len(group.changes) > 1 else ''}{interval(group.estimate)}"


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
        return ReportSection("kept", "What stays guaranteed", ())
    memory = mebibytes(max(run.shipper_rss_bytes for run in runs))
    limit = result.study.header.limits.rss_bytes
    allowed = "" if limit is None else f", of the {mebibytes(limit)} that rss_bytes allows"
    opened = ", ".join(one.name for one in result.opened)
    repaired = ", ".join(f"`{result.name(path)}`" for path, _ in every_change(result.repaired))
    but = f", except what was opened: {opened}" if opened else ""
    but += f", except what was repaired: {repaired}" if repaired else ""
    tier = result.written.profile.guardrails.tier.value
    lines = [
        f"delivery: {result.sent:,} events sent in the {len(runs)} valid trials, every one "
        f"{result.delivered}; a trial that misses or doubles an event is invalid: "
        f"{len(result.losses) or 'none'} did",
        f"tier `{tier}`: durability, replicas, `_source`, retries and queue files are never "
        f"searched; `best.yaml` has them as you wrote them{but}",
        f"memory: rsyslogd used at most {memory}{allowed}",
    ]
    return ReportSection("kept", "What stays guaranteed", tuple(bullets(lines)), short="Guarantees")


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
    lines = [*_found_by(result)]
    if result.times.total_s > 0:
        lines += _time_notes(result.times, result.study.header.budget_s)
    blocks += bullets(lines)
    return ReportSection("course", "The search", tuple(blocks))


def _found_by(result: StudyResult) -> Iterator[str]:
    """Where the point comes from that was confirmed, and whether the climb went beyond recipes."""
    chosen, tried = result.verdict.chosen, result.study.of(Phase.SEARCH)
    first = next((one for one in tried if chosen and one.changes == chosen), None)
    if first is None:
        return
    recipes = [one for one in tried if one.why.startswith(RECIPE)]
    kept = {*result.verdict.confirmed}
    alike = next((one for one in recipes if kept and kept <= {*one.changes}), None)
    if first in recipes:
        others = len(tried) - len(recipes)
        beyond = f": none of the {others} other points that were tried was better" * (others > 0)
    elif alike is not None:
        beyond = f"; what was kept of it is in trial {alike.number} too ({alike.why})"
    else:
        beyond = ", better than every recipe that was tried first"
    yield f"the best point is that of trial {first.number} ({first.why}){beyond}"


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
    claimed = result.verdict.claimed
    wider = "" if claimed is None else widened(claimed)
    lines = [
        f"`{command}`, budget {seconds(header.budget_s)}, seed {header.seed}, "
        f"started {header.started}, {header.tool}",
        f"rsyslogd {header.rsyslog}, {header.engine}, {header.machine}",
        *speed_text(result.measured),
        f"windows: {windows}; each trial on a fresh index, with its own rsyslogd",
        "EPS is the rise of the engine's `indexing.index_total` over the window, which goes from "
        "one refresh under load to another; ± is the standard error from five batch means",
        "ratios are means of log-ratios of pairs, intervals are Student's t on them"
        f"{wider and f', that of the claim {wider}'}",
    ]
    heading = "How this was measured"
    return ReportSection("how", heading, tuple(bullets(lines)), short="How it was measured")
