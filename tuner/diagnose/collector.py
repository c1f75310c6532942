"""What counters say of rsyslogd itself: what it discards, limits, how it runs, and how its counters
came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from tuner.diagnose.course import CounterCourse, StatsSeries
from tuner.diagnose.finding import Cause, Events, ProductionFinding, exactly, finding
from tuner.diagnose.queues import QueueCourse
from tuner.schema.numerals import counted


class _DropCounter(NamedTuple):
    """A counter of events that a rate limit throws away, the case of the finding, and whether the
    `submitted` of the object has them too."""

    origin: str
    counter: str
    case: str = ""
    is_submitted: bool = True


_DROPS = (
    _DropCounter("imuxsock", "ratelimit.discarded"),
    _DropCounter("imkubernetes", "ratelimit.discarded", is_submitted=False),
    _DropCounter("imjournal", "discarded", is_submitted=False),
    _DropCounter("ratelimit", "per_source_dropped", "source"),
    _DropCounter("core.action", "ratelimit.dropped", "action"),
)
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
    return sum(
        series.in_all(drop.counter)
        for drop in _DROPS
        if drop.is_submitted
        for series in course.objects_of(drop.origin)
    )


def collector_findings(
    course: CounterCourse, queues: Sequence[QueueCourse], file_limit: int | None
) -> Iterator[ProductionFinding]:
    """All that the counters say of rsyslogd itself, with all its queues; the limit of its open
    files where that is known."""
    for drop in _DROPS:
        for series in course.objects_of(drop.origin):
            yield from _dropped(course, series, drop)
    for series in course.objects_of("omfile"):
        yield from _dynafiles(course, series)
    yield from _restarts(course, queues)
    yield from _memory(course, queues)
    yield from _open_files(course, file_limit)
    yield from _delayed(course)


def _dropped(
    course: CounterCourse, series: StatsSeries, drop: _DropCounter
) -> Iterator[ProductionFinding]:
    lost, submitted = series.in_all(drop.counter), series.in_all("submitted")
    if lost:
        yield finding(
            Cause.RATE_LIMIT,
            series.name,
            course.when_counted(series, drop.counter),
            f"{drop.counter} counted {lost:,} events"
            + (f", submitted {submitted:,}" if submitted else "")
            + course.before_the_log(series, drop.counter),
            exactly(course, lost),
            case=drop.case,
        )


def _dynafiles(course: CounterCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """More files at a time than the cache of dynaFile holds."""
    requests, missed, evicted = map(series.total, ("requests", "missed", "evicted"))
    if requests < _REQUESTS or missed < _MISSED * requests or not evicted:
        return
    yield finding(
        Cause.DYNAFILES,
        series.name,
        course.when(series.growth["missed"]),
        f"{missed:,} of {requests:,} events found their file closed ({missed / requests:.0%}); "
        f"{evicted:,} files were closed to make room, {series.highest('maxused'):,} fit",
    )


def _restarts(course: CounterCourse, queues: Sequence[QueueCourse]) -> Iterator[ProductionFinding]:
    """Starts that follow one another closely, whatever the rest of the time was like."""
    starts = course.starts
    loops = (range(n, n + _STARTS) for n in range(len(starts) - _STARTS + 1))
    in_loop = {n for loop in loops if starts[loop[-1]] - starts[loop[0]] <= _WITHIN_S for n in loop}
    dense = [starts[n] for n in sorted(in_loop)]
    if not dense:
        return
    steps = [
        n for n in course.restarts
        if any(course.steps[n].begin < start <= course.steps[n].end for start in dense)
    ]  # fmt: skip
    held = sum(queue.size[n - 1] for queue in queues for n in steps)
    apart_s = median(second - first for first, second in pairwise(dense))
    yield finding(
        Cause.RESTARTS,
        "rsyslogd",
        (dense[0], dense[-1]),
        f"rsyslogd began anew {len(dense):,} times, one after {apart_s:,.0f} s; its queues "
        f"held {held:,.0f} events just before, in all",
        Events(0, round(held)) if held else Events(),
    )


def _memory(course: CounterCourse, queues: Sequence[QueueCourse]) -> Iterator[ProductionFinding]:
    """Memory that grows all the time, and not because queues hold more."""
    inputs = course.objects_of("imuxsock")
    limiting = [series for series in inputs if series.total(_OF_LIMITERS) >= _LIMITERS]
    for series in limiting:
        yield _many_limiters(course, series)
    usage = course.usage
    if usage is None or "maxrss" not in usage.level or limiting:
        return
    # Of the process that ran last.
    steps = range(course.restarts[-1] + 1 if course.restarts else 0, len(course.steps))
    cuts = _in_parts(steps)
    if not cuts or course.lasted(steps) < _GROWS_S:
        return
    most_kib = [usage.level["maxrss"][n] for n in cuts]
    grown_kib, growing = most_kib[-1] - most_kib[0], _rises(most_kib)
    if growing < _GROWING_PARTS or grown_kib < max(_GROWN_KIB, _GROWN_SHARE * most_kib[0]):
        return
    queued = [sum(queue.size[n] for queue in queues) for n in cuts]
    if _rises(queued) >= _GROWING_PARTS:
        return
    counted_steps = range(cuts[0] + 1, cuts[-1] + 1)
    hours = course.lasted(counted_steps) / 3600
    yield finding(
        Cause.MEMORY,
        "rsyslogd",
        course.span(counted_steps),
        f"maxrss grew from {most_kib[0] / 1024:,.0f} to {most_kib[-1] / 1024:,.0f} MiB, "
        f"{grown_kib / 1024 / hours:,.0f} MiB an hour, in {growing} of {_PARTS} parts of the time; "
        f"queues held {max(queued):,.0f} events at most",
    )


def _rises(values: Sequence[float]) -> int:
    """How often a value is above the one before."""
    return sum(second > first for first, second in pairwise(values))


def _many_limiters(course: CounterCourse, series: StatsSeries) -> ProductionFinding:
    """Public example: rsyslog's issue 4869."""
    grown = series.total(_OF_LIMITERS)
    return finding(
        Cause.MEMORY,
        series.name,
        course.when(series.growth[_OF_LIMITERS]),
        f"{_OF_LIMITERS} grew by {grown:,}, {grown / max(course.seconds, 1) * 3600:,.0f} an hour",
        case="rate_limiters",
    )


def _in_parts(steps: range) -> tuple[int, ...]:
    """The numbers of the steps at which that many equal parts of the time begin and end, the
    warm-up left out; none where there are fewer steps."""
    warm = steps[len(steps) // 10 :]
    if len(warm) < 2 * _PARTS:
        return ()
    return tuple(warm[(len(warm) - 1) * part // _PARTS] for part in range(_PARTS + 1))


def _open_files(course: CounterCourse, limit: int | None) -> Iterator[ProductionFinding]:
    usage = course.usage
    if usage is None or "openfiles" not in usage.level:
        return
    most = usage.highest("openfiles")
    limits = _FILE_LIMITS if limit is None else (limit,)
    reached = next((value for value in limits if value - _NEAR_FILES <= most <= value), None)
    uncounted = _uncounted_files(course, usage)
    if uncounted:
        steps = uncounted
        evidence = (
            f"openfiles is 0 in {counted(len(steps), 'round')}, before it was up to {most:,}: "
            "rsyslogd could not even open the folder in which it counts them"
        )
    elif reached is not None:
        steps = [n for n, held in enumerate(usage.peak["openfiles"])
                 if held >= reached - _NEAR_FILES]  # fmt: skip
        kind = "is a usual limit" if limit is None else "is the limit of this process"
        evidence = f"{most:,} files and sockets were open, and {reached:,} {kind}"
    else:
        return
    yield finding(
        Cause.OPEN_FILES,
        "rsyslogd",
        course.span(steps or [0]),
        evidence,
        case="" if uncounted or limit is not None else "usual_limit",
    )


def _uncounted_files(course: CounterCourse, usage: StatsSeries) -> list[int]:
    """The steps at whose ends impstats could not open /proc/PID/fd, although the same process could
    before: it writes 0 then, and a process always has files open (countOpenFiles() of
    impstats.c)."""
    counts, steps = usage.level["openfiles"], []
    for number, life in enumerate(course.lives):
        has_counted = number == 0 and usage.before.get("openfiles", 0) > 0
        for n in life:
            has_counted = has_counted or counts[n] > 0
            if has_counted and not counts[n]:
                steps.append(n)
    return steps


def _delayed(course: CounterCourse) -> Iterator[ProductionFinding]:
    """Rounds that came late or in part: impstats itself had to wait."""
    gaps = course.gaps
    worst = max(gaps.late, gaps.cut)
    if worst < 3 or worst <= _LATE_ROUNDS * gaps.rounds:
        return
    yield finding(
        Cause.COUNTERS_DELAYED,
        "impstats",
        (course.steps[0].begin, course.steps[-1].end),
        f"{gaps.late:,} of {gaps.rounds:,} rounds came late (every {gaps.interval_s:,.0f} s is "
        f"usual, the longest gap was {gaps.longest_s:,.0f} s), {gaps.cut:,} are incomplete",
    )
