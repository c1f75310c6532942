"""What a window put off: work that the engine does only after it, and the rate that pays for it.

Refreshes, merges and flushes follow the events that cause them, some after the window has ended.
An engine that had cores to spare could have done that work beside the traffic; one that had none
would have indexed fewer events.
"""

from __future__ import annotations

from dataclasses import dataclass

from tuner.host.usage import cores
from tuner.lab.lab import Lab
from tuner.measure.counters import Window


@dataclass(frozen=True)
class CoreUse:
    """What the pipeline used of the machine over the window and what nobody used, in cores."""

    used: float
    idle: float


def core_use(window: Window, lab: Lab) -> CoreUse:
    """What the pipeline used and nobody used over the window: of this machine or, where the
    engine is on another one, of the processors that it has there."""
    growth = window.growth
    engine = growth.engine_cpu_s / growth.passed_s
    if not lab.is_here:
        return CoreUse(engine, max(0.0, lab.engine.facts.processors - engine))
    ours = (growth.shipper_cpu_s + growth.sender_cpu_s) / growth.passed_s
    busy = growth.machine.busy_s / growth.passed_s
    return CoreUse(engine + ours, max(0.0, cores() - busy))


def deferred_cpu_us(whole_us: float, window_us: float) -> float:
    """The engine's CPU per event that came after the window: what the whole trial took per event,
    until merges had ended, beyond what an event took in the window."""
    return max(0.0, whole_us - window_us)


def paid(eps: float, deferred_us: float, use: CoreUse) -> float:
    """The rate at which the work put off would be done as well: cores that idled do it first, and
    what is left takes its share of those that were busy."""
    needed = eps * deferred_us / 1e6
    if needed <= use.idle:
        return eps
    return eps * (use.used + use.idle) / (use.used + needed)
