"""A flood from several machines, each with a sender of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import Self

from tuner.errors import JobFailed
from tuner.flood.flood import Flood
from tuner.flood.pace import Runs
from tuner.flood.schedule import Schedule, Timeline
from tuner.flood.shares import (
    SpreadTimeline,
    granted,
    merged,
    on_our_clock,
    parts_of,
    runs_of,
    shared,
)
from tuner.flood.spec import FloodProgress, FloodSpec
from tuner.lab.loads import LoadCounts, LoadHost


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
        return self._merged(self._of_each(lambda flood: flood.wait_until_idle(timeout_s)))

    def finish(self, timeout_s: float = 10.0) -> FloodProgress:
        """End all senders at once, each as Flood.finish does."""
        return self._merged(self._of_each(lambda flood: flood.finish(timeout_s)))

    def _of_each(self, ask: Callable[[Flood], FloodProgress]) -> list[FloodProgress]:
        """What each answers, all asked at once."""
        with ThreadPoolExecutor(len(self._floods)) as pool:
            return list(pool.map(ask, self._floods))

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
