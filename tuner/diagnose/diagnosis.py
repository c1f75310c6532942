"""The diagnosis of what the counters of rsyslogd did: findings, gravest first, what was carried,
and what the counters cannot tell; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tuner.diagnose.collector import collector_findings, dropped_events
from tuner.diagnose.course import CounterCourse
from tuner.diagnose.engine import engine_findings, is_away
from tuner.diagnose.finding import EventEffect, ProductionFinding
from tuner.diagnose.inputs import InputCourse, input_findings, inputs_of
from tuner.diagnose.kernel import KernelCounts, kernel_findings
from tuner.diagnose.queues import QueueCourse, late_findings, queues_of
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
    return tuple(_diagnosed(course, settings, of_one) for course in every)


def _diagnosed(course: CounterCourse, settings: Settings, kernel: KernelCounts | None) -> Diagnosed:
    queues = queues_of(course, settings)
    found = (
        *(() if kernel is None else kernel_findings(kernel)),
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
    if engine is not None and not engine.total("response.success"):
        yield (
            "how many events the engine stored: processed and submitted count attempts; only "
            "retryfailures makes rsyslog count answers"
        )
    if engine is not None and engine.total("failed.es"):
        yield "which events were refused and why, unless errorfile is set"
    if not settings.queues:
        yield (
            "how full queues were, at which marks, and which workers and batches are set: name the "
            "settings with --conf or --profile"
        )
    if course.of("imuxsock"):
        yield "what local programs could not send because the socket of imuxsock was full"
    if course.of("imudp") and not has_kernel:
        yield "what the kernel dropped before imudp read it: see /proc/net/udp, or use --host"
    if not any("batchesprocessed" in one.growth for one in course.of("core.action")):
        yield "the size of batches, which rsyslog 8.2602 and later count"
    if not course.of("imfile"):
        yield "files that imfile does not read, which rsyslog 8.2606 and later count"
    yield "time lost to name resolution, refused connections, and what single threads do"
    if course.left_out:
        yield "objects beyond the first 1,500"
