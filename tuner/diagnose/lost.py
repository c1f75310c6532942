"""What queues lose: events that find no room, that files do not take, and that a start of rsyslogd
finds nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.diagnose.course import StatsSeries
from tuner.diagnose.finding import Cause, Certainty, Events, ProductionFinding, exactly, finding
from tuner.diagnose.queues import WAITS_S, QueueCourse, standing_steps
from tuner.diagnose.settings import ENGINE_OUTPUT

_FOREVER_MS = 86_400_000
# Less than this part of what a queue held is what leaves it between two rounds.
_PART = 0.1


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
    engine = queue.course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
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
