"""What a series of runs of variants in blocks measured, and the phases after them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tuner.measure.blocks import Run, average, by_machine, values
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure
from tuner.measure.metrics import Result
from tuner.measure.sustain import Overload, Sustained
from tuner.profile.metric import Metric


@dataclass(frozen=True)
class MeasuredProfile:
    """One of the profiles of a series: the name that its runs bear, what it is, its limit of
    freshness, what the lab changed in it, how fresh it kept what it indexed at a fixed rate (None:
    not measured), and the mean size of its messages, None where they were replayed from a file."""

    name: str
    title: str
    freshness_limit_s: float
    substitutions: tuple[str, ...] = ()
    freshness: Result | None = None
    message_bytes: int | None = None


@dataclass(frozen=True)
class Series:
    """Everything that was measured of variants; None for phases that were not asked for.

    Without a `seed` the runs are those of searches, which took no turns.  `cores` is None where
    the engine has others.  On a cluster runs name their machine, and `phases_on` that of phases.
    """

    variants: tuple[MeasuredProfile, ...]
    engine: str
    rsyslog: str
    machine: str
    seed: int | None
    runs: tuple[Run, ...] = ()
    doubts: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()
    cores: float | None = None
    sustained: Sustained | None = None
    overload: Overload | Failure | None = None
    ceiling: Ceiling | None = None
    phases_on: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What the variants are called, the first one first."""
        return tuple(one.name for one in self.variants)

    def phase_on(self, phase: str) -> str:
        """The machine that a phase was on; empty where that has no name."""
        return dict(self.phases_on).get(phase, "")

    def runs_on(self, machine: str) -> tuple[Run, ...]:
        """The runs on a machine, or all where it had none."""
        return by_machine(self.runs).get(machine, self.runs)

    def median_eps(self, variant: str, machine: str = "") -> float | None:
        """The median rate of a variant on a machine, or on all where it had no run there; None
        without a valid run."""
        here, everywhere = self.runs_on(machine), self.runs
        rates = values(here, variant, Metric.EPS) or values(everywhere, variant, Metric.EPS)
        return statistics.median(rates.values()) if rates else None


@dataclass(frozen=True)
class CeilingShare:
    """How near a variant comes to what the engine carries without rsyslog, and to what its
    processor time for an event allows on all cores, where those are known."""

    eps: float
    of_ceiling: float
    cpu_us: float
    cpu_bound_eps: float | None = None
    of_cpu_bound: float | None = None


def ceiling_shares(series: Series) -> Iterator[tuple[str, CeilingShare]]:
    """That of each variant, by its runs on the machine of the ceiling."""
    runs = series.runs_on(series.phase_on("ceiling"))
    wanted = (Metric.EPS, Metric.EPS_PAID, Metric.SHIPPER_CPU, Metric.ENGINE_CPU)
    for name in series.names:
        shown = [value for one in wanted if (value := average(runs, name, one))]
        if series.ceiling is None or len(shown) < len(wanted):
            continue
        rate, paid, *cpu = shown
        share = CeilingShare(rate, rate / series.ceiling.eps, sum(cpu))
        if series.cores is not None:
            # Both with the work that was put off: the bound is of all that an event costs.
            bound = series.cores * 1e6 / share.cpu_us
            share = replace(share, cpu_bound_eps=bound, of_cpu_bound=paid / bound)
        yield name, share
