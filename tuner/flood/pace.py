"""How many messages may go now, and how long to wait for more.  Pure; time is an argument."""

from __future__ import annotations

from dataclasses import dataclass

BURST_S = 0.020
STEP_S = 0.010
CATCH_UP = 1.5


@dataclass(frozen=True)
class Allowance:
    """Messages that may be sent at once; if none, the wait in seconds, None for ever."""

    messages: int
    wait_s: float | None


@dataclass(frozen=True)
class Pace:
    """A schedule: from `base` messages at `since_s` on, `per_second` more each second.

    None means as fast as it goes.  No more than `limit` messages may be sent in total.
    """

    limit: int = 0
    per_second: float | None = None
    base: int = 0
    since_s: float = 0.0

    def steered(self, limit: int, per_second: float | None, sent: int, now_s: float) -> Pace:
        """Take new orders; a schedule at the same rate goes on, unless the limit had halted it.

        A new rate starts a new schedule that owes no more than what the old one had not sent yet
        of its next step, so that frequent steering does not cost rate.
        """
        halted = sent >= self.limit
        if per_second == self.per_second and not halted:
            return Pace(limit, per_second, self.base, self.since_s)
        if not per_second or not self.per_second or halted:
            return Pace(limit, per_second, sent, now_s)
        owed = min(self._due(sent, now_s), max(1.0, self.per_second * STEP_S))
        return Pace(limit, per_second, sent, now_s - max(0.0, owed) / per_second)

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
