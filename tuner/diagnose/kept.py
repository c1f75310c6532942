"""What queues do not keep: events that find no room, that files do not take, and that a start of
rsyslogd finds nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import (
    Cause,
    Certainty,
    EventEffect,
    Events,
    ProductionFinding,
    WayOut,
    before_the_log,
    counted_when,
    exactly,
)
from tuner.diagnose.queues import WAITS_S, QueueCourse, standing_steps
from tuner.diagnose.settings import ENGINE_OUTPUT

_FOREVER_MS = 86_400_000
# Less than this part of what a queue held is what leaves it between two rounds.
_PART = 0.1


def kept_findings(
    course: CounterCourse, every: Sequence[QueueCourse]
) -> Iterator[ProductionFinding]:
    """All that these queues did not keep."""
    for one in every:
        for series in (one.series, one.part):
            if series is not None:
                yield from _full(course, one, series)
                yield from _less_severe(course, one, series)
                yield from _not_written(course, one, series)
        yield from _left_in_files(course, one)
        yield from _left_in_memory(course, one)


def _full(
    course: CounterCourse, one: QueueCourse, series: StatsSeries
) -> Iterator[ProductionFinding]:
    """rsyslogd counts each event that it discards (doEnqSingleObj() of queue.c)."""
    lost = series.in_all("discarded.full")
    if not lost:
        return
    waits = series.in_all("full")
    of = f"for action {one.action}" if one.action is not None else "from inputs"
    timeout = None if one.settings is None else one.settings.queue.timeout_enqueue
    limit = "" if timeout is None else f" of {timeout:,} ms"
    why = f"no room came within queue.timeoutEnqueue{limit}"
    if waits == lost and timeout is None:
        why += ", which is 0 or close to it: not one event got in later"
    never = "" if series is one.part else _never_spooled(one)
    if never:
        why += f"; {never}"
    room = f" of {one.room:,}" if one.room and series is one.series else ""
    held = max(series.highest("size"), series.highest("maxqsize"))
    yield ProductionFinding(
        Cause.QUEUE_FULL,
        series.name,
        EventEffect.LOST,
        exactly(course, lost),
        counted_when(course, series, "discarded.full"),
        f"discarded.full counted {lost:,} of {waits:,} times that {series.name} was full; it held "
        f"up to {held:,}{room} events{before_the_log(course, series, 'discarded.full')}",
        f"events {of} found the queue full, and {why}",
        "this output does not get them; other outputs with room of their own do"
        if one.action is not None
        else "these events are lost; nothing else has them",
        _room(one, series, bool(never)),
    )


def _room(one: QueueCourse, series: StatsSeries, is_never_spooled: bool) -> WayOut:
    """How a queue gets room, without what it has already."""
    if series is one.part:
        return WayOut(
            "let its files take more, and see that their disk has that; what is behind the queue "
            "must become faster", one.parameter("maxDiskSpace"), "RT113",
        )  # fmt: skip
    if is_never_spooled:
        return WayOut(
            "set 10000 or more: then it goes on in its files; a larger timeoutEnqueue only makes "
            "what feeds this queue stand still",
            one.parameter("size"),
        )
    timeout = None if one.settings is None else one.settings.queue.timeout_enqueue
    files = "" if one.is_disk_assisted else ", or disk-assisted (queue.filename)"
    larger = f"the queue must become larger{files}, or what is behind it faster"
    if timeout is not None and timeout >= _FOREVER_MS:
        return WayOut(larger, one.parameter("size"))
    return WayOut(
        f"86400000 makes what feeds the queue wait instead of discarding, which stops all that is "
        f"fed by the same worker; else {larger}",
        one.parameter("timeoutEnqueue"),
        "RT113" if one.action is not None else "RT233",
    )


def _never_spooled(one: QueueCourse) -> str:
    """Why a disk-assisted queue was full and never wrote to its files, where the counters show
    that; empty otherwise."""
    if one.part is None or one.part.in_all("enqueued") or not one.series.in_all("full"):
        return ""
    why = "it is disk-assisted, and nothing ever went to its files"
    queue = None if one.settings is None else one.settings.queue
    if queue is None or queue.high_watermark is None or queue.size is None:
        return (
            f"{why}: that begins at highWatermark, for which events that workers hold do not count,"
            " though they do for the size; a queue of 1000 (rsyslog's default for actions) is too "
            "small for it"
        )
    in_flight = (queue.worker_threads or 1) * (queue.dequeue_batch_size or 1)
    if queue.high_watermark <= queue.size - in_flight:
        return why
    return (
        f"{why}: that begins at highWatermark, {queue.high_watermark:,}, for which events that "
        f"workers hold do not count, and with up to {in_flight:,} of these a queue of "
        f"{queue.size:,} is full before"
    )


def _less_severe(
    course: CounterCourse, one: QueueCourse, series: StatsSeries
) -> Iterator[ProductionFinding]:
    lost = series.in_all("discarded.nf")
    if not lost:
        return
    yield ProductionFinding(
        Cause.LESS_SEVERE,
        series.name,
        EventEffect.LOST,
        exactly(course, lost),
        counted_when(course, series, "discarded.nf"),
        f"discarded.nf counted {lost:,} events; {series.name} held up to {one.highest:,}"
        f"{before_the_log(course, series, 'discarded.nf')}",
        "above discardMark the queue throws away what is no more severe than discardSeverity, as "
        "it is configured to",
        "these events are lost; more severe ones were kept",
        WayOut(
            "set discardSeverity to 8, which discards none, and remove the cause of the backlog",
            one.parameter("discardSeverity"), "RT114",
        ),
    )  # fmt: skip


def _not_written(
    course: CounterCourse, one: QueueCourse, series: StatsSeries
) -> Iterator[ProductionFinding]:
    """rsyslogd counts an event as enqueued before it stores it, and for the size after
    (doEnqSingleObj() and qqueueAdd() of queue.c).  In a queue whose size stays at one number while
    hundreds come, either just as many leave in every step, or none are stored."""
    steps = standing_steps(course, series)
    sizes = series.level.get("size", course.nothing)
    came = series.growth.get("enqueued", course.nothing)
    severe = series.growth.get("discarded.nf", course.nothing)
    room = one.room if series is one.series else None
    if not steps or (room is not None and sizes[steps[0]] >= room):
        return
    lost = round(sum(came[n] - severe[n] for n in steps))
    is_known = series is one.part or one.is_on_disk
    may_be = one.settings is None and one.action is not None and not one.series.in_all("full")
    if not is_known and not (may_be and lost >= sizes[steps[0]]):
        # Where inputs wait for room, or at a mark, the size of a queue in memory stands too.
        return
    yield ProductionFinding(
        Cause.NOT_WRITTEN,
        series.name,
        EventEffect.LOST,
        Events(lost),
        course.span(steps),
        f"{lost:,} events came into {series.name} in {course.lasted(steps):,.0f} s, and its size "
        f"stood at {sizes[steps[0]]:,.0f} all that time",
        "it counts them and cannot store them: its disk is full, or its folder cannot be written",
        "what cannot be stored is lost, and no counter says so",
        WayOut(
            "make room in the folder of its files (spoolDirectory, else workDirectory), limit it "
            "with maxDiskSpace below what is free there, and see rsyslogd's messages",
            one.parameter("maxDiskSpace"), "RT233" if one.action is None else "RT113",
        ),
        Certainty.LIKELY,
    )  # fmt: skip


def _starts(course: CounterCourse) -> Iterator[int]:
    """The numbers of the steps in which rsyslogd began anew, but for the first, of which the size
    before is not known by step."""
    return (n for n, step in enumerate(course.steps) if n and step.has_start)


def _left_in_files(course: CounterCourse, one: QueueCourse) -> Iterator[ProductionFinding]:
    """A part on disk that held events, and after a start is not there, as a queue whose files
    cannot be read goes on in memory alone (StartDA() of queue.c); or is there and holds none,
    although its outputs did not get them either, as far as that is counted."""
    if one.part is None or "size" not in one.part.level:
        return
    for n in _starts(course):
        held = round(one.part.level["size"][n - 1])
        is_gone = not one.has_part_at(n)
        back = 0 if is_gone else round(max(0.0, one.size[n] - one.came[n]) + _from_files(one, n))
        memory = round(one.series.level.get("size", course.nothing)[n - 1])
        missing = held + memory - back
        if not held or missing <= _PART * (held + memory):
            continue
        also = f", {memory:,} more were in memory" if memory else ""
        yield ProductionFinding(
            Cause.LEFT_IN_FILES,
            one.part.name,
            EventEffect.LOST if is_gone else EventEffect.AT_RISK,
            Events(None, missing),
            course.span([n]),
            f"{one.part.name} held {held:,} events just before rsyslogd began anew{also}; "
            + ("since then there is no such object" if is_gone
               else f"in the first round after it holds {one.part.level['size'][n]:,.0f}"),
            "rsyslogd could not read the queue's files, such as a damaged .qi, and goes on with "
            "the queue in memory alone"
            if is_gone
            else "it did not find them in its files, as after a kill, which leaves no .qi, or with "
            "files damaged; or they left within that one step",
            "what is in the files does not come"
            + ("; new events are not written to disk" if is_gone else ", unless it came at once"),
            WayOut(
                "see rsyslogd's messages at its start; recover_qi.pl makes a new .qi from the "
                "files, with rsyslogd stopped; checkpointInterval writes it before a kill",
                one.parameter("checkpointInterval"),
            ),
            Certainty.LIKELY if is_gone else Certainty.POSSIBLE,
        )  # fmt: skip


def _from_files(one: QueueCourse, step: int) -> float:
    """How many events more than came to a queue its output had in a step and the next, where
    omelasticsearch counts them."""
    engine = one.course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    if engine is None:
        return 0.0
    after = slice(step, step + 2)
    submitted = engine.growth.get("submitted", one.course.nothing)
    return max(0.0, sum(submitted[after]) - sum(one.came[after]))


def _left_in_memory(course: CounterCourse, one: QueueCourse) -> Iterator[ProductionFinding]:
    """Events that a queue held in memory just before a start, and did not hold after it, more than
    its workers could have taken meanwhile at their pace; what came after that round nobody
    counted.  A queue with files keeps them through an orderly stop."""
    if one.is_on_disk:
        return
    for n in _starts(course):
        held = round(one.size[n - 1])
        before = one.size[n - 2] if n > 1 else 0.0
        missing = min(held, round(held + one.came[n] - one.size[n]))
        at_most_s = min(WAITS_S, course.steps[n].seconds)
        if min(missing, before) <= 0 or one.waits_s[n - 1] < at_most_s:
            continue
        if one.part is not None and (
            one.part.level["size"][n - 1] or not one.stands_after(n) or not one.has_part_at(n)
        ):
            continue
        yield ProductionFinding(
            Cause.LEFT_IN_MEMORY,
            one.name,
            EventEffect.LOST,
            Events(None, missing),
            course.span([n]),
            f"{one.name} held {held:,} events in the last round before rsyslogd began anew, and "
            f"{one.size[n]:,.0f} in the first one after; {one.left[n - 1]:,.0f} left it in the "
            "last step before",
            "rsyslogd was killed or crashed, or its workers did not take them within "
            "timeoutShutdown",
            "what a queue holds in memory then is lost, and no counter says so"
            + ("" if one.settings or one.part else "; a queue of type Disk has it in its files"),
            WayOut(
                "give it files (filename), which keep it through an orderly stop (saveOnShutdown); "
                "a queue of type Disk keeps it through a crash"
                if one.part is None
                else "stop rsyslogd in an orderly way, and give it time for that (TimeoutStopSec); "
                "a queue of type Disk keeps events through a crash",
                one.parameter("filename" if one.part is None else "type"), "RT115",
            ),
            Certainty.LIKELY if one.settings is not None else Certainty.POSSIBLE,
        )  # fmt: skip
