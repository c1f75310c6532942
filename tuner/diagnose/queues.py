"""Queues over time: what came in, what left, how long events waited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.daemons import DISK_PART
from tuner.diagnose.settings import QueueSettings, Settings
from tuner.script.counted import OF_ACTION

WAITS_S = 3.0
"""Events that wait so long, in several steps one after the other, are late; less is a burst."""
STEPS = 3
"""In fewer steps nothing lasts."""
_LASTS_S, _LASTS_AT_MOST_S, _PART = 5.0, 10.0, 0.05
# Waits longer than any step shows: nothing left the queue at all.
_FOREVER = float("inf")
# A size that stands in so many steps while so many events a step come in is no coincidence.
_STANDS, _COME = 4, 10


@dataclass(frozen=True)
class QueueCourse:
    """One queue over time; its settings where they are known."""

    course: CounterCourse
    series: StatsSeries
    settings: QueueSettings | None
    part: StatsSeries | None = None

    @property
    def name(self) -> str:
        """What the counters call it."""
        return self.series.name

    @property
    def action(self) -> str | None:
        """The action that it is the queue of; None for a ruleset's or the main queue."""
        action = self.name.removesuffix(OF_ACTION)
        is_of_one = action != self.name and ("core.action", action) in self.course.objects
        return action if is_of_one else None

    @cached_property
    def size(self) -> tuple[float, ...]:
        """What it held at the end of each step, its part on disk included."""
        nothing = self.course.nothing
        own = self.series.level.get("size", nothing)
        disk = nothing if self.part is None else self.part.level.get("size", nothing)
        return tuple(map(sum, zip(own, disk, strict=True)))

    @property
    def highest(self) -> int:
        """The most that it held at once."""
        return max(self.series.highest("size"), self.series.highest("maxqsize"))

    @property
    def highest_on_disk(self) -> int:
        """The most that its part on disk held at once."""
        return 0 if self.part is None else max(map(self.part.highest, ("size", "maxqsize")))

    @property
    def is_on_disk(self) -> bool:
        """Whether it is known to keep every event in files."""
        return self.settings is not None and self.settings.queue.is_on_disk

    @property
    def is_disk_assisted(self) -> bool:
        """Whether it has a part on disk, by its counters or its settings."""
        known = self.settings is not None and self.settings.queue.is_disk_assisted
        return known or self.part is not None

    def has_part_at(self, step: int) -> bool:
        """Whether its part on disk is still there after a start in that step."""
        if self.part is None:
            return False
        key, (begin, end) = (self.part.origin, self.part.name), self.course.span([step])
        return not any(
            key in missing for at, missing in self.course.gone.items() if begin < at <= end
        )

    def stands_after(self, step: int) -> bool:
        """Whether nothing left it in the step after that one."""
        return step + 1 < len(self.left) and self.left[step + 1] == 0

    @cached_property
    def came(self) -> tuple[float, ...]:
        """What came in and was kept, step by step."""
        nothing = self.course.nothing
        every = self.series.growth
        severe = every.get("discarded.nf", nothing)
        counts = zip(every.get("enqueued", nothing), self.discarded, severe, strict=True)
        return tuple(came - full - severe for came, full, severe in counts)

    @property
    def lost(self) -> int:
        """What it threw away since rsyslogd began, its part on disk included."""
        return sum(
            part.in_all(name)
            for part in (self.series, self.part)
            if part is not None
            for name in ("discarded.full", "discarded.nf")
        )

    @property
    def came_in_all(self) -> int:
        """What came in and was kept since rsyslogd began."""
        thrown = self.series.in_all("discarded.full") + self.series.in_all("discarded.nf")
        return self.series.in_all("enqueued") - thrown

    @cached_property
    def discarded(self) -> tuple[float, ...]:
        """What it found no room for and threw away, step by step."""
        return self.series.growth.get("discarded.full", self.course.nothing)

    @cached_property
    def _first_size(self) -> float:
        """What it held in the first round."""
        parts = (self.series, self.part)
        return float(sum(0 if part is None else part.before.get("size", 0) for part in parts))

    @cached_property
    def left(self) -> tuple[float, ...]:
        """What left it, step by step; what stood in it when rsyslogd began anew is not known."""
        before, left = self._first_size, []
        for came, size, step in zip(self.came, self.size, self.course.steps, strict=True):
            left.append(max(0.0, came + (0.0 if step.has_start else before) - size))
            before = size
        return tuple(left)

    @cached_property
    def proven_wait_s(self) -> float:
        """How long events waited at least.

        Of all that had come in by the end of one step, some were still there at the end of a later
        one as long as fewer than these had left in all, in whatever order they leave.  Times are
        whole seconds, so that a second less is sure.
        """
        waits = [self._wait_of(life) for life in self.course.lives]
        return max(0.0, max(waits, default=0.0) - 1)

    def _wait_of(self, life: range) -> float:
        at, came, left = self._sums(life)
        longest, later = 0.0, 0
        for n, arrived in enumerate(came):
            later = max(later, n)
            while later + 1 < len(left) and left[later + 1] < arrived:
                later += 1
            if left[later] < arrived:
                longest = max(longest, at[later] - at[n])
        return longest

    @cached_property
    def proven_late(self) -> int:
        """How many events at least waited as long as late ones do, at one time, by the same
        reason."""
        most = 0.0
        for life in self.course.lives:
            at, came, left = self._sums(life)
            later = 0
            for n, arrived in enumerate(came):
                while later < len(at) and at[later] - at[n] < WAITS_S + 1:
                    later += 1
                if later < len(at):
                    most = max(most, arrived - left[later])
        return round(most)

    def _sums(self, life: range) -> tuple[list[float], list[float], list[float]]:
        """The seconds, all that came and all that left, at the end of each step of a process; what
        moves to disk counts twice for a moment."""
        if not life:
            return [], [], []
        steps = self.course.steps
        at = list(accumulate(steps[n].seconds for n in life))
        is_new = steps[life[0]].has_start
        begin = max(0.0, self.size[life[0]] - self.came[life[0]]) if is_new else self._first_size
        came = list(accumulate((self.came[n] for n in life), initial=begin))[1:]
        held = (self.size[n] - self._in_both(n) for n in life)
        left = list(accumulate((all_ - now for all_, now in zip(came, held, strict=True)), max))
        if is_new:
            return at, came, left
        return [0.0, *at], [begin, *came], [0.0, *left]

    def _in_both(self, step: int) -> float:
        nothing = self.course.nothing
        part = nothing if self.part is None else self.part.level.get("size", nothing)
        return min(part[step], self.series.level.get("size", nothing)[step])

    @cached_property
    def waits_s(self) -> tuple[float, ...]:
        """How long what it held would take to leave, at the pace of each step."""
        pairs = zip(self.size, self.course.rates(self.left), strict=True)
        return tuple(size / rate if rate > 0 else _FOREVER if size else 0.0 for size, rate in pairs)

    @cached_property
    def late_steps(self) -> tuple[int, ...]:
        """The numbers of the steps in which events waited long, or found no room: of those where
        several follow one another, a moment says nothing."""
        waits = zip(self.waits_s, self.full, strict=True)
        return lasting(self.course, [wait >= WAITS_S or full > 0 for wait, full in waits])

    def is_late(self, steps: Sequence[int]) -> bool:
        """Whether more came than left in several of these steps, or found no room, or events
        provably waited long, all for the same reason: what only drains was late before."""
        is_for_one = len(steps) == len(self.late_steps) and not self.highest_on_disk
        if is_for_one and self.proven_wait_s >= long_s(self.course):
            return True
        severe = self.series.growth.get("discarded.nf", self.course.nothing)
        refused = [full + less for full, less in zip(self.full, severe, strict=True)]
        more = [n for n in steps if self.came[n] > self.left[n] or refused[n]]
        return len(more) >= STEPS - 1

    @cached_property
    def full(self) -> tuple[float, ...]:
        """How often it was full when an event came, step by step."""
        return self.series.growth.get("full", self.course.nothing)

    @property
    def room(self) -> int | None:
        """How many events it takes: as set, or what it held when it was full."""
        if self.settings is not None:
            return self.settings.queue.size
        return self.highest if any(self.full) else None

    def parameter(self, name: str) -> str:
        """How a parameter of it is called, in the configuration where that is known."""
        return f"queue.{name}" if self.settings is None else self.settings.parameter(name)


def long_s(course: CounterCourse) -> float:
    """From how many seconds on something lasts."""
    return min(_LASTS_AT_MOST_S, max(_LASTS_S, _PART * course.seconds))


def lasting(course: CounterCourse, is_so: Sequence[bool]) -> tuple[int, ...]:
    """The numbers of the steps in which something is so, without what passes quickly."""
    kept: list[int] = []
    for holds, group in groupby(range(len(is_so)), key=is_so.__getitem__):
        run = list(group)
        if holds and len(run) >= STEPS and course.lasted(run) >= long_s(course):
            kept += run
    return tuple(kept)


def queues_of(course: CounterCourse, settings: Settings) -> tuple[QueueCourse, ...]:
    """The queues of a course, the parts on disk with the queues that they belong to."""
    every = course.of("core.queue")
    parts = {one.name.removesuffix(DISK_PART): one for one in every if DISK_PART in one.name}
    return tuple(
        QueueCourse(course, one, settings.queues.get(one.name), parts.get(one.name))
        for one in every
        if DISK_PART not in one.name
    )


def standing_steps(course: CounterCourse, series: StatsSeries) -> list[int]:
    """The steps in which events came into a queue, found room, and its size stood at one number,
    where these are several in a row."""
    sizes = series.level.get("size", course.nothing)
    came = series.growth.get("enqueued", course.nothing)
    # What finds it full has to wait, and then comes as soon as something leaves.
    full = series.growth.get("full", course.nothing)
    severe = series.growth.get("discarded.nf", course.nothing)
    stands = [
        n > 0
        and not course.steps[n].has_start
        and sizes[n] == sizes[n - 1] > 1
        and not full[n]
        and came[n] - severe[n] >= _COME
        for n in range(len(sizes))
    ]
    steps: list[int] = []
    for holds, group in groupby(range(len(stands)), key=stands.__getitem__):
        run = list(group)
        if holds and len(run) >= _STANDS:
            steps += run
    return steps
