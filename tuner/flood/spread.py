"""A flood from several machines, each with a sender of its own: what each has of
it, and what they have done of it together."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Self

from tuner.engine.numbering import event_of
from tuner.errors import BadUsage, JobFailed
from tuner.flood.flood import Flood
from tuner.flood.pace import Runs
from tuner.flood.schedule import Schedule, Timeline, share
from tuner.flood.spec import FloodProgress, FloodSpec, Punctuality
from tuner.host.clock import ClockOffset
from tuner.host.process import wait_until
from tuner.lab.loads import LoadCounts, LoadHost


def shared(total: int, senders: int) -> tuple[int, ...]:
    """As equal shares as there are."""
    return tuple(share(total, sender, senders) for sender in range(senders))


def parts_of(spec: FloodSpec, senders: int) -> tuple[FloodSpec, ...]:
    """The floods of that many senders, which together are `spec`."""
    connections = shared(max(spec.connections, senders), senders)
    counts = (None,) * senders if spec.count is None else shared(spec.count, senders)
    return tuple(
        replace(spec, connections=connections[one], count=counts[one], sender=one, senders=senders)
        for one in range(senders)
    )


def runs_of(runs: Runs, senders: int) -> tuple[Runs, ...]:
    """The runs of each; raises BadUsage where there is not a message for each."""
    if runs.messages < senders:
        raise BadUsage(f"runs of {runs.messages} messages are too short for {senders} load hosts")
    return tuple(replace(runs, messages=one) for one in shared(runs.messages, senders))


def granted(before: Sequence[int], sent: Sequence[int], limit: int) -> tuple[int, ...]:
    """How much each sender may send in total, where all together may send `limit`.

    What was granted `before` may be sent already, so it stands.  What there is beyond goes to those
    that have the least left: a slow sender keeps no others from sending.
    """
    left = [may - did for may, did in zip(before, sent, strict=True)]
    more = limit - sum(before)
    if more <= 0:
        return tuple(before)
    # The level to which what is left of the lowest is filled.
    order = sorted(left)
    for several in range(len(order), 0, -1):
        level, odd = divmod(more + sum(order[:several]), several)
        if level >= order[several - 1]:
            break
    new = []
    for may, has in zip(before, left, strict=True):
        is_odd = has <= level and odd > 0
        new.append(may + max(0, level - has) + is_odd)
        odd -= is_odd
    return tuple(new)


def on_our_clock(progress: FloodProgress, clock: ClockOffset) -> FloodProgress:
    """The progress of a sender whose clock stands so to ours."""

    def ours(at_s: float | None) -> float | None:
        return None if at_s is None else at_s + clock.offset_s

    kept = progress.punctuality
    return replace(
        progress,
        first_send_s=ours(progress.first_send_s),
        last_send_s=ours(progress.last_send_s),
        at_s=progress.at_s + clock.offset_s,
        punctuality=kept and replace(kept, start_s=kept.start_s + clock.offset_s),
    )


def merged(each: Sequence[FloodProgress]) -> FloodProgress:
    """How far all senders have come together, by one clock; they are blocked as much as they are in
    the mean."""
    firsts = [one.first_send_s for one in each if one.first_send_s is not None]
    lasts = [one.last_send_s for one in each if one.last_send_s is not None]
    return FloodProgress(
        sent=sum(one.sent for one in each),
        cpu_seconds=sum(one.cpu_seconds for one in each),
        blocked_seconds=sum(one.blocked_seconds for one in each) / len(each),
        first_send_s=min(firsts, default=None),
        last_send_s=max(lasts, default=None),
        truncated=any(one.truncated for one in each),
        error=next((one.error for one in each if one.error is not None), None),
        at_s=min(one.at_s for one in each),
        punctuality=_merged([one.punctuality for one in each if one.punctuality is not None]),
        counts=tuple(one.sent for one in each),
    )


def _merged(each: Sequence[Punctuality]) -> Punctuality | None:
    if not each:
        return None
    return Punctuality(
        offered=sum(one.offered for one in each),
        late=sum(one.late for one in each),
        max_late_s=max(one.max_late_s for one in each),
        first=sum(one.first for one in each),
        start_s=min(one.start_s for one in each),
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
        self._floods = [Flood(one, host.sender) for one, host in zip(parts, hosts, strict=True)]
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
        each = None if per_second is None else per_second / len(self._floods)
        for flood, may in zip(self._floods, self._granted, strict=True):
            flood.steer(may, each)

    def follow(self, schedule: Schedule, limit: int = sys.maxsize) -> None:
        """Send by a schedule that starts now and waits for nobody, up to `limit` in total."""
        self._schedule = schedule
        senders = len(self._floods)
        for number, (flood, most) in enumerate(
            zip(self._floods, shared(limit, senders), strict=True)
        ):
            flood.follow(replace(schedule, part=number, parts=senders), most)

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
        found = {}
        for host, flood in zip(self._hosts, self._floods, strict=True):
            now = flood.progress()
            found[host.name] = LoadCounts(host.counts(), now.cpu_seconds, now.blocked_seconds)
        return found

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
            return self._merged(list(pool.map(lambda one: one.finish(timeout_s), self._floods)))

    def _merged(self, progress: Sequence[FloodProgress]) -> FloodProgress:
        each = []
        for host, one in zip(self._hosts, progress, strict=True):
            error = None if one.error is None else f"{host.name}: {one.error}"
            each.append(replace(on_our_clock(one, host.clock()), error=error))
        return merged(each)


Traffic = Flood | SpreadFlood
"""A flood, whoever sends it."""


def traffic(spec: FloodSpec, hosts: Sequence[LoadHost]) -> Traffic:
    """A flood from the given load hosts, or from this machine if there are none."""
    return SpreadFlood(spec, hosts) if hosts else Flood(spec)
