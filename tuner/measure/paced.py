"""A trial with open-loop traffic, and what becomes of it.

Here queues, disk assistance and freshness show, which saturation does not judge.
"""

from __future__ import annotations

import secrets
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.engine.probe import SILENCE_S
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.schedule import Schedule, Timeline
from tuner.flood.spec import FloodProgress
from tuner.flood.spread import traffic
from tuner.flood.workload import flood_spec
from tuner.lab.lab import Lab
from tuner.measure.bottleneck import verdict_of
from tuner.measure.counters import Window
from tuner.measure.effective import effective
from tuner.measure.measurement import Failure, StageClock, TrialPart
from tuner.measure.paced_summary import (
    Arrivals,
    PacedMeasurement,
    PacedSeen,
    Percentiles,
    summarise_paced,
)
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.settle import settle
from tuner.measure.trial import Tell, failure_of, finish
from tuner.measure.watch import POLL_S, STALL_S, Watch
from tuner.measure.window import Poll
from tuner.profile.model import Profile
from tuner.profile.placement import file_names, queues
from tuner.render.retry import retries

BLOCK_S = 0.1
_REFRESH_GRACE_S = 3.0


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
    lab.check()
    stages = StageClock(tell)
    outcome: PacedMeasurement | Failure
    try:
        with pipeline(lab, profile, name) as pipe, stages.stopping():
            outcome = _Paced(pipe, pacing, stages).measure()
    except (JobFailed, Refused, Unreachable) as error:
        outcome = failure_of(error, lab, name)
    spent = stages.spent()
    return replace(outcome, total_s=spent.total_s, spent=spent)


class _Paced:
    """The course of one open-loop trial."""

    def __init__(self, pipe: Pipeline, pacing: Pacing, stages: StageClock) -> None:
        lab, profile = pipe.lab, pipe.profile
        self._lab, self._profile = lab, profile
        self._pipe = pipe
        self._pacing = pacing
        self._stages = stages
        self._interval_s = lab.engine.refresh_s(profile.measured)
        judged_s = pacing.judged_to_s - pacing.judged_from_s
        due = pacing.schedule.due(pacing.judged_to_s) - pacing.schedule.due(pacing.judged_from_s)
        self._width = max(1, round(BLOCK_S * due / judged_s / max(1, len(lab.loads()))))
        self._arrivals = Arrivals()
        self._refreshes: int | None = None
        self._spooled = 0
        again = [queue for one in retries(profile) for queue in (one.queue, one.again_queue)]
        self._files = [name for queue in queues(profile) for name in file_names(queue)]
        self._files += [queue.filename for queue in again if queue.filename is not None]

    def measure(self) -> PacedMeasurement | Failure:
        """Send by the schedule and account for every event."""
        spec = flood_spec(self._profile, secrets.token_hex(4))
        with traffic(spec, self._lab.loads()) as flood:
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
            rest = watch.follow(self._pacing.lasts_s - self._pacing.judged_to_s, self._look)
            timeline = flood.timeline()
            final = finish(watch)
            if isinstance(final, Failure):
                return final
            if timeline is None:
                raise AssertionError("a flood that follows a schedule has a timeline")
            self._stages.begin(TrialPart.DRAIN, "waiting until all is searchable")
            self._await_found(watch, final)
            settled = settle(watch, final.events)
            self._stages.begin(TrialPart.SETTLE, at_s=settled.drained_at_s)
            window = Window(before, after, judged, (), settled.snapshots)
            verdict = verdict_of(window, self._lab, self._profile)
            observed = PacedSeen(
                samples=(*lead, *judged, *rest),
                window=window,
                timeline=timeline,
                final=final,
                settled=settled,
                effective=effective(window, self._profile),
                spool_bytes=self._spooled,
                freshness_s=self._freshness_s(timeline, final),
                others_cpu=None if verdict is None else verdict.others_cpu,
            )
            return summarise_paced(observed, self._profile)

    @property
    def _shows(self) -> bool:
        """Whether it can be seen what a search finds; of a base, whose events may be no document or
        several, it cannot."""
        tells = self._pipe.expectation is None and self._lab.engine.tells_apart(self._profile)
        return self._interval_s is not None and tells

    def _look(self, _samples: Sequence[Poll]) -> None:
        """Note what is searchable and what is on disk."""
        self._spooled = max(self._spooled, _spool_bytes(self._pipe.stats.parent, self._files))
        if not self._shows:
            return
        engine, pattern = self._lab.engine, self._pipe.pattern
        refreshes = engine.refreshes(pattern, SILENCE_S)
        if refreshes is None or refreshes != self._refreshes:
            self._refreshes = refreshes
            self._arrivals.add(time.monotonic(), engine.searchable(pattern, self._width))

    def _await_found(self, watch: Watch, final: FloodProgress) -> None:
        """Look on until everything is found, or nothing more is to be expected."""
        patience_s = STALL_S + (self._interval_s or 0.0) + _REFRESH_GRACE_S
        moved_at, state, limit = time.monotonic(), (-1, -1), watch.limit()
        while self._shows and self._arrivals.found < final.sent:
            missing = final.sent - self._arrivals.found
            limit.require_time(f"{missing} of {final.sent} events are still not found")
            watch.pipe.rsyslogd.check()
            self._look(())
            latest = (watch.indexed(), self._arrivals.found)
            if latest != state:
                moved_at, state = time.monotonic(), latest
            if time.monotonic() - moved_at > patience_s:
                return
            time.sleep(POLL_S)

    def _freshness_s(self, timeline: Timeline, final: FloodProgress) -> Percentiles | None:
        found = self._arrivals.freshness_s(self._judged_blocks(timeline, final))
        return found and replace(found, error_s=timeline.error_s)

    def _judged_blocks(self, timeline: Timeline, final: FloodProgress) -> dict[int, float]:
        """When the first event of each block of the judged part was due."""
        schedule = self._pacing.schedule
        first = schedule.due(self._pacing.judged_from_s)
        last = min(final.sent, schedule.due(self._pacing.judged_to_s))
        begin = -(-first // self._width) * self._width
        return {number: timeline.intended_s(number) for number in range(begin, last, self._width)}


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
