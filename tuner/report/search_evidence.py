"""Sections of a search's report: what shows the gain, what limits the rate, and what changes in the
files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.lint.candidate import candidate
from tuner.measure.measurement import Failure, PacedMeasurement
from tuner.measure.paired import Comparison
from tuner.measure.stages import Stages
from tuner.render.artefacts import render
from tuner.render.tree import unified
from tuner.report.drawing import Colour
from tuner.report.figures import interval, raw_and_adjusted, restart_text
from tuner.report.result import (
    AS_WRITTEN,
    BEST,
    STEADY,
    SUSTAINED,
    FixedRateRun,
    StudyResult,
    compared_figures,
)
from tuner.report.runs import (
    bottleneck_blocks,
    effective_blocks,
    effective_table,
    percentiles_text,
)
from tuner.report.search_trials import losses_table
from tuner.report.sections import (
    Block,
    Columns,
    FileDiff,
    Folded,
    Paragraph,
    Plot,
    ReportSection,
    Subheading,
    Table,
    beside_one_another,
    bullets,
)
from tuner.schema.numerals import eps, percent
from tuner.search.study import BASELINE, SCORED, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_NAMES = ("p50", "p95", "p99", "largest")


def pairs_plot(result: StudyResult) -> Plot | None:
    """Both sides of each pair and their ratio, by the rate that the claim rests on; None without a
    comparison."""
    claimed, rate = result.verdict.claimed, result.claimed_rate
    if claimed is None:
        return None
    rates = [(rate.of(before), rate.of(after)) for before, after in result.pairs]
    adjusted = claimed.is_adjusted
    says = (
        f"The profile as written against the best found in {claimed.pairs} fresh pairs, events per "
        f"second {rate.over}, and below by how much each pair differs: {interval(claimed)}, the "
        "band, with 95 % confidence"
        f"{', adjusted for the speed of the machine, and the pairs as measured' * adjusted}."
    )
    if restarts := restart_text(claimed):
        says += f" Single pairs lie off the mean, because {restarts}."

    def paint(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _paint_rates(above, rates)
        _paint_changes(below, rates, claimed)
        figure.legend(loc="outside lower center", ncols=2)

    title, header, rows = _every_pair(result)
    return Plot("pairs", title, says, 300, paint, header, rows, is_listed=True)


def _paint_rates(axes: Axes, rates: list[tuple[float, float]]) -> None:
    numbers = range(1, len(rates) + 1)
    befores, afters = zip(*rates, strict=True)
    axes.vlines(numbers, befores, afters, color=Colour.GRID.value, linewidth=2)
    axes.plot(numbers, befores, "o", color=Colour.WRITTEN.value, markersize=6,
              markerfacecolor=Colour.PAPER.value, label=AS_WRITTEN)  # fmt: skip
    axes.plot(numbers, afters, "o", color=Colour.BEST.value, markersize=6, label=BEST)
    axes.set_ylim(0, 1.12 * max(*befores, *afters))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("events per second", color=Colour.MUTED.value)


def _paint_changes(axes: Axes, rates: list[tuple[float, float]], claimed: Comparison) -> None:
    changes = [(after / before - 1) * 100 for before, after in rates]
    numbers = range(1, len(rates) + 1)
    low, middle, high = ((one - 1) * 100 for one in (claimed.low, claimed.ratio, claimed.high))
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


def freshness_plot(result: StudyResult) -> Plot | None:
    """The percentiles of both sides with the limit; None where they were not seen."""
    sides = {
        side: (fresh.p50, fresh.p95, fresh.p99, fresh.max)
        for side, run in result.fresh.items()
        if (fresh := run.freshness_s) is not None
    }
    if not sides:
        return None
    limit_s = result.study.header.limits.freshness_p99_s
    offered = next(iter(result.fresh.values())).offered_per_second
    title = "How long an event takes until a search finds it"
    says = (
        f"At a fixed {eps(offered)} events per second, from when an event was due until a search "
        f"finds it; the guardrail allows {limit_s:g} s at p99."
    )

    rows = tuple((side, *(f"{one:.2f} s" for one in each_s)) for side, each_s in sides.items())
    paint = partial(_paint_freshness, sides, limit_s)
    return Plot("freshness", title, says, 220, paint, ("", *_NAMES), rows)


def _paint_freshness(
    sides: Mapping[str, tuple[float, ...]], limit_s: float, figure: Figure
) -> None:
    axes = figure.subplots()
    thick = 0.8 / len(sides)
    longest_s = max(map(max, sides.values()))
    for side, (name, each_s) in enumerate(sides.items()):
        rows = [number + (side - (len(sides) - 1) / 2) * thick for number in range(len(_NAMES))]
        colour = Colour.WRITTEN if name == AS_WRITTEN else Colour.BEST
        bars = axes.barh(rows, each_s, thick * 0.9, color=colour.value, alpha=0.85,
                         label=name)  # fmt: skip
        axes.bar_label(bars, fmt="%.1f s", padding=3, fontsize=9)
    if limit_s <= longest_s * 1.5:
        axes.axvline(limit_s, color=Colour.BAD.value, linewidth=1.2, linestyle="--",
                     label="limit of p99")  # fmt: skip
    axes.set_xlim(0, max(longest_s, limit_s if limit_s <= longest_s * 1.5 else 0) * 1.15)
    axes.set_yticks(range(len(_NAMES)), _NAMES)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("seconds")
    figure.legend(loc="outside lower center", ncols=3)


_StageUse = tuple[str, float, float]
"""A stage, and the share of its time, from 0 to 1, that it was busy, and that it was ready to run
while no core was free."""


def _uses(stages: Stages) -> Iterator[_StageUse]:
    """The stages in the order of an event's way, the machine last."""
    yield "sender", stages.sender_cpu, 0.0
    yield "busiest input thread", stages.input_cpu, 0.0
    yield "main queue workers", stages.main.cpu, stages.main.runnable
    if stages.action is not None:
        yield "action workers", stages.action.cpu, stages.action.runnable
    yield "engine", stages.engine_cpu, 0.0
    yield "disk", stages.io_wait, 0.0
    yield "all cores here", stages.machine_cpu, 0.0


def stages_plot(result: StudyResult) -> Plot | None:
    """The stages of the last confirming runs; None where nothing was confirmed."""
    sides = {
        name: tuple(_uses(run.verdict.stages))
        for name, run in result.last_runs
        if run.verdict is not None
    }
    if not sides:
        return None
    title = "How busy each stage was"
    says = (
        "Shares of the window in the last confirming runs: threads by the core that each can use, "
        "the engine by its cores, the disk by the time in which cores idled for it; the light end "
        "is time in which a thread was ready and had no core."
    )

    def paint(figure: Figure) -> None:
        panels = figure.subplots(len(sides), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (name, stages) in zip(panels, sides.items(), strict=True):
            _paint_stages(axes, name, stages)

    rows = tuple(
        (name, stage, f"{busy:.0%}", f"{ready:.0%}" if ready else "-")
        for name, stages in sides.items()
        for stage, busy, ready in stages
    )
    header = ("", "stage", "busy", "ready without a core")
    height = 40 + 150 * len(sides)
    return Plot("stages", title, says, height, paint, header, rows)


def _paint_stages(axes: Axes, name: str, uses: tuple[_StageUse, ...]) -> None:
    colour = Colour.WRITTEN if name == AS_WRITTEN else Colour.BEST
    stages, busy, ready = zip(*uses, strict=True)
    busy_percent, ready_percent = ([one * 100 for one in shares] for shares in (busy, ready))
    axes.barh(stages, busy_percent, color=colour.value)
    ends = axes.barh(stages, ready_percent, left=busy_percent, color=colour.value, alpha=0.35)
    axes.bar_label(ends, [f"{one:.0%}" for one in busy], padding=3, fontsize=9)
    axes.set_xlim(0, 112)
    axes.xaxis.set_major_formatter("{x:.0f} %")
    axes.set_title(name, color=Colour.MUTED.value)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


_OPEN_LOOP = (
    "Open loop: events go out on a fixed schedule, and are timed from when they were due until a "
    "search finds them."
)


def evidence(result: StudyResult) -> ReportSection:
    """Every pair of the confirmation, what the pairs compare, and both sides at a fixed rate."""
    blocks: list[Block] = beside_one_another(pairs_plot(result), freshness_plot(result))
    if result.verdict.claimed is not None:
        means = ("geometric means", AS_WRITTEN, BEST, "change", "95 % interval")
        blocks.append(Subheading("What the pairs compare"))
        blocks.append(Table("What the pairs compare", means, tuple(_comparisons(result))))
        blocks += bullets(list(_claimed(result)))
    elif result.pairs:
        title, header, rows = _every_pair(result)
        blocks += [Subheading(title), Table(title, header, rows)]
    if result.fixed_rate:
        columns = ("", "offered per second", "freshness", "CPU per event, rsyslogd and engine")
        rows = tuple(_fixed_rate_row(run) for run in result.fixed_rate)
        blocks += [Subheading("At a fixed rate"), Paragraph(_OPEN_LOOP)]
        blocks.append(Table("At a fixed rate", columns, rows))
    if result.losses:
        blocks += [Subheading("Trials that lost or doubled events"), losses_table(result)]
    return ReportSection("evidence", "Evidence", tuple(blocks))


def _every_pair(result: StudyResult) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Every pair, as measured, by the rate that the claim rests on and by the other one, with its
    delivery check: the title, header and rows of a table.  The sink puts nothing off."""
    rate = result.claimed_rate
    others = () if result.is_sink else (STEADY if rate is SUSTAINED else SUSTAINED,)
    header = ("pair", "as written, EPS", "best found, EPS", "change",
              *(f"change {one.over}" for one in others),
              "as written, sent / indexed", "best found, sent / indexed")  # fmt: skip
    rows = (
        (
            str(number),
            eps(rate.of(before)),
            eps(rate.of(after)),
            *(percent(one.of(after) / one.of(before)) for one in (rate, *others)),
            f"{before.delivery.sent:,} / {before.delivery.indexed:,}",
            f"{after.delivery.sent:,} / {after.delivery.indexed:,}",
        )
        for number, (before, after) in enumerate(result.pairs, 1)
    )
    return f"Every pair as measured, events per second {rate.over}", header, tuple(rows)


def _comparisons(result: StudyResult) -> Iterator[tuple[str, ...]]:
    """Everything that the pairs compare: the averages, their ratio and its interval."""
    for figure, comparison in compared_figures(result.verdict, is_sink=result.is_sink):
        yield (
            f"{figure.name}{', adjusted' if comparison.is_adjusted else ''}",
            *map(figure.write, figure.averages(comparison)),
            percent(comparison.ratio),
            f"{percent(comparison.low)} to {percent(comparison.high)}",
        )


def _claimed(result: StudyResult) -> Iterator[str]:
    """What the claim is made of."""
    verdict, claimed = result.verdict, result.verdict.claimed
    if claimed is not None:
        if claimed.by_speed is not None:
            yield f"of that claim: {raw_and_adjusted(claimed)}"
        if restarts := restart_text(claimed):
            yield restarts
        if not result.is_sink:
            yield (
                "the claim is the smaller of the first two: settings that postpone work look good "
                "in a window and not beyond it"
            )
    best = _search_best(result.study)
    if best is not None and verdict.eps is not None:
        yield (
            f"the best trial of the search looked like {percent(best)}; only the pairs, measured "
            "after the choice, support a claim"
        )


def _search_best(study: Study) -> float | None:
    """The best trial of the search over the first baseline: what luck makes it look like."""
    scored = [
        (trial.changes, trial.measurement.eps)
        for trial in study.trials
        if trial.phase in SCORED and trial.measurement is not None
    ]
    baseline = [rate for changes, rate in scored if changes == BASELINE]
    others = [rate for changes, rate in scored if changes != BASELINE]
    return max(others) / baseline[0] if baseline and others else None


def _fixed_rate_row(run: FixedRateRun) -> tuple[str, ...]:
    outcome = run.trial.outcome
    if not isinstance(outcome, PacedMeasurement):
        reason = outcome.reason if isinstance(outcome, Failure) else "not measured"
        return (run.side, eps(run.trial.per_second or 0.0), f"failed: {reason}", "-")
    fresh = outcome.freshness_s
    shown = "cannot be seen" if fresh is None else percentiles_text(fresh)
    cpu = f"{outcome.shipper_cpu_us:.1f} us, {outcome.engine_cpu_us:.1f} us"
    return (run.side, eps(outcome.offered_per_second), shown, cpu)


def limits(result: StudyResult) -> ReportSection:
    """What limits the profile as written and the best found, by their last confirming runs."""
    stages = stages_plot(result)
    blocks: list[Block] = [] if stages is None else [stages]
    columns = []
    for side, run in result.last_runs:
        bottleneck = [] if run.verdict is None else bottleneck_blocks(run.verdict)
        columns.append((Subheading(side), *bottleneck, *effective_blocks(run)))
    if columns:
        blocks.append(Columns(tuple(columns)))
    for side, run in result.last_runs:
        if run.effective is not None:
            summary = f"What was configured and what really ran, {side}"
            blocks.append(Folded(summary, effective_table(run.effective, side)))
    return ReportSection("limits", "What limits it", tuple(blocks))


def diff(result: StudyResult) -> ReportSection:
    """What changes in the profile's own file, then in those that are rendered from it.  Of a
    configuration, whose profile was made for the search, that is the file it is handed over as."""
    written, changed = result.written, candidate(result.written, result.verdict.changes)
    name = "best.yaml" if result.is_of_configuration else Path(written.path).name
    texts: dict[str, tuple[str | None, str | None]] = {name: (written.text, changed.text)}
    before = {one.path: one.text for one in render(written.profile)}
    after = {one.path: one.text for one in render(changed.profile)}
    for path in sorted(before.keys() | after.keys()):
        texts[f"rendered/{path}"] = before.get(path), after.get(path)
    blocks: list[Block] = []
    for path, (old, new) in texts.items():
        lines = tuple(line.rstrip("\n") for line in unified(path, old, new))
        if lines:
            blocks.append(FileDiff(path, lines))
    return ReportSection("diff", "What changes in the files", tuple(blocks), short="Diff")
