"""What a search makes better: one figure of a run, and how runs are made that show it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True)
class ObjectiveFacts:
    """The attribute of a measurement, what to call it and its unit, of `scale` each; whether more
    of it is better, whether it is measured at one rate for all settings, and whether it varies with
    the speed of the machine."""

    figure: str
    label: str
    unit: str
    scale: float = 1.0
    more_is_better: bool = False
    at_rate: bool = False
    by_speed: bool = False

    def turned(self, value: float) -> float:
        """The score of a figure, the higher the better, and the figure of a score."""
        return value if self.more_is_better else 1 / value

    def log_score(self, value: float) -> float:
        """The logarithm of the score of a figure."""
        return math.log(self.turned(value))


class Objective(Enum):
    """A figure that a search makes better, by what it is called on the command line.

    CPU, memory, what waits after an outage and how long events take to be found grow with what is
    carried, so they are compared at one rate: most collectors have one that is far below what they
    could carry.
    """

    EPS = "eps"
    CPU = "cpu"
    DISK = "disk"
    MEMORY = "memory"
    DRAIN = "drain"
    FRESHNESS = "freshness"

    @property
    def facts(self) -> ObjectiveFacts:
        """What is known of it."""
        return _FACTS[self]


@dataclass(frozen=True)
class FigureBound:
    """What must come with a better objective: another figure, changed by this share or more to its
    good side, so that -0.2 is a fifth less and more of disk, and -0.05 a twentieth less, or less
    than that, of events per second."""

    objective: Objective
    change: float

    def __str__(self) -> str:
        return f"{self.objective.value}={100 * self.change:+.4g}%"

    def margin(self, ratio: float) -> float:
        """The logarithm of how far a figure over that of the profile keeps it; negative where it
        does not."""
        beyond = math.log(ratio / (1 + self.change))
        return beyond if self.objective.facts.more_is_better else -beyond


_FACTS: Mapping[Objective, ObjectiveFacts] = {
    Objective.EPS: ObjectiveFacts(
        "eps_paid", "events per second", "EPS", more_is_better=True, by_speed=True
    ),
    Objective.CPU: ObjectiveFacts(
        "cpu_paid_us", "CPU per event of rsyslogd and the engine", "µs", at_rate=True, by_speed=True
    ),
    Objective.DISK: ObjectiveFacts("store_bytes_per_event", "disk per event after merges", "bytes"),
    Objective.MEMORY: ObjectiveFacts(
        "shipper_rss_bytes", "peak memory of rsyslogd", "MiB", 1024.0**2, at_rate=True
    ),
    Objective.DRAIN: ObjectiveFacts(
        "window_s", "time until what waited is indexed", "s", at_rate=True, by_speed=True
    ),
    Objective.FRESHNESS: ObjectiveFacts(
        "fresh_p99_s", "time until 99 % of the events are searchable", "s", at_rate=True
    ),
}
