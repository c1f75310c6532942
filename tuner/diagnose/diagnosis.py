"""The diagnosis of what the counters of rsyslogd did: findings, gravest first, what came in and
was carried, and what the counters cannot tell; pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.diagnose.collector import collector_findings, dropped_events
from tuner.diagnose.course import CounterCourse
from tuner.diagnose.engine import engine_findings
from tuner.diagnose.finding import EventEffect, ProductionFinding
from tuner.diagnose.given_up import is_away
from tuner.diagnose.inputs import (
    InputCourse,
    KernelCounts,
    input_findings,
    inputs_of,
    kernel_findings,
    open_sessions,
)
from tuner.diagnose.kept import kept_findings
from tuner.diagnose.late import late_findings
from tuner.diagnose.queues import QueueCourse, queues_of
from tuner.diagnose.settings import ENGINE_OUTPUT, Settings


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
        counts = [one.events for one in self.inputs] or [
            one.came for one in self.queues if one.action is None
        ]
        return tuple(map(sum, zip(*counts, strict=True))) or self.course.nothing

    @property
    def counts_arrivals(self) -> bool:
        """Whether anything that events come in by is among the counters."""
        return bool(self.inputs) or any(one.action is None for one in self.queues)

    @property
    def came_in_all(self) -> int:
        """The same since rsyslogd began, as a number."""
        if self.inputs:
            return sum(one.counted for one in self.inputs)
        return sum(one.came_in_all for one in self.queues if one.action is None)

    @property
    def peak(self) -> float:
        """The most events per second that came in during a step."""
        return max(self.course.rates(self.came), default=0.0)


def diagnose(
    courses: Iterable[CounterCourse], settings: Settings, kernel: KernelCounts | None = None
) -> tuple[Diagnosed, ...]:
    """What is wrong with each rsyslogd, by its counters and, where they are known, its settings and
    what the kernel of the host counts, which says nothing of several."""
    every = tuple(courses)
    of_one = kernel if len(every) == 1 else None
    named = [sum(name in settings.queues for _, name in course.objects) for course in every]
    return tuple(
        # Of several that write into one file, the settings are those of the one that has the names.
        _diagnosed(course, settings if not course.daemon or names == max(named) else Settings(),
                   of_one)
        for course, names in zip(every, named, strict=True)
    )  # fmt: skip


def _diagnosed(course: CounterCourse, settings: Settings, kernel: KernelCounts | None) -> Diagnosed:
    queues = queues_of(course, settings)
    found = (
        *(() if kernel is None else kernel_findings(kernel)),
        *kept_findings(course, queues),
        *collector_findings(course, queues, None if kernel is None else kernel.file_limit),
        *input_findings(course, queues, dropped_events(course)),
        *engine_findings(course, settings, queues),
        *late_findings(queues, settings, is_away(course)),
    )
    ordered = sorted(found, key=_gravity)
    return Diagnosed(
        course,
        queues,
        inputs_of(course),
        tuple(replace(one, host=course.host) for one in ordered),
        tuple(_untold(course, settings, kernel is not None)),
        kernel,
    )


def _gravity(one: ProductionFinding) -> tuple[int, int, float]:
    return (one.effect.rank, -(one.events.least or 0), one.span[0])


def worst(diagnosed: Iterable[Diagnosed]) -> EventEffect | None:
    """The gravest effect of all findings; None without any."""
    effects = [one.effect for each in diagnosed for one in each.findings]
    return min(effects, key=lambda effect: effect.rank, default=None)


def _untold(course: CounterCourse, settings: Settings, has_kernel: bool) -> Iterator[str]:
    """What the counters there are do not say."""
    engine = course.objects.get((ENGINE_OUTPUT, ENGINE_OUTPUT))
    batches = [one for one in course.of("core.action") if "batchesprocessed" in one.growth]
    untold = {
        "what is late, and whether queues grow or drain: that takes a second round": (
            course.is_single
        ),
        "what stood in queues and what they discarded: no queue is among them": (
            not course.of("core.queue")
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
            course.of("imuxsock")
        ),
        "what the kernel dropped before imudp read it: see /proc/net/udp, or use --host": (
            course.of("imudp") and not has_kernel
        ),
        "the size of batches, which rsyslog 8.2602 and later count": not batches,
        "files that imfile does not read, which rsyslog 8.2606 and later count": (
            not course.of("imfile")
        ),
        "what came and was discarded between the last round of a process and its end, and the "
        "batches that its workers were sending then": course.starts,
        "time lost to name resolution, refused connections, and what single threads do": True,
        "objects beyond the first 1,500": course.left_out,
    }
    return (what for what, is_untold in untold.items() if is_untold)


def _in_errorfile(settings: Settings) -> str:
    files = [one.errorfile for one in settings.outputs.values() if one.errorfile]
    return f": {files[0]} has both" if files else ", unless errorfile is set"


# What a profile's workload takes.
_BYTES, _CONNECTIONS = (120, 8000), 512


@dataclass(frozen=True)
class ProductionTraffic:
    """Events per second: the median, what 95 % of the time stayed below, and the peak of a step of
    `step_s` seconds; the mean bytes of a message and the most sessions seen at a time, None where
    no input counts them."""

    p50: float
    p95: float
    peak: float
    step_s: float
    mean_bytes: int | None
    sessions: int | None


def traffic_of(host: Diagnosed) -> ProductionTraffic:
    """What came in during the course of one rsyslogd."""
    course = host.course
    rates = course.rates(host.came)
    timed = sorted(
        (rate, step.seconds) for rate, step in zip(rates, course.steps, strict=True) if step.seconds
    )
    sized = [
        one for one in course.objects.values()
        if {"bytes.received", "submitted"} <= one.growth.keys()
    ]  # fmt: skip
    events = sum(one.total("submitted") for one in sized)
    received = sum(one.total("bytes.received") for one in sized)
    sessions = [
        round(max(held)) for one in course.objects.values() if (held := open_sessions(course, one))
    ]
    return ProductionTraffic(
        p50=_below(timed, 0.5),
        p95=_below(timed, 0.95),
        peak=host.peak,
        step_s=course.gaps.interval_s,
        mean_bytes=round(received / events) if events else None,
        sessions=sum(sessions) if any(sessions) else None,
    )


def _below(timed: Sequence[tuple[float, float]], part: float) -> float:
    """The rate that was not exceeded for that part of the time."""
    left = part * sum(seconds for _, seconds in timed)
    for rate, seconds in timed:
        left -= seconds
        if left <= 0:
            return rate
    return timed[-1][0] if timed else 0.0


def workload_changes(traffic: ProductionTraffic) -> Mapping[str, object]:
    """The keys of a profile's workload that say the same; sizes that a workload does not take are
    left out."""
    changes: dict[str, object] = {"workload.rate": max(1, math.ceil(traffic.peak))}
    if traffic.mean_bytes is not None and _BYTES[0] <= traffic.mean_bytes <= _BYTES[1]:
        changes["workload.message_bytes.mean"] = traffic.mean_bytes
    if traffic.sessions is not None:
        changes["workload.connections"] = min(_CONNECTIONS, traffic.sessions)
    return changes
