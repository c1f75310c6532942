"""A diagnosis of production, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise

from tuner.diagnose.course import CounterCourse
from tuner.diagnose.diagnosis import Diagnosed, ProductionTraffic, traffic_of
from tuner.diagnose.finding import EventEffect, Events, ProductionFinding
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import ENGINE_OUTPUT
from tuner.modules.stats_rounds import Unreadable
from tuner.report.sections import Bullets, Caution, Paragraph, PlainBlock, Table
from tuner.schema.numerals import counted, eps, mebibytes, seconds, share, times

_BARS = "▁▂▃▄▅▆▇█"
_CHART = 16
_MOST_ROWS = 24
_MOST_UNREAD = 3


@dataclass(frozen=True)
class UnreadLines:
    """Lines that told nothing, by the reason: how many, and where the first ones are."""

    why: Unreadable
    count: int
    first: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FilesDiagnosis:
    """What some files of counters say: one rsyslogd or several, what could not be read, and what is
    to be known of the files."""

    files: tuple[str, ...]
    hosts: tuple[Diagnosed, ...]
    unread: tuple[UnreadLines, ...]
    remarks: tuple[str, ...]

    @property
    def findings(self) -> tuple[ProductionFinding, ...]:
        """Those of all hosts."""
        return tuple(one for host in self.hosts for one in host.findings)


def diagnosis_blocks(made: FilesDiagnosis) -> tuple[PlainBlock | Caution, ...]:
    """For each rsyslogd its findings, its course, and what cannot be told; then what was not
    read."""
    blocks: list[PlainBlock | Caution] = []
    for host in made.hosts:
        blocks += _host(host)
    if made.unread or made.remarks:
        lines = (*(unread_text(one) for one in made.unread), *made.remarks)
        blocks.append(Caution("Of the files", "", lines))
    return tuple(blocks)


def _host(host: Diagnosed) -> Iterator[PlainBlock | Caution]:
    course = host.course
    yield Paragraph(heading(host))
    yield Paragraph(verdict(host), is_lead=True)
    for number, one in enumerate(host.findings, 1):
        yield Paragraph("")
        yield Paragraph(f"{number}. {headline(one)}", is_lead=True)
        yield Bullets(tuple(finding_lines(one)))
    yield Table(
        "Course",
        ("since it began", "events", "peak/s", "held", "lost", "chart"),
        tuple(_rows(host)),
    )
    sent = tuple(output_rows(course))
    if sent:
        yield Table("Outputs", OUTPUT_HEADER, sent)
    used = tuple(_used(host))
    if used:
        yield Table("Process", ("rsyslogd", "most", "chart"), used)
    if host.counts_arrivals and not course.is_single:
        yield Paragraph(traffic_text(traffic_of(host)))
    if host.untold:
        yield Paragraph("These counters do not tell:")
        yield Bullets(host.untold)


def heading(host: Diagnosed) -> str:
    """Whose counters these are, how many rounds, and of what time."""
    course, gaps = host.course, host.course.gaps
    named = f"{course.host}: " if course.host else ""
    if course.daemon:
        named += f"rsyslogd number {course.daemon} of those that write here together: "
    if course.is_single:
        at = course.steps[0].end
        when = f"of {local_time(at)}" if at else "without a time"
        return (
            f"{named}one round of counters, {when}: what was counted since rsyslogd began, or in "
            "one interval where impstats resets counters"
        )
    return (
        f"{named}{counted(gaps.rounds, 'round')} of counters, every {gaps.interval_s:g} s, from "
        f"{local_time(course.steps[0].begin)} to {local_time(course.steps[-1].end)}"
        f"{_of_counters(host)}"
    )


def traffic_text(traffic: ProductionTraffic) -> str:
    """Rates, sizes and sessions in a sentence."""
    sized = "" if traffic.mean_bytes is None else f"; {traffic.mean_bytes:,} bytes each"
    senders = (
        ""
        if traffic.sessions is None
        else f"; {counted(traffic.sessions, 'session')} seen at a time"
    )
    return (
        f"Traffic, events per second: half of the time at most {eps(traffic.p50)}, 95 % of it at "
        f"most {eps(traffic.p95)}, in the busiest {traffic.step_s:g} s {eps(traffic.peak)}"
        f"{sized}{senders}."
    )


def _of_counters(host: Diagnosed) -> str:
    course = host.course
    starts = len(course.starts)
    told = [
        "; impstats resets them each round" if course.has_resets else "",
        f"; rsyslogd began anew {times(starts)}, {'first ' if starts > 1 else ''}at "
        f"{local_time(course.starts[0])}"
        if course.starts
        else "",
        f"; the clock was set back at {local_time(course.clock_sets[0])}"
        if course.clock_sets
        else "",
    ]
    return "".join(told)


def verdict(host: Diagnosed) -> str:
    """What was found and carried, in a sentence; only what is among the counters."""
    if not host.findings:
        only = " in this one round" if host.course.is_single else ""
        kept = f", {_fullest(host)}, nothing discarded" if host.queues else ""
        return f"Nothing wrong{only}: {_carried(host)}{kept}."
    every = ", ".join(
        f"{sum(one.effect is effect for one in host.findings)} {effect.value}"
        for effect in EventEffect
        if any(one.effect is effect for one in host.findings)
    )
    return f"{counted(len(host.findings), 'finding')} ({every}); {_carried(host)}."


def _carried(host: Diagnosed) -> str:
    if not host.counts_arrivals:
        return "no counters of an input or of the main queue are in it"
    if not host.course.is_single:
        return f"carried {eps(host.peak)} events per second at the peak"
    count = counted(host.came_in_all, "event")
    return f"the inputs counted {count}" if host.inputs else f"{count} came into the queues"


def _fullest(host: Diagnosed) -> str:
    shares = [one.highest / one.room for one in host.queues if one.settings and one.room]
    if shares:
        return f"no queue above {share(max(shares))}"
    held = max((one.highest for one in host.queues), default=0)
    return f"no queue held more than {counted(held, 'event')}"


def headline(one: ProductionFinding) -> str:
    """What is wrong and where, what it does to how many events, and how sure that is."""
    how_many = events_text(one.events)
    effect = f"{how_many} {one.effect.value}" if how_many else one.effect.value
    return f"{one.cause.value}: {one.where} ({effect}; {one.certainty.value})"


def events_text(events: Events) -> str:
    """`6,165 events`, `at least 40 events`, `6 to 348 events`; empty where it is not known."""
    match events:
        case Events(None, None) | Events(0, None):
            return ""
        case Events(least, None) if least is not None:
            return f"at least {counted(least, 'event')}"
        case Events(least, most) if most is not None and least == most:
            return counted(most, "event")
        case Events(least, most) if most is not None and not least:
            return f"up to {counted(most, 'event')}"
        case Events(least, most):
            return f"{least or 0:,} to {most or 0:,} events"


def finding_lines(one: ProductionFinding) -> Iterator[str]:
    """Evidence, time, cause, meaning and way out."""
    begin, end = one.span
    yield f"seen: {one.evidence}"
    yield f"when: {_when(begin, end)}"
    yield f"cause: {one.why}"
    yield f"events: {one.meaning}"
    way = one.way_out
    named = f"{way.parameter}: " if way.parameter else ""
    code = f" (rsyslog-tune explain {way.code})" if way.code else ""
    yield f"way out: {named}{way.text}{code}"


def _when(begin: float, end: float) -> str:
    """A clock that was set back in between makes the end the earlier one."""
    if begin == end:
        return f"before {local_time(end)}" if end else "not said"
    lasted = f", {seconds(end - begin)}" if end > begin else ", the clock was set back in between"
    return f"{local_time(begin)} to {local_time(end)}{lasted}"


def _rows(host: Diagnosed) -> Iterator[tuple[str, ...]]:
    """The busiest inputs, then the queues, those of inputs first."""
    course = host.course
    inputs = sorted(host.inputs, key=lambda one: -one.counted)
    for one in inputs[:_MOST_ROWS]:
        rates = course.rates(one.events)
        yield one.name, f"{one.counted:,}", eps(max(rates, default=0)), "", "", chart(rates)
    busiest = sorted(host.queues, key=lambda one: -one.came_in_all)[:_MOST_ROWS]
    for queue in sorted(busiest, key=lambda one: one.action is not None):
        rates = course.rates(queue.came)
        yield (
            queue.name,
            f"{queue.came_in_all:,}",
            eps(max(rates, default=0)),
            f"{queue.highest:,}",
            f"{queue.lost:,}",
            chart(queue.size),
        )
    more = [len(inputs) - _MOST_ROWS, len(host.queues) - _MOST_ROWS]
    if max(more) > 0:
        left_out = sum(one for one in more if one > 0)
        yield f"{left_out:,} more, which had less to do", "", "", "", "", ""


OUTPUT_HEADER = ("output", "events", "batch", "failed", "suspended", "answers")


def output_rows(course: CounterCourse) -> Iterator[tuple[str, ...]]:
    """The busiest actions with the mean of their batches, where that is counted, and how often and
    how long they were suspended; then all that omelasticsearch counts of the engine."""
    actions = sorted(course.of("core.action"), key=lambda one: -one.in_all("processed"))
    for one in actions[:_MOST_ROWS]:
        events, batches = one.in_all("processed"), one.in_all("batchesprocessed")
        times, long_s = one.in_all("suspended"), one.in_all("suspended.duration")
        yield (
            one.name,
            f"{events:,}",
            f"{events / batches:,.0f}" if batches else "",
            f"{one.in_all('failed'):,}",
            f"{times:,}, {long_s:,} s" if times else "",
            "",
        )
    for one in course.of(ENGINE_OUTPUT):
        counts = {key: one.in_all(key) for key in one.growth if key not in _OF_REQUESTS}
        told = [f"{key} {count:,}" for key, count in counts.items() if count and key != "submitted"]
        requests, spent_ms = one.in_all("requests.count"), one.in_all("requests.time_ms")
        if requests:
            told.insert(0, f"{requests:,} requests, {spent_ms / requests:,.0f} ms each")
        yield one.name, f"{one.in_all('submitted'):,}", "", "", "", ", ".join(told)


_OF_REQUESTS = ("requests.count", "requests.time_ms")


def _used(host: Diagnosed) -> Iterator[tuple[str, ...]]:
    """What the process used, step by step."""
    course, kernel = host.course, host.kernel
    usage = course.usage
    if usage is None or course.cpu_s is None:
        return
    cpu = course.rates(course.cpu_s)
    yield "CPU", f"{max(cpu):.0%} of a core", chart(cpu)
    for name, label in (("maxrss", "memory, peak"), ("openfiles", "open files")):
        if name in usage.level:
            most = usage.highest(name)
            limit = (
                "" if kernel is None or kernel.file_limit is None else f" of {kernel.file_limit:,}"
            )
            shown = mebibytes(most * 1024) if name == "maxrss" else f"{most:,}{limit}"
            yield label, shown, chart(usage.peak[name])


def chart(values: Sequence[float], width: int = _CHART) -> str:
    """A line of bars, each the highest of its part of the time; a space where there was nothing."""
    if not values:
        return ""
    parts = min(width, len(values))
    cuts = [len(values) * number // parts for number in range(parts + 1)]
    tops = [max(values[begin:end]) for begin, end in pairwise(cuts)]
    most = max(tops)
    if most <= 0:
        return ""
    return "".join(
        " " if top <= 0 else _BARS[min(len(_BARS) - 1, int(top / most * len(_BARS)))]
        for top in tops
    )


def unread_text(one: UnreadLines) -> str:
    """How many lines were not read, why, and where the first are."""
    places = ", ".join(f"{file}:{number}" for file, number in one.first[:_MOST_UNREAD])
    more = ", ..." if one.count > _MOST_UNREAD else ""
    return f"{counted(one.count, 'line')} {one.why.value}: {places}{more}"


def local_time(at: float) -> str:
    """Seconds since 1970 as the time here."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def diagnosis_json(made: FilesDiagnosis) -> dict[str, object]:
    """The same for programs, with the course of each input and queue; times are seconds since
    1970."""
    return {
        "schema": 1,
        "kind": "diagnosis",
        "files": list(made.files),
        "hosts": [_host_json(one) for one in made.hosts],
        "unread": [
            {
                "why": one.why.value,
                "lines": one.count,
                "first": [{"file": file, "line": number} for file, number in one.first],
            }
            for one in made.unread
        ],
        "remarks": list(made.remarks),
    }


def _host_json(host: Diagnosed) -> Mapping[str, object]:
    course = host.course
    return {
        "host": course.host,
        "daemon": course.daemon,
        "begin": course.steps[0].begin,
        "end": course.steps[-1].end,
        "counters": asdict(course.gaps),
        "resetCounters": course.has_resets,
        "starts": list(course.starts),
        "traffic": asdict(traffic_of(host)),
        "findings": [_finding_json(one) for one in host.findings],
        "times": [step.end for step in course.steps],
        "inputs": [
            {"name": one.name, "type": one.origin, "events": list(one.events)}
            for one in host.inputs
        ],
        "queues": [_queue_json(one) for one in host.queues],
        "untold": list(host.untold),
    }


def _finding_json(one: ProductionFinding) -> Mapping[str, object]:
    return {
        "cause": one.cause.name.lower(),
        "title": one.cause.value,
        "where": one.where,
        "effect": one.effect.value,
        "events": asdict(one.events),
        "begin": one.span[0],
        "end": one.span[1],
        "evidence": one.evidence,
        "why": one.why,
        "meaning": one.meaning,
        "way_out": asdict(one.way_out),
        "certainty": one.certainty.value,
    }


def _queue_json(one: QueueCourse) -> Mapping[str, object]:
    return {
        "name": one.name,
        "action": one.action,
        "room": one.room,
        "highest": one.highest,
        "discarded": one.lost,
        "came": list(one.came),
        "held": list(one.size),
    }
