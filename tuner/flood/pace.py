"""When each message of a flood is due, how many may go now, and how long to wait for more.  Pure;
time is an argument, and times of a schedule are seconds since its start.

Pace is steered from outside, Runs waits for the receiver, OpenLoop follows a schedule whatever the
receiver does.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.errors import BadUsage

# A time computed in floating point must not fall just short.
_SLACK_S = 1e-9
_SLACK = 1e-6


@dataclass(frozen=True)
class Leg:
    """A stretch of a schedule: a rate that changes evenly, or messages due all at its start.

    `seconds` None is a stretch without end, at one rate.
    """

    seconds: float | None
    from_per_second: float = 0.0
    to_per_second: float = 0.0
    at_once: int = 0

    def __post_init__(self) -> None:
        rates = (self.from_per_second, self.to_per_second)
        if not all(math.isfinite(rate) and rate >= 0 for rate in rates):
            raise BadUsage("a rate must be a number of messages per second, not below 0")
        if self.seconds is None:
            if self.from_per_second <= 0 or self.from_per_second != self.to_per_second:
                raise BadUsage("a pace without end needs one rate above 0")
        elif not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise BadUsage("a pace must last for a number of seconds, not below 0")

    @property
    def messages(self) -> int | None:
        """How many messages are due in it; None when it has no end."""
        if self.seconds is None:
            return None
        mean = (self.from_per_second + self.to_per_second) / 2
        return self.at_once or math.ceil(mean * self.seconds - _SLACK)

    def due(self, at_s: float) -> int:
        """How many messages are due up to a time, itself included."""
        if at_s < 0:
            return 0
        whole = self.messages
        if whole is not None and (self.at_once or at_s >= (self.seconds or 0.0)):
            return whole
        growth = (self.to_per_second - self.from_per_second) / (self.seconds or 1.0)
        risen = self.from_per_second * at_s + growth * at_s * at_s / 2
        count = math.floor(risen + _SLACK) + 1
        return count if whole is None else min(count, whole)

    def intended_s(self, number: int) -> float:
        """When a message is due, numbers counting from 0 in this leg."""
        if self.at_once or number == 0:
            return 0.0
        growth = (self.to_per_second - self.from_per_second) / (self.seconds or 1.0)
        under_root = self.from_per_second**2 + 2 * growth * number
        return 2 * number / (self.from_per_second + math.sqrt(max(0.0, under_root)))


def share(total: int, part: int, parts: int) -> int:
    """How much of a total is of one of so many parts, counted from 0, that take turns."""
    return (total + parts - 1 - part) // parts


@dataclass(frozen=True)
class Schedule:
    """Legs one after the other, gone through `cycles` times; None means forever.

    Of `parts` that several senders follow, whose messages take turns, it is number `part`, from 0.
    """

    legs: tuple[Leg, ...]
    cycles: int | None = 1
    part: int = 0
    parts: int = 1

    def __post_init__(self) -> None:
        endless = [leg for leg in self.legs if leg.seconds is None]
        if endless and (self.cycles != 1 or endless != [self.legs[-1]]):
            raise BadUsage("only the last leg of a pace that is not repeated may have no end")
        if not endless and self._cycle_messages == 0:
            raise BadUsage("this pace sends nothing: a rate or a time of it is 0")
        if not endless and self.cycles != 1 and self._cycle_s == 0:
            raise BadUsage("what is repeated must last longer than 0 seconds")

    @property
    def total(self) -> int | None:
        """How many messages it has in all; None when it has no end."""
        if self.cycles is None or self.legs[-1].seconds is None:
            return None
        return self._of_part(self.cycles * self._cycle_messages)

    def due(self, at_s: float) -> int:
        """How many messages are due up to a time, itself included."""
        if at_s < 0:
            return 0
        left_s, count = at_s + _SLACK_S, 0
        if self.legs[-1].seconds is not None:
            cycle = int(left_s // self._cycle_s) if self._cycle_s else 0
            if self.cycles is not None and cycle >= self.cycles:
                return self._of_part(self.cycles * self._cycle_messages)
            left_s, count = left_s - cycle * self._cycle_s, cycle * self._cycle_messages
        for leg in self.legs:
            count += leg.due(left_s)
            if leg.seconds is None or left_s < leg.seconds:
                break
            left_s -= leg.seconds
        return self._of_part(count)

    def intended_s(self, number: int) -> float:
        """When a message is due, numbers counting from 0; past the last one, when all is over."""
        number = number * self.parts + self.part
        passed_s, following = 0.0, number
        if self.legs[-1].seconds is not None:
            cycle, following = divmod(number, self._cycle_messages)
            if self.cycles is not None and cycle >= self.cycles:
                return self.cycles * self._cycle_s
            passed_s = cycle * self._cycle_s
        for leg in self.legs:
            count = leg.messages
            if count is None or following < count:
                return passed_s + leg.intended_s(following)
            following, passed_s = following - count, passed_s + (leg.seconds or 0.0)
        return passed_s

    def _of_part(self, messages: int) -> int:
        """How many of the first so many messages of all parts are of this one."""
        return share(messages, self.part, self.parts)

    @property
    def _cycle_s(self) -> float:
        return sum(leg.seconds or 0.0 for leg in self.legs)

    @property
    def _cycle_messages(self) -> int:
        return sum(leg.messages or 0 for leg in self.legs)


def fixed(per_second: float) -> Schedule:
    """One rate, without end."""
    return Schedule((Leg(None, per_second, per_second),))


def ramp(from_per_second: float, to_per_second: float, seconds: float) -> Schedule:
    """A rate that changes evenly and then stays, unless it has come down to 0."""
    rising = Leg(seconds, from_per_second, to_per_second)
    staying = Leg(None, to_per_second, to_per_second) if to_per_second > 0 else None
    return Schedule((rising,) if staying is None else (rising, staying))


def steps(rates_and_seconds: Sequence[tuple[float, float]]) -> Schedule:
    """One rate after the other, each (messages per second, seconds)."""
    return Schedule(tuple(Leg(seconds, rate, rate) for rate, seconds in rates_and_seconds))


def bursts(messages: int, every_s: float) -> Schedule:
    """So many messages at once, again and again."""
    return Schedule((Leg(every_s, at_once=messages),), cycles=None)


def runs(messages: int, per_second: float, times: int, pause_s: float) -> Schedule:
    """Runs of so many messages at a rate, with a pause after each."""
    flow = Leg(messages / per_second, per_second, per_second)
    return Schedule((flow, Leg(pause_s)), cycles=times)


@dataclass(frozen=True)
class Timeline:
    """When the messages of a flood were due, by sequence number; for latency and freshness.

    Message `first` stands at the start of the schedule, at `start_s` (CLOCK_MONOTONIC), which may
    be wrong by `error_s` where the sender goes by another clock.
    """

    schedule: Schedule
    first: int
    start_s: float
    error_s: float = 0.0

    def intended_s(self, number: int) -> float:
        """When a message was due, as CLOCK_MONOTONIC."""
        return self.start_s + self.schedule.intended_s(number - self.first)


GRAIN_S = 0.005
BURST_S = 0.020
STEP_S = 0.010
CATCH_UP = 1.5


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
        unsent = min(self.messages * self.times, self.limit) - sent
        if unsent <= 0:
            return Allowance(0, None)
        into = sent % self.messages
        wait_s = last_s + self.pause_s - now_s
        if into == 0 and sent > 0 and wait_s > 0:
            return Allowance(0, wait_s)
        return Allowance(min(unsent, self.messages - into), None)


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
