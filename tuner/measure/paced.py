"""A trial with open-loop traffic, and what becomes of it.

Here queues, disk assistance and freshness show, which saturation does not judge.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tuner.flood.flood import Flood
from tuner.flood.pace import Schedule, Timeline
from tuner.flood.spec import FloodProgress
from tuner.lab.lab import Lab
from tuner.measure.bottleneck import verdict_of
from tuner.measure.counters import Window
from tuner.measure.freshness import Freshness
from tuner.measure.measurement import (
    Failure,
    PacedMeasurement,
    QueueHigh,
    StageClock,
    TracePoint,
    TrialPart,
)
from tuner.measure.pipeline import Pipeline
from tuner.measure.settle import Settled, loss_of, settle
from tuner.measure.speed import speed_of
from tuner.measure.stages import Effective, effective
from tuner.measure.summary import end_doubts, failure_of, machine_doubts, pace_doubts
from tuner.measure.trial import Tell, finish, in_pipeline
from tuner.measure.watch import Watch
from tuner.measure.window import Poll, rise
from tuner.profile.model import Profile
from tuner.profile.placement import file_names, queues
from tuner.render.actions import retries

_TRACE_S = 0.5


@dataclass(frozen=True)
class Pacing:
    """A schedule, how long it is followed, and the part of it that is judged (seconds since its
    start)."""

    schedule: Schedule
    lasts_s: float
    judged_from_s: float
    judged_to_s: float


def run_paced(
    lab: Lab, profile: Profile, pacing: Pacing, name: str, tell: Tell
) -> PacedMeasurement | Failure:
    """Send to the pipeline of `profile` by a schedule; failures and errors as in `run_trial`."""
    return in_pipeline(
        lab, profile, name, tell, lambda pipe, stages: _Paced(pipe, pacing, stages).measure()
    )


class _Paced:
    """The course of one open-loop trial."""

    def __init__(self, pipe: Pipeline, pacing: Pacing, stages: StageClock) -> None:
        self._lab, self._profile = pipe.lab, pipe.profile
        self._pipe, self._pacing, self._stages = pipe, pacing, stages
        judged_s = pacing.judged_to_s - pacing.judged_from_s
        due = pacing.schedule.due(pacing.judged_to_s) - pacing.schedule.due(pacing.judged_from_s)
        self._freshness = Freshness(pipe, due / judged_s)
        self._spooled = 0
        queues_of_retries = [
            queue for retry in retries(pipe.profile) for queue in (retry.queue, retry.again_queue)
        ]
        self._files = [name for queue in queues(pipe.profile) for name in file_names(queue)]
        self._files += [queue.filename for queue in queues_of_retries if queue.filename is not None]

    def measure(self) -> PacedMeasurement | Failure:
        """Send by the schedule and account for every event."""
        with Flood(self._pipe.spec, self._lab.loads()) as flood:
            watch = Watch(self._pipe, flood)
            flood.follow(self._pacing.schedule)
            self._stages.begin(TrialPart.WARM_UP, "sending")
            lead = watch.follow(self._pacing.judged_from_s, self._look)
            self._stages.begin(TrialPart.WINDOW)
            before = watch.counters()
            judged_s = self._pacing.judged_to_s - self._pacing.judged_from_s
            judged = watch.follow(judged_s, self._look)
            after = watch.counters()
            self._stages.begin(TrialPart.DRAIN)
            tail = watch.follow(self._pacing.lasts_s - self._pacing.judged_to_s, self._look)
            timeline = flood.timeline()
            final = finish(watch)
            if isinstance(final, Failure):
                return final
            if timeline is None:
                raise AssertionError("a flood that follows a schedule has a timeline")
            self._stages.begin(TrialPart.DRAIN, "waiting until all is searchable")
            self._freshness.await_all(watch, final)
            settled = settle(watch, final.events)
            if (loss := watch.loss()) is not None:
                return loss_of(loss, settled.delivery)
            self._stages.begin(TrialPart.SETTLE, at_s=settled.drained_at_s)
            window = Window(before, after, judged, (), settled.snapshots)
            return self._summarised((*lead, *judged, *tail), window, timeline, final, settled)

    def _look(self, samples: Sequence[Poll]) -> None:
        """Note what is searchable and what is on disk."""
        self._spooled = max(self._spooled, _spool_bytes(self._pipe.stats.parent, self._files))
        self._freshness.look(samples)

    def _summarised(
        self,
        samples: Sequence[Poll],
        window: Window,
        timeline: Timeline,
        final: FloodProgress,
        settled: Settled,
    ) -> PacedMeasurement | Failure:
        """The measurement, or the failure when events are missing or a guardrail is breached."""
        failure = failure_of(settled, self._profile)
        if failure is not None:
            return failure
        growth, punctuality = window.growth, final.punctuality
        moments = [_moment(sample, timeline) for sample in window.samples]
        passed_s = moments[-1].at_s - moments[0].at_s
        events = max(1, moments[-1].indexed - moments[0].indexed)
        used = effective(window, self._profile)
        verdict = verdict_of(window, self._lab, self._profile)
        return PacedMeasurement(
            offered_per_second=(moments[-1].due - moments[0].due) / passed_s,
            eps=events / passed_s,
            growth_per_second=rise([(moment.at_s, moment.behind) for moment in moments]),
            sent=final.sent,
            late=punctuality.late if punctuality is not None else 0,
            max_late_s=punctuality.max_late_s if punctuality is not None else 0.0,
            pace_kept=punctuality is None or punctuality.kept,
            blocked_s=final.blocked_seconds,
            freshness_s=self._freshness.of(
                timeline, self._pacing.judged_from_s, self._pacing.judged_to_s, final
            ),
            queues=_queues(settled, used),
            spool_bytes=self._spooled,
            delivery=settled.delivery,
            shipper_cpu_us=growth.shipper_cpu_s * 1e6 / events,
            engine_cpu_us=growth.engine_cpu_s * 1e6 / events,
            shipper_rss_bytes=settled.shipper.peak_rss_bytes,
            effective=used,
            speed=speed_of(growth.probe),
            trace=_thinned([_moment(sample, timeline) for sample in samples]),
            doubts=(
                *pace_doubts(punctuality),
                *machine_doubts(window, None if verdict is None else verdict.others_cpu),
                *end_doubts(window, settled, self._profile),
            ),
        )


def _spool_bytes(folder: Path, filenames: Sequence[str]) -> int:
    """Bytes in the files of the queues with these `queue.filename`s; 0 when there are none.

    A queue names its files FILENAME.00000001 and so on, and FILENAME.qi; in the segmented layout
    they are FILENAME.segq/segment-*, FILENAME.segq/state and FILENAME.da-engine.
    """
    # Not disk.usage of impstats: rsyslog counts it for the segmented layout alone, and as an int,
    # which ends at 2 GiB.
    total = 0
    for name in filenames:
        for path in (*folder.glob(f"{name}.*"), *folder.glob(f"{name}.segq/*")):
            with suppress(FileNotFoundError):
                state = path.lstat()
                total += state.st_size if stat.S_ISREG(state.st_mode) else 0
    return total


def _moment(sample: Poll, timeline: Timeline) -> TracePoint:
    at_s = sample.at_s - timeline.start_s
    return TracePoint(at_s, timeline.schedule.due(at_s), sample.sent, sample.indexed)


def _thinned(moments: Sequence[TracePoint]) -> tuple[TracePoint, ...]:
    """One moment in each half second."""
    by_half_second: dict[int, TracePoint] = {}
    for moment in moments:
        by_half_second.setdefault(int(moment.at_s / _TRACE_S), moment)
    return tuple(by_half_second.values())


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
