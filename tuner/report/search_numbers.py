"""The numbers of a search's first screen; pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from tuner.measure.measurement import Consequence
from tuner.measure.paired import Comparison
from tuner.report.figures import counted, eps, mebibytes, p_value, percent, share
from tuner.report.pair_figures import FRESHNESS, MEMORY, compared_figures
from tuner.report.result import STEADY, StudyResult
from tuner.report.sections import Number
from tuner.search.study import BASELINE, Phase, Study

_CPU = "CPU per event"


def numbers(result: StudyResult) -> Iterator[Number]:
    """What the verdict rests on; of a search that was not confirmed, what is known."""
    claimed = result.verdict.claimed
    yield from _as_written(result.study) if claimed is None else _compared(result, claimed)
    yield from _kept(result)
    yield from _doubted(result)


def _as_written(study: Study) -> Iterator[Number]:
    rates = [
        STEADY.of(trial.measurement)
        for trial in study.of(Phase.CALIBRATE)
        if trial.measurement is not None and trial.changes == BASELINE
    ]
    if rates:
        count = "1 run" if len(rates) == 1 else f"median of {len(rates)} runs"
        rate = f"{eps(statistics.median(rates))} EPS"
        yield Number("as written", rate, f"{count} {STEADY.over}")


def _compared(result: StudyResult, claimed: Comparison) -> Iterator[Number]:
    """What the pairs of the confirmation compare."""
    low, high = percent(claimed.low), percent(claimed.high)
    yield Number("gain", percent(claimed.ratio), f"95 % interval {low} to {high}")
    yield rates(result, claimed)
    if claimed.by_speed is not None:
        raw, adjusted = claimed.by_speed.raw, claimed.by_speed.adjusted
        both = f"{percent(raw.ratio)}, {percent(adjusted.ratio)}"
        yield Number("raw, adjusted", both, claimed.by_speed.counts.value)
    chance = f"fresh, exact sign-flip p {p_value(claimed.p)}"
    yield Number("evidence", f"{claimed.pairs} pairs", chance)
    yield Number("minimum detectable gain", share(claimed.detectable), "80 % power at 5 % error")
    for figure, comparison in compared_figures(result.verdict, is_sink=result.is_sink):
        if _CPU in figure.name:
            before, after = map(figure.write, figure.averages(comparison))
            is_bad = figure.got_worse(comparison)
            detail = f"{before} -> {after}, {_averaged(comparison)}"
            yield Number(figure.name, percent(comparison.ratio), detail, is_bad)


def rates(result: StudyResult, claimed: Comparison) -> Number:
    """The rates of both sides that the claim is the ratio of."""
    before, after = map(eps, claimed.averages)
    detail = f"{_averaged(claimed)}, {result.claimed_rate.over}"
    return Number("events per second", f"{before} -> {after}", detail)


def _averaged(comparison: Comparison) -> str:
    """What the averages are of: those that the ratio is the ratio of."""
    return f"geometric means{', adjusted' if comparison.is_adjusted else ''}"


def _kept(result: StudyResult) -> Iterator[Number]:
    """Freshness and memory beside their limits, and the delivery of all events."""
    guardrails = result.study.header.limits
    worse = {cost.figure for cost in result.costs}
    fresh = [run.freshness_s for run in result.fresh.values() if run.freshness_s is not None]
    if fresh:
        both = " -> ".join(f"{one.p99:.1f}" for one in fresh)
        limit = f"at a fixed rate; the limit is {guardrails.freshness_p99_s:g} s"
        yield Number("freshness p99", f"{both} s", limit, FRESHNESS in worse)
    if guardrails.rss_bytes is not None and result.pairs:
        sides = zip(*result.pairs, strict=True)
        most = (mebibytes(max(run.shipper_rss_bytes for run in side)) for side in sides)
        limit = f"at most; the limit is {mebibytes(guardrails.rss_bytes)}"
        yield Number("rsyslogd memory", " -> ".join(most), limit, MEMORY in worse)
    if result.study.trials:
        yield _delivered(result)


def _delivered(result: StudyResult) -> Number:
    """How many trials lost or doubled events, beside those that did not."""
    count, trials = len(result.losses), len(result.study.trials)
    sent = sum(run.delivery.sent for run in result.measured)
    others = len(result.failures) - count
    detail = f"{sent:,} events in {len(result.measured)} valid trials, each indexed exactly once"
    detail += f"; {counted(others, 'more trial')} failed" if others else ""
    return Number("trials that lost or doubled events", f"{count} of {trials}", detail, count > 0)


def _doubted(result: StudyResult) -> Iterator[Number]:
    """How many of the confirming runs are doubted with a consequence, and each doubt with its."""
    if not result.pairs:
        return
    runs = [run for pair in result.pairs for run in pair]
    grave = {one.kind for one in result.doubts if one.consequence is not Consequence.INFORMS}
    count = sum(any(doubt.kind in grave for doubt in run.doubts) for run in runs)
    why = "; ".join(
        f"{one.kind.value} {one.count} ({one.consequence.value})" for one in result.doubts
    )
    is_bad = any(one.puts_in_question for one in result.doubts)
    yield Number("doubted runs", f"{count} of {len(runs)}", why or "nothing to doubt", is_bad)
