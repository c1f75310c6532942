"""Open-loop trials for people: freshness, the maximum sustainable rate, an overload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.measure.freshness import Percentiles
from tuner.measure.measurement import Failure
from tuner.measure.overload import Overload
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.sustain import Bounds, LoadTrial
from tuner.report.figures import eps, mebibytes, table


def freshness_text(outcome: PacedMeasurement | Failure, limit_s: float) -> str:
    """How long events took from when they were due until a search found them."""
    if isinstance(outcome, Failure):
        return f"freshness: not measured: {outcome}"
    rate = f"at {eps(outcome.offered_per_second)} events per second"
    if outcome.freshness_s is None:
        return f"freshness {rate}: cannot be seen, because nothing refreshes the index"
    text = f"freshness {rate}: {percentiles_text(outcome.freshness_s)}"
    kept = "within" if outcome.freshness_s.p99 <= limit_s else "ABOVE"
    text += f"; p99 is {kept} freshness_p99_s, {limit_s:g} s"
    return "\n".join([text, *_doubts(outcome)])


def percentiles_text(fresh: Percentiles) -> str:
    """Percentiles in seconds: `p50 0.61 s, p95 ..., p99 ..., at most ...`."""
    return (
        f"p50 {fresh.p50:.2f} s, p95 {fresh.p95:.2f} s, p99 {fresh.p99:.2f} s, "
        f"at most {fresh.max:.2f} s"
    )


def sustain_text(known: Bounds, trials: Sequence[LoadTrial]) -> str:
    """The maximum sustainable rate, why more is too much, and every trial."""
    if known.lower is None:
        head = "maximum sustainable rate: none was found"
    else:
        head = f"maximum sustainable rate: {eps(known.lower)} events per second"
    if known.upper is not None:
        head += f"; {eps(known.upper)} is too much: {_reason(known.upper, trials)}"
    header = ("offered per second", "seconds", "freshness p50", "p99", "carried")
    return f"{head}\n{table(header, [_load_row(trial) for trial in trials])}"


def _reason(load: float, trials: Sequence[LoadTrial]) -> str:
    reasons = [t.why_not for t in trials if t.per_second == load and t.why_not is not None]
    return reasons[0] if reasons else "it was not carried"


def _load_row(trial: LoadTrial) -> tuple[str, ...]:
    fresh = None
    if isinstance(trial.outcome, PacedMeasurement):
        fresh = trial.outcome.freshness_s
    return (
        eps(trial.per_second),
        f"{trial.lasted_s:g}",
        "-" if fresh is None else f"{fresh.p50:.2f} s",
        "-" if fresh is None else f"{fresh.p99:.2f} s",
        "yes" if trial.why_not is None else f"no: {trial.why_not}",
    )


def overload_text(outcome: Overload | Failure) -> str:
    """Where the events of an overload went, what it cost, and how long the recovery took."""
    if isinstance(outcome, Failure):
        return f"overload: {outcome}"
    return "\n".join(_overload_lines(outcome))


def _overload_lines(seen: Overload) -> Iterator[str]:
    plan, run = seen.plan, seen.measurement
    yield (
        f"overload: {eps(plan.over_per_second)} events per second for {plan.over_s:g} s, "
        f"before and after it {eps(plan.calm_per_second)}"
    )
    yield (
        f"  behind by at most {seen.most_behind:,} events, "
        f"{seen.most_unsent:,} of them not taken from the senders"
    )
    for queue in run.queues:
        room = f" of {queue.size:,}" if queue.size else ""
        lost = f", discarded {queue.discarded:,}" if queue.discarded else ""
        yield f"  {queue.name} held at most {queue.most_held:,}{room}{lost}"
    if run.spool_bytes:
        yield f"  on disk at most {mebibytes(run.spool_bytes)}"
    yield (
        f"  senders blocked for {run.blocked_s:.1f} s, {run.late:,} of {run.sent:,} messages more "
        f"than 50 ms late, by up to {run.max_late_s:.1f} s"
    )
    if run.freshness_s is not None:
        yield f"  freshness from the start of the overload: {percentiles_text(run.freshness_s)}"
    yield f"  {run.delivery}"
    if seen.recovered_s is None:
        yield "  not recovered while it was watched"
    else:
        yield f"  recovered {seen.recovered_s:.1f} s after its end"


def _doubts(run: PacedMeasurement) -> list[str]:
    return [f"  doubt: {doubt}" for doubt in run.doubts]
