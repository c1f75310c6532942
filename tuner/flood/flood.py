"""The handle of a flood: starts its process, steers it, and ends it; or those of one from several
machines, each with a sender of its own."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
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
from tuner.lab.loads import ClockOffset, LoadCounts, LoadHost, SenderProcess

START_TIMEOUT_S = 60.0


def sender_here() -> SenderProcess:
    """The process of a sender on this machine."""
    return Child("tuner.flood.sender")


class Flood:
    """A flood in a process of its own, for a `with` statement; it sends nothing until steered.

    Its process ends with the statement, whatever happened.
    """

    def __init__(self, spec: FloodSpec, start: Callable[[], SenderProcess] = sender_here) -> None:
        self.spec = spec
        self._start = start
        self._child: SenderProcess | None = None
        self._news = threading.Condition()
        self._status: SenderStatus | None = None
        self._ended = False
        self._given = 0
        self._schedule: Schedule | None = None
        self._reader = threading.Thread(target=self._read, daemon=True, name="flood-status")

    def __enter__(self) -> Self:
        self._child = self._start()
        try:
            self._reader.start()
            self._tell(self.spec)
            self._await(lambda: self._status is not None, START_TIMEOUT_S)
            if self._status is None:
                raise JobFailed(f"the flood did not start{self._why_not()}")
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

    def _why_not(self) -> str:
        """Why there was no news of the process, as the end of a sentence."""
        if self._ended:
            return f": {self._running().complaint()}"
        return f" within {START_TIMEOUT_S:g} s: this machine is very busy"

    def steer(self, limit: int, per_second: float | None) -> None:
        """Allow `limit` messages in total, at most `per_second`; None is as fast as it goes."""
        self._schedule = None
        self._give(Order(limit, per_second))

    def follow(self, schedule: Schedule, limit: int = sys.maxsize) -> None:
        """Send by a schedule that starts now and waits for nobody, up to `limit` in total."""
        self._schedule = schedule
        self._give(Order(limit, schedule=schedule))

    def run(self, runs: Runs) -> None:
        """Send runs, each as fast as it goes."""
        self._schedule = None
        self._give(Order(runs.messages * runs.times, runs=runs))

    def timeline(self) -> Timeline | None:
        """When each message was due, once a schedule is followed; None before that."""
        punctuality = self.progress().punctuality
        if punctuality is None or self._schedule is None:
            return None
        return Timeline(self._schedule, punctuality.first, punctuality.start_s)

    def progress(self) -> FloodProgress:
        """The latest news of the process, at most 50 ms old while it sends."""
        with self._news:
            if self._status is None:
                raise JobFailed("the flood has not been started")
            if self._ended and not self._status.done:
                error = f"the flood's process died: {self._running().complaint()}"
                return replace(self._status.progress, error=error, truncated=True)
            return self._status.progress

    def loads(self) -> Mapping[str, LoadCounts]:
        """What was counted on other machines: none takes part."""
        return {}

    def is_idle(self) -> bool:
        """Whether all that may be sent has gone to the kernel."""
        status = self._status
        return status is not None and status.obeyed >= self._given and status.idle

    def wait_until_idle(self, timeout_s: float) -> FloodProgress:
        """Wait until all that may be sent has gone to the kernel, or an error, or the timeout."""
        self._await(self.is_idle, timeout_s)
        return self.progress()

    def finish(self, timeout_s: float = 10.0) -> FloodProgress:
        """Send no more than what is begun, hang up so that the receiver gets all of it, and end.

        A begun block has 5 s to go out.  A process that has not ended in time is killed, and its
        progress says that it is truncated.
        """
        child = self._running()
        self._give(Order(stop=True))
        if not child.wait(timeout_s):
            child.end()
            late = f"the flood's process did not end within {timeout_s:g} s"
            return replace(self.progress(), truncated=True, error=late)
        self._reader.join()
        return self.progress()

    def _running(self) -> SenderProcess:
        if self._child is None:
            raise JobFailed("the flood has not been started")
        return self._child

    def _give(self, order: Order) -> None:
        self._given += 1
        self._tell(order)

    def _tell(self, item: FloodSpec | Order) -> None:
        # A process that is gone says so through its progress.
        self._running().tell(line_of(item))

    def _await(self, arrived: Callable[[], bool], timeout_s: float) -> None:
        with self._news:
            self._news.wait_for(lambda: arrived() or self._is_over(), timeout_s)

    def _is_over(self) -> bool:
        return self._ended or (self._status is not None and self._status.done)

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


class SpreadFlood:
    """A flood whose senders are on load hosts, for a `with` statement; steered as a Flood is.

    The limit is hard over all senders together, and a pace is shared equally.
    """

    def __init__(self, spec: FloodSpec, hosts: Sequence[LoadHost]) -> None:
        self.spec = spec
        self._hosts = tuple(hosts)
        parts = parts_of(spec, len(hosts))
        self._floods = [Flood(part, host.sender) for part, host in zip(parts, hosts, strict=True)]
        self._granted = (0,) * len(hosts)
        self._schedule: Schedule | None = None
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opened:
            for host, flood in zip(self._hosts, self._floods, strict=True):
                try:
                    opened.enter_context(flood)
                except JobFailed as failed:
                    raise type(failed)(f"{host.name}: {failed}") from None
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def steer(self, limit: int, per_second: float | None) -> None:
        """Allow `limit` messages in total, at most `per_second`; None is as fast as it goes."""
        sent = [flood.progress().sent for flood in self._floods]
        self._granted = granted(self._granted, sent, limit)
        rate = None if per_second is None else per_second / len(self._floods)
        for flood, may in zip(self._floods, self._granted, strict=True):
            flood.steer(may, rate)

    def follow(self, schedule: Schedule, limit: int = sys.maxsize) -> None:
        """Send by a schedule that starts now and waits for nobody, up to `limit` in total."""
        self._schedule = schedule
        limits = shared(limit, len(self._floods))
        for number, (flood, most) in enumerate(zip(self._floods, limits, strict=True)):
            flood.follow(replace(schedule, part=number, parts=len(limits)), most)

    def run(self, runs: Runs) -> None:
        """Send runs, each as fast as it goes."""
        for flood, part in zip(self._floods, runs_of(runs, len(self._floods)), strict=True):
            flood.run(part)

    def timeline(self) -> Timeline | None:
        """When each message was due, once a schedule is followed; None before that."""
        if self._schedule is None:
            return None
        parts = []
        for host, flood in zip(self._hosts, self._floods, strict=True):
            part = flood.timeline()
            if part is None:
                return None
            parts.append(replace(part, start_s=part.start_s + host.clock().offset_s))
        start_s = min(part.start_s for part in parts)
        error_s = max(host.clock().error_s for host in self._hosts)
        return SpreadTimeline(self._schedule, 0, start_s, error_s, tuple(parts))

    def progress(self) -> FloodProgress:
        """The latest news of all senders, by the clock of this machine; the older by the way that
        they come."""
        return self._merged([flood.progress() for flood in self._floods])

    def loads(self) -> Mapping[str, LoadCounts]:
        """What was counted on each machine, by its name."""
        counts = {}
        for host, flood in zip(self._hosts, self._floods, strict=True):
            now = flood.progress()
            counts[host.name] = LoadCounts(host.counts(), now.cpu_seconds, now.blocked_seconds)
        return counts

    def wait_until_idle(self, timeout_s: float) -> FloodProgress:
        """Wait until all that may be sent has gone to the kernel, or an error, or the timeout."""

        def is_over() -> bool:
            is_idle = all(flood.is_idle() for flood in self._floods)
            return is_idle or any(flood.progress().error is not None for flood in self._floods)

        wait_until(is_over, timeout_s)
        return self.progress()

    def finish(self, timeout_s: float = 10.0) -> FloodProgress:
        """End all senders at once, each as Flood.finish does."""
        with ThreadPoolExecutor(len(self._floods)) as pool:
            return self._merged(list(pool.map(lambda flood: flood.finish(timeout_s), self._floods)))

    def _merged(self, progress: Sequence[FloodProgress]) -> FloodProgress:
        placed = []
        for host, sender in zip(self._hosts, progress, strict=True):
            error = None if sender.error is None else f"{host.name}: {sender.error}"
            placed.append(replace(on_our_clock(sender, host.clock()), error=error))
        return merged(placed)


Traffic = Flood | SpreadFlood
"""A flood, whoever sends it."""


def traffic(spec: FloodSpec, hosts: Sequence[LoadHost]) -> Traffic:
    """A flood that these load hosts send; this machine, where there are none."""
    return SpreadFlood(spec, hosts) if hosts else Flood(spec)
