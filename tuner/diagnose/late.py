"""Where events wait in queues, how long they provably did, and for what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.diagnose.course import CounterCourse
from tuner.diagnose.finding import Cause, Certainty, Events, ProductionFinding
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
    queues: Sequence[QueueCourse], settings: Settings, is_away: Sequence[bool]
) -> Iterator[ProductionFinding]:
    """Where events wait in these queues, and for what; `is_away` says for each step whether an
    output could not reach its receiver, which is a finding of its own."""
    of_actions = [queue for queue in queues if queue.action is not None]
    for queue in of_actions:
        steps = [n for n in queue.late_steps if not is_away[n]]
        if len(steps) >= STEPS:
            yield from _late_action(queue, steps, settings)
    blocked = {n for queue in of_actions for n, full in enumerate(queue.full) if full}
    for queue in queues:
        steps = [n for n in queue.late_steps if n not in blocked and not is_away[n]]
        if queue.action is None and len(steps) >= STEPS and len(steps) * 2 > len(queue.late_steps):
            yield from _late_entry(queue, steps, settings, bool(of_actions))
    for queue in queues:
        yield from _slowed(queue)
        yield from _on_disk(queue)
        yield from _few_workers(queue, is_away)
        yield from _held_at_once(queue)


def _held(queue: QueueCourse, steps: Sequence[int]) -> float:
    """The most that a queue held at the end of one of these steps."""
    return max(queue.size[n] for n in steps)


def _figures(queue: QueueCourse, steps: Sequence[int]) -> str:
    seconds = queue.course.lasted(steps)
    came, left = sum(queue.came[n] for n in steps), sum(queue.left[n] for n in steps)
    room = f" of {queue.room:,}" if queue.room and queue.part is None else ""
    return (
        f"{queue.name} held up to {_held(queue, steps):,.0f}{room} events; in {seconds:,.0f} s "
        f"{came:,.0f} came in and {left:,.0f} left, {left / max(seconds, 1):,.0f} a second"
    )


def _late_action(
    queue: QueueCourse, steps: Sequence[int], settings: Settings
) -> Iterator[ProductionFinding]:
    idle = [n for n in steps if queue.left[n] == 0]
    if _stands(queue, idle, steps):
        yield _still(queue, idle, [])
        return
    if not queue.is_late(steps):
        return
    # Those that were discarded did not wait long.
    waits = sum(queue.full[n] - queue.discarded[n] for n in steps)
    is_disk = queue.parameters is not None and queue.parameters.type is QueueType.DISK
    stopped = f"; it was full {waits:,.0f} times, and what feeds it had to wait" if waits else ""
    beside = "; where room runs out, outputs that the same worker feeds wait too" if waits else ""
    certainty = Certainty.CERTAIN if waits else Certainty.LIKELY
    needs_names = _needs_names(queue.course)
    yield queue.finding(
        Cause.SLOW_OUTPUT,
        steps,
        f"{_figures(queue, steps)}{stopped}",
        queue.late,
        case="disk" if is_disk else settings.module_of(queue.action or "") or "",
        action=queue.action,
        beside=beside,
        or_names="; or its worker" + _LOOKS_UP if needs_names else "",
    ).as_certain_as(Certainty.POSSIBLE if needs_names else certainty)


_LOOKS_UP = " looks up the name of each new sender that imudp received from (DNS)"


def _needs_names(course: CounterCourse) -> bool:
    """Whether the first worker that needs the name of a sender looks it up: imudp leaves that to
    them (resolveDNS() of msg.c)."""
    return any(series.in_all("submitted") for series in course.objects_of("imudp"))


def _stands(queue: QueueCourse, idle: Sequence[int], steps: Sequence[int]) -> bool:
    """Whether it stood still for most of the time that events waited."""
    seconds = queue.course.lasted(idle)
    return len(idle) >= STEPS and seconds >= _STILL_S and len(idle) * 2 > len(steps)


def _still(queue: QueueCourse, idle: Sequence[int], direct: Sequence[str]) -> ProductionFinding:
    """A queue that nothing leaves in the idle steps, and the outputs without a queue that it
    feeds."""
    is_on_disk = not any(queue.in_memory[n] for n in idle)
    needs_names = _needs_names(queue.course)
    return queue.finding(
        Cause.STANDS_STILL,
        idle,
        f"nothing left {queue.name} for {queue.course.lasted(idle):,.0f} s in all, while it "
        f"held up to {_held(queue, idle):,.0f} events",
        queue.late,
        case="on_disk" if is_on_disk else "direct" if direct else "",
        worker=queue.action or queue.name,
        direct=listed(direct),
        or_names="; or its worker" + _LOOKS_UP if needs_names else "",
        slow_names=". Or how long do names take (`getent hosts ADDRESS`)?" if needs_names else "",
    ).as_certain_as(Certainty.POSSIBLE if needs_names and not is_on_disk else Certainty.LIKELY)


def _late_entry(
    queue: QueueCourse, steps: Sequence[int], settings: Settings, has_action_queues: bool
) -> Iterator[ProductionFinding]:
    """Events that wait before a queue's workers, with room in the queues behind them."""
    course = queue.course
    idle = [n for n in steps if not queue.left[n] and not _handed_on(course, n)]
    if _stands(queue, idle, steps):
        yield _still(queue, idle, _direct_outputs(course, queue.late_steps) or _direct(course))
        return
    if not queue.is_late(steps):
        return
    cpu = _cpu(course, steps)
    used = "" if cpu is None else f"; rsyslogd used {cpu:.0%} of a core"
    behind = "; no action queue was full" if has_action_queues else ""
    disk_queues = [
        name
        for name, other in settings.queues.items()
        if other.queue.type is QueueType.DISK and name != queue.name
    ]
    direct = _direct_outputs(course, steps)
    cause, case = Cause.SLOW_WORKERS, ""
    if cpu is not None and cpu >= _BUSY_CPU:
        case = "busy"
    elif cpu is not None and cpu < _IDLE_CPU:
        if disk_queues:
            cause = Cause.DISK_QUEUE
        elif direct:
            # What the counters do not show: an output without a queue, or, where imudp leaves that
            # to workers, the name of a sender that is not known yet.
            cause = Cause.SLOW_NAMES if _needs_names(course) else Cause.DIRECT_OUTPUT
    is_disk = cause is Cause.DISK_QUEUE
    yield queue.finding(
        cause,
        steps,
        f"{_figures(queue, steps)}{used}{behind}",
        queue.late,
        case=case,
        path=settings.queues[disk_queues[0]].path if is_disk else queue.path,
        outputs=listed(disk_queues if is_disk else direct),
    )


def _handed_on(course: CounterCourse, step: int) -> bool:
    """Whether any action got an event in a step: a batch counts as waiting until all of it did."""
    return any(action.growth["processed"][step] > 0 for action in course.objects_of("core.action"))


def _cpu(course: CounterCourse, steps: Sequence[int]) -> float | None:
    """The share of a core that rsyslogd used."""
    used_s, seconds = course.cpu_s, course.lasted(steps)
    if used_s is None or seconds <= 0:
        return None
    return sum(used_s[n] for n in steps) / seconds


def _direct(course: CounterCourse) -> list[str]:
    """The actions that have no queue of their own."""
    return [
        action.name
        for action in course.objects_of("core.action")
        if ("core.queue", queue_of_action(action.name)) not in course.objects
    ]


def _direct_outputs(course: CounterCourse, steps: Sequence[int]) -> list[str]:
    """Those that had work in these steps, most work first."""
    work: dict[str, float] = {}
    for name in _direct(course):
        processed = course.objects["core.action", name].growth["processed"]
        work[name] = sum(processed[n] for n in steps)
    return sorted((name for name, events in work.items() if events), key=lambda name: -work[name])


def _slowed(queue: QueueCourse) -> Iterator[ProductionFinding]:
    """A queue of inputs at the mark from which rsyslog slows senders down."""
    mark = 0 if queue.parameters is None else queue.parameters.light_delay_mark or 0
    if queue.action is not None or not mark or queue.highest < mark:
        return
    if not any(map(queue.course.objects_of, _SLOWED)):
        return
    # It hovers there: what is below the mark by some batches was above it a moment before or after.
    steps = [n for n, size in enumerate(queue.size) if size >= _AT_MARK * mark] or list(
        lasting(queue.course, [size >= _BELOW_MARK * mark for size in queue.size])
    )
    if steps:
        yield queue.finding(
            Cause.SENDERS_SLOWED,
            steps,
            f"{queue.name} held up to {_held(queue, steps):,.0f} events in "
            f"{counted(len(steps), 'round')}; lightDelayMark is {mark:,}",
        )


def _on_disk(queue: QueueCourse) -> Iterator[ProductionFinding]:
    """A disk-assisted queue that went to disk, and whether it came back."""
    steps = [n for n, size in enumerate(queue.on_disk) if size]
    if queue.part is None or not steps:
        return
    seconds, enqueued = queue.course.lasted(steps), queue.part.growth["enqueued"]
    came = round(sum(enqueued[n] for n in steps))
    # What it held when the log began went there before.
    before = round(queue.part.before.get("size", 0)) if not steps[0] else 0
    yield queue.finding(
        Cause.ON_DISK,
        steps,
        f"{queue.part.name} held up to {max(queue.on_disk):,.0f} events for {seconds:,.0f} s; "
        f"{came:,} went to disk{_came_back(queue, before + came, seconds)}",
        Events(before + came),
        where=queue.part.name,
    )


def _came_back(queue: QueueCourse, went: int, seconds: float) -> str:
    """What became of those on disk, where one process saw all of it and its files took them."""
    if queue.course.starts:
        return "; rsyslogd began anew meanwhile, and does not count what it found in its files"
    if queue.part is None or standing_steps(queue.course, queue.part):
        return ""
    left = max(0, went - round(queue.on_disk[-1]))
    ends = "it still holds some" if queue.on_disk[-1] else "it is empty again"
    return f", {left:,} came back, {left / max(seconds, 1):,.0f} a second; {ends}"


def _few_workers(queue: QueueCourse, is_away: Sequence[bool]) -> Iterator[ProductionFinding]:
    """Workers that a backlog never started (qqueueAdviseMaxWorkers() of queue.c), while those that
    ran had work and could hand it on."""
    if queue.parameters is None:
        return
    workers = queue.parameters.worker_threads or 0
    minimum = queue.parameters.worker_thread_minimum_messages or 0
    steps = [n for n in queue.late_steps if queue.left[n] and not is_away[n]]
    if workers < 2 or len(steps) < STEPS or len(steps) * 2 < len(queue.late_steps) or minimum <= 1:
        return
    started = min(workers, int(queue.highest // minimum) + 1)
    if started < workers:
        yield queue.finding(
            Cause.FEW_WORKERS,
            steps,
            f"{workers} workers are set and at most {started} ran: the next one starts at "
            f"{started * minimum:,} waiting events, and {queue.name} held at most "
            f"{queue.highest:,.0f}",
            batch=queue.parameters.dequeue_batch_size,
        )


def _held_at_once(queue: QueueCourse) -> Iterator[ProductionFinding]:
    """What a round or two say of a queue: how much it holds, against the most that it ever did."""
    held = round(queue.size[-1])
    if len(queue.course.steps) >= STEPS or held < _MANY or held < _MOSTLY * queue.highest:
        return
    room = f"; it takes {queue.room:,}" if queue.room else ""
    full = queue.series.in_all("full")
    yield queue.finding(
        Cause.BACKLOG,
        [0],
        f"{queue.name} held {held:,} events, and never more than {queue.highest:,}{room}"
        + (f"; it was full {full:,} times" if full else ""),
    )
