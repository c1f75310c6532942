"""How many messages may go now, and how long to wait for more.  Pure; time is an argument.

Pace is steered from outside, Runs waits for the receiver, OpenLoop follows a schedule whatever the
receiver does.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from tuner.errors import BadUsage
from tuner.flood.schedule import Schedule

GRAIN_S = 0.005
BURST_S = 0.020
STEP_S = 0.010
CATCH_UP = 1.5
_SLACK_S = 1e-9


@dataclass(frozen=True)
class Allowance:
    """Messages that may be sent at once; if none, the wait in seconds, None means forever."""

    messages: int
    wait_s: float | None


@dataclass(frozen=True)
class SendingPace:
    """A schedule: from `base` messages at `since_s` on, `per_second` more each second.

    None means as fast as it goes.  No more than `limit` messages may be sent in total.
    """

    limit: int = 0
    per_second: float | None = None
    base: int = 0
    since_s: float = 0.0

    def steered(self, limit: int, per_second: float | None, sent: int, now_s: float) -> SendingPace:
        """Take new orders; a schedule at the same rate continues, unless the limit had halted it.

        A new rate starts a new schedule that owes no more than what the old one had not sent yet
        of its next step, so that frequent steering does not cost rate.
        """
        halted = sent >= self.limit
        if per_second == self.per_second and not halted:
            return SendingPace(limit, per_second, self.base, self.since_s)
        if not per_second or not self.per_second or halted:
            return SendingPace(limit, per_second, sent, now_s)
        owed = min(self._due(sent, now_s), max(1.0, self.per_second * STEP_S))
        return SendingPace(limit, per_second, sent, now_s - max(0.0, owed) / per_second)

    def allowance(self, sent: int, last_s: float, now_s: float) -> Allowance:
        """Say what may be sent now, when `sent` messages are on their way, the last at `last_s`.

        At most 20 ms of traffic goes at once.  Time lost is made up at one and a half times the
        rate, so that a stall is followed by a swell and not by a wall.
        """
        room = self.limit - sent
        if room <= 0:
            return Allowance(0, None)
        if self.per_second is None:
            return Allowance(room, None)
        if self.per_second <= 0:
            return Allowance(0, None)
        due = self._due(sent, now_s)
        swell = self.per_second * CATCH_UP * (now_s - max(last_s, self.since_s))
        burst = max(1.0, self.per_second * BURST_S)
        step = min(max(1.0, self.per_second * STEP_S), room)
        ready = min(due, swell, burst)
        # A billionth of slack: a wait computed in floating point must not fall just short.
        if ready + 1e-6 >= step:
            return Allowance(min(room, int(ready + 1e-6)), None)
        wait_s = max((step - due) / self.per_second, (step - swell) / (self.per_second * CATCH_UP))
        return Allowance(0, wait_s)

    def _due(self, sent: int, now_s: float) -> float:
        return self.base + (self.per_second or 0.0) * (now_s - self.since_s) - sent


@dataclass(frozen=True)
class Runs:
    """Runs as fast as they go, `pause_s` seconds between the end of one and the next start.

    No more than `limit` messages may be sent in total.
    """

    messages: int
    times: int
    pause_s: float
    limit: int = sys.maxsize

    def __post_init__(self) -> None:
        if self.messages < 1 or self.times < 1 or not 0 <= self.pause_s < math.inf:
            raise BadUsage("runs need at least 1 message, 1 time, and a pause of 0 seconds or more")

    def allowance(self, sent: int, last_s: float, now_s: float) -> Allowance:
        """Say what may be sent now, when `sent` messages are on their way, the last at `last_s`."""
        left = min(self.messages * self.times, self.limit) - sent
        if left <= 0:
            return Allowance(0, None)
        into = sent % self.messages
        wait_s = last_s + self.pause_s - now_s
        if into == 0 and sent > 0 and wait_s > 0:
            return Allowance(0, wait_s)
        return Allowance(min(left, self.messages - into), None)


@dataclass(frozen=True)
class OpenLoop:
    """A schedule on the clock: message `first` is due at `start_s`, none after `until_s`.

    No more than `limit` messages may be sent in total.
    """

    schedule: Schedule
    limit: int
    first: int
    start_s: float
    until_s: float | None = None

    def allowance(self, sent: int, last_s: float, now_s: float) -> Allowance:
        """Say what may be sent now: all that is due, looked at every 5 ms at the most often.

        What was due at the last look and did not fit then may go at once.
        """
        if sent >= self.due(math.inf):
            return Allowance(0, None)
        ready_s = self.intended_s(sent)
        if ready_s > last_s:
            ready_s = max(ready_s, last_s + GRAIN_S)
        if ready_s > now_s + _SLACK_S:
            return Allowance(0, ready_s - now_s)
        return Allowance(max(1, self.due(now_s) - sent), None)

    def due(self, now_s: float) -> int:
        """How many messages of the flood are due."""
        end_s = self.clock(now_s)
        total = self.schedule.total
        most = self.limit if total is None else min(self.limit, self.first + total)
        if math.isinf(end_s):
            return most
        return min(most, self.first + self.schedule.due(end_s - self.start_s))

    def clock(self, now_s: float) -> float:
        """The time, standing still at the end."""
        return now_s if self.until_s is None else min(now_s, self.until_s)

    def intended_s(self, number: int) -> float:
        """When a message is due, as the clock has it."""
        return self.start_s + self.schedule.intended_s(number - self.first)
