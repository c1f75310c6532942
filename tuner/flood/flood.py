"""The handle of a flood: starts its sender, steers it, and ends it; or those of one from several
machines, each with a sender of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Self

from tuner.engine.numbering import event_of
from tuner.errors import BadUsage, JobFailed, NotListening
from tuner.flood.pace import Runs, Schedule, Timeline, share
from tuner.flood.spec import (
    FloodProgress,
    FloodSpec,
    Order,
    Punctuality,
    SenderStatus,
    line_of,
    status_of,
)
from tuner.host.process import Child, wait_until
from tuner.lab.loads import (
    ClockOffset,
    LoadCounts,
    LoadHost,
    MachineCounts,
    SenderProcess,
    counts_of,
)

START_TIMEOUT_S = 60.0
_IDLE_POLL_S = 0.01


def shared(total: int, senders: int) -> tuple[int, ...]:
    """Splits a total into shares that differ by at most one."""
    return tuple(share(total, sender, senders) for sender in range(senders))


def parts_of(spec: FloodSpec, senders: int) -> tuple[FloodSpec, ...]:
    """The floods of that many senders, which together are `spec`."""
    connections = shared(max(spec.connections, senders), senders)
    counts = (None,) * senders if spec.count is None else shared(spec.count, senders)
    parts = enumerate(zip(connections, counts, strict=True))
    return tuple(
        replace(spec, connections=several, count=count, sender=sender, senders=senders)
        for sender, (several, count) in parts
    )


def runs_of(runs: Runs, senders: int) -> tuple[Runs, ...]:
    """The runs of each; raises BadUsage where there is not a message for each."""
    if runs.messages < senders:
        raise BadUsage(f"runs of {runs.messages} messages are too short for {senders} load hosts")
    return tuple(replace(runs, messages=messages) for messages in shared(runs.messages, senders))


def granted(before: Sequence[int], sent: Sequence[int], limit: int) -> tuple[int, ...]:
    """How much each sender may send in total, where all together may send `limit`.

    What was granted `before` may be sent already, so it stands.  What there is beyond goes to those
    that have the least left: a slow sender keeps no others from sending.
    """
    unsent = [may - did for may, did in zip(before, sent, strict=True)]
    more = limit - sum(before)
    if more <= 0:
        return tuple(before)
    # The level to which what is left of the lowest is filled.
    order = sorted(unsent)
    for several in range(len(order), 0, -1):
        level, odd = divmod(more + sum(order[:several]), several)
        if level >= order[several - 1]:
            break
    new = []
    for may, has in zip(before, unsent, strict=True):
        is_odd = has <= level and odd > 0
        new.append(may + max(0, level - has) + is_odd)
        odd -= is_odd
    return tuple(new)


def on_our_clock(progress: FloodProgress, clock: ClockOffset) -> FloodProgress:
    """The progress of a sender whose clock stands so to ours."""

    def ours(at_s: float | None) -> float | None:
        return None if at_s is None else at_s + clock.offset_s

    punctuality = progress.punctuality
    return replace(
        progress,
        first_send_s=ours(progress.first_send_s),
        last_send_s=ours(progress.last_send_s),
        at_s=progress.at_s + clock.offset_s,
        punctuality=punctuality
        and replace(punctuality, start_s=punctuality.start_s + clock.offset_s),
    )


def merged(progresses: Sequence[FloodProgress]) -> FloodProgress:
    """How far all senders have come together, by one clock; they are blocked as much as they are in
    the mean."""
    firsts = [progress.first_send_s for progress in progresses if progress.first_send_s is not None]
    lasts = [progress.last_send_s for progress in progresses if progress.last_send_s is not None]
    return FloodProgress(
        sent=sum(progress.sent for progress in progresses),
        cpu_seconds=sum(progress.cpu_seconds for progress in progresses),
        blocked_seconds=sum(progress.blocked_seconds for progress in progresses) / len(progresses),
        first_send_s=min(firsts, default=None),
        last_send_s=max(lasts, default=None),
        truncated=any(progress.truncated for progress in progresses),
        error=next((progress.error for progress in progresses if progress.error is not None), None),
        at_s=min(progress.at_s for progress in progresses),
        punctuality=_merged(
            [progress.punctuality for progress in progresses if progress.punctuality is not None]
        ),
        counts=tuple(progress.sent for progress in progresses),
    )


def _merged(senders: Sequence[Punctuality]) -> Punctuality | None:
    if not senders:
        return None
    return Punctuality(
        offered=sum(sender.offered for sender in senders),
        late=sum(sender.late for sender in senders),
        max_late_s=max(sender.max_late_s for sender in senders),
        first=sum(sender.first for sender in senders),
        start_s=min(sender.start_s for sender in senders),
    )


@dataclass(frozen=True)
class SpreadTimeline(Timeline):
    """When the messages of several senders were due, each of which has a part of the schedule."""

    parts: tuple[Timeline, ...] = ()

    def intended_s(self, number: int) -> float:
        """When a message was due, as CLOCK_MONOTONIC of this machine."""
        sender, event = event_of(number, len(self.parts))
        return self.parts[sender].intended_s(event)


@dataclass(frozen=True)
class ThisMachine:
    """This machine as a load host."""

    name: str = ""

    def sender(self) -> SenderProcess:
        """Start a sender here."""
        return Child("tuner.flood.sender")

    def clock(self) -> ClockOffset:
        """Its clock is ours."""
        return ClockOffset()

    def counts(self) -> MachineCounts:
        """What it has counted."""
        return counts_of(None)


class FloodSender:
    """A sender of a flood in a process of its own on `host`, for a `with` statement; it sends
    nothing without an order.

    Its process ends with the statement, whatever happened.
    """

    def __init__(self, spec: FloodSpec, host: LoadHost) -> None:
        self.host = host
        self._spec = spec
        self._child: SenderProcess | None = None
        self._news = threading.Condition()
        self._status: SenderStatus | None = None
        self._ended = False
        self._given = 0
        self._reader = threading.Thread(target=self._read, daemon=True, name="flood-status")

    def __enter__(self) -> Self:
        self._child = self.host.sender()
        try:
            self._reader.start()
            self._child.tell(line_of(self._spec))
            with self._news:
                self._news.wait_for(lambda: self._status or self._ended, START_TIMEOUT_S)
            if self._status is None:
                late = f" within {START_TIMEOUT_S:g} s: this machine is very busy"
                why = f": {self._child.complaint()}" if self._ended else late
                raise JobFailed(f"the flood did not start{why}")
            progress = self._status.progress
            if progress.error is not None:
                failure = NotListening if progress.is_refused else JobFailed
                raise failure(f"the flood cannot start: {progress.error}")
        except BaseException:
            self._kill()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._kill()

    def named(self, text: str) -> str:
        """A text about it, with the name of another machine."""
        return f"{self.host.name}: {text}" if self.host.name else text

    def give(self, order: Order) -> None:
        """Give it an order; a process that is gone says so through its progress."""
        self._given += 1
        self._running().tell(line_of(order))

    def progress(self) -> FloodProgress:
        """The latest news of the process by our clock, at most 50 ms old while it sends."""
        with self._news:
            if self._status is None:
                raise JobFailed("the flood has not been started")
            if not self._ended or self._status.done:
                return self._ours(self._status.progress)
            died = f"the flood's process died: {self._running().complaint()}"
            return self._ours(replace(self._status.progress, error=died, truncated=True))

    @property
    def is_idle(self) -> bool:
        """Whether all that may be sent has gone to the kernel."""
        status = self._status
        return status is not None and status.obeyed >= self._given and status.idle

    @property
    def is_over(self) -> bool:
        """Whether it sends no more."""
        return self._ended or (self._status is not None and self._status.done)

    def finish(self, timeout_s: float) -> FloodProgress:
        """Have it send no more than what is begun, hang up so that the receiver gets all of it, and
        end.

        A begun block has 5 s to go out.  A process that has not ended in time is killed, and its
        progress says that it is truncated.
        """
        child = self._running()
        self.give(Order(stop=True))
        if not child.wait(timeout_s):
            child.end()
            late = self.named(f"the flood's process did not end within {timeout_s:g} s")
            return replace(self.progress(), truncated=True, error=late)
        self._reader.join()
        return self.progress()

    def _running(self) -> SenderProcess:
        if self._child is None:
            raise JobFailed("the flood has not been started")
        return self._child

    def _ours(self, progress: FloodProgress) -> FloodProgress:
        error = None if progress.error is None else self.named(progress.error)
        return replace(on_our_clock(progress, self.host.clock()), error=error)

    def _read(self) -> None:
        """Keep the latest status; runs in a thread of its own until the process ends."""
        for line in self._running().stdout:
            status = status_of(line)
            with self._news:
                self._status = status
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _kill(self) -> None:
        child = self._running()
        child.end()
        if self._reader.ident is not None:
            self._reader.join()
        child.close()


class Flood:
    """A flood that load hosts send, or this machine where there are none, for a `with` statement;
    it sends nothing until steered.

    The limit is hard over all senders together, and a pace is shared equally.
    """

    def __init__(self, spec: FloodSpec, hosts: Sequence[LoadHost] = ()) -> None:
        self.spec = spec
        self._is_here = not hosts
        parts = parts_of(spec, len(hosts) or 1)
        senders = zip(parts, hosts or (ThisMachine(),), strict=True)
        self._senders = [FloodSender(part, host) for part, host in senders]
        self._granted = (0,) * len(self._senders)
        self._schedule: Schedule | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for sender in self._senders:
                try:
                    opened.enter_context(sender)
                except JobFailed as failed:
                    raise type(failed)(sender.named(str(failed))) from None
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def steer(self, limit: int, per_second: float | None) -> None:
        """Allow `limit` messages in total, at most `per_second`; None is as fast as it goes."""
        self._schedule = None
        sent = [sender.progress().sent for sender in self._senders]
        alone = len(sent) == 1
        self._granted = (limit,) if alone else granted(self._granted, sent, limit)
        rate = None if per_second is None else per_second / len(self._senders)
        for sender, may in zip(self._senders, self._granted, strict=True):
            sender.give(Order(may, rate))

    def follow(self, schedule: Schedule, limit: int = sys.maxsize) -> None:
        """Send by a schedule that starts now and waits for nobody, up to `limit` in total."""
        self._schedule = schedule
        limits = shared(limit, len(self._senders))
        for number, (sender, most) in enumerate(zip(self._senders, limits, strict=True)):
            part = replace(schedule, part=number, parts=len(limits))
            sender.give(Order(most, schedule=part))

    def run(self, runs: Runs) -> None:
        """Send runs, each as fast as it goes."""
        self._schedule = None
        parts = runs_of(runs, len(self._senders))
        for sender, part in zip(self._senders, parts, strict=True):
            sender.give(Order(part.messages * part.times, runs=part))

    def timeline(self) -> Timeline | None:
        """When each message was due, once a schedule is followed; None before that."""
        if self._schedule is None:
            return None
        parts = []
        for number, sender in enumerate(self._senders):
            punctuality = sender.progress().punctuality
            if punctuality is None:
                return None
            part = replace(self._schedule, part=number, parts=len(self._senders))
            error_s = sender.host.clock().error_s
            parts.append(Timeline(part, punctuality.first, punctuality.start_s, error_s))
        if len(parts) == 1:
            return parts[0]
        start_s = min(part.start_s for part in parts)
        error_s = max(part.error_s for part in parts)
        return SpreadTimeline(self._schedule, 0, start_s, error_s, tuple(parts))

    def progress(self) -> FloodProgress:
        """The latest news of all senders, by the clock of this machine; the older by the way that
        they come."""
        return merged([sender.progress() for sender in self._senders])

    def loads(self) -> Mapping[str, LoadCounts]:
        """What was counted on each other machine, by its name."""
        counts = {}
        for sender in self._senders if not self._is_here else ():
            now = sender.progress()
            counted = LoadCounts(sender.host.counts(), now.cpu_seconds, now.blocked_seconds)
            counts[sender.host.name] = counted
        return counts

    def wait_until_idle(self, timeout_s: float) -> FloodProgress:
        """Wait until all that may be sent has gone to the kernel, or an error, or the timeout."""

        def is_over() -> bool:
            is_idle = all(sender.is_idle for sender in self._senders)
            return is_idle or any(sender.is_over for sender in self._senders)

        wait_until(is_over, timeout_s, _IDLE_POLL_S)
        return self.progress()

    def finish(self, timeout_s: float = 10.0) -> FloodProgress:
        """Send no more than what is begun, hang up so that the receiver gets all of it, and end;
        all senders at once."""
        with ThreadPoolExecutor(len(self._senders)) as pool:
            return merged(list(pool.map(lambda sender: sender.finish(timeout_s), self._senders)))
