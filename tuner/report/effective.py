"""What was effective beside what was configured, for people."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.engine.bulk_times import BulkLatency
from tuner.measure.effective import Effective, QueueUse
from tuner.measure.measurement import Measurement
from tuner.report.figures import eps, table

EFFECTIVE_HEADER = ("part", "configured", "effective")
_SOURCES = {"histogram": "the engine's own histogram", "sampled": "sampled ten times a second"}


def effective_text(run: Measurement) -> str:
    """The rates with work put off paid for, and from first event to durable and merged; the bulk
    requests as they were, and a table of what is configured and what really ran."""
    lines = effective_lines(run)
    if run.effective is None:
        return "\n".join(lines)
    rows = table(EFFECTIVE_HEADER, list(effective_rows(run.effective)))
    # A table needs an empty line before it in Markdown, and each line above its own paragraph.
    return "\n\n".join([*lines, rows])


def effective_lines(run: Measurement) -> list[str]:
    """The rates, and the bulk requests as they were."""
    # Our sink has no segments: there is nothing to refresh, to flush or to merge.
    lines = [_rates(run)] if run.segments else []
    return lines if run.effective is None else [*lines, *_bulk_lines(run.effective)]


def _rates(run: Measurement) -> str:
    parts = [
        f"{eps(run.eps_paid)} EPS with the work paid for that was put off past the window "
        f"({run.deferred_cpu_us:.1f} of the engine's {run.engine_cpu_paid_us:.1f} us of CPU per "
        "event)",
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
        yield (
            f"bulk requests: {used.bulks_per_second:,.1f} a second, each of "
            f"{used.events_per_bulk:,.0f} events{size} on average"
        )
    if used.bulk is not None:
        yield f"bulk handling: {_latency(used.bulk)}"


def _latency(bulk: BulkLatency) -> str:
    return (
        f"p50 {bulk.p50_ms:,.0f} ms, p95 {bulk.p95_ms:,.0f} ms, p99 {bulk.p99_ms:,.0f} ms, "
        f"at most {bulk.max_ms:,.0f} ms ({_SOURCES[bulk.source]})"
    )


def effective_rows(used: Effective) -> Iterator[tuple[str, str, str]]:
    """A row for each queue and for each kind of thread, under `EFFECTIVE_HEADER`."""
    for queue in used.queues:
        yield queue.name, _configured(queue), _seen(queue)
    for thread in used.threads:
        each = "1 thread" if thread.count == 1 else f"{thread.count} threads"
        yield thread.name, "", f"{each}, {thread.cpu_us:.2f} us CPU per event"


def _configured(queue: QueueUse) -> str:
    return f"{queue.size:,} messages, batch {queue.batch:,}, {_workers(queue.workers)}"


def _seen(queue: QueueUse) -> str:
    ran = f"{_workers(queue.running)} ran"
    if queue.most_held is None or not queue.size:
        return ran
    return f"held at most {queue.most_held:,} ({queue.most_held / queue.size:.0%}), {ran}"


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"
