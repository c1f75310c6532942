"""Why a measurement should be trusted less than it looks; pure."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.flood.spec import Punctuality
from tuner.measure.bottleneck import REFUSED
from tuner.measure.counters import Window
from tuner.measure.measurement import Doubt, DoubtKind
from tuner.measure.settle import Settled
from tuner.measure.stages import counted_queues
from tuner.measure.window import Steadiness
from tuner.modules.pstats import Snapshot
from tuner.profile.model import Profile
from tuner.profile.placement import backlog_marks
from tuner.schema.units import seconds

DISTURBED = 0.2
"""The share of the machine that others may use.  Runs of the same settings differed by more than
two while others took 36 to 71 % of two cores."""
_FEW = 20
_STOLEN = 0.02
_STARVED = 0.2
_STEP_S = 0.05
# rsyslogd counts messages of its own too, a few at its start and end.
_APART = 0.001
_OWN_MESSAGES = 10


def of_window(window: Window, level: Steadiness, profile: Profile) -> Iterator[Doubt]:
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


def of_machine(window: Window, others_cpu: float | None) -> Iterator[Doubt]:
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


def of_pace(punctuality: Punctuality | None) -> Iterator[Doubt]:
    """Doubts about an open-loop pace."""
    if punctuality is not None and not punctuality.kept:
        late = punctuality.late / max(1, punctuality.offered)
        figure = f"{late:.1%} more than 50 ms late, by up to {punctuality.max_late_s:.1f} s"
        yield Doubt(DoubtKind.PACE_MISSED, figure)


def of_end(window: Window, settled: Settled, profile: Profile) -> Iterator[Doubt]:
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
