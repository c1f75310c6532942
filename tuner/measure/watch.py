"""Follows one flood through its pipeline, and steers it so that the backlog stays in bounds: events
are counted by the documents that the engine has indexed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, NoReturn

import numpy as np

from tuner.engine.delivery import Expectation
from tuner.engine.numbering import SentEvents
from tuner.engine.status import SILENCE_S, answers, indexed, refreshing, unfinished
from tuner.errors import JobFailed
from tuner.flood.flood import Flood
from tuner.host.process import wait_until
from tuner.measure.counters import Counters, counters_now
from tuner.measure.pipeline import Pipeline
from tuner.measure.window import Poll, slope
from tuner.profile.model import Profile
from tuner.profile.placement import BacklogMarks, queues

POLL_S = 0.1
STALL_S = 10.0
QUIET_S = 3.0
DRAIN_S = 60.0
_BLAME_S = 1.0


class Stalled(JobFailed):
    """Nothing was indexed for `Watch.stall_s` seconds although events were outstanding, or the
    engine's counter could not be followed."""


class NodeLost(JobFailed):
    """A node of an engine of ours ended during a run; the others answer."""


@dataclass(frozen=True)
class DrainLimit:
    """What follows a flood gets `lasts_s` seconds: as long as that took, and `DRAIN_S` more.  Who
    needs longer to empty the queues did not carry half of what was offered."""

    lasts_s: float
    since_s: float = field(default_factory=time.monotonic)

    def require_time(self, missing: str) -> None:
        """Raise Stalled when the time is up, with what is `missing`."""
        if time.monotonic() - self.since_s > self.lasts_s:
            raise Stalled(f"{missing} {self.lasts_s:.0f} s after the flood")


@dataclass(frozen=True)
class Watch:
    """One flood on its way through `pipe`."""

    pipe: Pipeline
    flood: Flood
    began_s: float = field(default_factory=time.monotonic)

    def follow(
        self,
        duration_s: float,
        after_poll: Callable[[Sequence[Poll]], None],
        enough: Callable[[Sequence[Poll]], bool] = lambda _: False,
    ) -> tuple[Poll, ...]:
        """Poll for `duration_s` seconds, or until what was seen is `enough`, and give all samples
        so far to `after_poll` after every poll but the last; the samples.

        Raises Stalled, RsyslogdDied, or JobFailed for the flood.
        """
        samples: list[Poll] = []
        deadline = time.monotonic() + duration_s
        progress_at = time.monotonic()
        while True:
            sample = self.sample()
            if samples:
                _require_sound(samples[-1], sample)
            if not samples or sample.indexed > samples[-1].indexed:
                progress_at = sample.at_s
            samples.append(sample)
            self._require_progress(sample, progress_at)
            if sample.at_s >= deadline or enough(samples):
                return tuple(samples)
            after_poll(samples)
            time.sleep(max(0.0, sample.at_s + POLL_S - time.monotonic()))

    def refresh(self, after_poll: Callable[[Sequence[Poll]], None]) -> tuple[Poll, ...]:
        """Have the engine make segments of what it holds, while events go on coming; the samples
        until it has."""
        with refreshing(self.pipe.client, self.pipe.pattern) as ended:
            return self.follow(math.inf, after_poll, lambda _: ended())

    def sample(self) -> Poll:
        """What was sent and indexed at this moment."""
        self.pipe.rsyslogd.check()
        if (loss := self.loss()) is not None:
            raise NodeLost(loss)
        progress = self.flood.progress()
        if progress.error is not None:
            self.blame(progress.error)
        asked_s = time.monotonic()
        indexed = self.indexed()
        took_s = time.monotonic() - asked_s
        _require_seen(took_s)
        return Poll(asked_s + took_s / 2, indexed, progress.sent)

    def indexed(self) -> int:
        """How many events the engine has indexed so far: as many as give so many documents."""
        return self._expected.events(self.delivered(), self.flood.progress().events)

    @cached_property
    def _expected(self) -> ExpectedDocuments:
        return ExpectedDocuments(self.pipe.expectation, self.pipe.prepared.learnt.unsure)

    def delivered(self) -> int:
        """All documents that the engine has indexed so far."""
        return indexed(self.pipe.client, self.pipe.pattern, SILENCE_S)

    def counters(self) -> Counters:
        """What everything counted up to now."""
        self.pipe.rsyslogd.check()
        return counters_now(self.pipe, self.flood, SILENCE_S)

    def loss(self) -> str | None:
        """How a node of an engine of ours ended of which another one answers, else None."""
        loss = self.pipe.lab.loss()
        return loss if loss is not None and answers(self.pipe.client) else None

    def blame(self, error: str) -> NoReturn:
        """Say why the flood broke off: rsyslogd died, or else the flood's own error."""
        wait_until(lambda: self.pipe.rsyslogd.ending() is not None, _BLAME_S)
        self.pipe.rsyslogd.check()
        raise JobFailed(error)

    def limit(self) -> DrainLimit:
        """The limit on what may follow the flood from now on."""
        return DrainLimit(time.monotonic() - self.began_s + DRAIN_S)

    def drain(self, events: SentEvents) -> float:
        """Wait until everything sent is indexed, or no more is to be expected: nothing moves for
        `stall_s`, or for `QUIET_S` and the engine has no bulk to work on.  Where it is not known of
        each event what it gives, only that tells.  Gives when the last came (monotonic seconds)."""
        expectation = self.pipe.expectation
        sent, is_sure = expectation.documents(events), expectation.is_sure
        quiet_s, limit = QUIET_S + _patience_s(self.pipe.profile), self.limit()
        arrived, moved_at, has_moved = self.delivered(), time.monotonic(), True
        while (arrived < sent or not is_sure) and (
            still_s := time.monotonic() - moved_at
        ) < self.stall_s:
            if still_s > quiet_s and unfinished(self.pipe.client).bulk_bytes == 0:
                break
            missing = f"{sent - arrived} of {sent} documents are still not indexed"
            if is_sure or has_moved:
                limit.require_time(missing if is_sure else "documents still arrive")
            time.sleep(POLL_S / 2)
            self.pipe.rsyslogd.check()
            latest = self.delivered()
            if has_moved := latest != arrived:
                arrived, moved_at = latest, time.monotonic()
        return moved_at

    @cached_property
    def stall_s(self) -> float:
        """How long nothing may be indexed although events are outstanding: queues may wait for a
        batch to fill."""
        return STALL_S + _patience_s(self.pipe.profile)

    def _require_progress(self, sample: Poll, progress_at: float) -> None:
        if sample.at_s - progress_at > self.stall_s and sample.backlog > 0:
            raise Stalled(
                f"nothing was indexed for {self.stall_s:g} s: {sample.indexed} of {sample.sent} "
                "arrived"
            )


def _require_sound(before: Poll, sample: Poll) -> None:
    """A counter that ran backwards, or was out of sight for a while, gives no rate."""
    if sample.indexed < before.indexed:
        raise Stalled(
            f"the engine's counter ran backwards from {before.indexed} to {sample.indexed}"
        )
    _require_seen(sample.at_s - before.at_s)


def _require_seen(passed_s: float) -> None:
    if passed_s > SILENCE_S:
        raise Stalled(f"the engine's counter could not be read for {passed_s:.1f} s")


def _patience_s(profile: Profile) -> float:
    """How long the queues together wait for a batch to fill."""
    resolved = [queue.resolved for queue in queues(profile)]
    waiting = [queue for queue in resolved if queue.min_dequeue_batch_size]
    return sum((queue.min_dequeue_batch_size_timeout or 0) for queue in waiting) / 1000


_CORRECTION_S = 0.4
_RATE_SPAN_S = 1.5
_DRAINS_S = 20.0


class Steering(NamedTuple):
    """What the sender may do: a total of messages, and messages per second (None: no limit)."""

    limit: int
    per_second: float | None


def saturate(flood: Flood, marks: BacklogMarks) -> Callable[[Sequence[Poll]], None]:
    """What to do after each poll of a flood that shall go as fast as the pipeline takes it."""
    return lambda samples: flood.steer(*steer(samples, marks))


def steer(samples: Sequence[Poll], marks: BacklogMarks) -> Steering:
    """Follow the observed rate and pull the backlog towards three quarters of the way up.

    The limit is hard: whatever the rate, no more than the high mark is ever outstanding, nor above
    the low one what takes longer than `_DRAINS_S` to index: a slow pipeline must come to its end.
    """
    latest = samples[-1]
    recent = [sample for sample in samples if latest.at_s - sample.at_s <= _RATE_SPAN_S]
    observed = max(0.0, slope(recent))
    room = min(marks.high - marks.low, int(observed * _DRAINS_S))
    limit = latest.indexed + marks.low + room
    if observed == 0:
        return Steering(limit, None)
    target = marks.low + 0.75 * room
    correction = (target - latest.backlog) / _CORRECTION_S
    return Steering(limit, max(0.1 * observed, observed + correction))


class ExpectedDocuments:
    """The documents of a pool up to each of its messages; where nothing is expected, what such
    messages of that output gave in the mean (`unsure`)."""

    def __init__(self, expectation: Expectation, unsure: Sequence[float]) -> None:
        pool = np.array(expectation.outputs, dtype=np.float64)
        for output, mean in zip(pool, unsure, strict=True):
            output[output < 0] = mean
        self._running = pool.sum(axis=0).cumsum()

    def events(self, documents: int, sent: SentEvents) -> int:
        """How many of the events that were sent are behind so many documents, which come in the
        order of the events, alike from each sender.

        Events without a document count as soon as they are sent and those before them are there.
        """
        share_of_sender, odd = divmod(documents, len(sent.counts))
        shares = (share_of_sender + (sender < odd) for sender in range(len(sent.counts)))
        return sum(
            min(self._reached(share), max(self._reached(share - 1) + 1, count))
            for share, count in zip(shares, sent.counts, strict=True)
        )

    def _reached(self, documents: int) -> int:
        """The most events of one sender that give no more than so many documents."""
        pools, remainder = divmod(documents, self._running[-1])
        within = int(np.searchsorted(self._running, remainder, side="right"))
        return int(pools) * len(self._running) + within
