"""What becomes of events in queues: where they wait, how long they provably did, and for what; and
those that find no room, that files do not take, and that a start of rsyslogd finds nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import Cause, Certainty, Events, ProductionFinding, exactly, finding
from tuner.diagnose.queues import STEPS, WAITS_S, QueueCourse, lasting, standing_steps
from tuner.diagnose.settings import Settings
from tuner.modules.queue import QueueType
from tuner.schema.numerals import counted, listed
from tuner.script.counted import queue_of_action

_FOREVER_MS = 86_400_000
# Less than this part of what a queue held is what leaves it between two rounds.
_PART = 0.1
# Nothing leaves for so long: a large batch may take some seconds.
_STILL_S = 8.0
_AT_MARK, _BELOW_MARK = 0.95, 0.75
# A round or two tell of a queue that holds so many, and nearly the most that it ever held.
_MANY, _MOSTLY = 500, 0.9
# Inputs that rsyslog makes wait at lightDelayMark (flow control of each, queue.c).
_SLOWED = ("imtcp", "imptcp", "imrelp", "imgssapi")
# Of a core: below, the workers mostly wait; above, one of them may have no time left.
_IDLE_CPU, _BUSY_CPU = 0.5, 0.8


def lost_findings(queues: Sequence[QueueCourse]) -> Iterator[ProductionFinding]:
    """All that these queues lost."""
    for queue in queues:
        for series in (queue.series, queue.part):
            if series is not None:
                yield from _full(queue, series)
                yield from _less_severe(queue, series)
                yield from _not_written(queue, series)
        yield from _left_in_files(queue)
        yield from _left_in_memory(queue)


def _full(queue: QueueCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """rsyslogd counts each event that it discards (doEnqSingleObj() of queue.c)."""
    lost, waits = series.in_all("discarded.full"), series.in_all("full")
    if not lost:
        return
    is_part, is_entry = series is queue.part, queue.action is None
    timeout_ms = None if queue.parameters is None else queue.parameters.timeout_enqueue
    limit = "" if timeout_ms is None else f" of {timeout_ms:,} ms"
    reason = f"no room came within queue.timeoutEnqueue{limit}"
    if waits == lost and timeout_ms is None:
        reason += ", which is 0 or close to it: not one event got in later"
    never_spooled = "" if is_part else _never_spooled(queue)
    if never_spooled:
        reason += f"; {never_spooled}"
    case = "entry" if is_entry else ""
    if is_part:
        case = "part"
    elif never_spooled:
        case = "never_spooled"
    elif (timeout_ms or 0) >= _FOREVER_MS:
        case = "waits"
    room = f" of {queue.room:,}" if queue.room and not is_part else ""
    held = max(map(series.highest, ("size", "maxqsize")))
    files = "" if queue.is_disk_assisted else ", or disk-assisted (queue.filename)"
    yield finding(
        Cause.QUEUE_FULL,
        series.name,
        queue.course.when_counted(series, "discarded.full"),
        f"discarded.full counted {lost:,} of {waits:,} times that {series.name} was full; it held "
        f"up to {held:,}{room} events{queue.course.before_the_log(series, 'discarded.full')}",
        exactly(queue.course, lost),
        case=case,
        path=queue.path,
        source="from inputs" if is_entry else f"for action {queue.action}",
        reason=reason,
        meaning="these events are lost; nothing else has them"
        if is_entry
        else "this output does not get them; other outputs with room of their own do",
        larger=f"the queue must become larger{files}, or what is behind it faster",
    )


def _never_spooled(queue: QueueCourse) -> str:
    """Why a disk-assisted queue was full and never wrote to its files, where the counters show
    that; empty otherwise."""
    if queue.part is None or queue.part.in_all("enqueued") or not queue.series.in_all("full"):
        return ""
    why = "it is disk-assisted, and nothing ever went to its files"
    parameters = queue.parameters
    if parameters is None or parameters.high_watermark is None or parameters.size is None:
        return (
            f"{why}: that begins at highWatermark, for which events that workers hold do not count,"
            " though they do for the size; a queue of 1000 (rsyslog's default for actions) is too "
            "small for it"
        )
    in_flight = (parameters.worker_threads or 1) * (parameters.dequeue_batch_size or 1)
    if parameters.high_watermark <= parameters.size - in_flight:
        return why
    return (
        f"{why}: that begins at highWatermark, {parameters.high_watermark:,}, for which events "
        f"that workers hold do not count, and with up to {in_flight:,} of these a queue of "
        f"{parameters.size:,} is full before"
    )


def _less_severe(queue: QueueCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    lost = series.in_all("discarded.nf")
    if lost:
        yield finding(
            Cause.LESS_SEVERE,
            series.name,
            queue.course.when_counted(series, "discarded.nf"),
            f"discarded.nf counted {lost:,} events; {series.name} held up to {queue.highest:,}"
            f"{queue.course.before_the_log(series, 'discarded.nf')}",
            exactly(queue.course, lost),
            path=queue.path,
        )


def _not_written(queue: QueueCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """rsyslogd counts an event as enqueued before it stores it, and for the size after
    (doEnqSingleObj() and qqueueAdd() of queue.c).  In a queue whose size stays at one number while
    hundreds come, either just as many leave in every step, or none are stored."""
    steps = standing_steps(queue.course, series)
    room = queue.room if series is queue.series else None
    size = series.level["size"][steps[0]] if steps else 0.0
    if not steps or (room is not None and size >= room):
        return
    came, severe = series.growth["enqueued"], series.growth["discarded.nf"]
    lost = round(sum(came[n] - severe[n] for n in steps))
    has_files = series is queue.part or queue.is_on_disk
    is_never_full = not queue.series.in_all("full")
    may_have_files = queue.settings is None and queue.action is not None and is_never_full
    # Where inputs wait for room, or at a mark, the size of a queue in memory stands too.
    if has_files or (may_have_files and lost >= size):
        yield queue.finding(
            Cause.NOT_WRITTEN,
            steps,
            f"{lost:,} events came into {series.name} in {queue.course.lasted(steps):,.0f} s, and "
            f"its size stood at {size:,.0f} all that time",
            Events(lost),
            where=series.name,
            case="entry" if queue.action is None else "",
        )


def _left_in_files(queue: QueueCourse) -> Iterator[ProductionFinding]:
    """A part on disk that held events, and after a start is not there, as a queue whose files
    cannot be read goes on in memory alone (StartDA() of queue.c); or is there and holds none,
    although its outputs did not get them either, as far as that is counted."""
    if queue.part is None:
        return
    for n in queue.course.restarts:
        held, memory = round(queue.on_disk[n - 1]), round(queue.in_memory[n - 1])
        is_gone, back = not queue.has_part_at(n), 0
        if not is_gone:
            back = round(max(0.0, queue.size[n] - queue.came[n]) + _from_files(queue, n))
        missing = held + memory - back
        if not held or missing <= _PART * (held + memory):
            continue
        also = f", {memory:,} more were in memory" if memory else ""
        after = f"in the first round after it holds {queue.on_disk[n]:,.0f}"
        if is_gone:
            after = "since then there is no such object"
        yield queue.finding(
            Cause.LEFT_IN_FILES,
            [n],
            f"{queue.part.name} held {held:,} events just before rsyslogd began anew{also}; "
            f"{after}",
            Events(None, missing),
            where=queue.part.name,
            case="gone" if is_gone else "",
        )


def _from_files(queue: QueueCourse, step: int) -> float:
    """How many events more than came to a queue its output had in a step and the next, where
    omelasticsearch counts them."""
    engine = queue.course.engine
    if engine is None:
        return 0.0
    after = slice(step, step + 2)
    return max(0.0, sum(engine.growth["submitted"][after]) - sum(queue.came[after]))


def _left_in_memory(queue: QueueCourse) -> Iterator[ProductionFinding]:
    """Events that a queue held in memory just before a start, and did not hold after it, more than
    its workers could have taken meanwhile at their pace; what came after that round nobody
    counted.  A queue with files keeps them through an orderly stop."""
    if queue.is_on_disk:
        return
    has_files = queue.part is not None
    for n in queue.course.restarts:
        held = round(queue.size[n - 1])
        before = queue.size[n - 2] if n > 1 else 0.0
        missing = min(held, round(held + queue.came[n] - queue.size[n]))
        at_most_s = min(WAITS_S, queue.course.steps[n].seconds)
        if min(missing, before) <= 0 or queue.waits_s[n - 1] < at_most_s:
            continue
        stands_after = queue.left[n + 1 : n + 2] == (0,)
        if has_files and (queue.on_disk[n - 1] or not stands_after or not queue.has_part_at(n)):
            continue
        is_known = queue.settings is not None
        yield queue.finding(
            Cause.LEFT_IN_MEMORY,
            [n],
            f"{queue.name} held {held:,} events in the last round before rsyslogd began anew, "
            f"and {queue.size[n]:,.0f} in the first one after; {queue.left[n - 1]:,.0f} left "
            "it in the last step before",
            Events(None, missing),
            case="disk_assisted" if has_files else "",
            unless="" if is_known or has_files else "; a queue of type Disk has it in its files",
        ).as_certain_as(Certainty.LIKELY if is_known else Certainty.POSSIBLE)


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
