"""Queues over time: what came in, what left, how long events waited; and what is wrong there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from tuner.diagnose.course import CounterCourse, StatsSeries
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

DISK_PART = "[DA]"
_OF_ACTION = " queue"
# Events that wait so long, in so many steps one after the other; less is a burst.
_WAITS_S = 3.0
_STEPS, _LASTS_S, _LASTS_AT_MOST_S, _PART = 3, 5.0, 10.0, 0.05
# Nothing leaves for so long: a large batch may take some seconds.
_STILL_S = 8.0
# Waits longer than any step shows: nothing left the queue at all.
_FOREVER = float("inf")
_AT_MARK = 0.95
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

    @cached_property
    def came(self) -> tuple[float, ...]:
        """What came in and was kept, step by step."""
        nothing = self.course.nothing
        every = self.series.growth
        severe = every.get("discarded.nf", nothing)
        counts = zip(every.get("enqueued", nothing), self.discarded, severe, strict=True)
        return tuple(came - full - severe for came, full, severe in counts)

    @cached_property
    def discarded(self) -> tuple[float, ...]:
        """What it found no room for and threw away, step by step."""
        return self.series.growth.get("discarded.full", self.course.nothing)

    @cached_property
    def left(self) -> tuple[float, ...]:
        """What left it, step by step; what stood in it when rsyslogd began anew is not known."""
        before, left = self.size[0] if self.size else 0.0, []
        for came, size, step in zip(self.came, self.size, self.course.steps, strict=True):
            left.append(max(0.0, came + (0.0 if step.has_start else before) - size))
            before = size
        return tuple(left)

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
        return lasting(self.course, [wait >= _WAITS_S or full > 0 for wait, full in waits])

    def grows(self, steps: Sequence[int]) -> bool:
        """Whether more came than left in several of these steps, or found no room: what only
        drains was late before.  What left in the first step of all is not known."""
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


def lasting(course: CounterCourse, is_so: Sequence[bool]) -> tuple[int, ...]:
    """The numbers of the steps in which something is so, without what passes quickly."""
    kept: list[int] = []
    long_s = min(_LASTS_AT_MOST_S, max(_LASTS_S, _PART * course.seconds))
    for holds, group in groupby(range(len(is_so)), key=is_so.__getitem__):
        run = list(group)
        if holds and len(run) >= _STEPS and course.lasted(run) >= long_s:
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
            yield from _late_action(one, steps)
    blocked = {n for one in of_actions for n, full in enumerate(one.full) if full}
    for one in every:
        steps = [n for n in one.late_steps if n not in blocked and not is_away[n]]
        if one.action is None and len(steps) >= _STEPS and len(steps) * 2 > len(one.late_steps):
            yield from _late_entry(one, steps, settings)
    for one in every:
        yield from _slowed(one)
        yield from _on_disk(one)
        yield from _few_workers(one)


def _wait(one: QueueCourse, steps: Sequence[int]) -> str:
    """`up to 12 s`."""
    finite = [one.waits_s[n] for n in steps if one.waits_s[n] < _FOREVER]
    return f"{max(finite):,.0f} s" if finite else "without end"


def _figures(one: QueueCourse, steps: Sequence[int]) -> str:
    seconds = one.course.lasted(steps)
    came, left = sum(one.came[n] for n in steps), sum(one.left[n] for n in steps)
    room = f" of {one.room:,}" if one.room and one.part is None else ""
    held = max(one.size[n] for n in steps)
    return (
        f"{one.name} held up to {held:,.0f}{room} events; in {seconds:,.0f} s {came:,.0f} came in "
        f"and {left:,.0f} left, {left / max(seconds, 1):,.0f} a second"
    )


def _late_action(one: QueueCourse, steps: Sequence[int]) -> Iterator[ProductionFinding]:
    idle = [n for n in steps if one.left[n] == 0]
    if _stands(one, idle, steps):
        yield _still(one, idle)
        return
    if not one.grows(steps):
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
        Events(round(sum(one.left[n] for n in steps))),
        one.course.span(steps),
        f"{_figures(one, steps)}{stopped}",
        what,
        f"events waited here for up to {_wait(one, steps)}"
        + ("; where room runs out, all other outputs wait too" if waits else ""),
        _faster_output(one, is_disk),
        Certainty.CERTAIN if waits else Certainty.LIKELY,
    )


def _faster_output(one: QueueCourse, is_disk: bool) -> WayOut:
    if is_disk:
        return WayOut(
            "hold events in memory first: type LinkedList with a filename writes to disk only what "
            "memory cannot take", one.parameter("type"), "RT120",
        )  # fmt: skip
    return WayOut(
        "find out whether the engine can take more (bench --sustain); if it can, use larger "
        "batches first, then more workers",
        one.parameter("dequeueBatchSize"),
    )


def _stands(one: QueueCourse, idle: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether it stood still for most of the time that events waited."""
    seconds = one.course.lasted(idle)
    return len(idle) >= _STEPS and seconds >= _STILL_S and len(idle) * 2 > len(steps)


def _still(one: QueueCourse, idle: Sequence[int]) -> ProductionFinding:
    seconds = one.course.lasted(idle)
    memory = one.series.level.get("size", one.course.nothing)
    is_on_disk = not any(memory[n] for n in idle)
    return ProductionFinding(
        Cause.STANDS_STILL,
        one.name,
        EventEffect.LATE,
        Events(round(one.size[idle[-1]])),
        one.course.span(idle),
        f"nothing left {one.name} for {seconds:,.0f} s, while it held up to "
        f"{max(one.size[n] for n in idle):,.0f} events",
        "its part on disk is not read: while the part in memory is empty, some releases start no "
        "worker for it; or its files are damaged"
        if is_on_disk
        else f"every worker of {one.action or one.name} waits for an answer that does not come, or "
        "for a retry",
        "events wait; once the queue is full, they are lost or their senders wait",
        WayOut("restart rsyslogd, and read its messages about the files of the queue")
        if is_on_disk
        else WayOut(
            "look at the receiver: is it reached, does it answer? Of omelasticsearch, indexTimeout "
            "ends a request that hangs", "", "RT213",
        ),
        Certainty.LIKELY,
    )  # fmt: skip


def _late_entry(
    one: QueueCourse, steps: Sequence[int], settings: Settings
) -> Iterator[ProductionFinding]:
    """Events that wait before a queue's workers, with room in the queues behind them."""
    idle = [n for n in steps if not one.left[n] and not _handed_on(one.course, n)]
    if _stands(one, idle, steps):
        yield _still(one, idle)
        return
    if not one.grows(steps):
        return
    cpu = _cpu(one.course, steps)
    used = "" if cpu is None else f"; rsyslogd used {cpu:.0%} of a core"
    cause, why, way, certainty = _slow_workers(one, steps, settings, cpu)
    yield ProductionFinding(
        cause,
        one.name,
        EventEffect.LATE,
        Events(round(sum(one.came[n] for n in steps))),
        one.course.span(steps),
        f"{_figures(one, steps)}{used}; no action queue was full",
        why,
        f"events waited here for up to {_wait(one, steps)}",
        way,
        certainty,
    )


def _slow_workers(
    one: QueueCourse, steps: Sequence[int], settings: Settings, cpu: float | None
) -> tuple[Cause, str, WayOut, Certainty]:
    """What its workers spend their time with, as far as the counters say."""
    direct = _direct_outputs(one.course, steps)
    if cpu is not None and cpu >= _BUSY_CPU:
        why = "its workers have no CPU time left, while the outputs behind it have room"
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
                f"CPU meanwhile: {', '.join(on_disk[:3])}"
            )
            way = WayOut(
                "hold events in memory first: LinkedList with a filename writes to disk only what "
                "memory cannot take; checkpointInterval and syncQueueFiles cost most",
                settings.queues[on_disk[0]].parameter("type"), "RT120",
            )  # fmt: skip
            return Cause.DISK_QUEUE, why, way, Certainty.LIKELY
        if direct:
            why = (
                "its workers wait for an output that has no queue of its own, and hardly use the "
                f"CPU: {', '.join(direct[:3])}"
            )
            way = WayOut(
                "give the output a queue of its own (LinkedList), so that one slow output does not "
                "hold up the others",
                "queue.type",
            )
            return Cause.DIRECT_OUTPUT, why, way, Certainty.LIKELY
    why = "its workers take fewer events than come in, while the outputs behind it have room"
    way = WayOut(
        "see with `top -H` whether a thread named rs:... is at 100 %; if none is, they wait: for "
        "a queue on disk, for name resolution, or for each other",
        one.parameter("workerThreads"),
    )
    return Cause.SLOW_WORKERS, why, way, Certainty.POSSIBLE


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


def _direct_outputs(course: CounterCourse, steps: Sequence[int]) -> list[str]:
    """The actions that have no queue of their own and had work in these steps, most work first."""
    work = {
        one.name: sum(one.growth["processed"][n] for n in steps)
        for one in course.of("core.action")
        if ("core.queue", f"{one.name}{_OF_ACTION}") not in course.objects
        and "processed" in one.growth
    }
    return sorted((name for name, events in work.items() if events), key=lambda name: -work[name])


def _slowed(one: QueueCourse) -> Iterator[ProductionFinding]:
    """A queue of inputs at the mark from which rsyslog slows senders down."""
    mark = 0 if one.settings is None else one.settings.queue.light_delay_mark or 0
    if one.action is not None or not mark or one.highest < mark:
        return
    # It hovers there: what is below the mark was above it a moment before or after.
    steps = [n for n, size in enumerate(one.size) if size >= _AT_MARK * mark]
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
    before = max(0, round(sizes[0] - grown[0])) if not steps[0] else 0
    left = max(0, before + came - round(sizes[-1]))
    ends = "it still does" if sizes[-1] else "it is empty again"
    yield ProductionFinding(
        Cause.ON_DISK,
        one.part.name,
        EventEffect.LATE,
        Events(before + came),
        one.course.span(steps),
        f"{one.part.name} held up to {max(sizes):,.0f} events for {seconds:,.0f} s; {came:,} went "
        f"to disk, {left:,} came back, {left / max(seconds, 1):,.0f} a second; {ends}",
        "the queue reached its highWatermark; the part on disk is read by one worker",
        "events come late and out of order: newer ones in memory overtake those on disk",
        WayOut(
            "let the output take more than comes in; files of 16 MB and more drain faster than "
            "1 MB",
            one.parameter("maxFileSize"), "RT120",
        ),
    )  # fmt: skip


def _few_workers(one: QueueCourse) -> Iterator[ProductionFinding]:
    """Workers that a backlog never started."""
    queue = None if one.settings is None else one.settings.queue
    workers = 0 if queue is None else queue.worker_threads or 0
    minimum = 0 if queue is None else queue.worker_thread_minimum_messages or 0
    if workers < 2 or not one.late_steps or minimum <= 1:
        return
    highest = one.highest
    started = min(workers, int(highest // minimum) + 1)
    if started < workers:
        yield ProductionFinding(
            Cause.FEW_WORKERS,
            one.name,
            EventEffect.LATE,
            Events(),
            one.course.span(one.late_steps),
            f"{workers} workers are set and at most {started} ran: the next one starts at "
            f"{started * minimum:,} waiting events, and {one.name} held at most {highest:,.0f}",
            "worker k starts only when (k - 1) x workerThreadMinimumMessages events wait",
            "events wait although workers are free",
            WayOut(
                f"set it near the batch size, {queue.dequeue_batch_size if queue else 0:,}",
                one.parameter("workerThreadMinimumMessages"), "RT112",
            ),
        )  # fmt: skip
