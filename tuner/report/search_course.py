"""Sections of a search's report: how sure it can be, what stays open, where its time went, and how
it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lint.repairs import every_change
from tuner.measure.measurement import Consequence, DoubtKind
from tuner.report.figures import mebibytes, seconds
from tuner.report.plot_course import course_plot, time_plot
from tuner.report.result import StudyResult
from tuner.report.runs import speed_text
from tuner.report.sections import (
    Block,
    ReportSection,
    Subheading,
    beside_one_another,
    bullets,
)
from tuner.search.study import Phase
from tuner.search.times import Overhead, Times

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
        f"delivery: {sent:,} events sent in the {len(runs)} valid trials, every one indexed "
        "exactly once; a trial that misses or doubles an event is invalid: "
        f"{len(result.losses) or 'none'} did",
        f"tier `{tier}`: durability, replicas, `_source`, retries and queue files are never "
        f"searched; `best.yaml` has them as you wrote them{but}",
        f"memory: rsyslogd used at most {memory}{allowed}",
    ]
    return ReportSection("kept", "What was not traded", tuple(bullets(lines)), short="Not traded")


def open_questions(result: StudyResult) -> ReportSection:
    """What a lab replaced, and what no trial shows."""
    study = result.study
    lines = [f"changed for the lab: {line}" for line in study.header.substitutions]
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
    yield (
        f"measuring: {times.measuring * 100:.1f} % of the budget of {seconds(budget_s)} was "
        f"windows of valid trials"
    )
    if times.overhead is not None:
        yield _overhead_text(times.overhead)


def _overhead_text(overhead: Overhead) -> str:
    parts = overhead.parts
    named = (
        ("start", parts.start_s),
        ("warm-up", parts.warm_up_s),
        ("drain", parts.drain_s),
        ("settle", parts.settle_s),
        ("stop", parts.stop_s),
    )
    items = ", ".join(f"{name} {each_s:.1f} s" for name, each_s in named)
    return (
        f"a trial of the search took {overhead.median_s:.1f} s beside its window (median of "
        f"{overhead.trials} without a restart of the engine): {items}. Start is a fresh index and "
        "rsyslogd, drain goes until the last event is indexed, settle is refresh, flush and the "
        "delivery check, stop removes everything; each is a median of its own"
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
