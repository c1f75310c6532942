"""Receivers that are away, and what outputs do not send again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

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
    nonzero,
)
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import ENGINE_OUTPUT, OutputSettings, Settings, called
from tuner.schema.numerals import times

FAILURES = ("failed.http", "failed.httprequests", "failed.checkConn")
"""What omelasticsearch counts of requests that had no answer."""
# With action.resumeRetryCount -1 no output counts as suspended; it is resumed again and again
# (actionDoRetry() of action.c).
_AWAY = (
    (ENGINE_OUTPUT, FAILURES),
    ("omhttp", ("request.fail",)),
    ("core.action", ("suspended", "failed", "resumed")),
)
# After failures, a retry a moment later still belongs to them.
_AROUND = 1


def is_away(course: CounterCourse) -> tuple[bool, ...]:
    """For each step, whether the engine was not reached, or an output was suspended; a moment
    before and after belong to it, and all the time in which nothing is submitted to the engine:
    between two attempts, and while one hangs, nothing is counted."""
    growths = [
        one.growth[name]
        for origin, names in _AWAY
        for one in course.of(origin)
        for name in names
        if name in one.growth
    ]
    fails = [any(growth[n] for growth in growths) for n in range(len(course.steps))]
    around = range(-_AROUND, _AROUND + 1)
    away = [
        any(fails[n + by] for by in around if 0 <= n + by < len(fails)) for n in range(len(fails))
    ]
    engine = course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    if engine is not None and any(engine.total(name) for name in FAILURES):
        submitted = engine.growth.get("submitted", course.nothing)
        for order in (range(len(away)), range(len(away) - 1, -1, -1)):
            for before, n in pairwise(order):
                away[n] = away[n] or (away[before] and not submitted[n])
    return tuple(away)


def to_engine(course: CounterCourse, settings: Settings) -> list[str] | None:
    """The actions that send to the engine; None where that is not known."""
    names = [one.name for one in course.of("core.action")]
    if settings.outputs:
        outputs = settings.outputs
        return [n for n in names if n in outputs and outputs[n].module == ENGINE_OUTPUT]
    busy = [one.name for one in course.of("core.action") if one.total("processed")]
    named = [name for name in busy if ENGINE_OUTPUT in name]
    return named or (busy if len(busy) == 1 else None)


def taken(
    course: CounterCourse, names: Sequence[str], every: Sequence[QueueCourse]
) -> tuple[int, int]:
    """How many events these actions were given and kept since rsyslogd began, and how many of them
    still wait."""
    queues = {one.action: one for one in every if one.action is not None}
    given = waiting = 0
    for name in names:
        queue = queues.get(name)
        if queue is None:
            given += course.objects["core.action", name].in_all("processed")
        else:
            given += queue.came_in_all
            waiting += round(queue.size[-1])
    return given, waiting


def given_up(
    course: CounterCourse,
    settings: Settings,
    action: StatsSeries,
    every: Sequence[QueueCourse],
    engine: StatsSeries | None,
) -> Iterator[ProductionFinding]:
    """An action that dropped batches after its last retry.

    `failed` counts a batch that is dropped, in which there is one event at least
    (actionWriteErrorFile() of action.c), and of an action without a queue also each event that
    comes while it is suspended (doSubmitToActionQ()), which then is in such a batch as well: half
    of that number were dropped at least, and never more than came.
    """
    failed = action.in_all("failed")
    if not failed:
        return
    is_direct = all(one.action != action.name for one in every)
    given, waiting = taken(course, [action.name], every)
    what = "events and batches" if is_direct else "batches, not events"
    evidence = f"{action.name} failed {times(failed)} ({what})"
    if is_direct:
        evidence += f" of {given:,} events that came to it"
    least, certainty = -(-failed // 2) if is_direct else failed, Certainty.LIKELY
    names = to_engine(course, settings)
    is_known = engine is not None and engine.in_all("submitted") > 0 and not course.starts
    if engine is not None and is_known and names == [action.name]:
        submitted = engine.in_all("submitted")
        if given - waiting - submitted > 0:
            least, certainty = max(least, given - waiting - submitted), Certainty.CERTAIN
            evidence += (
                f"; of {given:,} events it took, {waiting:,} still wait and only {submitted:,} "
                f"were ever handed to {ENGINE_OUTPUT}"
            )
    output = settings.outputs.get(action.name)
    least, certainty = _less_sure(course, action, output, is_direct, least, certainty)
    retries = "" if output is None else f"; action.resumeRetryCount is {output.retry_count}"
    has_stand_in = output is not None and output.has_stand_in and is_direct
    most = given - waiting
    bounds = Events(min(least, most) or None, most) if most > 0 else Events(least or None)
    yield ProductionFinding(
        Cause.GIVEN_UP,
        called(action.name),
        EventEffect.AT_RISK if has_stand_in else EventEffect.LOST,
        Events(None, most) if has_stand_in else bounds,
        counted_when(course, action, "failed"),
        evidence + before_the_log(course, action, "failed"),
        f"the output failed, and after its last retry rsyslog drops the batch{retries} "
        "(rsyslog's default is 0 retries)",
        "the next output takes what comes while this one is suspended; a batch in which it failed "
        "is lost"
        if has_stand_in
        else "this output does not send them again; action.errorfile, where it is set, has them, "
        "and the next output where it has action.execOnlyWhenPreviousIsSuspended",
        WayOut(
            "nothing, where the next output is meant to take over; endless retries keep it from "
            "that",
        )
        if has_stand_in
        else WayOut(
            "keep trying: events then wait until the receiver is back"
            + (
                ", and all outputs beside this one wait with them: first give it a queue of its own"
                if is_direct
                else " in the queue"
            ),
            "action.resumeRetryCount", "RT208",
        ),
        certainty,
    )  # fmt: skip


def _less_sure(
    course: CounterCourse,
    action: StatsSeries,
    output: OutputSettings | None,
    is_direct: bool,
    least: int,
    certainty: Certainty,
) -> tuple[int, Certainty]:
    """Without settings another output that had no more events may have taken what this one could
    not: action.execOnlyWhenPreviousIsSuspended."""
    given = action.in_all("processed")
    others = (one for one in course.of("core.action") if one is not action)
    may_be = any(0 < one.in_all("processed") <= given for one in others)
    if output is None and is_direct and may_be:
        return 0, Certainty.POSSIBLE
    return least, certainty


def refused_posts(course: CounterCourse, series: StatsSeries) -> Iterator[ProductionFinding]:
    """What omhttp did not deliver while no output waited to try again: it tells rsyslogd of no
    failure, and nothing sends it again but the retry ruleset (checkResult() of omhttp.c)."""
    failed = series.growth.get("messages.fail", course.nothing)
    again = series.growth.get("messages.retry", course.nothing)
    dropped = tuple(
        0.0 if away else max(0.0, fails - retried)
        for fails, retried, away in zip(failed, again, is_away(course), strict=True)
    )
    lost = round(sum(dropped))
    if not lost:
        return
    yield ProductionFinding(
        Cause.GIVEN_UP,
        series.name,
        EventEffect.LOST,
        Events(lost),
        nonzero(course, dropped),
        f"messages.fail counted {series.total('messages.fail'):,} events and messages.retry "
        f"{series.total('messages.retry'):,}; {lost:,} failed while no output waited to try "
        "again and were not sent again",
        "the server, or a proxy before it, answered 3xx or 4xx; or 5xx to a batch without a "
        "retry.ruleset, which older releases drop",
        "the events are lost; errorfile, where it is set, has them",
        WayOut(
            "set errorfile to see the reason; for batches retry and a retry.ruleset send again "
            "what was refused for the time being",
            "errorfile", "RT291",
        ),
        Certainty.LIKELY,
    )  # fmt: skip
