"""What comes in: events by input, sessions that are open, and what is wrong there; datagrams that
only the kernel of the host saw among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import (
    Cause,
    Certainty,
    EventEffect,
    Events,
    ProductionFinding,
    WayOut,
    nonzero,
)
from tuner.diagnose.queues import QueueCourse

# How rsyslog calls modules that are inputs.
_INPUT = "im"
# imfile has an object for each file, in 8.2606 and later; it counts empty lines, of which it makes
# no events (enqLine() of imfile.c).
_LINES = "lines.processed"
_EVENTS = ("submitted", _LINES)
# Each worker of an input holds up to 1024 events back before it hands them over
# (CONF_NUM_MULTISUB); imptcp has 3 and imtcp 5 (wrkrMax, and the one that accepts).
_HELD_BACK, _HELD_SHARE = 5 * 1024, 0.02
# What a worker of imudp reads at once is 32 (batchSize), or some more where it is set.
_DATAGRAMS = 128
# An input that is silent so long, in so many steps, after it was busy in nearly all of as much
# time, and missed so many events by what came before.
_SILENT_S, _SILENT_STEPS, _MISSED = 300.0, 5, 1000
_BUSY_PART = 0.95
_LIMIT = WayOut(
    "raise the burst, or set the interval to 0, which lets all through", "rateLimit.burst", "RT224"
)


@dataclass(frozen=True)
class InputCourse:
    """What came in by one input, or from one file of imfile: events step by step."""

    series: StatsSeries
    events: tuple[float, ...]

    @property
    def name(self) -> str:
        """What the counters call it."""
        return self.series.name

    @property
    def origin(self) -> str:
        """Its module."""
        return self.series.origin

    @property
    def counted(self) -> int:
        """How many came since rsyslogd began."""
        name = next(one for one in _EVENTS if one in self.series.growth)
        return self.series.in_all(name)


def inputs_of(course: CounterCourse) -> tuple[InputCourse, ...]:
    """The inputs that count the events they submit."""
    return tuple(
        InputCourse(one, one.growth[name])
        for one in course.objects.values()
        for name in _EVENTS
        if one.origin.startswith(_INPUT) and name in one.growth
    )


def open_sessions(course: CounterCourse, one: StatsSeries) -> tuple[float, ...]:
    """How many sessions an input had open after each step, as far as its counters show: those that
    were open before the log began show when they close, or by counts that nothing resets.  Empty
    where it counts none."""
    opened, closed = one.growth.get("sessions.opened"), one.growth.get("sessions.closed")
    if opened is None or closed is None:
        return ()
    before = {} if course.has_resets else one.before
    now = float(before.get("sessions.opened", 0) - before.get("sessions.closed", 0))
    least, held = now, []
    for more, fewer, step in zip(opened, closed, course.steps, strict=True):
        now = (0.0 if step.has_start else now) + more - fewer
        least = min(least, now)
        held.append(now)
    missed = min(0.0, least)
    return tuple(count - missed for count in held)


def input_findings(
    course: CounterCourse, every: Sequence[QueueCourse], told: int
) -> Iterator[ProductionFinding]:
    """All that the counters say of inputs, with all queues; `told` events were dropped by counters
    that say so themselves."""
    inputs = inputs_of(course)
    counted = [one for one in inputs if _LINES not in one.series.growth]
    yield from _before_queues(course, counted, every, told)
    yield from _not_submitted(course)
    for one in inputs:
        yield from _silent(course, one, inputs, every)


def _under_way(course: CounterCourse, held_back: int, *counts: tuple[float, ...]) -> int:
    """How many events may be on their way from one count to another when a round reads both: none
    where nothing came in the last step; what a process held at its end is counted nowhere."""
    is_quiet = not course.is_single and not any(growth[-1] for growth in counts)
    return held_back * (len(course.starts) + (not is_quiet))


def _before_queues(
    course: CounterCourse,
    inputs: Sequence[InputCourse],
    every: Sequence[QueueCourse],
    told: int,
) -> Iterator[ProductionFinding]:
    """Events that inputs counted and no queue ever saw: a rate limit drops them in between, and
    imuxsock of 8.2302 counts them nowhere else.

    All counts begin at 0 with rsyslogd, and what queues count has come by an input, or is
    rsyslogd's own: so many are missing at least.
    """
    entries = [one for one in every if one.action is None]
    if not inputs or not entries:
        return
    came = [sum(one.events[n] for one in inputs) for n in range(len(course.steps))]
    queued_by_step = [one.series.growth.get("enqueued", course.nothing) for one in entries]
    counted = sum(one.counted for one in inputs)
    queued = sum(one.series.in_all("enqueued") for one in entries)
    missing = counted - queued - told
    if course.has_resets and any(one.series.absent for one in entries):
        # What the lines said that are not there is in no later one.
        return
    unseen = max(one.series.unseen for one in entries)
    slack = _under_way(course, _HELD_BACK, tuple(came), *queued_by_step)
    slack += round(sum(came[len(came) - unseen :]))
    if missing <= max(slack, _HELD_SHARE * counted):
        return
    yield ProductionFinding(
        Cause.RATE_LIMIT,
        ", ".join(one.name for one in inputs[:3]),
        EventEffect.LOST,
        Events(missing - slack),
        nonzero(course, tuple(came)),
        f"inputs counted {counted:,} events, and the queues behind them {queued:,}",
        "a rate limit of the input drops events after they are counted; or $RepeatedMsgReduction "
        "makes one of several; or a ruleset has a Direct queue, which counts nothing",
        "these events are lost, unless a Direct queue took them",
        _LIMIT,
        Certainty.LIKELY,
    )


def _not_submitted(course: CounterCourse) -> Iterator[ProductionFinding]:
    """Datagrams that imudp received and did not submit (processPacket() of imudp.c): its rate limit
    dropped them, or their sender is not allowed, of which `disallowed` counts only the first in a
    row."""
    every = course.of("imudp")
    received = sum(one.in_all("msgs.received") for one in every)
    submitted = sum(one.in_all("submitted") for one in every)
    disallowed = sum(one.in_all("disallowed") for one in every)
    growths = [
        one.growth[name]
        for one in every
        for name in ("msgs.received", "submitted")
        if name in one.growth
    ]
    workers = sum("msgs.received" in one.growth for one in every)
    missing, slack = received - submitted, _under_way(course, workers * _DATAGRAMS, *growths)
    if not received or not any("submitted" in one.growth for one in every):
        return
    if disallowed:
        yield _not_allowed(course, every, disallowed, max(missing, disallowed))
    elif missing > slack:
        yield ProductionFinding(
            Cause.RATE_LIMIT,
            ", ".join(one.name for one in every if "submitted" in one.growth),
            EventEffect.LOST,
            Events(missing - slack, missing),
            nonzero(course, *growths),
            f"imudp received {received:,} datagrams (msgs.received) and submitted {submitted:,}",
            "more came than its rate limit lets through; or $RepeatedMsgReduction makes one of "
            "several; or they were empty",
            "these events are lost; senders do not know",
            _LIMIT,
            Certainty.LIKELY,
        )


def _not_allowed(
    course: CounterCourse, every: Sequence[StatsSeries], least: int, most: int
) -> ProductionFinding:
    growths = [one.growth["disallowed"] for one in every if "disallowed" in one.growth]
    return ProductionFinding(
        Cause.NOT_ALLOWED,
        ", ".join(one.name for one in every if "disallowed" in one.growth),
        EventEffect.LOST,
        Events(least, most),
        nonzero(course, *growths),
        f"disallowed counted {least:,} events, the first of each sender in a row; {most:,} were "
        "received and not submitted",
        "they came from senders that $AllowedSender does not name; some may be more than a rate "
        "limit lets through",
        "these events are lost",
        WayOut("add the senders, or find out who they are", "$AllowedSender"),
    )


def _silent(
    course: CounterCourse,
    one: InputCourse,
    inputs: Sequence[InputCourse],
    every: Sequence[QueueCourse],
) -> Iterator[ProductionFinding]:
    """An input that was always busy and stopped, although its senders are still connected; or a
    file that imfile reads no more, while other inputs go on."""
    steps = _silence(course, one.events)
    if not steps or _waits_for_room(every, steps):
        return
    before = range(steps[0])
    rate = sum(one.events[n] for n in before) / course.lasted(before)
    seen = f"{one.name} had no event for {course.lasted(steps):,.0f} s, before {rate:,.0f} a second"
    if one.origin == "imfile":
        others = sum(each.events[n] for each in inputs if each is not one for n in steps)
        if others:
            yield _stopped_file(course, one, steps, f"{seen}; other inputs went on")
        return
    sessions = open_sessions(course, one.series)
    still_open = min((sessions[n] for n in steps), default=0.0) if sessions else 0.0
    if still_open > 0:
        seen += f", while {still_open:,.0f} sessions were open"
        yield _idle_input(course, one, steps, seen)


def _silence(course: CounterCourse, events: Sequence[float]) -> tuple[int, ...]:
    """The numbers of the steps of the longest silence after an input was always busy; empty where
    it is not long enough, or not unusual."""
    runs = [
        tuple(run) for is_none, run in groupby(range(len(events)), key=lambda n: not events[n])
        if is_none
    ]  # fmt: skip
    steps = max(runs, key=course.lasted, default=())
    seconds = course.lasted(steps)
    if len(steps) < _SILENT_STEPS or seconds < _SILENT_S:
        return ()
    first = next((n for n, count in enumerate(events) if count), steps[0])
    busy = range(first, steps[0])
    before_s = course.lasted(busy)
    if before_s < seconds and before_s < 10 * _SILENT_S:
        return ()
    if course.lasted(n for n in busy if events[n]) < _BUSY_PART * before_s:
        return ()
    missed = sum(events[n] for n in busy) / before_s * seconds
    return steps if missed >= _MISSED else ()


def _waits_for_room(every: Sequence[QueueCourse], steps: Sequence[int]) -> bool:
    """Whether events waited in a queue of inputs meanwhile: that is what holds an input up."""
    silent = set(steps)
    return any(silent & set(one.late_steps) for one in every if one.action is None)


def _idle_input(
    course: CounterCourse, one: InputCourse, steps: Sequence[int], seen: str
) -> ProductionFinding:
    received = one.series.growth.get("bytes.received", course.nothing)
    arrived = sum(received[n] for n in steps)
    if arrived:
        seen += f"; {arrived:,.0f} bytes came"
        why = "bytes come and make no event: senders frame otherwise than the input expects"
        meaning = "what came waits in the input for an end that does not come"
        way = WayOut("compare the framing of senders and input (a line feed, octet counts)",
                     "SupportOctetCountedFraming")  # fmt: skip
        certainty = Certainty.LIKELY
    else:
        why = (
            "senders are silent; or the connections are dead on one side only, as after a firewall "
            "dropped them; or the input's thread hangs"
        )
        meaning = "what senders meant to send is with them, or lost there"
        way = WayOut(
            "see with `ss -tn` whether bytes wait in Recv-Q; KeepAlive finds dead connections",
            "KeepAlive",
        )
        certainty = Certainty.POSSIBLE
    return ProductionFinding(
        Cause.IDLE_INPUT,
        one.name,
        EventEffect.AT_RISK,
        Events(),
        course.span(steps),
        seen,
        why,
        meaning,
        way,
        certainty,
    )


def _stopped_file(
    course: CounterCourse, one: InputCourse, steps: Sequence[int], seen: str
) -> ProductionFinding:
    return ProductionFinding(
        Cause.STOPPED_FILE,
        one.name,
        EventEffect.AT_RISK,
        Events(),
        course.span(steps),
        seen,
        "nobody writes to the file; or imfile lost it when it was rotated, or for want of inotify "
        "watches",
        "if lines are still written there, they are not read",
        WayOut(
            "see whether the file grows; rotate by renaming rather than by copytruncate, and raise "
            "fs.inotify.max_user_watches",
            "reopenOnTruncate",
        ),
        Certainty.POSSIBLE,
    )


@dataclass(frozen=True)
class KernelCounts:
    """What the kernel counted from `begin` to `end` (seconds since 1970): datagrams that it dropped
    before imudp read them, by port; and how many files and sockets rsyslogd may have open, None for
    any number."""

    begin: float
    end: float
    udp_drops: Mapping[int, int] = field(default_factory=dict)
    file_limit: int | None = None

    def since(self, first: KernelCounts) -> KernelCounts:
        """What was counted since then; sockets that are newer count from 0."""
        before = first.udp_drops
        drops = {
            port: count - before.get(port, 0) if count >= before.get(port, 0) else count
            for port, count in self.udp_drops.items()
        }
        return KernelCounts(first.end, self.end, drops, self.file_limit)


def kernel_findings(counts: KernelCounts) -> Iterator[ProductionFinding]:
    """Datagrams that a receive buffer had no room for."""
    for port, dropped in counts.udp_drops.items():
        if dropped:
            yield ProductionFinding(
                Cause.UDP_BUFFER,
                f"UDP port {port}",
                EventEffect.LOST,
                Events(dropped, dropped),
                (counts.begin, counts.end),
                f"/proc/net/udp counts {dropped:,} drops of the sockets on port {port}",
                "datagrams came faster than imudp read them, and the socket's receive buffer was "
                "full",
                "these datagrams are lost; senders do not know",
                WayOut(
                    "set it to 4m or more (net.core.rmem_max limits it without root), and have "
                    "imudp read with more threads",
                    "rcvbufSize", "RT222",
                ),
            )  # fmt: skip
