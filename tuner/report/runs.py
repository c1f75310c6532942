"""What one run showed, as blocks: what limited it, and what was effective."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from tuner.measure.bottleneck import Diagnosis
from tuner.measure.measurement import Failure, Measurement, Percentiles, Result
from tuner.measure.stages import Effective, QueueUse
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import counted, eps
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
            f"{statistics.median(speed.zlib_us for speed in speeds):.0f} µs of CPU for zlib",
            f"{statistics.median(speed.socket_us for speed in speeds):.0f} µs for a socket pair",
        )
        low, high = (end(speed.zlib_us for speed in speeds) for end in (min, max))
        span = f" (zlib from {low:.0f} to {high:.0f} µs)" if len(speeds) > 1 else ""
        yield (
            f"machine speed: fixed work beside the runs took {' and '.join(pieces)}{span}; it is "
            "a covariate, which explains noise, and never a score"
        )


def effective_table(used: Effective, name: str) -> Table:
    """What is configured and what really ran: a row for each queue and each kind of thread."""
    rows = [(queue.name, _configured(queue), _used(queue)) for queue in used.queues]
    for thread in used.threads:
        cost = f"{counted(thread.count, 'thread')}, {thread.cpu_us:.2f} µs CPU per event"
        rows.append((thread.name, "", cost))
    return Table(name, ("part", "configured", "effective"), tuple(rows))


def _rates(run: Measurement) -> str:
    parts = [
        f"{eps(run.eps_paid)} EPS including deferred work ({run.deferred_cpu_us:.1f} of the "
        f"engine's {run.engine_cpu_paid_us:.1f} µs of CPU per event)",
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
