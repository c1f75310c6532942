"""The report of a search: its first screen, and the list of its sections."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator

from tuner.measure.measurement import FailureKind, Measurement
from tuner.measure.paired import Comparison
from tuner.report.figures import eps, mebibytes, percent, raw_and_adjusted, share
from tuner.report.result import STEADY, StudyResult
from tuner.report.search_course import course, how, not_traded, open_questions, sure, trials
from tuner.report.search_evidence import change, diff, effects, evidence, limits
from tuner.report.sections import Caution, FirstScreen, Number, Report, ReportSection
from tuner.search.study import BASELINE, Ending, Phase, Study
from tuner.search.verdict import Claim, Verdict

SECTIONS: tuple[Callable[[StudyResult], ReportSection], ...] = (
    change,
    evidence,
    effects,
    sure,
    limits,
    diff,
    not_traded,
    open_questions,
    course,
    how,
    trials,
)
"""The sections in the order of the report; one without blocks is left out."""


def search_report(result: StudyResult) -> Report:
    """The whole report of a search."""
    sections = tuple(section(result) for section in SECTIONS)
    return Report(first_screen(result), tuple(one for one in sections if one.blocks))


def first_screen(result: StudyResult) -> FirstScreen:
    """The verdict, what to know before believing it, and the numbers it rests on."""
    header, name = result.study.header, result.written.profile.name
    return FirstScreen(
        title=f"rsyslog-tune: {name}",
        name=f"{name}: {result.verdict.claim.value} (rsyslog-tune)",
        verdict=sentence(result),
        is_improvement=result.verdict.claim is Claim.IMPROVED,
        cautions=tuple(_cautions(result)),
        numbers=tuple(numbers(result)),
        about=(
            f"{header.engine}, rsyslogd {header.rsyslog}, {header.machine}. {header.started}, "
            f"{header.tool}, seed {header.seed}."
        ),
    )


def _cautions(result: StudyResult) -> Iterator[Caution]:
    if result.is_sink:
        yield Caution(
            "Measured against the sink, not an engine",
            "this is what rsyslogd can do by itself, and says nothing about how fast an engine "
            "would index.",
        )
    if result.opened:
        lines = tuple(f"`{one.name}`: {one.gives_up}" for one in result.opened)
        yield Caution("Guarantees that were opened", lines=lines)
    if result.given_up:
        yield Caution("What the change gives up", lines=result.given_up)
    early = _cut_short(result.study)
    if early:
        yield Caution(early)


def _cut_short(study: Study) -> str:
    """A sentence on what an early end left undone; empty for a search that came to its end."""
    if study.ending is Ending.FINISHED:
        return ""
    how_it_ended = "was interrupted" if study.ending is Ending.INTERRUPTED else "failed"
    return f"The search {how_it_ended}."


def _confirming(study: Study) -> list[Measurement]:
    runs = [trial.measurement for trial in study.of(Phase.CONFIRM)]
    return [run for run in runs if run is not None]


def sentence(result: StudyResult) -> str:
    """The verdict in one sentence for somebody who will not read on, after what can be lost."""
    return f"{_at_risk(result)}{_claim(result)}"


def _at_risk(result: StudyResult) -> str:
    """What the profile that is recommended can lose; empty where nothing is known."""
    if not result.unrepaired:
        return ""
    losses = "; ".join(one.loss for one in result.unrepaired)
    return f"This profile can lose events ({losses}): rsyslog-tune validate --fix repairs it. "


def _claim(result: StudyResult) -> str:
    verdict, claimed = result.verdict, result.verdict.claimed
    if verdict.claim is Claim.IMPROVED and claimed is not None:
        what = "rsyslogd, sending to the test sink," if result.is_sink else "this pipeline"
        return (
            f"{_changing(result)} {what} carry {_gain(claimed.ratio)} more events per second "
            f"(between {_gain(claimed.low)} and {_gain(claimed.high)}, with 95 % confidence), and "
            f"no event was lost.{_repaired(result)}{_removed(verdict)}"
        )
    if verdict.claim is Claim.NOT_SHOWN:
        slower = claimed is not None and claimed.high < 1
        what = "was slower" if slower else "was not shown to be faster"
        return (
            f"No improvement was shown: the best that was found {what} in fresh pairs with the "
            "profile as written, which stays as it is."
        )
    claim = verdict.claim.value
    return f"{claim[0].upper()}{claim[1:]}. {verdict.failure}".strip().removesuffix(".") + "."


def _changing(result: StudyResult) -> str:
    count = len(result.tuning(result.verdict.changes))
    if not count:
        return "The repairs alone let"
    return "1 changed setting lets" if count == 1 else f"{count} changed settings let"


def _repaired(result: StudyResult) -> str:
    """That repairs are part of what was confirmed."""
    count = len(result.repaired)
    if not count:
        return ""
    return (
        f" The change contains {'1 repair' if count == 1 else f'{count} repairs'}, not for speed."
    )


def _gain(ratio: float) -> str:
    gain = (ratio - 1) * 100
    return f"{gain:.1f} %" if abs(gain) < 10 else f"{gain:.0f} %"


def _removed(verdict: Verdict) -> str:
    """What was taken out of the change before the pairs, which are of what is left."""
    count = len(verdict.chosen) - len(verdict.changes)
    if not count:
        return ""
    were = "One more was" if count == 1 else f"{count} more were"
    return f" {were} removed before these pairs, because they did not help."


def numbers(result: StudyResult) -> Iterator[Number]:
    """What the sentence rests on; of a search that was not confirmed, what is known."""
    claimed = result.verdict.claimed
    yield from _as_written(result.study) if claimed is None else _compared(result, claimed)
    yield from _kept(result)
    runs = _confirming(result.study)
    if runs:
        kinds = Counter(doubt.kind.value for run in runs for doubt in run.doubts)
        doubted = sum(bool(run.doubts) for run in runs)
        why = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        yield Number("doubted runs", f"{doubted} of {len(runs)}", why or "nothing to doubt")


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
    verdict, rate = result.verdict, result.claimed_rate
    befores, afters = zip(*result.pairs, strict=True)

    def medians(of: Callable[[Measurement], float], write: Callable[[float], str]) -> str:
        """Of both sides: `41,457 -> 72,464`."""
        sides = (statistics.median(map(of, befores)), statistics.median(map(of, afters)))
        return " -> ".join(map(write, sides))

    low, high = percent(claimed.low), percent(claimed.high)
    yield Number("gain", percent(claimed.ratio), f"95 % interval {low} to {high}")
    if claimed.by_speed is not None:
        raw, adjusted = claimed.by_speed.raw, claimed.by_speed.adjusted
        both = f"{percent(raw.ratio)}, {percent(adjusted.ratio)}"
        yield Number("raw, adjusted", both, raw_and_adjusted(claimed))
    yield Number("events per second", medians(rate.of, eps), f"medians, {rate.over}")
    yield Number(
        "evidence", f"{claimed.pairs} pairs", f"fresh, exact sign-flip p = {claimed.p:.3f}"
    )
    yield Number("minimum detectable gain", share(claimed.detectable), "80 % power at 5 % error")
    cpu: list[tuple[str, Comparison | None, Callable[[Measurement], float]]] = [
        ("rsyslogd CPU per event", verdict.shipper_cpu, lambda run: run.shipper_cpu_us)
    ]
    if not result.is_sink:
        cpu.append(("engine CPU per event", verdict.engine_cpu, lambda run: run.engine_cpu_paid_us))
    for name, comparison, of in cpu:
        if comparison is not None:
            both = medians(of, lambda each_us: f"{each_us:.1f}")
            yield Number(name, percent(comparison.ratio), f"{both} us, medians")


def _kept(result: StudyResult) -> Iterator[Number]:
    """Freshness and memory beside their limits, and the delivery of all events."""
    guardrails = result.study.header.limits
    fresh = [run.freshness_s for run in result.fresh.values() if run.freshness_s is not None]
    if fresh:
        both = " -> ".join(f"{one.p99:.1f}" for one in fresh)
        limit = f"at a fixed rate; the limit is {guardrails.freshness_p99_s:g} s"
        yield Number("freshness p99", f"{both} s", limit)
    if guardrails.rss_bytes is not None and result.pairs:
        sides = zip(*result.pairs, strict=True)
        most = (mebibytes(max(run.shipper_rss_bytes for run in side)) for side in sides)
        limit = f"at most; the limit is {mebibytes(guardrails.rss_bytes)}"
        yield Number("rsyslogd memory", " -> ".join(most), limit)
    if result.measured:
        failed = len(result.failures)
        lossy = sum(one.kind is FailureKind.DELIVERY for one in result.failures)
        invalid = f"; {failed} trial{'' if failed == 1 else 's'} failed" if failed else ""
        invalid += f", {lossy} of them for lost or doubled events" if lossy else ""
        sent = sum(run.delivery.sent for run in result.measured)
        detail = f"{sent:,} events in {len(result.measured)} trials, each indexed exactly once"
        yield Number("lost or doubled in valid trials", "0", detail + invalid)
