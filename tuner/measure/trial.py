"""One trial on real components: settings in, a measurement or a failure out."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from tuner.engine.account import account
from tuner.engine.client import EngineRefused
from tuner.engine.counters import count, index_counters, indexed, make_durable, node_counters
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.flood import Flood, Progress
from tuner.flood.workload import flood_spec
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.measure.measurement import Delivery, Failure, FailureKind, Outcome, TrialPlan
from tuner.measure.pipeline import Pipeline, pipeline
from tuner.measure.steering import steer
from tuner.measure.summary import Mark, Observed, summarise
from tuner.measure.window import Sample
from tuner.profile.backlog import BacklogMarks, backlog_marks
from tuner.profile.model import Profile

POLL_S = 0.1
STALL_S = 10.0
_FINISH_S = 10.0

Tell = Callable[[str], None]


class Stalled(JobFailed):
    """Nothing was indexed for `STALL_S` seconds although events were outstanding."""


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
    except (Unreachable, Refused):
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
            if final.error is not None or final.truncated:
                return Failure(FailureKind.FLOOD, final.error or "a message was cut short",
                               sent=final.sent)  # fmt: skip
            return self._account(samples, before, after, final)

    def _watch(self, flood: Flood, duration_s: float) -> tuple[Sample, ...]:
        """Poll and steer for `duration_s` seconds; the samples taken."""
        marks = backlog_marks(self.profile)
        samples: list[Sample] = []
        deadline = time.monotonic() + duration_s
        progress_at = time.monotonic()
        while True:
            sample = self._sample(flood)
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
            raise JobFailed(progress.error)
        return Sample(time.monotonic(), indexed(self.lab.client, self.pipe.pattern), progress.sent)

    def _mark(self, flood: Flood) -> Mark:
        engine = node_counters(self.lab.client)
        return Mark(self.pipe.rsyslogd.usage(), engine, flood.progress())

    def _require_progress(self, sample: Sample, progress_at: float) -> None:
        if sample.at_s - progress_at > STALL_S and sample.backlog > 0:
            raise Stalled(
                f"nothing was indexed for {STALL_S:g} s: {sample.indexed} of {sample.sent} arrived"
            )

    def _drain(self, sent: int) -> int:
        """Wait until everything sent is indexed, or nothing moves for `STALL_S`; the count."""
        arrived = indexed(self.lab.client, self.pipe.pattern)
        moved_at = time.monotonic()
        while arrived < sent and time.monotonic() - moved_at < STALL_S:
            time.sleep(POLL_S / 2)
            self.pipe.rsyslogd.check()
            latest = indexed(self.lab.client, self.pipe.pattern)
            if latest != arrived:
                arrived, moved_at = latest, time.monotonic()
        return arrived

    def _account(
        self, samples: tuple[Sample, ...], before: Mark, after: Mark, final: Progress
    ) -> Outcome:
        client, pattern = self.lab.client, self.pipe.pattern
        arrived = self._drain(final.sent)
        drained_at = time.monotonic()
        make_durable(client, pattern)
        durable_at = time.monotonic()
        found = count(client, pattern)
        lost, doubled = max(0, final.sent - found), max(0, found - final.sent)
        if self.lab.is_sink:
            book = account(client, pattern, final.sent)
            lost, doubled = book.lost, book.duplicated
        observed = Observed(
            samples=samples,
            before=before,
            after=after,
            final=final,
            shipper=self.pipe.rsyslogd.usage(),
            index=index_counters(client, pattern),
            delivery=Delivery(final.sent, arrived, found, lost, doubled),
            drained_at_s=drained_at,
            durable_at_s=durable_at,
        )
        return summarise(observed, self.profile)
