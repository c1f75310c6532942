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
from tuner.measure.bottleneck import verdict_of
from tuner.measure.counters import Window
from tuner.measure.freshness import Freshness
from tuner.measure.measurement import Failure, PacedMeasurement, StageClock, TracePoint, TrialPart
from tuner.measure.pipeline import Pipeline
from tuner.measure.prepared import PreparedTrial
from tuner.measure.settle import loss_of, settle
from tuner.measure.speed import speed_of
from tuner.measure.stages import effective
from tuner.measure.summary import Observed, end_doubts, failure_of, machine_doubts, pace_doubts
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


def run_paced(prepared: PreparedTrial, pacing: Pacing, tell: Tell) -> PacedMeasurement | Failure:
    """Send to the pipeline of what was prepared by a schedule; failures and errors as in
    `run_trial`."""
    return in_pipeline(prepared, tell, lambda pipe, stages: _followed(pipe, pacing, stages))


def _followed(pipe: Pipeline, pacing: Pacing, stages: StageClock) -> PacedMeasurement | Failure:
    """Send by the schedule and account for every event."""
    judged_s = pacing.judged_to_s - pacing.judged_from_s
    due = pacing.schedule.due(pacing.judged_to_s) - pacing.schedule.due(pacing.judged_from_s)
    freshness, files, spooled = Freshness(pipe, due / judged_s), _spool_files(pipe.profile), [0]

    def look(_samples: Sequence[Poll]) -> None:
        """Note what is searchable and what is on disk."""
        spooled.append(_spool_bytes(pipe.stats.parent, files))
        freshness.look()

    with Flood(pipe.spec, pipe.lab.loads()) as flood:
        watch = Watch(pipe, flood)
        flood.follow(pacing.schedule)
        stages.begin(TrialPart.WARM_UP, "sending")
        lead = watch.follow(pacing.judged_from_s, look)
        stages.begin(TrialPart.WINDOW)
        before = watch.counters()
        judged = watch.follow(judged_s, look)
        after = watch.counters()
        stages.begin(TrialPart.DRAIN)
        tail = watch.follow(pacing.lasts_s - pacing.judged_to_s, look)
        timeline = flood.timeline()
        final = finish(watch)
        if isinstance(final, Failure):
            return final
        if timeline is None:
            raise AssertionError("a flood that follows a schedule has a timeline")
        stages.begin(TrialPart.DRAIN, "waiting until all is searchable")
        freshness.await_all(watch, final)
        settled = settle(watch, final.events)
        if (loss := watch.loss()) is not None:
            return loss_of(loss, settled.delivery)
        stages.begin(TrialPart.SETTLE, at_s=settled.drained_at_s)
    failure = failure_of(settled, pipe.profile)
    if failure is not None:
        return failure
    window = Window(before, after, judged, (), settled.snapshots)
    fresh = freshness.between(judged, timeline, final)
    observed = Observed(window, final, settled, begun_cpu_ms=None, fresh=fresh)
    trace = tuple(_moment(sample, timeline) for sample in (*lead, *judged, *tail))
    return _summarised(observed, pipe, trace, timeline, max(spooled))


def _summarised(
    observed: Observed,
    pipe: Pipeline,
    trace: Sequence[TracePoint],
    timeline: Timeline,
    spool_bytes: int,
) -> PacedMeasurement:
    window, final, settled = observed.window, observed.final, observed.settled
    growth, punctuality = window.growth, final.punctuality
    moments = [_moment(sample, timeline) for sample in window.samples]
    passed_s = moments[-1].at_s - moments[0].at_s
    events = max(1, moments[-1].indexed - moments[0].indexed)
    verdict = verdict_of(window, pipe.lab, pipe.profile, pipe.prepared.knobs)
    return PacedMeasurement(
        offered_per_second=(moments[-1].due - moments[0].due) / passed_s,
        eps=events / passed_s,
        growth_per_second=rise([(moment.at_s, moment.behind) for moment in moments]),
        sent=final.sent,
        late=punctuality.late if punctuality is not None else 0,
        max_late_s=punctuality.max_late_s if punctuality is not None else 0.0,
        pace_kept=punctuality is None or punctuality.kept,
        blocked_s=final.blocked_seconds,
        freshness_s=observed.fresh,
        spool_bytes=spool_bytes,
        delivery=settled.delivery,
        shipper_cpu_us=growth.shipper_cpu_s * 1e6 / events,
        engine_cpu_us=growth.engine_cpu_s * 1e6 / events,
        shipper_rss_bytes=settled.shipper.peak_rss_bytes,
        effective=effective(window, pipe.profile),
        speed=speed_of(growth.probe),
        trace=_thinned(trace),
        doubts=(
            *pace_doubts(punctuality),
            *machine_doubts(window, None if verdict is None else verdict.others_cpu),
            *end_doubts(window, settled, pipe.profile),
        ),
    )


def _spool_files(profile: Profile) -> list[str]:
    """The files of all queues, those of refused documents too, by `queue.filename`."""
    files = [name for queue in queues(profile) for name in file_names(queue)]
    again = (queue for retry in retries(profile) for queue in (retry.queue, retry.again_queue))
    return files + [queue.filename for queue in again if queue.filename is not None]


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
