"""A diagnosis of production as one page: findings, and plots of inputs, queues and process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from tuner.diagnose.diagnosis import Diagnosed, traffic_of
from tuner.diagnose.finding import EventEffect
from tuner.diagnose.queues import QueueCourse
from tuner.report.diagnosis import (
    OUTPUT_HEADER,
    FilesDiagnosis,
    finding_lines,
    headline,
    local_time,
    output_rows,
    traffic_text,
    unread_text,
    verdict,
)
from tuner.report.drawing import Colour
from tuner.report.sections import (
    Block,
    Bullets,
    Caution,
    Columns,
    FirstScreen,
    Number,
    Paragraph,
    Plot,
    Report,
    ReportSection,
    Subheading,
    Table,
    bullets,
)
from tuner.schema.numerals import counted, eps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_POINTS = 400
_MOST_QUEUES = 12
_HEIGHT = 130


@dataclass(frozen=True)
class _Curve:
    """What a plot draws: values at times, and times that something was wrong."""

    times: tuple[float, ...]
    values: tuple[float, ...]
    spans: tuple[tuple[float, float], ...] = ()


def diagnosis_report(made: FilesDiagnosis) -> Report:
    """The page: what is wrong, then what each rsyslogd did over time."""
    sections = [one for number, host in enumerate(made.hosts) for one in _sections(number, host)]
    return Report(_first(made), tuple(sections))


def _first(made: FilesDiagnosis) -> FirstScreen:
    findings = made.findings
    lost = [one for one in findings if one.effect is EventEffect.LOST]
    least = sum(one.events.least or 0 for one in lost)
    peak = max(host.peak for host in made.hosts)
    late = sum(one.effect is EventEffect.LATE for one in findings)
    unread = tuple(map(unread_text, made.unread)) + made.remarks
    begin = min(host.course.steps[0].begin for host in made.hosts)
    end = max(host.course.steps[-1].end for host in made.hosts)
    numbers = (
        Number("peak", f"{eps(peak)} events/s", "that came in, in the busiest step"),
        Number("lost", f"{least:,}", "events at least" if lost else "no event is known to be",
               bool(lost)),
        Number("late", counted(late, "finding"), "of events that waited", bool(late)),
    )  # fmt: skip
    return FirstScreen(
        title="What production's counters say",
        name="rsyslog-tune diagnose",
        verdict=" ".join(map(verdict, made.hosts)),
        remarks=tuple(traffic_text(traffic_of(host)) for host in made.hosts),
        is_improvement=not findings,
        cautions=(Caution("Of the files", "", unread),) if unread else (),
        numbers=numbers,
        about=f"{', '.join(made.files)}, from {local_time(begin)} to {local_time(end)}",
    )


def _sections(number: int, host: Diagnosed) -> Iterator[ReportSection]:
    of = f" of {host.course.host}" if host.course.host else ""
    findings: list[Block] = []
    for place, one in enumerate(host.findings, 1):
        findings += [Subheading(f"{place}. {headline(one)}"), Bullets(tuple(finding_lines(one)))]
    told = findings or [Paragraph(verdict(host))]
    yield ReportSection(f"findings-{number}", f"Findings{of}", tuple(told), "findings")
    plots = Columns(tuple((plot,) for plot in _plots(number, host)))
    rows = tuple(output_rows(host.course))
    sent = (Table("Outputs", OUTPUT_HEADER, rows),) if rows else ()
    yield ReportSection(f"course-{number}", f"Over time{of}", (plots, *sent), "over time")
    untold = (*bullets(host.untold),)
    yield ReportSection(
        f"untold-{number}", f"What these counters do not tell{of}", untold, "untold"
    )


def _plots(number: int, host: Diagnosed) -> Iterator[Plot]:
    course = host.course
    times = tuple(step.end for step in course.steps)
    came = _Curve(times, course.rates(host.came))
    yield _plot(f"came-{number}", "Events that came in", "a second, by all inputs", came)
    for place, queue in enumerate(sorted(host.queues, key=_weight)[:_MOST_QUEUES]):
        spans = tuple(one.span for one in host.findings if one.where.startswith(queue.name))
        room = f" of {queue.room:,}" if queue.room else ""
        says = f"held at most {queue.highest:,}{room} events"
        if queue.part is not None:
            says += f" in memory, {queue.part.highest('size'):,} on disk"
        held = _Curve(times, queue.size, spans)
        yield _plot(f"queue-{number}-{place}", queue.name, says, held)
    if course.cpu_s is not None:
        line = _Curve(times, tuple(100 * used for used in course.rates(course.cpu_s)))
        yield _plot(f"cpu-{number}", "CPU of rsyslogd", "percent of a core", line)
    if (usage := course.usage) is not None and "maxrss" in usage.peak:
        most = _Curve(times, tuple(kib / 1024 for kib in usage.peak["maxrss"]))
        yield _plot(f"memory-{number}", "Memory of rsyslogd", "most so far, in MiB", most)


def _weight(queue: QueueCourse) -> tuple[bool, float]:
    return (not queue.late_steps, -float(queue.highest))


def _plot(name: str, title: str, says: str, line: _Curve) -> Plot:
    """Values over time; what was wrong is shaded."""
    times, values = _thinned(line.times, line.values)

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for begin, end in line.spans:
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
    parts = min(_MOST_POINTS, len(values))
    cuts = [len(values) * number // parts for number in range(parts + 1)]
    pairs = [
        max(zip(values[begin:end], times[begin:end], strict=True)) for begin, end in pairwise(cuts)
    ]
    return [at for _, at in pairs], [value for value, _ in pairs]
