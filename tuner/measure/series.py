"""Runs in blocks, each variant once a block, so that what changes with time meets all alike; and
what a series of them measured, and the phases after them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tuner.measure.ceiling import Ceiling
from tuner.measure.machines import compare_across
from tuner.measure.measurement import Failure
from tuner.measure.metrics import VARYING, Result, restarts, speeds, value_of
from tuner.measure.paired import Comparison, Pairs
from tuner.measure.sustain import Overload, Sustained
from tuner.profile.metric import Metric
from tuner.profile.model import Profile


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
        return tuple(variant.name for variant in self.variants)

    def phase_on(self, phase: str) -> str:
        """The machine that a phase was on; empty where that has no name."""
        return dict(self.phases_on).get(phase, "")

    def runs_on(self, machine: str) -> tuple[Run, ...]:
        """The runs on a machine, or all where it had none."""
        return by_machine(self.runs).get(machine, self.runs)

    def median_eps(self, variant: str, machine: str = "") -> float | None:
        """The median rate of a variant on a machine, or on all where it had no run there; None
        without a valid run."""
        runs, everywhere = self.runs_on(machine), self.runs
        rates = values(runs, variant, Metric.EPS) or values(everywhere, variant, Metric.EPS)
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
        shown = [value for metric in wanted if (value := average(runs, name, metric))]
        if series.ceiling is None or len(shown) < len(wanted):
            continue
        rate, paid, *cpu = shown
        share = CeilingShare(rate, rate / series.ceiling.eps, sum(cpu))
        if series.cores is not None:
            # Both with the work that was put off: the bound is of all that an event costs.
            bound = series.cores * 1e6 / share.cpu_us
            share = replace(share, cpu_bound_eps=bound, of_cpu_bound=paid / bound)
        yield name, share


@dataclass(frozen=True)
class Arm:
    """One of the profiles that are measured side by side, under a name."""

    name: str
    profile: Profile

    @property
    def node(self) -> tuple[object, ...]:
        """What the engine must be started with for it."""
        node = self.profile.node
        return (node.heap, *sorted(node.settings.items()))


@dataclass(frozen=True)
class Run:
    """What one arm gave in one block, counted from 1; all of a block ran on one machine, which has
    no name where there is only one."""

    arm: str
    block: int
    result: Result
    machine: str = ""


def block_order(shuffled: Sequence[Arm], last: Arm) -> tuple[Arm, ...]:
    """Every arm once, as chance has it.  Those for which the engine starts with the same settings
    stand together, and those with the settings of `last`, which ran before, come first: the engine
    restarts as seldom as it can, and of two arms each follows a restart as often as the other."""
    nodes = list(dict.fromkeys([last.node, *(arm.node for arm in shuffled)]))
    return tuple(sorted(shuffled, key=lambda arm: nodes.index(arm.node)))


def values(runs: Sequence[Run], arm: str, metric: Metric) -> dict[int, float]:
    """What an arm showed of a metric, by block; blocks in which it showed nothing are left out."""
    shown = ((run.block, value_of(metric, run.result)) for run in runs if run.arm == arm)
    return {block: value for block, value in shown if value is not None}


def average(runs: Sequence[Run], arm: str, metric: Metric) -> float | None:
    """The geometric mean of what an arm showed of a metric, as ratios are those of geometric means;
    None when it showed nothing."""
    shown = values(runs, arm, metric).values()
    if not shown:
        return None
    return statistics.geometric_mean(shown) if min(shown) > 0 else 0.0


def pairs(runs: Sequence[Run], first: str, second: str, metric: Metric) -> Pairs:
    """What both arms showed of a metric in the blocks in which both showed something above 0."""
    before, after = values(runs, first, metric), values(runs, second, metric)
    blocks = [block for block in before if before[block] > 0 and after.get(block, 0.0) > 0]
    run_of = {(run.arm, run.block): run for run in runs}
    a, b = ([run_of[arm, block].result for block in blocks] for arm in (first, second))
    return Pairs(
        tuple(before[block] for block in blocks),
        tuple(after[block] for block in blocks),
        tuple(run_of[first, block].machine for block in blocks),
        restarts(a, b),
        speeds(a, b) if metric in VARYING else None,
    )


def comparison(runs: Sequence[Run], first: str, second: str, metric: Metric) -> Comparison | None:
    """How an arm compares with the first by the blocks that both completed, on whatever machines;
    None with less than two of them."""
    compared = pairs(runs, first, second, metric)
    return compare_across(*compared) if len(compared.a) > 1 else None


def by_machine(runs: Sequence[Run]) -> dict[str, tuple[Run, ...]]:
    """The runs of each machine, by its name; nothing where there is only one without a name."""
    names = sorted({run.machine for run in runs} - {""})
    return {name: tuple(run for run in runs if run.machine == name) for name in names}
