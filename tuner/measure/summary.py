"""From what was observed during a trial to its outcome; pure."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.engine.counters import IndexCounters
from tuner.flood.flood import Progress
from tuner.host.usage import Usage
from tuner.measure.bottleneck import Verdict
from tuner.measure.mark import Mark
from tuner.measure.measurement import (
    Delivery,
    Doubt,
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
)
from tuner.measure.steady import Steadiness, steadiness
from tuner.measure.window import Sample, rate_over
from tuner.profile.backlog import backlog_marks
from tuner.profile.model import Profile
from tuner.profile.units import seconds

_FEW = 20
# Runs of the same settings differed by more than two while others took 36 to 71 % of two cores.
_DISTURBED = 0.2
_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3}


@dataclass(frozen=True)
class Observed:
    """Everything a trial saw: samples of the window, marks at its ends, and the account.

    `complaint` is what rsyslogd said of a request that failed, None when it said nothing.
    """

    samples: tuple[Sample, ...]
    before: Mark
    after: Mark
    final: Progress
    shipper: Usage
    index: IndexCounters
    delivery: Delivery
    drained_at_s: float
    durable_at_s: float
    complaint: str | None = None
    verdict: Verdict | None = None


def summarise(seen: Observed, profile: Profile) -> Outcome:
    """The measurement, or the failure when events are missing or a guardrail is breached."""
    delivery = seen.delivery
    if not delivery.exact:
        return _failure(FailureKind.DELIVERY, str(delivery), delivery)
    if seen.complaint is not None:
        return _failure(FailureKind.RSYSLOGD, f"rsyslogd reported: {seen.complaint}", delivery)
    limit = profile.guardrails.rss_bytes
    if limit is not None and seen.shipper.peak_rss_bytes > size_bytes(limit):
        reason = f"rsyslogd used {seen.shipper.peak_rss_bytes} bytes, rss_bytes allows {limit}"
        return _failure(FailureKind.GUARDRAIL, reason, delivery)
    level = steadiness(seen.samples)
    rate = rate_over(seen.samples[level.cut :])
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
        doubts=_doubts(seen, level, window_s, profile),
        verdict=seen.verdict,
    )


def _failure(kind: FailureKind, reason: str, delivery: Delivery) -> Failure:
    return Failure(kind, reason, delivery.sent, delivery.indexed, delivery=delivery)


def _doubts(
    seen: Observed, level: Steadiness, window_s: float, profile: Profile
) -> tuple[Doubt, ...]:
    doubts = []
    if len(seen.samples) < _FEW:
        doubts.append(Doubt(DoubtKind.FEW_SAMPLES, f"{len(seen.samples)} samples"))
    elif not level.steady:
        figure = f"late/early half {level.halves:.2f}, drift {level.drift:+.0%}"
        doubts.append(Doubt(DoubtKind.UNSTEADY, figure))
    low = backlog_marks(profile).low
    starved = sum(sample.backlog < low for sample in seen.samples) / len(seen.samples)
    if profile.workload.rate == "max" and starved > 0.2:
        doubts.append(Doubt(DoubtKind.SENDER_LIMITED, f"in {starved:.0%} of the samples"))
    interval = seconds(profile.outputs[0].index.settings.refresh_interval)
    if seen.verdict is not None and seen.verdict.others_cpu >= _DISTURBED:
        figure = f"{seen.verdict.others_cpu:.0%} of the cores"
        doubts.append(Doubt(DoubtKind.DISTURBED, figure))
    # An engine that never refreshes, as our sink, puts nothing off.
    if interval is not None and window_s < 2 * interval and seen.index.refreshes > 0:
        figure = f"{window_s:.1f} s, refresh_interval {interval:g} s"
        doubts.append(Doubt(DoubtKind.SHORT_WINDOW, figure))
    return tuple(doubts)


def size_bytes(text: str) -> int:
    """A size such as `2g` in bytes, k, m and g being powers of 1024."""
    return int(text[:-1]) * _SIZES[text[-1]] if text[-1] in _SIZES else int(text)
