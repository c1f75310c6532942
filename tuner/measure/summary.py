"""From what was observed during a trial to its outcome; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tuner.engine.counters import IndexCounters, NodeCounters
from tuner.flood.flood import Progress
from tuner.host.usage import Usage
from tuner.measure.measurement import (
    Delivery,
    Doubt,
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
)
from tuner.measure.window import Rate, Sample, rate_over
from tuner.profile.backlog import backlog_marks
from tuner.profile.model import Profile

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}


@dataclass(frozen=True)
class Mark:
    """What had been used at one moment: by rsyslogd, the engine and the sender."""

    shipper: Usage
    engine: NodeCounters
    flood: Progress


@dataclass(frozen=True)
class Observed:
    """Everything a trial saw: samples of the window, marks at its ends, and the account."""

    samples: tuple[Sample, ...]
    before: Mark
    after: Mark
    final: Progress
    shipper: Usage
    index: IndexCounters
    delivery: Delivery
    drained_at_s: float
    durable_at_s: float


def summarise(seen: Observed, profile: Profile) -> Outcome:
    """The measurement, or the failure when events are missing or a guardrail is breached."""
    delivery = seen.delivery
    if not delivery.exact:
        return Failure(FailureKind.DELIVERY, _shortfall(delivery), delivery.sent, delivery.indexed)
    limit = profile.guardrails.rss_bytes
    if limit is not None and seen.shipper.peak_rss_bytes > size_bytes(limit):
        reason = f"rsyslogd used {seen.shipper.peak_rss_bytes} bytes, rss_bytes allows {limit}"
        return Failure(FailureKind.GUARDRAIL, reason, delivery.sent, delivery.indexed)
    rate = rate_over(seen.samples)
    events = max(1, seen.samples[-1].indexed - seen.samples[0].indexed)
    window_s = seen.samples[-1].at_s - seen.samples[0].at_s
    flood_s = max(window_s, 1e-9)
    blocked_s = seen.after.flood.blocked_seconds - seen.before.flood.blocked_seconds
    first = seen.final.first_send_s or seen.samples[0].at_s
    return Measurement(
        eps=rate.per_second,
        eps_se=rate.standard_error,
        eps_durable=delivery.sent / (seen.durable_at_s - first),
        delivery=delivery,
        window_s=window_s,
        drain_s=seen.drained_at_s - (seen.final.last_send_s or seen.drained_at_s),
        total_s=0.0,
        shipper_cpu_us=(seen.after.shipper.cpu_s - seen.before.shipper.cpu_s) * 1e6 / events,
        engine_cpu_us=(seen.after.engine.cpu_ms - seen.before.engine.cpu_ms) * 1e3 / events,
        flood_cpu_us=seen.final.cpu_seconds * 1e6 / max(1, seen.final.sent),
        shipper_rss_bytes=seen.shipper.peak_rss_bytes,
        blocked_share=min(1.0, blocked_s / flood_s),
        rejected=seen.after.engine.rejected - seen.before.engine.rejected,
        segments=seen.index.segments,
        store_bytes=seen.index.store_bytes,
        doubts=_doubts(seen, rate, window_s, profile),
    )


def _shortfall(delivery: Delivery) -> str:
    return (
        f"{delivery.sent} sent, {delivery.indexed} indexed, {delivery.found} found: "
        f"{delivery.lost} lost, {delivery.duplicated} duplicated"
    )


def _doubts(seen: Observed, rate: Rate, window_s: float, profile: Profile) -> tuple[Doubt, ...]:
    doubts = []
    if not 0.9 <= rate.halves <= 1.0 / 0.9:
        doubts.append(Doubt(DoubtKind.UNSTEADY, f"late/early half {rate.halves:.2f}"))
    if len(seen.samples) < 10:
        doubts.append(Doubt(DoubtKind.FEW_SAMPLES, f"{len(seen.samples)} samples"))
    low = backlog_marks(profile).low
    starved = sum(sample.backlog < low for sample in seen.samples) / len(seen.samples)
    if profile.workload.rate == "max" and starved > 0.2:
        doubts.append(Doubt(DoubtKind.SENDER_LIMITED, f"in {starved:.0%} of the samples"))
    interval = duration_s(profile.outputs[0].index.settings.refresh_interval)
    if interval is not None and window_s < 2 * interval:
        figure = f"{window_s:.0f} s, refresh_interval {interval:g} s"
        doubts.append(Doubt(DoubtKind.SHORT_WINDOW, figure))
    return tuple(doubts)


def duration_s(text: str | None) -> float | None:
    """An Elasticsearch duration such as `5s` in seconds; None when unset or -1 (never)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text or "")
    return float(match.group(1)) * _UNITS_S[match.group(2)] if match else None


def size_bytes(text: str) -> int:
    """A size such as `2g` in bytes, k, m and g being powers of 1024."""
    return int(text[:-1]) * _SIZES[text[-1]] if text[-1] in _SIZES else int(text)
