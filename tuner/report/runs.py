"""What one run showed, as blocks: what limited it, what was effective, and runs at a fixed rate;
and the engine's own ceiling, for programs too."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from tuner.measure.bottleneck import Diagnosis
from tuner.measure.ceiling import Ceiling, Combination
from tuner.measure.effective import Effective, QueueUse
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, Percentiles
from tuner.measure.metrics import Result
from tuner.measure.sustain import Bounds, LoadTrial, Overload
from tuner.report.sections import Bullets, Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import counted, eps, mebibytes
from tuner.space.knob import Bottleneck

_LIMITED_BY = {
    Bottleneck.REJECTIONS: "the engine rejected bulks, so waiting and retrying set the rate: send "
    "fewer or smaller bulks at a time, or give the engine a larger write queue",
    Bottleneck.SENDER: "the sender set the rate, rsyslogd and the engine had time to spare: this "
    "does not show what they can carry",
    Bottleneck.NETWORK: "the network between the load hosts and the collector set the rate: events "
    "waited in sockets, and rsyslogd's input for them",
    Bottleneck.MERGES: "the engine throttled indexing until its merges caught up: make fewer, "
    "larger segments, or give merges more threads",
    Bottleneck.DISK: "the disk set the rate: make fewer, larger writes, or use a faster disk",
    Bottleneck.ACTION_CPU: "rsyslogd's action workers set the rate with their own work of building "
    "bulks and reading replies: make an event cheaper for them, or run more of them",
    Bottleneck.MAIN_WORKER: "the workers of rsyslogd's main queue set the rate: one of them parses "
    "and hands over every event",
    Bottleneck.INPUT: "rsyslogd's input set the rate: its threads took events more slowly than the "
    "rest could pass on",
    Bottleneck.ENGINE_CPU: "the engine's CPU set the rate: make an event cheaper to index, or give "
    "the engine more cores",
    Bottleneck.MACHINE_CPU: "the cores of this machine set the rate, shared by all parts: whatever "
    "makes an event cheaper anywhere raises it",
    Bottleneck.ACTION_WAITING: "rsyslogd's action workers waited for the engine, which had CPU to "
    "spare: run more of them, or send larger bulks",
    Bottleneck.UNCLEAR: "no stage shows that it set the rate",
}
_CEILING = TypeAdapter(Ceiling)
_SOURCES = {"histogram": "the engine's own histogram", "sampled": "sampled ten times a second"}


def bottleneck_blocks(verdict: Diagnosis) -> list[PlainBlock]:
    """One sentence, the figures that show it, and the settings that can help."""
    name = verdict.bottleneck
    lines = [f"{stage}: {figures}" for stage, figures in verdict.figures]
    if verdict.knobs:
        lines.append(f"settings that can help: {', '.join(verdict.knobs)}")
    return [Paragraph(f"bottleneck: {name.value}: {_LIMITED_BY[name]}"), *bullets(lines)]


def run_cells(outcome: Result) -> tuple[str, ...]:
    """EPS, sent, indexed, and the CPU time of rsyslogd and of the engine; a failure has no rate."""
    if isinstance(outcome, Failure):
        return ("-", f"{outcome.sent:,}", f"{outcome.indexed:,}", "-", "-")
    error = f" ± {eps(outcome.eps_se)}" if isinstance(outcome, Measurement) else ""
    return (
        f"{eps(outcome.eps)}{error}",
        f"{outcome.delivery.sent:,}",
        f"{outcome.delivery.indexed:,}",
        f"{outcome.shipper_cpu_us:.1f}",
        f"{outcome.engine_cpu_us:.1f}",
    )


def effective_blocks(run: Measurement) -> list[PlainBlock]:
    """The rates with deferred work charged to them, and the bulk requests as they were."""
    # The sink has no segments: there is nothing to refresh, to flush or to merge.
    lines = [_rates(run)] if run.segments else []
    if run.effective is not None:
        lines += _bulk_lines(run.effective)
    return bullets(lines)


def speed_text(runs: Sequence[Measurement]) -> Iterator[str]:
    """One sentence on how fast the machine was, where the probe shows it."""
    speeds = [run.speed for run in runs if run.speed is not None]
    if speeds:
        pieces = (
            f"{statistics.median(one.zlib_us for one in speeds):.0f} us of CPU for zlib",
            f"{statistics.median(one.socket_us for one in speeds):.0f} us for a socket pair",
        )
        low, high = (of(one.zlib_us for one in speeds) for of in (min, max))
        span = f" (zlib from {low:.0f} to {high:.0f} us)" if len(speeds) > 1 else ""
        yield (
            f"machine speed: fixed work beside the runs took {' and '.join(pieces)}{span}; it is "
            "a covariate, which explains noise, and never a score"
        )


def effective_table(used: Effective, name: str) -> Table:
    """What is configured and what really ran: a row for each queue and each kind of thread."""
    rows = [(one.name, _configured(one), _used(one)) for one in used.queues]
    for one in used.threads:
        cost = f"{counted(one.count, 'thread')}, {one.cpu_us:.2f} us CPU per event"
        rows.append((one.name, "", cost))
    return Table(name, ("part", "configured", "effective"), tuple(rows))


def _rates(run: Measurement) -> str:
    parts = [
        f"{eps(run.eps_paid)} EPS including deferred work ({run.deferred_cpu_us:.1f} of the "
        f"engine's {run.engine_cpu_paid_us:.1f} us of CPU per event)",
        f"first event to refreshed and flushed {eps(run.eps_durable)} EPS",
    ]
    if run.eps_merged is not None:
        parts.append(f"to merged as well {eps(run.eps_merged)} EPS")
    if run.store_bytes:
        parts.append(f"{run.store_bytes_per_event:,.0f} bytes on disk per event")
    return ", ".join(parts)


def _bulk_lines(used: Effective) -> Iterator[str]:
    if used.bulks_per_second is not None and used.events_per_bulk is not None:
        size = ""
        if used.bulk is not None and used.bulk.mean_bytes is not None:
            size = f" and {used.bulk.mean_bytes / 1024:,.0f} KiB"
        waited = ""
        if used.bulk_waited_ms is not None:
            waited = f"; rsyslogd waited {used.bulk_waited_ms:,.0f} ms for each"
        yield (
            f"bulk requests: {used.bulks_per_second:,.1f} a second, each of "
            f"{used.events_per_bulk:,.0f} events{size} on average{waited}"
        )
    if bulk := used.bulk:
        yield (
            f"bulk handling: p50 {bulk.p50_ms:,.0f} ms, p95 {bulk.p95_ms:,.0f} ms, "
            f"p99 {bulk.p99_ms:,.0f} ms, at most {bulk.max_ms:,.0f} ms ({_SOURCES[bulk.source]})"
        )


def _configured(queue: QueueUse) -> str:
    workers = counted(queue.workers, "worker")
    return f"{queue.size:,} messages, batch {queue.batch:,}, {workers}"


def _used(queue: QueueUse) -> str:
    ran = f"{counted(queue.running, 'worker')} ran"
    if queue.batch_mean is not None:
        ran += f", batches of {queue.batch_mean:,.0f}"
    if queue.most_held is None or not queue.size:
        return ran
    return f"held at most {queue.most_held:,} ({queue.most_held / queue.size:.0%}), {ran}"


def percentiles_text(fresh: Percentiles) -> str:
    """Percentiles in seconds: `p50 0.61 s, p95 ..., p99 ..., at most ...`."""
    clocks = f", each within {1000 * fresh.error_s:.0f} ms, by two clocks" if fresh.error_s else ""
    return (
        f"p50 {fresh.p50:.2f} s, p95 {fresh.p95:.2f} s, p99 {fresh.p99:.2f} s, "
        f"at most {fresh.max:.2f} s{clocks}"
    )


def freshness_blocks(outcome: PacedMeasurement | Failure, limit_s: float) -> list[PlainBlock]:
    """How long events took from when they were due until a search found them."""
    if isinstance(outcome, Failure):
        return [Paragraph(f"freshness: not measured: {outcome}")]
    rate = f"at {eps(outcome.offered_per_second)} events per second"
    if outcome.freshness_s is None:
        why = "nothing refreshes the index, or the profile has a base, where it is not measured"
        return [Paragraph(f"freshness {rate}: cannot be seen: {why}")]
    kept = "within" if outcome.freshness_s.p99 <= limit_s else "ABOVE"
    return [
        Paragraph(
            f"freshness {rate}: {percentiles_text(outcome.freshness_s)}; p99 is {kept} "
            f"freshness_p99_s, {limit_s:g} s"
        ),
        *bullets([f"doubt: {doubt}" for doubt in outcome.doubts]),
    ]


def sustain_blocks(known: Bounds, trials: Sequence[LoadTrial]) -> list[PlainBlock]:
    """The maximum sustainable rate, why more is not sustainable, and every trial."""
    head = "maximum sustainable rate: "
    head += "not found" if known.lower is None else f"{eps(known.lower)} events per second"
    if known.upper is not None:
        head += f"; {eps(known.upper)} is not sustainable: {_reason(known.upper, trials)}"
    header = ("offered per second", "seconds", "freshness p50", "p99", "carried")
    rows = tuple(_load_row(trial) for trial in trials)
    return [Paragraph(head), Table("Sustainable rate", header, rows)]


def _reason(load: float, trials: Sequence[LoadTrial]) -> str:
    reasons = [t.why_not for t in trials if t.per_second == load and t.why_not is not None]
    return reasons[0] if reasons else "it was not carried"


def _load_row(trial: LoadTrial) -> tuple[str, ...]:
    fresh = trial.outcome.freshness_s if isinstance(trial.outcome, PacedMeasurement) else None
    return (
        eps(trial.per_second),
        f"{trial.lasted_s:g}",
        "-" if fresh is None else f"{fresh.p50:.2f} s",
        "-" if fresh is None else f"{fresh.p99:.2f} s",
        "yes" if trial.why_not is None else f"no: {trial.why_not}",
    )


def overload_blocks(outcome: Overload | Failure) -> list[PlainBlock]:
    """Where the events of an overload went, what it cost, and how long the recovery took."""
    if isinstance(outcome, Failure):
        return [Paragraph(f"overload: {outcome}")]
    plan = outcome.plan
    head = (
        f"overload: {eps(plan.over_per_second)} events per second for {plan.over_s:g} s, "
        f"before and after it {eps(plan.calm_per_second)}"
    )
    return [Paragraph(head), Bullets(tuple(_overload_lines(outcome)))]


def _overload_lines(overload: Overload) -> Iterator[str]:
    run = overload.measurement
    yield (
        f"behind by at most {overload.most_behind:,} events, "
        f"{overload.most_unsent:,} of them not taken from the senders"
    )
    for queue in run.queues:
        room = f" of {queue.size:,}" if queue.size else ""
        lost = f", discarded {queue.discarded:,}" if queue.discarded else ""
        yield f"{queue.name} held at most {queue.most_held:,}{room}{lost}"
    if run.spool_bytes:
        yield f"on disk at most {mebibytes(run.spool_bytes)}"
    yield (
        f"senders blocked for {run.blocked_s:.1f} s, {run.late:,} of {run.sent:,} messages more "
        f"than 50 ms late, by up to {run.max_late_s:.1f} s"
    )
    if run.freshness_s is not None:
        yield f"freshness from the start of the overload: {percentiles_text(run.freshness_s)}"
    yield str(run.delivery)
    if overload.recovered_s is None:
        yield "did not recover while it was watched"
    else:
        yield f"recovered {overload.recovered_s:.1f} s after its end"


def ceiling_json(ceiling: Ceiling, pipeline_eps: float | None) -> dict[str, object]:
    """All of it, and the share that a pipeline of `pipeline_eps` reaches (None when unknown)."""
    fields: dict[str, object] = _CEILING.dump_python(ceiling, mode="json")
    share = None if pipeline_eps is None else pipeline_eps / ceiling.eps
    return {**fields, "pipeline_eps": pipeline_eps, "share": share}


def ceiling_blocks(ceiling: Ceiling, pipeline_eps: float | None) -> list[PlainBlock]:
    """The ceiling, the share of it that a pipeline of `pipeline_eps` reaches, and all combinations
    that were tried."""
    best = ceiling.best
    clients = f"{best.clients} clients send" if best.clients > 1 else "1 client sends"
    head = (
        f"the engine's own ceiling: {eps(ceiling.eps)} ± {eps(ceiling.eps_se)} EPS when {clients} "
        f"bulks of {best.bulk:,} without rsyslog ({ceiling.engine_cpu_us:.1f} us of engine CPU and "
        f"{ceiling.client_cpu_us:.1f} us of client CPU per event), measured again while others "
        f"took {ceiling.others_cpu:.0%} of the cores"
    )
    blocks: list[PlainBlock] = [Paragraph(head)]
    if pipeline_eps is not None:
        blocks.append(Paragraph(_share_text(ceiling, pipeline_eps)))
    header = ("clients", "documents per bulk", "EPS", "engine us/event", "client us/event",
              "cores taken by others", "remarks")  # fmt: skip
    rows = tuple(_combination_row(one) for one in ceiling.combinations)
    blocks.append(Table("Ceiling", header, rows))
    blocks.append(Paragraph(f"{ceiling.documents:,} different documents were sent repeatedly"))
    return blocks


def _share_text(ceiling: Ceiling, pipeline_eps: float) -> str:
    share = pipeline_eps / ceiling.eps
    text = (
        f"the pipeline reaches {share:.0%} of the engine's own ceiling: {eps(pipeline_eps)} of "
        f"{eps(ceiling.eps)} EPS"
    )
    if share <= 1:
        return text
    return f"{text}; it cannot exceed that, so measure both again on a quiet machine"


def _combination_row(one: Combination) -> tuple[str, ...]:
    what = (str(one.clients), f"{one.bulk:,}")
    if one.invalid is not None:
        return (*what, "-", "-", "-", "-", f"invalid: {one.invalid}")
    return (
        *what,
        f"{eps(one.eps)} ± {eps(one.eps_se)}",
        f"{one.engine_cpu_us:.1f}",
        f"{one.client_cpu_us:.1f}",
        f"{one.others_cpu:.0%}",
        "",
    )
