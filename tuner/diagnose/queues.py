"""Queues over time: what came in, what left, how long events waited."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import Any

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.daemons import DISK_PART
from tuner.diagnose.finding import Cause, Events, ProductionFinding, finding
from tuner.diagnose.settings import QueueSettings, Settings
from tuner.modules.queue import Queue
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
        is_of_action = action != self.name and ("core.action", action) in self.course.objects
        return action if is_of_action else None

    @property
    def parameters(self) -> Queue | None:
        """Its settings by parameter, where they are known."""
        return None if self.settings is None else self.settings.queue

    @cached_property
    def size(self) -> tuple[float, ...]:
        """What it held at the end of each step, its part on disk included."""
        return tuple(map(sum, zip(self.in_memory, self.on_disk, strict=True)))

    @property
    def in_memory(self) -> tuple[float, ...]:
        """What it held at the end of each step, without its part on disk."""
        return self.series.level["size"]

    @cached_property
    def on_disk(self) -> tuple[float, ...]:
        """What its part on disk held at the end of each step."""
        return (0.0,) * len(self.in_memory) if self.part is None else self.part.level["size"]

    @property
    def highest(self) -> int:
        """The most that it held at once."""
        return max(map(self.series.highest, ("size", "maxqsize")))

    @property
    def highest_on_disk(self) -> int:
        """The most that its part on disk held at once."""
        return 0 if self.part is None else max(map(self.part.highest, ("size", "maxqsize")))

    @property
    def is_on_disk(self) -> bool:
        """Whether it is known to keep every event in files."""
        return self.parameters is not None and self.parameters.is_on_disk

    @property
    def is_disk_assisted(self) -> bool:
        """Whether it has a part on disk, by its counters or its settings."""
        is_set = self.parameters is not None and self.parameters.is_disk_assisted
        return is_set or self.part is not None

    def has_part_at(self, step: int) -> bool:
        """Whether its part on disk is still there after a start in that step."""
        begin, end = self.course.span([step])
        return self.part is not None and not any(
            self.part.key in missing
            for at, missing in self.course.gone.items()
            if begin < at <= end
        )

    @cached_property
    def came(self) -> tuple[float, ...]:
        """What came in and was kept, step by step."""
        counts = zip(self.series.growth["enqueued"], self.discarded, self.less_severe, strict=True)
        return tuple(enqueued - full - severe for enqueued, full, severe in counts)

    @property
    def lost(self) -> int:
        """What it threw away since rsyslogd began, its part on disk included."""
        parts = (part for part in (self.series, self.part) if part is not None)
        return sum(part.in_all("discarded.full", "discarded.nf") for part in parts)

    @property
    def came_in_all(self) -> int:
        """What came in and was kept since rsyslogd began."""
        return self.series.in_all("enqueued") - self.series.in_all("discarded.full", "discarded.nf")

    @property
    def discarded(self) -> tuple[float, ...]:
        """What it found no room for and threw away, step by step."""
        return self.series.growth["discarded.full"]

    @property
    def less_severe(self) -> tuple[float, ...]:
        """What it threw away for its severity, step by step."""
        return self.series.growth["discarded.nf"]

    @property
    def full(self) -> tuple[float, ...]:
        """How often it was full when an event came, step by step."""
        return self.series.growth["full"]

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
        waits = (
            at[max(n, bisect_left(left, arrived) - 1)] - at[n]
            for at, came, left in self._sums
            for n, arrived in enumerate(came)
        )
        return max(0.0, max(waits, default=0.0) - 1)

    @cached_property
    def proven_late(self) -> int:
        """How many events at least waited as long as late ones do, at one time, by the same
        reason."""
        still_there = (
            arrived - left[later]
            for at, came, left in self._sums
            for begin, arrived in zip(at, came, strict=True)
            if (later := bisect_left(at, begin + WAITS_S + 1)) < len(at)
        )
        return round(max([0.0, *still_there]))

    @property
    def late(self) -> Events:
        """The events that waited as long, as far as the counters prove it."""
        return Events(self.proven_late or None)

    @property
    def waited(self) -> str:
        """How long events waited, as far as the counters prove it."""
        waited_s = self.proven_wait_s
        longer = f"some events waited here for {waited_s:,.0f} s and longer"
        return longer if waited_s else "events waited here"

    @cached_property
    def _sums(self) -> list[tuple[list[float], list[float], list[float]]]:
        """Of each process the seconds, all that came and all that left, at the end of each step;
        what moves to disk counts twice for a moment."""
        return [self._sums_of(life) for life in self.course.lives if life]

    def _sums_of(self, life: range) -> tuple[list[float], list[float], list[float]]:
        steps = self.course.steps
        at = list(accumulate(steps[n].seconds for n in life))
        is_new = steps[life[0]].has_start
        begin = max(0.0, self.size[life[0]] - self.came[life[0]]) if is_new else self._first_size
        came = list(accumulate((self.came[n] for n in life), initial=begin))[1:]
        held = (self.size[n] - min(self.on_disk[n], self.in_memory[n]) for n in life)
        left = list(accumulate((all_ - now for all_, now in zip(came, held, strict=True)), max))
        if is_new:
            return at, came, left
        return [0.0, *at], [begin, *came], [0.0, *left]

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
        if is_for_one and self.proven_wait_s >= _long_s(self.course):
            return True
        more = [
            n for n in steps
            if self.came[n] > self.left[n] or self.full[n] + self.less_severe[n]
        ]  # fmt: skip
        return len(more) >= STEPS - 1

    @property
    def room(self) -> int | None:
        """How many events it takes: as set, or what it held when it was full."""
        if self.parameters is not None:
            return self.parameters.size
        return self.highest if any(self.full) else None

    def finding(
        self,
        cause: Cause,
        steps: Iterable[int],
        evidence: str,
        events: Events | None = None,
        *,
        where: str = "",
        **values: Any,
    ) -> ProductionFinding:
        """A finding of this queue, or of its part on disk, in these steps."""
        span, words = self.course.span(steps), {"path": self.path, "waited": self.waited}
        return finding(cause, where or self.name, span, evidence, events, **(words | values))

    @property
    def path(self) -> str:
        """Where its parameters are written, in the configuration where that is known."""
        return "queue" if self.settings is None else self.settings.path


def _long_s(course: CounterCourse) -> float:
    """From how many seconds on something lasts."""
    return min(_LASTS_AT_MOST_S, max(_LASTS_S, _PART * course.seconds))


def runs_where(holds: Sequence[bool]) -> Iterator[list[int]]:
    """The numbers of the steps in which something holds, in runs of those that follow one
    another."""
    for does_hold, run in groupby(range(len(holds)), key=holds.__getitem__):
        if does_hold:
            yield list(run)


def lasting(course: CounterCourse, holds: Sequence[bool]) -> tuple[int, ...]:
    """The numbers of the steps in which something holds, without what passes quickly."""
    long_s = _long_s(course)
    return tuple(
        n
        for run in runs_where(holds)
        if len(run) >= STEPS and course.lasted(run) >= long_s
        for n in run
    )


def queues_of(course: CounterCourse, settings: Settings) -> tuple[QueueCourse, ...]:
    """The queues of a course, the parts on disk with the queues that they belong to."""
    queues = {series.name: series for series in course.objects_of("core.queue")}
    return tuple(
        QueueCourse(course, series, settings.queues.get(name), queues.get(f"{name}{DISK_PART}"))
        for name, series in queues.items()
        if DISK_PART not in name
    )


def standing_steps(course: CounterCourse, series: StatsSeries) -> list[int]:
    """The steps in which events came into a queue, found room, and its size stood at one number,
    where these are several in a row."""
    sizes, growth = series.level["size"], series.growth
    # What finds it full has to wait, and then comes as soon as something leaves.
    stands = [
        n > 0
        and not course.steps[n].has_start
        and sizes[n] == sizes[n - 1] > 1
        and not growth["full"][n]
        and growth["enqueued"][n] - growth["discarded.nf"][n] >= _COME
        for n in range(len(sizes))
    ]
    return [n for run in runs_where(stands) if len(run) >= _STANDS for n in run]
