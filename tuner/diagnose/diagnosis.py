"""The diagnosis of what the counters of rsyslogd did: findings, gravest first, what came in and
was carried, and what the counters cannot tell; pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.diagnose.backlog import late_findings, lost_findings
from tuner.diagnose.collector import collector_findings, dropped_events
from tuner.diagnose.course import CounterCourse
from tuner.diagnose.finding import EventEffect, ProductionFinding
from tuner.diagnose.inputs import (
    InputCourse,
    KernelCounts,
    input_findings,
    inputs_of,
    kernel_findings,
    open_sessions,
)
from tuner.diagnose.outputs import is_away, output_findings
from tuner.diagnose.queues import QueueCourse, queues_of
from tuner.diagnose.settings import Settings
from tuner.schema.numerals import counted, eps, share


@dataclass(frozen=True)
class Diagnosed:
    """One rsyslogd: its course, queues and inputs, what is wrong, what cannot be told, and what the
    kernel of its host counts where that is known."""

    course: CounterCourse
    queues: tuple[QueueCourse, ...]
    inputs: tuple[InputCourse, ...]
    findings: tuple[ProductionFinding, ...]
    untold: tuple[str, ...]
    kernel: KernelCounts | None = None

    @property
    def came(self) -> tuple[float, ...]:
        """Events that came in, step by step: by the inputs' own counts, else into the queues that
        are not an action's."""
        counts = [source.events for source in self.inputs] or [
            queue.came for queue in self._entries
        ]
        return tuple(map(sum, zip(*counts, strict=True))) or (0.0,) * len(self.course.steps)

    @property
    def _entries(self) -> tuple[QueueCourse, ...]:
        """The queues that are not an action's."""
        return tuple(queue for queue in self.queues if queue.action is None)

    @property
    def counts_arrivals(self) -> bool:
        """Whether anything that events come in by is among the counters."""
        return bool(self.inputs or self._entries)

    @property
    def came_in_all(self) -> int:
        """How many events came in since rsyslogd began."""
        if self.inputs:
            return sum(source.counted for source in self.inputs)
        return sum(queue.came_in_all for queue in self._entries)

    @property
    def peak(self) -> float:
        """The most events per second that came in during a step."""
        return max(self.course.rates(self.came), default=0.0)

    @property
    def verdict(self) -> str:
        """What was found and carried, in a sentence; only what is among the counters."""
        if not self.findings:
            only = " in this one round" if self.course.is_single else ""
            fullest = f", {self._fullest}, nothing discarded" if self.queues else ""
            return f"Nothing wrong{only}: {self._carried}{fullest}."
        numbers = Counter(finding.effect for finding in self.findings)
        effects = ", ".join(
            f"{numbers[effect]} {effect.value}" for effect in EventEffect if numbers[effect]
        )
        return f"{counted(len(self.findings), 'finding')} ({effects}); {self._carried}."

    @property
    def _carried(self) -> str:
        if not self.counts_arrivals:
            return "no counters of an input or of the main queue are in it"
        if not self.course.is_single:
            return f"carried {eps(self.peak)} events per second at the peak"
        count = counted(self.came_in_all, "event")
        return f"the inputs counted {count}" if self.inputs else f"{count} came into the queues"

    @property
    def _fullest(self) -> str:
        parts = [
            queue.highest / queue.room for queue in self.queues if queue.settings and queue.room
        ]
        if parts:
            return f"no queue above {share(max(parts))}"
        held = max((queue.highest for queue in self.queues), default=0)
        return f"no queue held more than {counted(held, 'event')}"


def diagnose(
    courses: Iterable[CounterCourse], settings: Settings, kernel: KernelCounts | None = None
) -> tuple[Diagnosed, ...]:
    """What is wrong with each rsyslogd, by its counters and, where they are known, its settings and
    what the kernel of the host counts, which says nothing of several."""
    daemons = [
        (course, sum(name in settings.queues for _, name in course.objects)) for course in courses
    ]
    most = max((names for _, names in daemons), default=0)
    return tuple(
        # Of several that write into one file, the settings are those of the one that has the names.
        _diagnosed(course, settings if not course.daemon or names == most else Settings(),
                   kernel if len(daemons) == 1 else None)
        for course, names in daemons
    )  # fmt: skip


def _diagnosed(course: CounterCourse, settings: Settings, kernel: KernelCounts | None) -> Diagnosed:
    queues = queues_of(course, settings)
    findings = (
        *(() if kernel is None else kernel_findings(kernel)),
        *lost_findings(queues),
        *collector_findings(course, queues, None if kernel is None else kernel.file_limit),
        *input_findings(course, queues, dropped_events(course)),
        *output_findings(course, settings, queues),
        *late_findings(queues, settings, is_away(course)),
    )
    return Diagnosed(
        course,
        queues,
        inputs_of(course),
        tuple(replace(finding, host=course.host) for finding in sorted(findings, key=_gravity)),
        tuple(_untold(course, settings, kernel is not None)),
        kernel,
    )


def _gravity(finding: ProductionFinding) -> tuple[int, int, float]:
    return (finding.effect.rank, -(finding.events.least or 0), finding.span[0])


def worst(diagnosed: Iterable[Diagnosed]) -> EventEffect | None:
    """The gravest effect of all findings; None without any."""
    effects = (finding.effect for host in diagnosed for finding in host.findings)
    return min(effects, key=lambda effect: effect.rank, default=None)


def _untold(course: CounterCourse, settings: Settings, has_kernel: bool) -> Iterator[str]:
    """What the counters there are do not say."""
    engine = course.engine
    actions = course.objects_of("core.action")
    untold = {
        "what is late, and whether queues grow or drain: that takes a second round": (
            course.is_single
        ),
        "what stood in queues and what they discarded: no queue is among them": (
            not course.objects_of("core.queue")
        ),
        "which rsyslogd this is: several write into one place, and their rounds are told apart by "
        "what the kernel counts of each process; give each a log.file of its own": course.daemon,
        "how many events the engine stored: processed and submitted count attempts; only "
        "retryfailures makes rsyslog count answers": (
            engine is not None and not engine.in_all("response.success")
        ),
        f"which events were refused and why{_in_errorfile(settings)}": (
            engine is not None and engine.in_all("failed.es")
        ),
        "how full queues were, at which marks, and which workers and batches are set: name the "
        "settings with --conf or --profile": not settings.queues,
        "what local programs could not send because the socket of imuxsock was full": (
            course.objects_of("imuxsock")
        ),
        "what the kernel dropped before imudp read it: see /proc/net/udp, or use --host": (
            course.objects_of("imudp") and not has_kernel
        ),
        "the size of batches, which rsyslog 8.2602 and later count": not any(
            "batchesprocessed" in action.growth for action in actions
        ),
        "files that imfile does not read, which rsyslog 8.2606 and later count": (
            not course.objects_of("imfile")
        ),
        "what came and was discarded between the last round of a process and its end, and the "
        "batches that its workers were sending then": course.starts,
        "time lost to name resolution, refused connections, and what single threads do": True,
        "objects beyond the first 1,500": course.left_out,
    }
    return (gap for gap, is_untold in untold.items() if is_untold)


def _in_errorfile(settings: Settings) -> str:
    files = [output.errorfile for output in settings.outputs.values() if output.errorfile]
    return f": {files[0]} has both" if files else ", unless errorfile is set"


# What a profile's workload takes.
_BYTES, _CONNECTIONS = (120, 8000), 512


@dataclass(frozen=True)
class ProductionTraffic:
    """Events per second: the median, what 95 % of the time stayed below, and the peak of a step of
    `step_s` seconds; the mean bytes of a message and the most sessions seen at a time, None where
    no input counts them; and what part of the events came to each action, by its counter's name."""

    p50: float
    p95: float
    peak: float
    step_s: float
    mean_bytes: int | None
    sessions: int | None
    shares: Mapping[str, float]


def traffic_of(host: Diagnosed) -> ProductionTraffic:
    """What came in during the course of one rsyslogd."""
    course = host.course
    rates = course.rates(host.came)
    timed = sorted(
        (rate, step.seconds) for rate, step in zip(rates, course.steps, strict=True) if step.seconds
    )
    sized = [
        series for series in course.objects.values()
        if {"bytes.received", "submitted"} <= series.growth.keys()
    ]  # fmt: skip
    events = sum(series.total("submitted") for series in sized)
    received = sum(series.total("bytes.received") for series in sized)
    sessions = [
        round(max(held))
        for series in course.objects.values()
        if (held := open_sessions(course, series))
    ]
    came = sum(host.came)
    actions = course.objects_of("core.action") if came else ()
    return ProductionTraffic(
        p50=_below(timed, 0.5),
        p95=_below(timed, 0.95),
        peak=host.peak,
        step_s=course.gaps.interval_s,
        mean_bytes=round(received / events) if events else None,
        sessions=sum(sessions) if any(sessions) else None,
        shares={action.name: min(1.0, action.total("processed") / came) for action in actions},
    )


def _below(timed: Sequence[tuple[float, float]], part: float) -> float:
    """The rate that was not exceeded for that part of the time."""
    remaining_s = part * sum(seconds for _, seconds in timed)
    for rate, seconds in timed:
        remaining_s -= seconds
        if remaining_s <= 0:
            return rate
    return timed[-1][0] if timed else 0.0


def workload_changes(
    traffic: ProductionTraffic, actions: Collection[str] = ()
) -> Mapping[str, object]:
    """The keys of a profile's workload that say the same; sizes that a workload does not take are
    left out, and parts of the events where it does not have several of these `actions`."""
    changes: dict[str, object] = {"workload.rate": max(1, math.ceil(traffic.peak))}
    if traffic.mean_bytes is not None and _BYTES[0] <= traffic.mean_bytes <= _BYTES[1]:
        changes["workload.message_bytes.mean"] = traffic.mean_bytes
    if traffic.sessions is not None:
        changes["workload.connections"] = min(_CONNECTIONS, traffic.sessions)
    shares = {name: part for name, part in traffic.shares.items() if name in actions}
    if len(shares) > 1:
        changes["workload.shares"] = {name: round(part, 4) for name, part in shares.items()}
    return changes
