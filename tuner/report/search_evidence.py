"""Sections of a search's report: what shows the gain, what limits the rate, and what changes in the
files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tuner.lint.candidate import candidate
from tuner.measure.measurement import Failure
from tuner.measure.paced_summary import PacedMeasurement
from tuner.render.artefacts import render
from tuner.render.tree import unified
from tuner.report.figures import eps, percent, raw_and_adjusted, restart_text
from tuner.report.pairs import compared_figures
from tuner.report.plot_confirmed import freshness_plot, pairs_plot, stages_plot
from tuner.report.result import AS_WRITTEN, BEST, FixedRateRun, StudyResult
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
    ReportSection,
    Subheading,
    Table,
    beside_one_another,
    bullets,
)
from tuner.search.study import BASELINE, SCORED, Study

_OPEN_LOOP = (
    "Open loop: events go out on a fixed schedule, and are timed from when they were due until a "
    "search finds them."
)


def evidence(result: StudyResult) -> ReportSection:
    """Every pair of the confirmation, what the pairs compare, and both sides at a fixed rate."""
    blocks: list[Block] = beside_one_another(pairs_plot(result), freshness_plot(result))
    if result.pairs:
        header = ("pair", "as written, EPS", "best found, EPS", "change",
                  "as written, sent / indexed", "best found, sent / indexed")  # fmt: skip
        means = ("geometric means", AS_WRITTEN, BEST, "change", "95 % interval")
        blocks.append(Table("What the pairs compare", means, tuple(_comparisons(result))))
        blocks += bullets(list(_claimed(result)))
        blocks.append(Subheading("Every pair, with its delivery check"))
        blocks.append(Table("Pairs", header, tuple(_pair_rows(result))))
    if result.fixed_rate:
        columns = ("", "offered per second", "freshness", "CPU per event, rsyslogd and engine")
        rows = tuple(_fixed_rate_row(run) for run in result.fixed_rate)
        blocks += [Subheading("At a fixed rate"), Paragraph(_OPEN_LOOP)]
        blocks.append(Table("At a fixed rate", columns, rows))
    if result.losses:
        blocks += [Subheading("Trials that lost or doubled events"), losses_table(result)]
    return ReportSection("evidence", "Evidence", tuple(blocks))


def _pair_rows(result: StudyResult) -> Iterator[tuple[str, ...]]:
    for number, (before, after) in enumerate(result.pairs, 1):
        yield (
            str(number),
            eps(before.eps),
            eps(after.eps),
            percent(after.eps / before.eps),
            f"{before.delivery.sent:,} / {before.delivery.indexed:,}",
            f"{after.delivery.sent:,} / {after.delivery.indexed:,}",
        )


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
    verdict = result.verdict
    if verdict.claimed is not None and verdict.claimed.by_speed is not None:
        yield f"of that claim: {raw_and_adjusted(verdict.claimed)}"
    if verdict.claimed is not None and (restarts := restart_text(verdict.claimed)):
        yield restarts
    if verdict.claimed is not None and not result.is_sink:
        yield (
            "the claim is the smaller of the first two: settings that postpone work look good in "
            "a window and not beyond it"
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
    """What changes in the profile's own file, then in those that are rendered from it."""
    written, changed = result.written, candidate(result.written, result.verdict.changes)
    texts: dict[str, tuple[str | None, str | None]] = {
        Path(written.path).name: (written.text, changed.text)
    }
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
