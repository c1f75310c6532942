"""What counters say of rsyslogd itself: what it discards, limits, how it runs, and how its counters
came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

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
    nonzero,
)
from tuner.diagnose.queues import QueueCourse
from tuner.schema.numerals import counted


class _Drop(NamedTuple):
    """A counter of events that an input or output throws away, and whether its `submitted` has them
    too."""

    origin: str
    counter: str
    cause: Cause
    why: str
    way: WayOut
    is_submitted: bool = True


_LIMIT = "more came than its rate limit lets through"
_DROPS = (
    _Drop("imuxsock", "ratelimit.discarded", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise the burst or set the interval to 0", "rateLimit.burst", "RT224")),
    _Drop("imjournal", "discarded", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise the burst or set the interval to 0", "rateLimit.burst", "RT224"),
          is_submitted=False),
    _Drop("ratelimit", "per_source_dropped", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise the limit of a source, or find out which one sends so much", "perSource")),
    _Drop("core.action", "ratelimit.dropped", Cause.RATE_LIMIT, _LIMIT,
          WayOut("raise or remove the limit", "action.ratelimit.name", "RT236")),
)  # fmt: skip
# Starts that are a loop, not maintenance: so many within that time.
_STARTS, _WITHIN_S = 3, 3600.0
# Memory that grows: in nearly all of so many parts of that time, and more than the process began
# with by this share and by so much; so many rate limiters are more than a host has programs.
_PARTS, _GROWING_PARTS, _GROWS_S = 8, 7, 1800.0
_GROWN_SHARE, _GROWN_KIB, _LIMITERS = 0.1, 16 * 1024, 1000
# dynaFile: an event in so many finds its file closed, and so many must be looked up.
_MISSED, _REQUESTS = 0.05, 100
# Soft limits that distributions and systemd units set; within this of one.
_FILE_LIMITS = (1024, 4096, 16384)
_NEAR_FILES = 4
_LATE_ROUNDS = 0.05
_OF_LIMITERS = "ratelimit.numratelimiters"


def dropped_events(course: CounterCourse) -> int:
    """How many events inputs and outputs count themselves as thrown away, of those submitted."""
    drops = (drop for drop in _DROPS if drop.is_submitted)
    return sum(one.in_all(drop.counter) for drop in drops for one in course.of(drop.origin))


def collector_findings(
    course: CounterCourse, every: Sequence[QueueCourse], file_limit: int | None
) -> Iterator[ProductionFinding]:
    """All that the counters say of rsyslogd itself, with all its queues; the limit of its open
    files where that is known."""
    for drop in _DROPS:
        for series in course.of(drop.origin):
            yield from _dropped(course, series, drop)
    for series in course.of("omfile"):
        yield from _dynafiles(course, series)
    yield from _restarts(course, every)
    yield from _memory(course, every)
    yield from _open_files(course, file_limit)
    yield from _delayed(course)


def _dropped(
    course: CounterCourse, series: StatsSeries, drop: _Drop
) -> Iterator[ProductionFinding]:
    lost, submitted = series.in_all(drop.counter), series.in_all("submitted")
    if lost:
        yield ProductionFinding(
            drop.cause,
            series.name,
            EventEffect.LOST,
            exactly(course, lost),
            counted_when(course, series, drop.counter),
            f"{drop.counter} counted {lost:,} events"
            + (f", submitted {submitted:,}" if submitted else "")
            + before_the_log(course, series, drop.counter),
            drop.why,
            "these events are lost",
            drop.way,
        )


def _dynafiles(course: CounterCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """More files at a time than the cache of dynaFile holds."""
    requests = series.total("requests")
    missed, evicted = series.total("missed"), series.total("evicted")
    if requests < _REQUESTS or missed < _MISSED * requests or not evicted:
        return
    held = series.highest("maxused")
    yield ProductionFinding(
        Cause.DYNAFILES,
        series.name,
        EventEffect.AT_RISK,
        Events(),
        nonzero(course, series.growth["missed"]),
        f"{missed:,} of {requests:,} events found their file closed ({missed / requests:.0%}); "
        f"{evicted:,} files were closed to make room, {held:,} fit",
        "events alternate between more files than dynaFileCacheSize keeps open",
        "each miss closes one file and opens another: the output is many times slower",
        WayOut("set it above the number of files in use at a time", "dynaFileCacheSize", "RT262"),
    )


def _restarts(course: CounterCourse, every: Sequence[QueueCourse]) -> Iterator[ProductionFinding]:
    """Starts that follow one another closely, whatever the rest of the time was like."""
    starts = course.starts
    dense = [
        at for n, at in enumerate(starts)
        if any(
            first >= 0 and first + _STARTS <= len(starts)
            and starts[first + _STARTS - 1] - starts[first] <= _WITHIN_S
            for first in range(n - _STARTS + 1, n + 1)
        )
    ]  # fmt: skip
    if not dense:
        return
    steps = [
        n for n, step in enumerate(course.steps)
        if n and step.has_start and any(step.begin < at <= step.end for at in dense)
    ]  # fmt: skip
    held = sum(one.size[n - 1] for one in every for n in steps)
    yield ProductionFinding(
        Cause.RESTARTS,
        "rsyslogd",
        EventEffect.AT_RISK,
        Events(0, round(held)) if held else Events(),
        (dense[0], dense[-1]),
        f"rsyslogd began anew {len(dense):,} times, one after {_apart(dense):,.0f} s; its queues "
        f"held {held:,.0f} events just before, in all",
        "it crashes, is killed, or something restarts it: the counters do not say which",
        "what stands in queues in memory when it is killed is lost; senders connect again",
        WayOut(
            "see `journalctl -u rsyslog` and the kernel's log (out of memory) at these times",
            "queue.timeoutShutdown",
            "RT115",
        ),
    )


def _apart(times: Sequence[float]) -> float:
    """The median of what lies between them."""
    return median(second - first for first, second in pairwise(times))


def _memory(course: CounterCourse, every: Sequence[QueueCourse]) -> Iterator[ProductionFinding]:
    """Memory that grows all the time, and not because queues hold more."""
    limiters = [one for one in course.of("imuxsock") if one.total(_OF_LIMITERS) >= _LIMITERS]
    for one in limiters:
        yield _many_limiters(course, one)
    usage = course.usage
    if usage is None or "maxrss" not in usage.level or limiters:
        return
    steps = _since_start(course)
    cuts = _in_parts(steps)
    if not cuts or course.lasted(steps) < _GROWS_S:
        return
    most = [usage.level["maxrss"][n] for n in cuts]
    grown = most[-1] - most[0]
    growing = sum(second > first for first, second in pairwise(most))
    if growing < _GROWING_PARTS or grown < max(_GROWN_KIB, _GROWN_SHARE * most[0]):
        return
    queued = [sum(one.size[n] for one in every) for n in cuts]
    if sum(second > first for first, second in pairwise(queued)) >= _GROWING_PARTS:
        return
    hours = course.lasted(range(cuts[0] + 1, cuts[-1] + 1)) / 3600
    yield ProductionFinding(
        Cause.MEMORY,
        "rsyslogd",
        EventEffect.AT_RISK,
        Events(),
        course.span(range(cuts[0] + 1, cuts[-1] + 1)),
        f"maxrss grew from {most[0] / 1024:,.0f} to {most[-1] / 1024:,.0f} MiB, "
        f"{grown / 1024 / hours:,.0f} MiB an hour, in {growing} of {_PARTS} parts of the time; "
        f"queues held {max(queued):,.0f} events at most",
        "something is kept and never freed: state of many senders or files, a cache, or a leak of "
        "a module",
        "when memory ends, the kernel kills rsyslogd, and what stands in its queues is lost",
        WayOut(
            "compare releases and modules; restart it in a quiet hour until then, and limit it "
            "with MemoryMax of the service"
        ),
        Certainty.LIKELY,
    )


def _many_limiters(course: CounterCourse, one: StatsSeries) -> ProductionFinding:
    """Public example: rsyslog's issue 4869."""
    made = one.total(_OF_LIMITERS)
    return ProductionFinding(
        Cause.MEMORY,
        one.name,
        EventEffect.AT_RISK,
        Events(),
        nonzero(course, one.growth[_OF_LIMITERS]),
        f"{_OF_LIMITERS} grew by {made:,}, {made / max(course.seconds, 1) * 3600:,.0f} an hour",
        "imuxsock keeps a rate limiter for each process that ever logged, and frees none",
        "memory grows with each short-lived process; when it ends, rsyslogd is killed",
        WayOut(
            "set the interval to 0 where no limit is wanted", "SysSock.RateLimit.Interval", "RT224"
        ),
    )


def _since_start(course: CounterCourse) -> range:
    """The steps of the process that ran last."""
    starts = [n for n, step in enumerate(course.steps) if step.has_start]
    return range(starts[-1] + 1 if starts else 0, len(course.steps))


def _in_parts(steps: range) -> tuple[int, ...]:
    """The numbers of the steps at which that many equal parts of the time begin and end, the
    warm-up left out; none where there are fewer steps."""
    warm = len(steps) // 10
    kept = steps[warm:]
    if len(kept) < 2 * _PARTS:
        return ()
    return tuple(kept[(len(kept) - 1) * part // _PARTS] for part in range(_PARTS + 1))


def _open_files(course: CounterCourse, known: int | None) -> Iterator[ProductionFinding]:
    usage = course.usage
    if usage is None or "openfiles" not in usage.level:
        return
    most = usage.highest("openfiles")
    limits = _FILE_LIMITS if known is None else (known,)
    limit = next((one for one in limits if one - _NEAR_FILES <= most <= one), None)
    uncounted = _uncounted_files(course, usage.level["openfiles"])
    if uncounted:
        steps, certainty = uncounted, Certainty.CERTAIN
        seen = (
            f"openfiles is 0 in {counted(len(steps), 'round')}, before it was up to {most:,}: "
            "rsyslogd could not even open the folder in which it counts them"
        )
    elif limit is not None:
        steps = [n for n, held in enumerate(usage.peak["openfiles"]) if held >= limit - _NEAR_FILES]
        what = "is a usual limit" if known is None else "is the limit of this process"
        seen = f"{most:,} files and sockets were open, and {limit:,} {what}"
        certainty = Certainty.POSSIBLE if known is None else Certainty.CERTAIN
    else:
        return
    yield ProductionFinding(
        Cause.OPEN_FILES,
        "rsyslogd",
        EventEffect.AT_RISK,
        Events(),
        course.span(steps or [0]),
        seen,
        "every connection and every file of imfile and omfile takes one; at the limit new ones "
        "fail",
        "senders cannot connect, and files are neither read nor written; no counter says how many "
        "events that costs",
        WayOut("raise LimitNOFILE of the service, or global maxOpenFiles", "maxOpenFiles"),
        certainty,
    )


def _uncounted_files(course: CounterCourse, counts: Sequence[float]) -> list[int]:
    """The steps at whose ends impstats could not open /proc/PID/fd, although the same process could
    before: it writes 0 then, and a process always has files open (countOpenFiles() of
    impstats.c)."""
    steps = []
    for number, life in enumerate(course.lives):
        first = 0.0 if number or course.usage is None else course.usage.before.get("openfiles", 0)
        could = first > 0
        for n in life:
            could = could or counts[n] > 0
            if could and not counts[n]:
                steps.append(n)
    return steps


def _delayed(course: CounterCourse) -> Iterator[ProductionFinding]:
    """Rounds that came late or in part: impstats itself had to wait."""
    gaps = course.gaps
    is_late = gaps.late >= 3 and gaps.late > _LATE_ROUNDS * gaps.rounds
    is_cut = gaps.cut >= 3 and gaps.cut > _LATE_ROUNDS * gaps.rounds
    if not is_late and not is_cut:
        return
    begin, end = course.steps[0].begin, course.steps[-1].end
    yield ProductionFinding(
        Cause.COUNTERS_DELAYED,
        "impstats",
        EventEffect.AT_RISK,
        Events(),
        (begin, end),
        f"{gaps.late:,} of {gaps.rounds:,} rounds came late (every {gaps.interval_s:,.0f} s is "
        f"usual, the longest gap was {gaps.longest_s:,.0f} s), {gaps.cut:,} are incomplete",
        "counters that are events wait in the queue that they describe, and are dropped when it "
        "is full; or rsyslogd had no CPU time",
        "figures are missing when they are needed most",
        WayOut("write the counters to a file (log.file), not as events", "log.syslog", "RT141"),
        Certainty.LIKELY,
    )
