"""Sections of a search's report: what shows the gain, what limits the rate, what changes in the
files, every trial, and how that was measured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.lint.candidate import candidate
from tuner.lint.repairs import every_change
from tuner.measure.measurement import Consequence, DoubtKind, Failure, FailureKind, PacedMeasurement
from tuner.measure.paired import Comparison
from tuner.render.artefacts import render
from tuner.render.tree import unified
from tuner.report.figures import (
    STEADY,
    SUSTAINED,
    Rate,
    interval,
    pair_text,
    raw_and_adjusted,
    restart_text,
    steps,
    steps_text,
)
from tuner.report.first_screen import evidence_lines, loss_lines
from tuner.report.result import AS_WRITTEN, BEST, StudyResult
from tuner.report.runs import (
    bottleneck_blocks,
    effective_blocks,
    effective_table,
    percentiles_text,
    run_cells,
    speed_text,
)
from tuner.report.sections import (
    Block,
    Cell,
    Colour,
    Columns,
    FileDiff,
    Folded,
    Paragraph,
    Plot,
    ReportSection,
    RowMark,
    Subheading,
    Table,
    bullets,
)
from tuner.schema.numerals import eps, mebibytes, percent, seconds
from tuner.search.study import BASELINE, Changes, Phase, Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def pairs_plot(result: StudyResult) -> Plot | None:
    """Both sides of each pair and their ratio, by the rate that the claim rests on; None without a
    comparison."""
    claimed, rate = result.verdict.claimed, result.claimed_rate
    if claimed is None:
        return None
    scale = rate.facts.scale
    rates = [(rate.of(before) / scale, rate.of(after) / scale) for before, after, _ in result.pairs]
    adjusted = claimed.is_adjusted
    says = (
        f"The profile as written against the best found in {claimed.pairs} fresh pairs, "
        f"{rate.label}, and below by how much each pair differs: {interval(rate.change(claimed))}, "
        "the "
        "band, with 95 % confidence"
        f"{', adjusted for the speed of the machine, and the pairs as measured' * adjusted}."
    )
    if restarts := restart_text(claimed):
        says += f" Single pairs lie off the mean, because {restarts}."

    def paint(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _paint_rates(above, rates, rate)
        _paint_changes(below, rates, claimed, rate)
        figure.legend(loc="outside lower center", ncols=2)

    title, header, rows = _every_pair(result)
    return Plot("pairs", title, says, 300, paint, header, rows)


def _paint_rates(axes: Axes, rates: list[tuple[float, float]], rate: Rate) -> None:
    numbers = range(1, len(rates) + 1)
    befores, afters = zip(*rates, strict=True)
    axes.vlines(numbers, befores, afters, color=Colour.GRID.value, linewidth=2)
    axes.plot(numbers, befores, "o", color=Colour.WRITTEN.value, markersize=6,
              markerfacecolor=Colour.PAPER.value, label=AS_WRITTEN)  # fmt: skip
    axes.plot(numbers, afters, "o", color=Colour.BEST.value, markersize=6, label=BEST)
    axes.set_ylim(0, 1.12 * max(*befores, *afters))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    title = rate.facts.label if rate.is_rate else f"{rate.label}, {rate.facts.unit}"
    axes.set_title(title, color=Colour.MUTED.value)


def _paint_changes(
    axes: Axes, rates: list[tuple[float, float]], claimed: Comparison, rate: Rate
) -> None:
    changes = [(after / before - 1) * 100 for before, after in rates]
    numbers = range(1, len(rates) + 1)
    mean = rate.change(claimed)
    low, middle, high = ((ratio - 1) * 100 for ratio in (mean.low, mean.ratio, mean.high))
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
    if (claimed := result.verdict.claimed) is not None:
        means = ("geometric means", AS_WRITTEN, BEST, "change", "95 % interval")
        blocks.append(Subheading("What the pairs compare"))
        blocks.append(Table("What the pairs compare", means, tuple(_comparisons(result))))
        blocks += bullets([*evidence_lines(result, claimed), *_claimed(result, claimed)])
    elif result.pairs:
        title, header, rows = _every_pair(result)
        blocks += [Subheading(title), Table(title, header, rows)]
    checks = result.study.of(Phase.CHECK)
    if checks:
        columns = ("", "offered per second", "freshness", "CPU per event, rsyslogd and engine")
        rows = tuple(_fixed_rate_row(result.side(trial), trial) for trial in checks)
        open_loop = (
            "Open loop: events go out on a fixed schedule, and are timed from when they were due "
            "until a search finds them; the guardrail allows "
            f"{result.study.header.limits.freshness_p99_s:g} s at p99."
        )
        blocks += [Subheading("At a fixed rate"), Paragraph(open_loop)]
        blocks.append(Table("At a fixed rate", columns, rows))
    if result.losses:
        blocks += [Subheading("Trials that lost or doubled events"), *bullets(loss_lines(result))]
    return ReportSection("evidence", "Evidence", tuple(blocks))


def _every_pair(result: StudyResult) -> tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Every pair, as measured, by the rate that the claim rests on and by the other one, with its
    delivery check: the title, header and rows of a table.  The sink puts nothing off."""
    rate = result.claimed_rate
    is_rate = rate.is_rate
    other_rates = (
        (STEADY if rate is SUSTAINED else SUSTAINED,) if is_rate and not result.is_sink else ()
    )
    unit = ", EPS" if is_rate else ""
    header = ("pair", f"as written{unit}", f"best found{unit}", "change",
              *(f"change {other.over}" for other in other_rates),
              "as written, sent / indexed", "best found, sent / indexed")  # fmt: skip
    rows = (
        (
            str(number),
            rate.write(rate.of(before)),
            rate.write(rate.of(after)),
            *(percent(stretch.of(after) / stretch.of(before)) for stretch in (rate, *other_rates)),
            f"{before.delivery.sent:,} / {before.delivery.indexed:,}",
            f"{after.delivery.sent:,} / {after.delivery.indexed:,}",
        )
        for number, (before, after, _) in enumerate(result.pairs, 1)
    )
    return f"Every pair as measured, {rate.label}", header, tuple(rows)


def _comparisons(result: StudyResult) -> Iterator[tuple[str, ...]]:
    """Everything that the pairs compare: the averages, their ratio and its interval."""
    for figure, comparison in result.figures:
        yield (
            f"{figure.name}{', adjusted' if comparison.is_adjusted else ''}",
            *map(figure.write, figure.averages(comparison)),
            percent(comparison.ratio),
            f"{percent(comparison.low)} to {percent(comparison.high)}",
        )


def _claimed(result: StudyResult, claimed: Comparison) -> Iterator[str]:
    """What the claim is made of."""
    if claimed.by_speed is not None:
        yield f"events per second, {result.claimed_rate.over}: {raw_and_adjusted(claimed)}"
    if restarts := restart_text(claimed):
        yield restarts
    if not result.is_sink:
        yield (
            "the claim is the smaller of the first two: settings that postpone work look good in a "
            "window and not beyond it"
        )


def _fixed_rate_row(side: str, trial: Trial) -> tuple[str, ...]:
    outcome = trial.outcome
    if not isinstance(outcome, PacedMeasurement):
        reason = outcome.reason if isinstance(outcome, Failure) else "not measured"
        return (side, eps(trial.per_second or 0.0), f"failed: {reason}", "-")
    fresh = outcome.freshness_s
    shown = "cannot be seen" if fresh is None else percentiles_text(fresh)
    cpu = f"{outcome.shipper_cpu_us:.1f} µs, {outcome.engine_cpu_us:.1f} µs"
    return (side, eps(outcome.offered_per_second), shown, cpu)


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


_TRIALS_HEADER = ("trial", "phase", "what it changed", "EPS, steady window", "sent", "indexed",
           "rsyslogd µs/event", "engine µs/event", "doubts, or why it failed")  # fmt: skip
# Among so many points before it a point is compared with the one nearest to it.
_NEAR = 100


def trials(result: StudyResult) -> ReportSection:
    """A row for each trial."""
    all_trials = result.study.trials
    rows = tuple(map(_trial_row, all_trials, _settings(result)))
    header: tuple[str, ...] = _TRIALS_HEADER
    if len({trial.machine for trial in all_trials}) > 1:
        header = (*_TRIALS_HEADER, "machine")
        rows = tuple((*row, trial.machine) for row, trial in zip(rows, all_trials, strict=True))
    marks = tuple(map(_mark, all_trials))
    table = Table("Trials", header, rows, "trials", "trials.csv", marks)
    paper = "They are not printed: `trials.csv` and the page on a screen have them."
    folded = Folded(_summary(result), table, paper)
    return ReportSection("trials", "Trials", (folded,) if rows else ())


def _summary(result: StudyResult) -> str:
    """What all trials came to: `95 trials: 89 measured, 2 at a fixed rate, 4 failed, ...`."""
    all_trials = result.study.trials
    failed = sum(isinstance(trial.outcome, Failure) for trial in all_trials)
    lossy = sum(_mark(trial) is RowMark.LOST for trial in all_trials)
    paced = len(all_trials) - len(result.measured) - failed
    parts = [f"{len(result.measured)} measured"]
    parts += [f"{paced} at a fixed rate"] if paced else []
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{lossy} of them with events lost or doubled"] if lossy else []
    return f"All {len(all_trials)} trials: {', '.join(parts)}"


def _settings(result: StudyResult) -> Iterator[str]:
    """Of each trial what it changed of the earlier point that is nearest to it, or of the profile
    as written; a point that was measured before is named by its first trial."""
    written = result.current
    first: dict[Changes, int] = {}

    def distance(changes: Changes, other: Changes) -> int:
        return len({path for path, _ in set(changes) ^ set(other)} & written.keys())

    for trial in result.study.trials:
        point = trial.changes
        if point == BASELINE:
            yield "as written"
        elif point in first:
            yield f"as trial {first[point]}"
        else:
            among = (BASELINE, *list(first)[-_NEAR:])
            nearest = min(among, key=lambda earlier: distance(earlier, point))
            moved = steps(nearest, point, written)
            start = "" if nearest == BASELINE else f"trial {first[nearest]} with "
            yield start + steps_text(moved, result.names) if moved else trial.why
            first[point] = trial.number


def _mark(trial: Trial) -> RowMark:
    if not isinstance(trial.outcome, Failure):
        return RowMark.NONE
    return RowMark.LOST if trial.outcome.kind is FailureKind.DELIVERY else RowMark.FAILED


def _word(failure: Failure) -> str:
    if failure.kind is not FailureKind.DELIVERY:
        return "failed"
    is_doubled = failure.delivery is not None and not failure.delivery.lost
    return "EVENTS DOUBLED" if is_doubled else "EVENTS LOST"


def _trial_row(trial: Trial, settings: str) -> tuple[Cell, ...]:
    number = "-" if trial.number < 0 else str(trial.number)
    pair = pair_text(trial.phase, trial.pair)
    phase = f"{trial.phase.value}, {pair}".removesuffix(", ")
    outcome, start = trial.outcome, (number, phase, settings)
    if isinstance(outcome, Failure):
        return (*start, *run_cells(outcome), (_word(outcome), str(outcome)))
    remarks = ["at a fixed rate"] if isinstance(outcome, PacedMeasurement) else []
    remarks += [doubt.kind.value for doubt in outcome.doubts]
    return (*start, *run_cells(outcome), ", ".join(remarks))


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
    opened = ", ".join(guarantee.name for guarantee in result.opened)
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
        f"windows: {windows or 'none has ended'}; each trial on a fresh index, with its own "
        "rsyslogd",
        "EPS is the rise of the engine's `indexing.index_total` over the window, which goes from "
        "one refresh under load to another; ± is the standard error from five batch means",
        "ratios are means of log-ratios of pairs, intervals are Student's t on them",
    ]
    heading = "How this was measured"
    return ReportSection("how", heading, tuple(bullets(lines)), short="How it was measured")
