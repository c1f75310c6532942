"""A diagnosis of production, on a terminal, as a page and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from tuner.diagnose.course import CounterCourse
from tuner.diagnose.diagnosis import Diagnosed, ProductionTraffic, traffic_of
from tuner.diagnose.finding import ProductionFinding
from tuner.diagnose.queues import QueueCourse
from tuner.diagnose.settings import ENGINE_OUTPUT
from tuner.modules.stats_rounds import Unreadable
from tuner.report.sections import (
    Block,
    Bullets,
    Caution,
    Colour,
    Columns,
    FirstScreen,
    Paragraph,
    PlainBlock,
    Plot,
    Report,
    ReportSection,
    Subheading,
    Table,
    bullets,
)
from tuner.schema.numerals import counted, eps, mebibytes, seconds, times

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
_BARS = "▁▂▃▄▅▆▇█"
_CHART = 16
_MOST_ROWS = 24
_MOST_UNREAD = 3
_MOST_POINTS = 400
_MOST_QUEUES = 12
_HEIGHT = 130


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
        return tuple(finding for host in self.hosts for finding in host.findings)


def diagnosis_blocks(made: FilesDiagnosis) -> Iterator[PlainBlock | Caution]:
    """For each rsyslogd its findings, its course, and what cannot be told; then what was not
    read."""
    for host in made.hosts:
        yield Paragraph(heading(host))
        yield Paragraph(host.verdict, is_lead=True)
        for title, lines in _findings(host):
            yield from (Paragraph(""), Paragraph(title, is_lead=True), Bullets(lines))
        header = ("since it began", "events", "peak/s", "held", "lost", "chart")
        yield Table("Course", header, tuple(_rows(host)))
        yield from _outputs(host.course)
        used = tuple((name, most, chart(values)) for name, _, most, values in _used(host))
        if used:
            yield Table("Process", ("rsyslogd", "most", "chart"), used)
        if host.counts_arrivals and not host.course.is_single:
            yield Paragraph(traffic_text(traffic_of(host)))
        if host.untold:
            yield from (Paragraph("These counters do not tell:"), Bullets(host.untold))
    yield from _of_files(made)


def diagnosis_report(made: FilesDiagnosis) -> Report:
    """The same as one page, with plots of what each rsyslogd did over time."""
    begin = min(host.course.steps[0].begin for host in made.hosts)
    end = max(host.course.steps[-1].end for host in made.hosts)
    first = FirstScreen(
        title="What production's counters say",
        name="rsyslog-tune diagnose",
        verdict=" ".join(host.verdict for host in made.hosts),
        remarks=tuple(traffic_text(traffic_of(host)) for host in made.hosts),
        is_improvement=not made.findings,
        cautions=tuple(_of_files(made)),
        about=f"{', '.join(made.files)}, from {local_time(begin)} to {local_time(end)}",
    )
    sections = [
        section for number, host in enumerate(made.hosts) for section in _sections(number, host)
    ]
    return Report(first, tuple(sections))


def _sections(number: int, host: Diagnosed) -> Iterator[ReportSection]:
    of_host = f" of {host.course.host}" if host.course.host else ""
    findings: list[Block] = []
    for title, lines in _findings(host):
        findings += [Subheading(title), Bullets(lines)]
    findings = findings or [Paragraph(host.verdict)]
    yield ReportSection(f"findings-{number}", f"Findings{of_host}", tuple(findings), "findings")
    plots = Columns(tuple((plot,) for plot in _plots(number, host)))
    course: tuple[Block, ...] = (plots, *_outputs(host.course))
    yield ReportSection(f"course-{number}", f"Over time{of_host}", course, "over time")
    untold = tuple(bullets(host.untold))
    title = f"What these counters do not tell{of_host}"
    yield ReportSection(f"untold-{number}", title, untold, "untold")


def _findings(host: Diagnosed) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each finding, by its number: its headline and its lines."""
    for number, finding in enumerate(host.findings, 1):
        yield f"{number}. {finding.headline}", tuple(finding_lines(finding))


def _of_files(made: FilesDiagnosis) -> Iterator[Caution]:
    """What was not read, and what is to be known of the files."""
    lines = (*map(unread_text, made.unread), *made.remarks)
    if lines:
        yield Caution("Of the files", "", lines)


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
    resets = "; impstats resets them each round" if course.has_resets else ""
    first = "first " if starts > 1 else ""
    began = f"; rsyslogd began anew {times(starts)}, {first}at {{}}" if starts else ""
    clock = "; the clock was set back at {}" if course.clock_sets else ""
    return (
        resets
        + began.format(*map(local_time, course.starts[:1]))
        + clock.format(*map(local_time, course.clock_sets[:1]))
    )


def finding_lines(finding: ProductionFinding) -> Iterator[str]:
    """Evidence, time, cause, meaning and way out."""
    begin, end = finding.span
    yield f"seen: {finding.evidence}"
    yield f"when: {_when(begin, end)}"
    yield f"cause: {finding.why}"
    yield f"events: {finding.meaning}"
    way_out = finding.way_out
    named = f"{way_out.parameter}: " if way_out.parameter else ""
    code = f" (rsyslog-tune explain {way_out.code})" if way_out.code else ""
    yield f"way out: {named}{way_out.text}{code}"


def _when(begin: float, end: float) -> str:
    """A clock that was set back in between makes the end the earlier one."""
    if begin == end:
        return f"before {local_time(end)}" if end else "not said"
    lasted = f", {seconds(end - begin)}" if end > begin else ", the clock was set back in between"
    return f"{local_time(begin)} to {local_time(end)}{lasted}"


def _rows(host: Diagnosed) -> Iterator[tuple[str, ...]]:
    """The busiest inputs, then the queues, those of inputs first."""
    course = host.course
    inputs = sorted(host.inputs, key=lambda source: -source.counted)
    for source in inputs[:_MOST_ROWS]:
        rates = course.rates(source.events)
        yield source.name, f"{source.counted:,}", eps(max(rates, default=0)), "", "", chart(rates)
    busiest = sorted(host.queues, key=lambda queue: -queue.came_in_all)[:_MOST_ROWS]
    for queue in sorted(busiest, key=lambda queue: queue.action is not None):
        rates = course.rates(queue.came)
        yield (
            queue.name,
            f"{queue.came_in_all:,}",
            eps(max(rates, default=0)),
            f"{queue.highest:,}",
            f"{queue.lost:,}",
            chart(queue.size),
        )
    left_out = sum(max(0, len(rows) - _MOST_ROWS) for rows in (inputs, host.queues))
    if left_out:
        yield f"{left_out:,} more, which had less to do", "", "", "", "", ""


def _outputs(course: CounterCourse) -> Iterator[Table]:
    rows = tuple(output_rows(course))
    if rows:
        header = ("output", "events", "batch", "failed", "suspended", "answers")
        yield Table("Outputs", header, rows)


def output_rows(course: CounterCourse) -> Iterator[tuple[str, ...]]:
    """The busiest actions with the mean of their batches, where that is counted, and how often and
    how long they were suspended; then all that omelasticsearch counts of the engine."""
    actions = course.objects_of("core.action")
    busiest = sorted(actions, key=lambda action: -action.in_all("processed"))
    for action in busiest[:_MOST_ROWS]:
        events, batches = action.in_all("processed"), action.in_all("batchesprocessed")
        times, long_s = action.in_all("suspended"), action.in_all("suspended.duration")
        yield (
            action.name,
            f"{events:,}",
            f"{events / batches:,.0f}" if batches else "",
            f"{action.in_all('failed'):,}",
            f"{times:,}, {long_s:,} s" if times else "",
            "",
        )
    for answers in course.objects_of(ENGINE_OUTPUT):
        counts = {key: answers.in_all(key) for key in answers.growth if key not in _OF_REQUESTS}
        counted_texts = [
            f"{key} {count:,}" for key, count in counts.items() if count and key != "submitted"
        ]
        requests, spent_ms = answers.in_all("requests.count"), answers.in_all("requests.time_ms")
        if requests:
            counted_texts.insert(0, f"{requests:,} requests, {spent_ms / requests:,.0f} ms each")
        yield answers.name, f"{answers.in_all('submitted'):,}", "", "", "", ", ".join(counted_texts)


_OF_REQUESTS = ("requests.count", "requests.time_ms")


def _used(host: Diagnosed) -> Iterator[tuple[str, str, str, Sequence[float]]]:
    """What the process used: of what, in which unit, the most, and step by step."""
    course, kernel = host.course, host.kernel
    usage = course.usage
    if usage is None or course.cpu_s is None:
        return
    cpu = [100 * share for share in course.rates(course.cpu_s)]
    yield "CPU", "percent of a core", f"{max(cpu):.0f}% of a core", cpu
    if "maxrss" in usage.level:
        most = mebibytes(usage.highest("maxrss") * 1024)
        yield "Memory", "most so far, in MiB", most, [kib / 1024 for kib in usage.peak["maxrss"]]
    if "openfiles" in usage.level:
        limit = None if kernel is None else kernel.file_limit
        most = f"{usage.highest('openfiles'):,}" + ("" if limit is None else f" of {limit:,}")
        yield "Open files", "with sockets", most, usage.peak["openfiles"]


def chart(values: Sequence[float], width: int = _CHART) -> str:
    """A line of bars, each the highest of its part of the time; a space where there was nothing."""
    most = max(values, default=0.0)
    if most <= 0:
        return ""
    tops = [max(part) for part in _parts(values, width)]
    return "".join(
        " " if top <= 0 else _BARS[min(len(_BARS) - 1, int(top / most * len(_BARS)))]
        for top in tops
    )


def _plots(number: int, host: Diagnosed) -> Iterator[Plot]:
    course = host.course
    times = tuple(step.end for step in course.steps)
    came = course.rates(host.came)
    yield _plot(f"came-{number}", "Events that came in", "a second, by all inputs", times, came)
    for place, queue in enumerate(sorted(host.queues, key=_weight)[:_MOST_QUEUES]):
        spans = [finding.span for finding in host.findings if finding.where.startswith(queue.name)]
        room = f" of {queue.room:,}" if queue.room else ""
        says = f"held at most {queue.highest:,}{room} events"
        if queue.part is not None:
            says += f" in memory, {queue.part.highest('size'):,} on disk"
        name = f"queue-{number}-{place}"
        yield _plot(name, queue.name, says, times, queue.size, spans)
    for name, unit, _, values in _used(host):
        yield _plot(f"{name.split()[0]}-{number}", f"{name} of rsyslogd", unit, times, values)


def _weight(queue: QueueCourse) -> tuple[bool, float]:
    return (not queue.late_steps, -float(queue.highest))


def _plot(
    name: str,
    title: str,
    says: str,
    every_time: Sequence[float],
    every_value: Sequence[float],
    wrong: Sequence[tuple[float, float]] = (),
) -> Plot:
    """Values over time; the times that something was `wrong` are shaded."""
    times, values = _thinned(every_time, every_value)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for begin, end in wrong:
            axes.axvspan(begin, end, color=Colour.BAD.value, alpha=0.15, linewidth=0)
        axes.plot(times, values, color=Colour.BEST.value, linewidth=1.2)
        axes.set_ylim(0, max(1.0, 1.05 * max(values)))
        ticks = [times[0] + (times[-1] - times[0]) * part / 3 for part in range(4)]
        axes.set_xticks(ticks, [_tick(at, times[-1] - times[0]) for at in ticks])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")

    rows = tuple((local_time(at), f"{value:,.0f}") for at, value in zip(times, values, strict=True))
    return Plot(name, title, says, _HEIGHT, paint, ("until", "value"), rows)


def _tick(at: float, reach_s: float) -> str:
    shape = "%H:%M:%S" if reach_s < 7200 else "%H:%M" if reach_s < 172_800 else "%m-%d %Hh"
    return datetime.fromtimestamp(at).strftime(shape)


def _thinned(times: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """Fewer points where there are many, each the highest of its part."""
    highest = [max(part) for part in _parts(list(zip(values, times, strict=True)), _MOST_POINTS)]
    return [at for _, at in highest], [value for value, _ in highest]


def _parts(values: Sequence[T], most: int) -> list[Sequence[T]]:
    """The values in at most so many parts of about the same length."""
    count = min(most, len(values))
    cuts = [len(values) * number // count for number in range(count + 1)]
    return [values[begin:end] for begin, end in pairwise(cuts)]


def unread_text(unread: UnreadLines) -> str:
    """How many lines were not read, why, and where the first are."""
    places = ", ".join(f"{file}:{number}" for file, number in unread.first[:_MOST_UNREAD])
    more = ", ..." if unread.count > _MOST_UNREAD else ""
    return f"{counted(unread.count, 'line')} {unread.why.value}: {places}{more}"


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
        "hosts": [_host_json(host) for host in made.hosts],
        "unread": [
            {
                "why": unread.why.value,
                "lines": unread.count,
                "first": [{"file": file, "line": number} for file, number in unread.first],
            }
            for unread in made.unread
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
        "findings": [_finding_json(finding) for finding in host.findings],
        "times": [step.end for step in course.steps],
        "inputs": [
            {"name": source.name, "type": source.origin, "events": list(source.events)}
            for source in host.inputs
        ],
        "queues": [_queue_json(queue) for queue in host.queues],
        "untold": list(host.untold),
    }


def _finding_json(finding: ProductionFinding) -> Mapping[str, object]:
    cause, (begin, end) = finding.cause, finding.span
    named = {"cause": cause.name.lower(), "title": cause.value, "begin": begin, "end": end}
    fields = asdict(finding) | named
    return {name: value for name, value in fields.items() if name not in {"span", "host"}}


def _queue_json(queue: QueueCourse) -> Mapping[str, object]:
    return {
        "name": queue.name,
        "action": queue.action,
        "room": queue.room,
        "highest": queue.highest,
        "discarded": queue.lost,
        "came": list(queue.came),
        "held": list(queue.size),
    }
