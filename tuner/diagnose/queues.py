"""Queues over time: what came in, what left, how long events waited; and what is wrong there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.daemons import DISK_PART
from tuner.diagnose.finding import (
    Cause,
    Certainty,
    EventEffect,
    Events,
    ProductionFinding,
    WayOut,
)
from tuner.diagnose.settings import QueueSettings, Settings
from tuner.modules.queue import QueueType

_OF_ACTION = " queue"
WAITS_S = 3.0
"""Events that wait so long, in several steps one after the other, are late; less is a burst."""
_STEPS, _LASTS_S, _LASTS_AT_MOST_S, _PART = 3, 5.0, 10.0, 0.05
# Nothing leaves for so long: a large batch may take some seconds.
_STILL_S = 8.0
# Waits longer than any step shows: nothing left the queue at all.
_FOREVER = float("inf")
_AT_MARK, _BELOW_MARK = 0.95, 0.75
# A round or two tell of a queue that holds so many, and nearly the most that it ever held.
_MANY, _MOSTLY = 500, 0.9
_MOST_NAMED = 3
# Inputs that rsyslog makes wait at lightDelayMark (flow control of each, queue.c).
_SLOWED = ("imtcp", "imptcp", "imrelp", "imgssapi")
# A size that stands in so many steps while so many events a step come in is no coincidence.
_STANDS, _COME = 4, 10
# Of a core: below, the workers mostly wait; above, one of them may have no time left.
_IDLE_CPU, _BUSY_CPU = 0.5, 0.8


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
        action = self.name.removesuffix(_OF_ACTION)
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
        return len(more) >= _STEPS - 1

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
        if holds and len(run) >= _STEPS and course.lasted(run) >= long_s(course):
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


def late_findings(
    every: Sequence[QueueCourse], settings: Settings, is_away: Sequence[bool]
) -> Iterator[ProductionFinding]:
    """Where events wait in these queues, and for what; `is_away` says for each step whether an
    output could not reach its receiver, which is a finding of its own."""
    of_actions = [one for one in every if one.action is not None]
    for one in of_actions:
        steps = [n for n in one.late_steps if not is_away[n]]
        if len(steps) >= _STEPS:
            yield from _late_action(one, steps, settings)
    blocked = {n for one in of_actions for n, full in enumerate(one.full) if full}
    for one in every:
        steps = [n for n in one.late_steps if n not in blocked and not is_away[n]]
        if one.action is None and len(steps) >= _STEPS and len(steps) * 2 > len(one.late_steps):
            yield from _late_entry(one, steps, settings, bool(of_actions))
    for one in every:
        yield from _slowed(one)
        yield from _on_disk(one)
        yield from _few_workers(one, is_away)
        yield from _held_at_once(one)


def _waited(one: QueueCourse) -> str:
    """How long, as far as the counters prove it."""
    waited = one.proven_wait_s
    return f"some events waited here for {waited:,.0f} s and longer" if waited else (
        "events waited here"
    )  # fmt: skip


def _late(one: QueueCourse) -> Events:
    return Events(one.proven_late or None)


def _figures(one: QueueCourse, steps: Sequence[int]) -> str:
    seconds = one.course.lasted(steps)
    came, left = sum(one.came[n] for n in steps), sum(one.left[n] for n in steps)
    room = f" of {one.room:,}" if one.room and one.part is None else ""
    held = max(one.size[n] for n in steps)
    return (
        f"{one.name} held up to {held:,.0f}{room} events; in {seconds:,.0f} s {came:,.0f} came in "
        f"and {left:,.0f} left, {left / max(seconds, 1):,.0f} a second"
    )


def _late_action(
    one: QueueCourse, steps: Sequence[int], settings: Settings
) -> Iterator[ProductionFinding]:
    idle = [n for n in steps if one.left[n] == 0]
    if _stands(one, idle, steps):
        yield _still(one, idle, [])
        return
    if not one.is_late(steps):
        return
    # Those that were discarded did not wait long.
    waits = sum(one.full[n] - one.discarded[n] for n in steps)
    is_disk = one.settings is not None and one.settings.queue.type is QueueType.DISK
    what = f"the output {one.action} takes fewer events than come in"
    if is_disk:
        what = "its files are written and read one event after the other, by one worker"
    stopped = f"; it was full {waits:,.0f} times, and what feeds it had to wait" if waits else ""
    yield ProductionFinding(
        Cause.SLOW_OUTPUT,
        one.name,
        EventEffect.LATE,
        _late(one),
        one.course.span(steps),
        f"{_figures(one, steps)}{stopped}",
        what,
        _waited(one)
        + ("; where room runs out, outputs that the same worker feeds wait too" if waits else ""),
        _faster_output(one, settings.module_of(one.action or ""), is_disk),
        Certainty.CERTAIN if waits else Certainty.LIKELY,
    )


def _faster_output(one: QueueCourse, module: str | None, is_disk: bool) -> WayOut:
    if is_disk:
        return WayOut(
            "hold events in memory first: type LinkedList with a filename writes to disk only what "
            "memory cannot take", one.parameter("type"), "RT120",
        )  # fmt: skip
    match module:
        case "omelasticsearch":
            return WayOut(
                "find out whether the engine can take more (bench --sustain); if it can, use "
                "larger batches first, then more workers",
                one.parameter("dequeueBatchSize"),
            )
        case "omprog":
            return WayOut(
                "make the program faster, or start it several times: each worker has one of its "
                "own",
                one.parameter("workerThreads"),
            )
        case "omfile":
            return WayOut("see what its disk takes (iostat); sync costs most of it", "sync")
        case _:
            return WayOut(
                f"find out whether what is behind {one.action} can take more; if it can, let more "
                "workers send at a time",
                one.parameter("workerThreads"),
            )


def _stands(one: QueueCourse, idle: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether it stood still for most of the time that events waited."""
    seconds = one.course.lasted(idle)
    return len(idle) >= _STEPS and seconds >= _STILL_S and len(idle) * 2 > len(steps)


def _still(one: QueueCourse, idle: Sequence[int], direct: Sequence[str]) -> ProductionFinding:
    seconds = one.course.lasted(idle)
    memory = one.series.level.get("size", one.course.nothing)
    is_on_disk = not any(memory[n] for n in idle)
    return ProductionFinding(
        Cause.STANDS_STILL,
        one.name,
        EventEffect.LATE,
        _late(one),
        one.course.span(idle),
        f"nothing left {one.name} for {seconds:,.0f} s in all, while it held up to "
        f"{max(one.size[n] for n in idle):,.0f} events",
        *_why_still(one, is_on_disk, direct),
        Certainty.LIKELY,
    )


def _why_still(
    one: QueueCourse, is_on_disk: bool, direct: Sequence[str]
) -> tuple[str, str, WayOut]:
    """The cause, what it means, and the way out, of a queue that nothing leaves."""
    meaning = f"{_waited(one)}; once the queue is full, they are lost or their senders wait"
    if is_on_disk:
        return (
            "its part on disk is not read: while the part in memory is empty, some releases start "
            "no worker for it; or its files are damaged",
            meaning,
            WayOut("restart rsyslogd, and read its messages about the files of the queue"),
        )
    if direct:
        return (
            f"its workers wait for an output that has no queue of its own: {_listed(direct)}",
            f"{meaning}; all outputs that this queue feeds stand still together",
            WayOut(
                "find the one that does not take events, and give it a queue of its own "
                "(LinkedList), which leaves the others alone",
                "queue.type",
            ),
        )
    return (
        f"every worker of {one.action or one.name} waits for an answer that does not come, or for "
        "a retry",
        meaning,
        WayOut(
            "look at the receiver: is it reached, does it answer? Of omelasticsearch, indexTimeout "
            "ends a request that hangs", "", "RT213",
        ),
    )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _late_entry(
    one: QueueCourse, steps: Sequence[int], settings: Settings, has_action_queues: bool
) -> Iterator[ProductionFinding]:
    """Events that wait before a queue's workers, with room in the queues behind them."""
    idle = [n for n in steps if not one.left[n] and not _handed_on(one.course, n)]
    if _stands(one, idle, steps):
        yield _still(one, idle, _direct_outputs(one.course, one.late_steps) or _direct(one.course))
        return
    if not one.is_late(steps):
        return
    cpu = _cpu(one.course, steps)
    used = "" if cpu is None else f"; rsyslogd used {cpu:.0%} of a core"
    behind = "; no action queue was full" if has_action_queues else ""
    cause, why, way, certainty = _slow_workers(one, steps, settings, cpu)
    yield ProductionFinding(
        cause,
        one.name,
        EventEffect.LATE,
        _late(one),
        one.course.span(steps),
        f"{_figures(one, steps)}{used}{behind}",
        why,
        _waited(one),
        way,
        certainty,
    )


def _slow_workers(
    one: QueueCourse, steps: Sequence[int], settings: Settings, cpu: float | None
) -> tuple[Cause, str, WayOut, Certainty]:
    """What its workers spend their time with, as far as the counters say."""
    direct = _direct_outputs(one.course, steps)
    if cpu is not None and cpu >= _BUSY_CPU:
        why = "its workers have no CPU time left: what they do for each event takes too much of it"
        way = WayOut(
            "make the ruleset cheaper (regular expressions, many filters), or split the input over "
            "rulesets with queues of their own",
            one.parameter("workerThreads"),
        )
        return Cause.SLOW_WORKERS, why, way, Certainty.LIKELY
    if cpu is not None and cpu < _IDLE_CPU:
        on_disk = [
            name
            for name, known in settings.queues.items()
            if known.queue.type is QueueType.DISK and name != one.name
        ]
        if on_disk:
            why = (
                "its workers write each event to the files of a queue on disk, and hardly use the "
                f"CPU meanwhile: {_listed(on_disk)}"
            )
            way = WayOut(
                "hold events in memory first: LinkedList with a filename writes to disk only what "
                "memory cannot take; checkpointInterval and syncQueueFiles cost most",
                settings.queues[on_disk[0]].parameter("type"), "RT120",
            )  # fmt: skip
            return Cause.DISK_QUEUE, why, way, Certainty.LIKELY
        if direct:
            return _waits_for_output(one, direct)
    why = (
        "its workers take fewer events than come in; the outputs behind it are no reason that the "
        "counters show"
    )
    way = WayOut(
        "see with `top -H` whether a thread named rs:... is at 100 %; if none is, they wait: for "
        "a queue on disk, for name resolution, or for each other",
        one.parameter("workerThreads"),
    )
    return Cause.SLOW_WORKERS, why, way, Certainty.POSSIBLE


def _waits_for_output(
    one: QueueCourse, direct: Sequence[str]
) -> tuple[Cause, str, WayOut, Certainty]:
    """Workers that wait for what the counters do not show: an output without a queue, or, where
    imudp leaves that to them, the name of a sender that is not known yet."""
    queue = (
        "give it a queue of its own (LinkedList), so that one slow output does not hold up the "
        "others"
    )
    if any(each.total("submitted") for each in one.course.of("imudp")):
        why = (
            "its workers hardly use the CPU: they wait for the name of each new sender that imudp "
            f"received from (DNS), or for an output that they feed directly: {_listed(direct)}"
        )
        way = WayOut(
            "see how long names take (`getent hosts ADDRESS`); without need for names, set "
            f"net.enableDNS off in global(). If an output is slow, {queue}",
            "net.enableDNS",
        )
        return Cause.SLOW_NAMES, why, way, Certainty.POSSIBLE
    why = (
        "its workers wait for an output that has no queue of its own, and hardly use the CPU: "
        f"{_listed(direct)}"
    )
    return Cause.DIRECT_OUTPUT, why, WayOut(queue, "queue.type"), Certainty.LIKELY


def _handed_on(course: CounterCourse, step: int) -> bool:
    """Whether any action got an event in a step: a batch counts as waiting until all of it did."""
    counts = (one.growth.get("processed") for one in course.of("core.action"))
    return any(growth is not None and growth[step] > 0 for growth in counts)


def _cpu(course: CounterCourse, steps: Sequence[int]) -> float | None:
    """The share of a core that rsyslogd used."""
    used_s, seconds = course.cpu_s, course.lasted(steps)
    if used_s is None or seconds <= 0:
        return None
    return sum(used_s[n] for n in steps) / seconds


def _direct(course: CounterCourse) -> list[str]:
    """The actions that have no queue of their own."""
    return [
        one.name
        for one in course.of("core.action")
        if ("core.queue", f"{one.name}{_OF_ACTION}") not in course.objects
    ]


def _direct_outputs(course: CounterCourse, steps: Sequence[int]) -> list[str]:
    """Those that had work in these steps, most work first."""
    work = {
        name: sum(course.objects["core.action", name].growth.get("processed", course.nothing)[n]
                  for n in steps)
        for name in _direct(course)
    }  # fmt: skip
    return sorted((name for name, events in work.items() if events), key=lambda name: -work[name])


def _slowed(one: QueueCourse) -> Iterator[ProductionFinding]:
    """A queue of inputs at the mark from which rsyslog slows senders down."""
    mark = 0 if one.settings is None else one.settings.queue.light_delay_mark or 0
    if one.action is not None or not mark or one.highest < mark:
        return
    if not any(one.course.of(origin) for origin in _SLOWED):
        return
    # It hovers there: what is below the mark by some batches was above it a moment before or after.
    steps = [n for n, size in enumerate(one.size) if size >= _AT_MARK * mark] or list(
        lasting(one.course, [size >= _BELOW_MARK * mark for size in one.size])
    )
    if steps:
        yield ProductionFinding(
            Cause.SENDERS_SLOWED,
            one.name,
            EventEffect.LATE,
            Events(),
            one.course.span(steps),
            f"{one.name} held up to {max(one.size[n] for n in steps):,.0f} events in "
            f"{len(steps):,} rounds; lightDelayMark is {mark:,}",
            "above lightDelayMark rsyslog makes TCP and RELP inputs wait up to a second for each "
            "message",
            "events wait at their senders; what senders cannot hold is lost there. UDP is not "
            "slowed and may overflow",
            WayOut(
                "remove the cause of the backlog behind this queue; a larger size only lets it "
                "take longer", one.parameter("size"), "RT118",
            ),
        )  # fmt: skip


def _on_disk(one: QueueCourse) -> Iterator[ProductionFinding]:
    """A disk-assisted queue that went to disk, and whether it came back."""
    if one.part is None or not one.part.highest("size"):
        return
    sizes = one.part.level["size"]
    steps = [n for n, size in enumerate(sizes) if size]
    if not steps:
        return
    seconds = one.course.lasted(steps)
    grown = one.part.growth.get("enqueued", one.course.nothing)
    came = round(sum(grown[n] for n in steps))
    # What it held when the log began went there before.
    before = round(one.part.before.get("size", 0)) if not steps[0] else 0
    yield ProductionFinding(
        Cause.ON_DISK,
        one.part.name,
        EventEffect.LATE,
        Events(before + came),
        one.course.span(steps),
        f"{one.part.name} held up to {max(sizes):,.0f} events for {seconds:,.0f} s; {came:,} went "
        f"to disk{_came_back(one, before + came, sizes[-1], seconds)}",
        "the queue reached its highWatermark; the part on disk is read by one worker",
        "events come late and out of order: newer ones in memory overtake those on disk",
        WayOut(
            "let the output take more than comes in; files of 16 MB and more drain faster than "
            "1 MB",
            one.parameter("maxFileSize"), "RT120",
        ),
    )  # fmt: skip


def _came_back(one: QueueCourse, went: int, held: float, seconds: float) -> str:
    """What became of those on disk, where one process saw all of it and its files took them."""
    if one.course.starts:
        return "; rsyslogd began anew meanwhile, and does not count what it found in its files"
    if one.part is None or standing_steps(one.course, one.part):
        return ""
    left = max(0, went - round(held))
    ends = "it still holds some" if held else "it is empty again"
    return f", {left:,} came back, {left / max(seconds, 1):,.0f} a second; {ends}"


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


def _few_workers(one: QueueCourse, is_away: Sequence[bool]) -> Iterator[ProductionFinding]:
    """Workers that a backlog never started (qqueueAdviseMaxWorkers() of queue.c), while those that
    ran had work and could hand it on."""
    queue = None if one.settings is None else one.settings.queue
    workers = 0 if queue is None else queue.worker_threads or 0
    minimum = 0 if queue is None else queue.worker_thread_minimum_messages or 0
    steps = [n for n in one.late_steps if one.left[n] and not is_away[n]]
    if workers < 2 or len(steps) < _STEPS or len(steps) * 2 < len(one.late_steps) or minimum <= 1:
        return
    highest = one.highest
    started = min(workers, int(highest // minimum) + 1)
    if started < workers:
        yield ProductionFinding(
            Cause.FEW_WORKERS,
            one.name,
            EventEffect.LATE,
            Events(),
            one.course.span(steps),
            f"{workers} workers are set and at most {started} ran: the next one starts at "
            f"{started * minimum:,} waiting events, and {one.name} held at most {highest:,.0f}",
            "worker k starts only when (k - 1) x workerThreadMinimumMessages events wait",
            "events wait although more workers could take them; whether these would be faster, the "
            "counters do not say",
            WayOut(
                f"set it near the batch size, {queue.dequeue_batch_size if queue else 0:,}",
                one.parameter("workerThreadMinimumMessages"), "RT112",
            ),
            Certainty.LIKELY,
        )  # fmt: skip


def _held_at_once(one: QueueCourse) -> Iterator[ProductionFinding]:
    """What a round or two say of a queue: how much it holds, against the most that it ever did."""
    held = round(one.size[-1])
    if len(one.course.steps) >= _STEPS or held < _MANY or held < _MOSTLY * one.highest:
        return
    room = f"; it takes {one.room:,}" if one.room else ""
    full = one.series.in_all("full")
    yield ProductionFinding(
        Cause.BACKLOG,
        one.name,
        EventEffect.LATE,
        Events(),
        one.course.span([0]),
        f"{one.name} held {held:,} events, and never more than {one.highest:,}{room}"
        + (f"; it was full {full:,} times" if full else ""),
        "what is behind this queue takes fewer events than come in, or did until a moment before",
        "these events wait; whether they become more or fewer, so few rounds do not tell",
        WayOut("look at more rounds: `enqueued` and `size` show what leaves"),
        Certainty.POSSIBLE,
    )
