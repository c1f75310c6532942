"""Sections of a search's report: what to change, what shows it, what each change gave, and what
limits the rate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tuner.lint.candidate import candidate
from tuner.measure.measurement import Failure
from tuner.measure.paced_summary import PacedMeasurement
from tuner.render.artefacts import render
from tuner.render.tree import unified
from tuner.report.figures import eps, percent, raw_and_adjusted, restart_text, setting
from tuner.report.pair_figures import compared_figures
from tuner.report.plot_confirmed import freshness_plot, pairs_plot, stages_plot
from tuner.report.plot_effects import cost_plot, effects_plot
from tuner.report.result import AS_WRITTEN, BEST, FixedRateRun, StudyResult
from tuner.report.runs import (
    bottleneck_blocks,
    effective_blocks,
    effective_table,
    percentiles_text,
)
from tuner.report.search_losses import losses_table
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
from tuner.search.explain import SAME, Effect, Explained
from tuner.search.shrink import RULED_OUT, TOLERATED
from tuner.search.study import BASELINE, SCORED, Phase, Study

ESTIMATED = (
    "An estimate comes from a regression over all trials of the search, as if changes simply added "
    "up: it is not measured, so no claim rests on it."
)
_EFFECTS_MEANT = (
    "Effects are on events per second over the window, including deferred work, with 95 % "
    "intervals. Measured means fresh pairs, with the change and without it, after the choice. "
    f"{ESTIMATED}"
)
_OPEN_LOOP = (
    "Open loop: events go out on a fixed schedule, and are timed from when they were due until a "
    "search finds them."
)


def change(result: StudyResult) -> ReportSection:
    """What is recommended: what is tuned, with what it gives up, and apart from it the repairs."""
    return ReportSection("change", "What to change", tuple(_changes(result)))


def _changes(result: StudyResult) -> Iterator[Block]:
    header = ("setting", "as written", "change to", "note")
    tuned = result.tuning(result.verdict.changes)
    if tuned:
        rows = tuple(
            (f"`{path}`", setting(result.as_written(path)), setting(level), result.note(path))
            for path, level in tuned
        )
        yield Table("What to change", header, rows)
    elif not result.repaired:
        yield Paragraph("Nothing: `best.yaml` is the profile as written.")
    if result.given_up:
        yield Paragraph("Some of these changes give something up:")
        yield from bullets(result.given_up)
    if result.repaired:
        mended = tuple(
            (f"`{path}`", setting(result.as_written(path)), setting(level), one.why)
            for one in result.repaired
            for path, level in one.changes
        )
        yield Subheading("Repairs")
        yield Table("Repairs", header, mended)


def evidence(result: StudyResult) -> ReportSection:
    """Every pair of the confirmation, what the pairs compare, and both sides at a fixed rate."""
    blocks: list[Block] = _beside_one_another(pairs_plot(result), freshness_plot(result))
    if result.pairs:
        header = ("pair", "as written, EPS", "best found, EPS", "change",
                  "as written, sent / indexed", "best found, sent / indexed")  # fmt: skip
        means = ("geometric means", AS_WRITTEN, BEST, "change", "95 % interval")
        blocks.append(Table("What the pairs compare", means, tuple(_comparisons(result))))
        blocks += bullets(list(_claimed(result)))
        blocks.append(Subheading("Every pair, with its delivery check"))
        blocks.append(Table("Pairs", header, tuple(_pair_rows(result))))
    else:
        nothing = (
            "Nothing was confirmed: only fresh pairs, measured after the choice was made, support "
            "a claim."
        )
        blocks.insert(0, Paragraph(nothing))
    if result.fixed_rate:
        columns = ("", "offered per second", "freshness", "CPU per event, rsyslogd and engine")
        rows = tuple(_fixed_rate_row(run) for run in result.fixed_rate)
        blocks += [Subheading("At a fixed rate"), Paragraph(_OPEN_LOOP)]
        blocks.append(Table("At a fixed rate", columns, rows))
    if result.losses:
        blocks += [Subheading("Trials that lost or doubled events"), losses_table(result)]
    return ReportSection("evidence", "Evidence", tuple(blocks))


def _beside_one_another(*plots: Plot | None) -> list[Block]:
    drawn = tuple((plot,) for plot in plots if plot is not None)
    return [Columns(drawn)] if drawn else []


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


def effects(result: StudyResult) -> ReportSection:
    """The effects of the changes, measured or estimated, and the settings that stay as written."""
    searched = bool(result.study.of(Phase.SEARCH))
    groups = result.effect_groups
    heading = "What each change gave" if groups else "Which settings matter"
    blocks: list[Block] = []
    if not searched:
        blocks.append(Paragraph("The search ended before it had tried other settings."))
    else:
        blocks.append(Paragraph(_EFFECTS_MEANT if groups else ESTIMATED))
    blocks += _beside_one_another(effects_plot(result), cost_plot(result))
    if searched and groups:
        header = ("setting, as written -> changed to", "effect", "how known")
        rows = tuple(
            (
                tuple(f"`{one.path}` {_levels(one, result)}" for one in group),
                _interval(group[0]),
                _how_known(group[0]),
            )
            for group in groups
        )
        blocks.append(Table(heading, header, rows))
    others = list(_others(result.explained)) if searched else []
    if others:
        blocks.append(Paragraph("Settings that stay as written, by that estimate:"))
        blocks += bullets(others)
    return ReportSection("effects", heading, tuple(blocks))


def _levels(effect: Effect, result: StudyResult) -> str:
    return f"{setting(result.current[effect.path])} -> {setting(effect.level)}"


def _interval(effect: Effect) -> str:
    estimate = effect.estimate
    shown = f"{percent(estimate.ratio)} [{percent(estimate.low)}, {percent(estimate.high)}]"
    if not effect.together:
        return shown
    several = len(effect.together) + 1
    return f"{'both' if several == 2 else f'all {several}'} together {shown}"


def _how_known(effect: Effect) -> str:
    """Whether it was measured, and why it is not recommended or, where it seems to have given
    nothing, why it still is."""
    if effect.pairs == 0:
        return "estimated, not measured"
    measured = f"measured, {effect.pairs} pairs"
    if effect.undone:
        return f"{measured}; removed, because that cost no more than {TOLERATED * 100:.0f} %"
    seems_idle = 1 / effect.estimate.ratio >= 1 - TOLERATED
    why = f"; kept, because it may give {RULED_OUT * 100:.0f} % or more" if seems_idle else ""
    return f"{measured}{why}"


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


def limits(result: StudyResult) -> ReportSection:
    """What limits the profile as written and the best found, by their last confirming runs."""
    if not result.last_runs:
        nothing = Paragraph("Nothing was confirmed, so there is no run to look into.")
        return ReportSection("limits", "What limits it", (nothing,))
    stages = stages_plot(result)
    blocks: list[Block] = [] if stages is None else [stages]
    columns = []
    for side, run in result.last_runs:
        bottleneck = [] if run.verdict is None else bottleneck_blocks(run.verdict)
        columns.append((Subheading(side), *bottleneck, *effective_blocks(run)))
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
    nothing = Paragraph("Nothing: the profile and everything rendered from it stay as they are.")
    heading = "What changes in the files"
    return ReportSection("diff", heading, tuple(blocks) or (nothing,), short="Diff")
