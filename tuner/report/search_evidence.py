"""Sections of a search's report: what shows the gain, what limits the rate, and what changes in the
files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.lint.candidate import candidate
from tuner.measure.measurement import Failure, PacedMeasurement
from tuner.measure.paired import Comparison
from tuner.render.artefacts import render
from tuner.render.tree import unified
from tuner.report.drawing import Colour
from tuner.report.figures import interval, raw_and_adjusted, restart_text
from tuner.report.first_screen import evidence_lines
from tuner.report.result import (
    AS_WRITTEN,
    BEST,
    STEADY,
    SUSTAINED,
    FixedRateRun,
    StudyResult,
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
    bullets,
)
from tuner.schema.numerals import eps, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
    return Plot("pairs", title, says, 300, paint, header, rows)


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
    low, middle, high = ((ratio - 1) * 100 for ratio in (claimed.low, claimed.ratio, claimed.high))
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


def evidence(result: StudyResult) -> ReportSection:
    """Every pair of the confirmation, what the pairs compare, and both sides at a fixed rate."""
    blocks: list[Block] = [plot] if (plot := pairs_plot(result)) is not None else []
    if result.verdict.claimed is not None:
        means = ("geometric means", AS_WRITTEN, BEST, "change", "95 % interval")
        blocks.append(Subheading("What the pairs compare"))
        blocks.append(Table("What the pairs compare", means, tuple(_comparisons(result))))
        blocks += bullets([*evidence_lines(result), *_claimed(result)])
    elif result.pairs:
        title, header, rows = _every_pair(result)
        blocks += [Subheading(title), Table(title, header, rows)]
    if result.fixed_rate:
        columns = ("", "offered per second", "freshness", "CPU per event, rsyslogd and engine")
        rows = tuple(_fixed_rate_row(run) for run in result.fixed_rate)
        open_loop = (
            "Open loop: events go out on a fixed schedule, and are timed from when they were due "
            "until a search finds them; the guardrail allows "
            f"{result.study.header.limits.freshness_p99_s:g} s at p99."
        )
        blocks += [Subheading("At a fixed rate"), Paragraph(open_loop)]
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
              *(f"change {other.over}" for other in others),
              "as written, sent / indexed", "best found, sent / indexed")  # fmt: skip
    rows = (
        (
            str(number),
            eps(rate.of(before)),
            eps(rate.of(after)),
            *(percent(stretch.of(after) / stretch.of(before)) for stretch in (rate, *others)),
            f"{before.delivery.sent:,} / {before.delivery.indexed:,}",
            f"{after.delivery.sent:,} / {after.delivery.indexed:,}",
        )
        for number, (before, after) in enumerate(result.pairs, 1)
    )
    return f"Every pair as measured, events per second {rate.over}", header, tuple(rows)


def _comparisons(result: StudyResult) -> Iterator[tuple[str, ...]]:
    """Everything that the pairs compare: the averages, their ratio and its interval."""
    for figure, comparison in result.figures:
        yield (
            f"{figure.name}{', adjusted' if comparison.is_adjusted else ''}",
            *map(figure.write, figure.averages(comparison)),
            percent(comparison.ratio),
            f"{percent(comparison.low)} to {percent(comparison.high)}",
        )


def _claimed(result: StudyResult) -> Iterator[str]:
    """What the claim is made of."""
    claimed = result.verdict.claimed
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
    blocks: list[Block] = []
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
    before = {file.path: file.text for file in render(written.profile)}
    after = {file.path: file.text for file in render(changed.profile)}
    for path in sorted(before.keys() | after.keys()):
        texts[f"rendered/{path}"] = before.get(path), after.get(path)
    blocks: list[Block] = []
    for path, (old, new) in texts.items():
        lines = tuple(line.rstrip("\n") for line in unified(path, old, new))
        if lines:
            blocks.append(FileDiff(path, lines))
    return ReportSection("diff", "What changes in the files", tuple(blocks), short="Diff")
