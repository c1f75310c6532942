"""One trial on real components: settings in, a measurement or a failure out."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from tuner.engine.account import account
from tuner.engine.client import EngineRefused
from tuner.engine.counters import (
    bulk_bytes_under_way,
    count,
    index_counters,
    indexed,
    make_durable,
)
from tuner.engine.identity import account_in_engine
from tuner.engine.probe import answers
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.flood import Flood, Progress
from tuner.flood.workload import flood_spec
from tuner.host.process import wait_until
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.measure.mark import Mark, take_mark, verdict_between
from tuner.measure.measurement import Delivery, Failure, FailureKind, Outcome, TrialPlan
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.steering import steer
from tuner.measure.summary import Observed, summarise
from tuner.measure.window import Sample
from tuner.profile.backlog import BacklogMarks, backlog_marks
from tuner.profile.model import Profile
from tuner.profile.placement import queues

POLL_S = 0.1
STALL_S = 10.0
SILENCE_S = 3.0
QUIET_S = 3.0
_FINISH_S = 10.0
_END_S = 2.0
_BLAME_S = 1.0

Tell = Callable[[str], None]


class Stalled(JobFailed):
    """Nothing was indexed for `STALL_S` seconds although events were outstanding, or the engine's
    counter could not be followed."""


def run_trial(lab: Lab, profile: Profile, plan: TrialPlan, name: str, tell: Tell) -> Outcome:
    """Measure `profile` in `lab` on a fresh index, under the name `name` (unique in the run).

    Whatever goes wrong with the candidate is a Failure; an engine that is gone raises Unreachable,
    because no further trial can succeed.
    """
    started = time.monotonic()
    lab.check()
    bound = lab.bind(profile, name).profile
    try:
        with pipeline(lab, bound, name) as pipe:
            outcome = _Run(lab, pipe, bound, plan, tell).measure()
    except RsyslogdDied as error:
        outcome = Failure(FailureKind.RSYSLOGD, str(error))
    except EngineRefused as error:
        outcome = Failure(FailureKind.ENGINE, str(error))
    except Unreachable as error:
        if not answers(lab.client, SILENCE_S):
            wait_until(lambda: lab.ending() is not None, _BLAME_S)
            lab.check()
            raise
        outcome = Failure(FailureKind.STALLED, str(error))
    except Refused:
        lab.check()
        raise
    except Stalled as error:
        outcome = Failure(FailureKind.STALLED, str(error))
    except JobFailed as error:
        outcome = Failure(FailureKind.FLOOD, str(error))
    return replace(outcome, total_s=time.monotonic() - started)


@dataclass
class _Run:
    """The course of one trial: warm-up, window, drain, account."""

    lab: Lab
    pipe: Pipeline
    profile: Profile
    plan: TrialPlan
    tell: Tell

    def measure(self) -> Outcome:
        """Flood the pipeline and account for every event."""
        load = self.profile.workload
        spec = flood_spec(load, "127.0.0.1", self.pipe.port, secrets.token_hex(4))
        with Flood(spec) as flood:
            self.tell("warm-up")
            self._watch(flood, self.plan.warm_up_s)
            self.tell("window")
            before = self._mark(flood)
            samples = self._watch(flood, self.plan.window_s)
            after = self._mark(flood)
            self.tell("drain")
            final = flood.finish(_FINISH_S)
            if final.error is not None:
                self._blame(final.error)
            if final.truncated:
                return Failure(FailureKind.FLOOD, "a message was cut short", sent=final.sent)
            return self._account(samples, before, after, final)

    def _watch(self, flood: Flood, duration_s: float) -> tuple[Sample, ...]:
        """Poll and steer for `duration_s` seconds; the samples taken."""
        marks = backlog_marks(self.profile)
        samples: list[Sample] = []
        deadline = time.monotonic() + duration_s
        progress_at = time.monotonic()
        while True:
            sample = self._sample(flood)
            self._require_sound(samples[-1:], sample)
            if not samples or sample.indexed > samples[-1].indexed:
                progress_at = sample.at_s
            samples.append(sample)
            self._require_progress(sample, progress_at)
            if sample.at_s >= deadline:
                return tuple(samples)
            self._steer(flood, samples, marks)
            time.sleep(max(0.0, sample.at_s + POLL_S - time.monotonic()))

    def _steer(self, flood: Flood, samples: list[Sample], marks: BacklogMarks) -> None:
        order = steer(samples, marks)
        rate = self.profile.workload.rate
        flood.steer(order.limit, order.per_second if rate == "max" else float(rate))

    def _sample(self, flood: Flood) -> Sample:
        self.pipe.rsyslogd.check()
        progress = flood.progress()
        if progress.error is not None:
            self._blame(progress.error)
        return Sample(time.monotonic(), self._indexed(), progress.sent)

    def _indexed(self) -> int:
        return indexed(self.lab.client, self.pipe.pattern, SILENCE_S)

    def _blame(self, error: str) -> NoReturn:
        """Say why the flood broke off: rsyslogd died, or else the flood's own error."""
        wait_until(lambda: self.pipe.rsyslogd.ending() is not None, _BLAME_S)
        self.pipe.rsyslogd.check()
        raise JobFailed(error)

    def _mark(self, flood: Flood) -> Mark:
        self.pipe.rsyslogd.check()
        return take_mark(self.lab, self.pipe, flood, SILENCE_S)

    def _require_sound(self, previous: list[Sample], sample: Sample) -> None:
        """A counter that ran backwards, or was out of sight for a while, gives no rate."""
        for before in previous:
            if sample.indexed < before.indexed:
                raise Stalled(
                    f"the engine's counter ran backwards from {before.indexed} to {sample.indexed}"
                )
            if sample.at_s - before.at_s > SILENCE_S:
                passed_s = sample.at_s - before.at_s
                raise Stalled(f"the engine's counter could not be read for {passed_s:.1f} s")

    def _require_progress(self, sample: Sample, progress_at: float) -> None:
        if sample.at_s - progress_at > STALL_S and sample.backlog > 0:
            raise Stalled(
                f"nothing was indexed for {STALL_S:g} s: {sample.indexed} of {sample.sent} arrived"
            )

    def _drain(self, sent: int) -> None:
        """Wait until everything sent is indexed, or no more is to be expected: nothing moves for
        `STALL_S`, or for `QUIET_S` and the engine has no bulk to work on."""
        quiet_s = QUIET_S + self._patience_s()
        arrived, moved_at = self._indexed(), time.monotonic()
        while arrived < sent and (still_s := time.monotonic() - moved_at) < STALL_S:
            if still_s > quiet_s and bulk_bytes_under_way(self.lab.client) == 0:
                return
            time.sleep(POLL_S / 2)
            self.pipe.rsyslogd.check()
            latest = self._indexed()
            if latest != arrived:
                arrived, moved_at = latest, time.monotonic()

    def _patience_s(self) -> float:
        """How long the queues together wait for a batch to fill."""
        resolved = [queue.resolved for queue in queues(self.profile)]
        waiting = [queue for queue in resolved if queue.min_dequeue_batch_size]
        return sum((queue.min_dequeue_batch_size_timeout or 0) for queue in waiting) / 1000

    def _account(
        self, samples: tuple[Sample, ...], before: Mark, after: Mark, final: Progress
    ) -> Outcome:
        client, pattern = self.lab.client, self.pipe.pattern
        self._drain(final.sent)
        drained_at = time.monotonic()
        make_durable(client, pattern)
        durable_at = time.monotonic()
        shipper = self.pipe.rsyslogd.usage()
        # As long as rsyslogd runs it may repeat a batch that is counted already.
        complaint = self.pipe.rsyslogd.finish(_END_S)
        observed = Observed(
            samples=samples,
            before=before,
            after=after,
            final=final,
            shipper=shipper,
            index=index_counters(client, pattern),
            delivery=self._delivery(final.sent),
            drained_at_s=drained_at,
            durable_at_s=durable_at,
            complaint=complaint,
            verdict=verdict_between(self.lab, self.pipe, self.profile, (before, after), samples),
        )
        return summarise(observed, self.profile)

    def _delivery(self, sent: int) -> Delivery:
        """The account of everything that came, once nothing more can come."""
        client, pattern = self.lab.client, self.pipe.pattern
        make_durable(client, pattern)
        arrived, found = self._indexed(), count(client, pattern)
        if self.lab.is_sink:
            book = account(client, pattern, sent)
        else:
            shards = self.profile.outputs[0].index.settings.number_of_shards
            book = account_in_engine(client, pattern, sent, shards)
        return Delivery(
            sent, arrived, found, book.lost, book.duplicated, book.missing, book.doubled
        )
