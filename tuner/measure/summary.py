"""From what was observed during a trial to its outcome, and why that should be trusted less than it
looks; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tuner.flood.spec import FloodProgress, Punctuality
from tuner.host.usage import cores
from tuner.lab.lab import Lab
from tuner.lab.written import WrittenFile
from tuner.measure.bottleneck import REFUSED, Diagnosis, verdict_of
from tuner.measure.counters import Window
from tuner.measure.measurement import (
    DISTURBED,
    Delivery,
    Doubt,
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    Percentiles,
)
from tuner.measure.prepared import PreparedTrial
from tuner.measure.settle import Settled
from tuner.measure.speed import speed_of
from tuner.measure.stages import counted_queues, effective
from tuner.measure.window import Steadiness, rate_over, steadiness
from tuner.modules.pstats import Snapshot
from tuner.profile.model import Profile
from tuner.profile.placement import backlog_marks
from tuner.schema.units import seconds, size_bytes


def core_use(window: Window, lab: Lab) -> tuple[float, float]:
    """How many cores the pipeline used over the window, and nobody used: of this machine or, where
    the engine is on another one, of the processors that it has there."""
    growth = window.growth
    engine = growth.engine_cpu_s / growth.passed_s
    if not lab.is_here:
        return engine, max(0.0, lab.engine.facts.processors - engine)
    sender_cpu_s = 0.0 if growth.load_hosts else growth.sender_cpu_s
    ours = (growth.shipper_cpu_s + growth.receiver_cpu_s + sender_cpu_s) / growth.passed_s
    taken = growth.machine.taken_s(growth.passed_s, cores()) / growth.passed_s
    return engine + ours, max(0.0, cores() - taken)


def paid(eps: float, deferred_us: float, *, used: float, idle: float) -> float:
    """The rate at which the work put off would be done as well: cores that idled do it first, and
    what is left takes its share of those that were used."""
    needed = eps * deferred_us / 1e6
    return eps if needed <= idle else eps * (used + idle) / (used + needed)


_MIB = 1024**2


@dataclass(frozen=True)
class Observed:
    """Everything a trial saw: the window, how the flood ended, and the delivery check.

    `begun_cpu_ms` is the engine's CPU so far when the flood began (None for a sink, which puts
    nothing off), `carried_over` what the engine still did for others at that time, `fresh` how long
    events took until they were found, where that was looked at.
    """

    window: Window
    final: FloodProgress
    settled: Settled
    begun_cpu_ms: int | None
    carried_over: str | None = None
    files: tuple[WrittenFile, ...] = ()
    fresh: Percentiles | None = None


def summarise(observed: Observed, prepared: PreparedTrial) -> Outcome:
    """The measurement of what was prepared, or the failure when events are missing or a guardrail
    is breached."""
    lab, profile = prepared.lab, prepared.profile
    window, settled, final = observed.window, observed.settled, observed.final
    delivery, growth, whole = settled.delivery, window.growth, window.whole
    events = whole[-1].indexed - whole[0].indexed
    verdict = verdict_of(window, lab, profile, prepared.knobs)
    failure = failure_of(settled, profile) or incomplete(observed.files, delivery)
    if failure is None and events == 0:
        failure = Failure.of(FailureKind.STALLED, "nothing was indexed in the window", delivery)
    if failure is not None:
        return replace(failure, verdict=verdict)
    rate = rate_over(whole)
    window_s = whole[-1].at_s - whole[0].at_s
    first = final.first_send_s or whole[0].at_s
    merged_s = None if settled.merged_at_s is None else settled.merged_at_s - first
    engine_cpu_us = growth.engine_cpu_s * 1e6 / events
    deferred_us = 0.0
    if observed.begun_cpu_ms is not None:
        # What an event took in the whole trial, until merges had ended, beyond the window.
        whole_ms = settled.engine_cpu_ms - observed.begun_cpu_ms
        deferred_us = max(0.0, whole_ms * 1e3 / max(1, delivery.sent) - engine_cpu_us)
    used, idle = core_use(window, lab)
    wanted = profile.measured.index.settings.number_of_replicas + 1
    return Measurement(
        eps=rate.per_second,
        eps_se=rate.standard_error,
        eps_paid=paid(rate.per_second, deferred_us, used=used, idle=idle),
        eps_durable=delivery.sent / (settled.durable_at_s - first),
        eps_merged=None if merged_s is None else delivery.sent / merged_s,
        delivery=delivery,
        window_s=window_s,
        drain_s=settled.drained_at_s - (final.last_send_s or settled.drained_at_s),
        shipper_cpu_us=growth.shipper_cpu_s * 1e6 / events,
        engine_cpu_us=engine_cpu_us,
        deferred_cpu_us=deferred_us,
        flood_cpu_us=final.cpu_seconds * 1e6 / max(1, final.sent),
        shipper_rss_bytes=settled.shipper.peak_rss_bytes,
        rejected=growth.rejected,
        segments=settled.index.segments,
        store_bytes=settled.index.store_bytes,
        doubts=tuple(_doubts(observed, verdict, profile)),
        verdict=verdict,
        effective=effective(window, profile),
        files=observed.files,
        speed=speed_of(growth.probe),
        copies=min(wanted, lab.engine.facts.data_nodes),
        fresh_p99_s=None if observed.fresh is None else observed.fresh.p99,
    )


def failure_of(settled: Settled, profile: Profile) -> Failure | None:
    """Why a settled trial does not count as a measurement; None when every event is there once, as
    it was sent, rsyslogd reported no error, and its memory kept within the guardrail.  Of a base,
    whose documents are compared with others of its own, another content is a doubt."""
    delivery, content = settled.delivery, settled.content
    if not delivery.exact:
        return Failure.of(FailureKind.DELIVERY, str(delivery), delivery)
    if content.different and profile.base is None:
        return Failure.of(FailureKind.DELIVERY, str(content), delivery)
    if settled.complaint is not None:
        reason = f"rsyslogd reported: {settled.complaint}"
        return Failure.of(FailureKind.RSYSLOGD, reason, delivery)
    limit, used = profile.guardrails.rss_bytes, settled.shipper.peak_rss_bytes
    if limit is None or used <= size_bytes(limit):
        return None
    reason = f"rsyslogd used {used / _MIB:.0f} MiB of memory, rss_bytes allows {limit}"
    failure = Failure.of(FailureKind.GUARDRAIL, reason, delivery)
    return replace(failure, shipper_rss_bytes=used)


def incomplete(files: Sequence[WrittenFile], delivery: Delivery) -> Failure | None:
    """Why files of outputs are incomplete; None when each event is there once."""
    for file in files:
        if file.events != delivery.sent:
            reason = f"outputs[{file.output}]: {file.events} of {delivery.sent} events in its files"
            return Failure.of(FailureKind.DELIVERY, reason, delivery)
    return None


def _doubts(observed: Observed, verdict: Diagnosis | None, profile: Profile) -> Iterator[Doubt]:
    window, settled = observed.window, observed.settled
    yield from window_doubts(window, steadiness(window.samples), profile)
    yield from pace_doubts(observed.final.punctuality)
    yield from machine_doubts(window, None if verdict is None else verdict.others_cpu)
    yield from end_doubts(window, settled, profile)
    if observed.carried_over is not None:
        yield Doubt(DoubtKind.CARRIED_OVER, observed.carried_over)
    if settled.merged_at_s is None:
        yield Doubt(DoubtKind.UNMERGED, f"{settled.index.segments} segments")


_FEW = 20
_STOLEN = 0.02
_STARVED = 0.2
_STEP_S = 0.05
# rsyslogd counts messages of its own too, a few at its start and end.
_APART = 0.001
_OWN_MESSAGES = 10


def window_doubts(window: Window, level: Steadiness, profile: Profile) -> Iterator[Doubt]:
    """Doubts about the rate over the window, of which `level` says how steady it was."""
    samples = window.samples
    if len(samples) < _FEW:
        yield Doubt(DoubtKind.FEW_SAMPLES, f"{len(samples)} samples")
    elif not level.steady:
        figure = f"late/early half {level.halves:.2f}, drift {level.drift:+.0%}"
        yield Doubt(DoubtKind.UNSTEADY, figure)
    low = backlog_marks(profile).low
    starved = sum(sample.backlog < low for sample in samples) / len(samples)
    growth = window.growth
    fed = growth.sender_blocked_s >= REFUSED * growth.passed_s
    if profile.workload.rate == "max" and starved > _STARVED and not fed:
        yield Doubt(DoubtKind.SENDER_LIMITED, f"in {starved:.0%} of the samples")
    interval = seconds(profile.measured.index.settings.refresh_interval)
    window_s = samples[-1].at_s - samples[0].at_s
    # An engine that never refreshes, as our sink, puts nothing off.
    if interval is not None and window_s < 2 * interval and window.after.refreshes > 0:
        figure = f"{window_s:.1f} s, refresh_interval {interval:g} s"
        yield Doubt(DoubtKind.SHORT_WINDOW, figure)


def machine_doubts(window: Window, others_cpu: float | None) -> Iterator[Doubt]:
    """Doubts about the machine over the window: other work, stolen time, a clock that was set."""
    growth = window.growth
    passed_s = growth.passed_s
    if others_cpu is not None and others_cpu >= DISTURBED:
        yield Doubt(DoubtKind.DISTURBED, f"{others_cpu:.0%} of the cores")
    stolen_s = growth.machine.stolen_s
    if stolen_s > _STOLEN * max(growth.machine.busy_s, passed_s):
        yield Doubt(DoubtKind.DISTURBED, f"the hypervisor took {stolen_s:.1f} core-seconds away")
    step_s = growth.clock_s - passed_s
    if abs(step_s) > _STEP_S:
        yield Doubt(DoubtKind.CLOCK, f"it went {step_s:+.2f} s in {passed_s:.1f} s")


def pace_doubts(punctuality: Punctuality | None) -> Iterator[Doubt]:
    """Doubts about an open-loop pace."""
    if punctuality is not None and not punctuality.kept:
        late = punctuality.late / max(1, punctuality.offered)
        figure = f"{late:.1%} more than 50 ms late, by up to {punctuality.max_late_s:.1f} s"
        yield Doubt(DoubtKind.PACE_MISSED, figure)


def end_doubts(window: Window, settled: Settled, profile: Profile) -> Iterator[Doubt]:
    """Doubts about what followed the last event."""
    # impstats writes seconds since 1970.
    drained_epoch_s = window.after.epoch_s + (settled.drained_at_s - window.after.at_s)
    after = [snapshot for snapshot in settled.snapshots if snapshot.at > drained_epoch_s]
    yield from _counted(after[-1], settled, profile) if after else ()
    if settled.content.different:
        yield Doubt(DoubtKind.CONTENT_DIFFERS, str(settled.content))


def _counted(last: Snapshot, settled: Settled, profile: Profile) -> Iterator[Doubt]:
    """rsyslogd's own counters, read after all was delivered, against what was sent and what should
    come of that."""
    sent, documents = settled.delivery.sent, settled.documents
    if documents is not None:
        submitted = last.omelasticsearch.submitted
        yield from _apart("omelasticsearch submitted", submitted, documents, sent)
    entry = counted_queues(profile)[0]
    taken = [last.queues[name].enqueued for name in entry.names if name in last.queues]
    if taken:
        counter = "the lanes together" if entry.placed.copies > 1 else entry.placed.label
        yield from _apart(f"{counter} took", sum(taken), sent, sent)


def _apart(counter: str, counted: int, expected: int, sent: int) -> Iterator[Doubt]:
    if abs(counted - expected) > max(_OWN_MESSAGES, _APART * expected):
        times = f" (for {expected // sent} outputs)" if expected > sent else ""
        yield Doubt(DoubtKind.COUNTERS_DISAGREE, f"{counter} {counted:,}, sent {sent:,}{times}")
