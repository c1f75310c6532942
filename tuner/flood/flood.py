"""The handle of a flood: starts its process, steers it, and ends it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Self

from tuner.errors import JobFailed
from tuner.flood.orders import Order, SenderStatus, line_of, status_of
from tuner.flood.pace import Runs
from tuner.flood.schedule import Schedule, Timeline
from tuner.flood.spec import FloodProgress, FloodSpec
from tuner.host.child import Child
from tuner.lab.loads import LoadCounts, SenderProcess

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
            if self._status.progress.error is not None:
                raise JobFailed(f"the flood cannot start: {self._status.progress.error}")
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
