"""Where events wait in queues, how long they provably did, and for what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.diagnose.course import CounterCourse
from tuner.diagnose.finding import (
    Cause,
    Certainty,
    EventEffect,
    Events,
    ProductionFinding,
    WayOut,
)
from tuner.diagnose.queues import STEPS, QueueCourse, lasting, standing_steps
from tuner.diagnose.settings import Settings
from tuner.modules.queue import QueueType
from tuner.schema.numerals import counted, listed
from tuner.script.counted import queue_of_action

# Nothing leaves for so long: a large batch may take some seconds.
_STILL_S = 8.0
_AT_MARK, _BELOW_MARK = 0.95, 0.75
# A round or two tell of a queue that holds so many, and nearly the most that it ever held.
_MANY, _MOSTLY = 500, 0.9
# Inputs that rsyslog makes wait at lightDelayMark (flow control of each, queue.c).
_SLOWED = ("imtcp", "imptcp", "imrelp", "imgssapi")
# Of a core: below, the workers mostly wait; above, one of them may have no time left.
_IDLE_CPU, _BUSY_CPU = 0.5, 0.8


def late_findings(
    every: Sequence[QueueCourse], settings: Settings, is_away: Sequence[bool]
) -> Iterator[ProductionFinding]:
    """Where events wait in these queues, and for what; `is_away` says for each step whether an
    output could not reach its receiver, which is a finding of its own."""
    of_actions = [one for one in every if one.action is not None]
    for one in of_actions:
        steps = [n for n in one.late_steps if not is_away[n]]
        if len(steps) >= STEPS:
            yield from _late_action(one, steps, settings)
    blocked = {n for one in of_actions for n, full in enumerate(one.full) if full}
    for one in every:
        steps = [n for n in one.late_steps if n not in blocked and not is_away[n]]
        if one.action is None and len(steps) >= STEPS and len(steps) * 2 > len(one.late_steps):
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
    what = f"the output {one.action} takes fewer events than come in{_or_for_names(one.course)}"
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
        _unless_names(one.course, Certainty.CERTAIN if waits else Certainty.LIKELY),
    )


def _needs_names(course: CounterCourse) -> bool:
    """Whether the first worker that needs the name of a sender looks it up: imudp leaves that to
    them (resolveDNS() of msg.c)."""
    return any(one.in_all("submitted") for one in course.of("imudp"))


def _unless_names(course: CounterCourse, certainty: Certainty) -> Certainty:
    return Certainty.POSSIBLE if _needs_names(course) else certainty


def _or_for_names(course: CounterCourse) -> str:
    return (
        "; or its worker looks up the name of each new sender that imudp received from (DNS)"
        if _needs_names(course)
        else ""
    )


def _see_names(course: CounterCourse) -> str:
    return ". Or how long do names take (`getent hosts ADDRESS`)?" if _needs_names(course) else ""


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
    return len(idle) >= STEPS and seconds >= _STILL_S and len(idle) * 2 > len(steps)


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
        Certainty.LIKELY if is_on_disk else _unless_names(one.course, Certainty.LIKELY),
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
            f"its workers wait for an output that has no queue of its own: {listed(direct)}",
            f"{meaning}; all outputs that this queue feeds stand still together",
            WayOut(
                "find the one that does not take events, and give it a queue of its own "
                "(LinkedList), which leaves the others alone",
                "queue.type",
            ),
        )
    return (
        f"every worker of {one.action or one.name} waits for an answer that does not come, or for "
        f"a retry{_or_for_names(one.course)}",
        meaning,
        WayOut(
            "look at the receiver: is it reached, does it answer? Of omelasticsearch, indexTimeout "
            f"ends a request that hangs{_see_names(one.course)}", "", "RT213",
        ),
    )  # fmt: skip


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
                f"CPU meanwhile: {listed(on_disk)}"
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
    if _needs_names(one.course):
        why = (
            "its workers hardly use the CPU: they wait for the name of each new sender that imudp "
            f"received from (DNS), or for an output that they feed directly: {listed(direct)}"
        )
        way = WayOut(
            "see how long names take (`getent hosts ADDRESS`); without need for names, set "
            f"net.enableDNS off in global(). If an output is slow, {queue}",
            "net.enableDNS",
        )
        return Cause.SLOW_NAMES, why, way, Certainty.POSSIBLE
    why = (
        "its workers wait for an output that has no queue of its own, and hardly use the CPU: "
        f"{listed(direct)}"
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
        if ("core.queue", queue_of_action(one.name)) not in course.objects
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
            f"{counted(len(steps), 'round')}; lightDelayMark is {mark:,}",
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


def _few_workers(one: QueueCourse, is_away: Sequence[bool]) -> Iterator[ProductionFinding]:
    """Workers that a backlog never started (qqueueAdviseMaxWorkers() of queue.c), while those that
    ran had work and could hand it on."""
    queue = None if one.settings is None else one.settings.queue
    workers = 0 if queue is None else queue.worker_threads or 0
    minimum = 0 if queue is None else queue.worker_thread_minimum_messages or 0
    steps = [n for n in one.late_steps if one.left[n] and not is_away[n]]
    if workers < 2 or len(steps) < STEPS or len(steps) * 2 < len(one.late_steps) or minimum <= 1:
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
    if len(one.course.steps) >= STEPS or held < _MANY or held < _MOSTLY * one.highest:
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
