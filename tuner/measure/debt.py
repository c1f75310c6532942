"""What a window put off: work that the engine does only after it, and the rate that pays for it.

Refreshes, merges and flushes follow the events that cause them, some after the window has ended.
An engine that had cores to spare could have done that work beside the traffic; one that had none
would have indexed fewer events.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """What the pipeline used of the machine over the window and what nobody used, in cores."""

    used: float
    idle: float


def deferred_cpu_us(whole_us: float, window_us: float) -> float:
    """The engine's CPU per event that came after the window: what the whole trial took per event,
    until merges had ended, beyond what an event took in the window."""
    return max(0.0, whole_us - window_us)


def paid(eps: float, deferred_us: float, load: Load) -> float:
    """The rate at which the work put off would be done as well: cores that idled do it first, and
    what is left takes its share of those that were busy."""
    needed = eps * deferred_us / 1e6
    if needed <= load.idle:
        return eps
    return eps * (load.used + load.idle) / (load.used + needed)
