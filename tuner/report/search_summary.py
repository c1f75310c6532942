"""The first screen of a search's report: what a manager reads, and the numbers an expert checks."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tuner.measure.measurement import Failure, FailureKind, Measurement
from tuner.measure.paired import Comparison
from tuner.report.figures import eps, mebibytes, percent
from tuner.report.plot_freshness import fixed_rate
from tuner.report.rates import STEADY, claimed_rate
from tuner.report.search_course import is_sink
from tuner.search.pairs import pairs_of
from tuner.search.shrink import RULED_OUT
from tuner.search.study import BASELINE, Phase, Study
from tuner.search.verdict import Claim, Verdict


@dataclass(frozen=True)
class Number:
    """A number of the first screen: what it is of, the number, and what qualifies it."""

    name: str
    value: str
    detail: str


def sentence(study: Study, verdict: Verdict) -> str:
    """The verdict in one sentence for somebody who will not read on."""
    found = verdict.claimed
    if verdict.claim is Claim.IMPROVED and found is not None:
        count = len(verdict.confirmed)
        changes = "1 changed setting lets" if count == 1 else f"{count} changed settings let"
        what = "rsyslog, indexing into a sink," if is_sink(study) else "this pipeline"
        return (
            f"{changes} {what} carry {_gain(found.ratio)} more events per second (between "
            f"{_gain(found.low)} and {_gain(found.high)}, with 95 % confidence), and no event was "
            f"lost.{_undone(verdict)}"
        )
    if verdict.claim is Claim.NOT_SHOWN:
        slower = found is not None and found.high < 1
        what = "was slower" if slower else "was not shown to be faster"
        return (
            f"No improvement was shown: the best that was found {what} in fresh pairs with the "
            "profile as written, which stays as it is."
        )
    claim = verdict.claim.value
    return f"{claim[0].upper()}{claim[1:]}. {verdict.failure}".strip().removesuffix(".") + "."


def _undone(verdict: Verdict) -> str:
    """The pairs were of all the changes: what is recommended may be fewer."""
    count = len(verdict.confirmed) - len(verdict.changes)
    if not count:
        return ""
    were = "One of them was" if count == 1 else f"{count} of them were"
    less = f"less than {RULED_OUT * 100:.0f} %"
    return f" {were} undone afterwards, in steps shown to cost {less} each."


def numbers(study: Study, verdict: Verdict) -> list[Number]:
    """What the sentence rests on; of a search that was not confirmed, what is known."""
    found = verdict.claimed
    told = _as_written(study) if found is None else _compared(study, verdict, found)
    kept = [*_freshness(study, verdict), *_memory(study), *_delivery(study)]
    return [*told, *kept, *_doubts(study)]


def _as_written(study: Study) -> Iterator[Number]:
    runs = [
        STEADY.of(trial.measurement)
        for trial in study.of(Phase.CALIBRATE)
        if trial.measurement is not None and trial.changes == BASELINE
    ]
    if runs:
        count = "1 run" if len(runs) == 1 else f"median of {len(runs)} runs"
        yield Number("as written", f"{eps(statistics.median(runs))} EPS", f"{count} {STEADY.over}")


def _compared(study: Study, verdict: Verdict, found: Comparison) -> Iterator[Number]:
    rate = claimed_rate(verdict)
    low, high = percent(found.low), percent(found.high)
    yield Number("gain", percent(found.ratio), f"95 % interval {low} to {high}")
    yield Number("events per second", _both(study, rate.of, eps), f"medians, {rate.over}")
    yield Number("evidence", f"{found.pairs} pairs", f"fresh, exact sign-flip p = {found.p:.3f}")
    yield Number(
        "smallest gain they show", f"{found.detectable * 100:.1f} %", "80 % power at 5 % error"
    )
    named: list[tuple[str, Comparison | None, Callable[[Measurement], float]]] = [
        ("rsyslogd CPU per event", verdict.shipper_cpu, lambda run: run.shipper_cpu_us)
    ]
    if not is_sink(study):
        named.append(
            ("engine CPU per event", verdict.engine_cpu, lambda run: run.engine_cpu_paid_us)
        )
    for name, compared, of in named:
        if compared is not None:
            both = _both(study, of, lambda value: f"{value:.1f}")
            yield Number(name, percent(compared.ratio), f"{both} us, medians")


def _both(study: Study, of: Callable[[Measurement], float], write: Callable[[float], str]) -> str:
    """The medians of both sides of the pairs: `41,457 -> 72,464`."""
    before, after = zip(*pairs_of(study.trials), strict=True)
    return f"{write(_median(before, of))} -> {write(_median(after, of))}"


def _median(runs: tuple[Measurement, ...], of: Callable[[Measurement], float]) -> float:
    return statistics.median(of(run) for run in runs)


def _freshness(study: Study, verdict: Verdict) -> Iterator[Number]:
    sides = [run.freshness_s for run in fixed_rate(study, verdict).values()]
    values = [f"{found.p99:.1f}" for found in sides if found is not None]
    if values:
        limit_s = study.header.limits.freshness_p99_s
        both = " -> ".join(values)
        yield Number("freshness p99", f"{both} s", f"at a fixed rate; the limit is {limit_s:g} s")


def _memory(study: Study) -> Iterator[Number]:
    """The most that either side of the pairs used, where a guardrail limits it."""
    limit, pairs = study.header.limits.rss_bytes, pairs_of(study.trials)
    if limit is not None and pairs:
        most = (max(run.shipper_rss_bytes for run in side) for side in zip(*pairs, strict=True))
        both = " -> ".join(map(mebibytes, most))
        yield Number("rsyslogd memory", both, f"at most; the limit is {mebibytes(limit)}")


def _delivery(study: Study) -> Iterator[Number]:
    runs = [trial.measurement for trial in study.trials if trial.measurement is not None]
    failures = [trial.outcome for trial in study.trials if isinstance(trial.outcome, Failure)]
    lossy = sum(failure.kind is FailureKind.DELIVERY for failure in failures)
    if runs:
        sent = sum(run.delivery.sent for run in runs)
        invalid = f"; without a number: {len(failures)} that failed" if failures else ""
        invalid += f", {lossy} of them for lost or doubled events" if lossy else ""
        detail = f"{sent:,} events in {len(runs)} trials, each indexed exactly once{invalid}"
        yield Number("lost or doubled in valid trials", "0", detail)


def _doubts(study: Study) -> Iterator[Number]:
    """Doubts about the runs that a claim rests on."""
    runs = [trial.measurement for trial in study.of(Phase.CONFIRM)]
    measured = [run for run in runs if run is not None]
    kinds = Counter(doubt.kind.value for run in measured for doubt in run.doubts)
    if measured:
        doubted = sum(bool(run.doubts) for run in measured)
        why = ", ".join(f"{name} {count}" for name, count in sorted(kinds.items()))
        yield Number("doubted runs", f"{doubted} of {len(measured)}", why or "nothing to doubt")


def _gain(ratio: float) -> str:
    change = (ratio - 1) * 100
    return f"{change:.1f} %" if abs(change) < 10 else f"{change:.0f} %"
