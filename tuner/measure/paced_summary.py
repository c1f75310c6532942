"""From what was observed of an open-loop trial to its outcome; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tuner.flood.schedule import Timeline
from tuner.flood.spec import FloodProgress
from tuner.measure.counters import Window
from tuner.measure.doubts import drained_epoch_s, of_end, of_machine, of_pace
from tuner.measure.effective import Effective
from tuner.measure.measurement import Failure, RunFigures
from tuner.measure.settle import Settled
from tuner.measure.speed import speed_of
from tuner.measure.summary import failure_of
from tuner.measure.window import Poll
from tuner.profile.model import Profile


@dataclass(frozen=True)
class Percentiles:
    """Half, 95 %, 99 % and all of the values are at most so large; each may be wrong by `error_s`
    where two clocks were compared for it."""

    p50: float
    p95: float
    p99: float
    max: float
    error_s: float = 0.0


class Arrivals:
    """Collects when blocks of events were found, in monotonic seconds."""

    def __init__(self) -> None:
        self._found: dict[int, int] = {}
        self._times: list[tuple[int, int, float]] = []

    @property
    def found(self) -> int:
        """Events found so far."""
        return sum(self._found.values())

    def add(self, at_s: float, blocks: Mapping[int, int]) -> None:
        """Note what a search that was over at `at_s` found: events by the first number of their
        block."""
        for first, count in blocks.items():
            new = count - self._found.get(first, 0)
            if new > 0:
                self._times.append((first, new, at_s))
                self._found[first] = count

    def freshness_s(self, intended_s: Mapping[int, float]) -> Percentiles | None:
        """Percentiles over the events of the blocks in `intended_s`, which says when the first of
        each block was due; None when none of them was found."""
        late = [
            (at_s - intended_s[first], count)
            for first, count, at_s in self._times
            if first in intended_s
        ]
        return weighted_percentiles(late)


def weighted_percentiles(values: list[tuple[float, int]]) -> Percentiles | None:
    """Percentiles of values that each stand for so many events: the smallest value that at least
    that share of the events does not exceed.  None without values."""
    if not values:
        return None
    ordered = np.array(sorted(values))
    shares = np.cumsum(ordered[:, 1]) / ordered[:, 1].sum()

    def at(share: float) -> float:
        place = int(np.searchsorted(shares, share - 1e-12))
        return float(ordered[min(place, len(ordered) - 1), 0])

    return Percentiles(at(0.50), at(0.95), at(0.99), float(ordered[-1, 0]))


_TRACE_S = 0.5


@dataclass(frozen=True)
class TracePoint:
    """A point of the trace of an open-loop trial: seconds since its start, and messages due, sent
    and indexed by then."""

    at_s: float
    due: int
    sent: int
    indexed: int

    @property
    def behind(self) -> int:
        """Events that were due and are not indexed, wherever they are."""
        return self.due - self.indexed


@dataclass(frozen=True)
class QueueHigh:
    """The most messages that a queue held, and its room; of a part on disk the room is 0."""

    name: str
    most_held: int
    size: int
    discarded: int


@dataclass(frozen=True, kw_only=True)
class PacedMeasurement(RunFigures):
    """What became of traffic by a schedule.

    `offered_per_second`, `eps` and `growth_per_second` (of events due and not indexed) are means
    over the judged part.  `freshness_s` counts from when an event was due until a search found it,
    None where that cannot be seen.  `blocked_s` is the time in which every socket was full,
    `spool_bytes` the most that disk queues had on disk.
    """

    offered_per_second: float
    growth_per_second: float
    sent: int
    late: int
    max_late_s: float
    pace_kept: bool
    blocked_s: float
    freshness_s: Percentiles | None
    queues: tuple[QueueHigh, ...]
    spool_bytes: int
    effective: Effective
    trace: tuple[TracePoint, ...]

    @property
    def uses_disk(self) -> bool:
        """Whether a disk-assisted queue had to write to disk."""
        return any(queue.name.endswith("[DA]") and queue.most_held > 0 for queue in self.queues)


@dataclass(frozen=True)
class PacedSeen:
    """Everything an open-loop trial saw; `window` is its judged part."""

    samples: Sequence[Poll]
    window: Window
    timeline: Timeline
    final: FloodProgress
    settled: Settled
    effective: Effective
    spool_bytes: int
    freshness_s: Percentiles | None
    others_cpu: float | None


def summarise_paced(observed: PacedSeen, profile: Profile) -> PacedMeasurement | Failure:
    """The measurement, or the failure when events are missing or a guardrail is breached."""
    failure = failure_of(observed.settled, profile)
    if failure is not None:
        return failure
    growth = observed.window.growth
    samples = observed.window.samples
    moments = [_moment(sample, observed.timeline) for sample in samples]
    passed_s = moments[-1].at_s - moments[0].at_s
    events = max(1, moments[-1].indexed - moments[0].indexed)
    kept = observed.final.punctuality
    return PacedMeasurement(
        offered_per_second=(moments[-1].due - moments[0].due) / passed_s,
        eps=events / passed_s,
        growth_per_second=fell_behind(moments),
        sent=observed.final.sent,
        late=kept.late if kept is not None else 0,
        max_late_s=kept.max_late_s if kept is not None else 0.0,
        pace_kept=kept is None or kept.kept,
        blocked_s=observed.final.blocked_seconds,
        freshness_s=observed.freshness_s,
        queues=_queues(observed.settled, observed.effective),
        spool_bytes=observed.spool_bytes,
        delivery=observed.settled.delivery,
        shipper_cpu_us=growth.shipper_cpu_s * 1e6 / events,
        engine_cpu_us=growth.engine_cpu_s * 1e6 / events,
        shipper_rss_bytes=observed.settled.shipper.peak_rss_bytes,
        effective=observed.effective,
        speed=speed_of(growth.probe),
        trace=_thinned([_moment(sample, observed.timeline) for sample in observed.samples]),
        doubts=(
            *of_pace(kept),
            *of_machine(observed.window, observed.others_cpu),
            *of_end(observed.settled, drained_epoch_s(observed.window, observed.settled), profile),
        ),
    )


def fell_behind(moments: Sequence[TracePoint]) -> float:
    """By how many events per second the pipeline fell behind: from the mean of the first third to
    that of the last, because batches make single moments jump."""
    third = max(1, len(moments) // 3)
    early, late = moments[:third], moments[-third:]
    passed_s = float(np.mean([m.at_s for m in late]) - np.mean([m.at_s for m in early]))
    more = float(np.mean([m.behind for m in late]) - np.mean([m.behind for m in early]))
    return more / passed_s if passed_s > 0 else 0.0


def _moment(sample: Poll, timeline: Timeline) -> TracePoint:
    at_s = sample.at_s - timeline.start_s
    return TracePoint(at_s, timeline.schedule.due(at_s), sample.sent, sample.indexed)


def _thinned(moments: Sequence[TracePoint]) -> tuple[TracePoint, ...]:
    """One moment in each half second."""
    kept: dict[int, TracePoint] = {}
    for moment in moments:
        kept.setdefault(int(moment.at_s / _TRACE_S), moment)
    return tuple(kept.values())


def _queues(settled: Settled, used: Effective) -> tuple[QueueHigh, ...]:
    """The high marks as rsyslog counted them; its own messages' queues are left out."""
    sizes = {queue.name: queue.size for queue in used.queues}
    names = [name for queue in used.queues for name in (queue.name, f"{queue.name}[DA]")]
    last = settled.snapshots[-1].queues if settled.snapshots else {}
    return tuple(
        QueueHigh(
            name=name,
            most_held=last[name].maxqsize,
            size=sizes.get(name, 0),
            discarded=last[name].discarded_full + last[name].discarded_nf,
        )
        for name in names
        if name in last
    )
