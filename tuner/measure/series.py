"""Runs in blocks, each variant once a block, so that what changes with time meets all alike; and
what a series of them measured, and the phases after them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.measure.ceiling import Ceiling
from tuner.measure.machines import compare_across
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, Result
from tuner.measure.paired import Comparison, Pairs, Speeds
from tuner.measure.speed import PRIOR
from tuner.measure.sustain import Overload, Sustained
from tuner.profile.metric import FRESHNESS, Metric
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

    `seed` decided the order within blocks.  `cores` is None where the engine has others.  On a
    cluster runs name their machine, and `phases_on` that of phases.
    """

    variants: tuple[MeasuredProfile, ...]
    engine: str
    rsyslog: str
    machine: str
    seed: int
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
    """The share of each variant, by its runs on the machine of the ceiling."""
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


# Only differences of speeds count.
_ORIGIN = (0.0, 0.0)


def value_of(metric: Metric, result: Result) -> float | None:
    """The figure of a run; None where it shows none."""
    return None if isinstance(result, Failure) else _figures(result).get(metric)


def _figures(run: Measurement | PacedMeasurement) -> Mapping[Metric, float | None]:
    """Everything that a run shows."""
    figures: dict[Metric, float | None] = {
        Metric.EPS: run.eps,
        Metric.SHIPPER_CPU: run.shipper_cpu_us,
        Metric.ENGINE_CPU: run.engine_cpu_us,
        Metric.SHIPPER_CORES: run.eps * run.shipper_cpu_us / 1e6,
        Metric.ENGINE_CORES: run.eps * run.engine_cpu_us / 1e6,
        Metric.MEMORY: run.shipper_rss_bytes,
    }
    if isinstance(run, PacedMeasurement):
        fresh = run.freshness_s
        percentiles = () if fresh is None else (fresh.p50, fresh.p95, fresh.p99)
        return figures | dict(zip(FRESHNESS, percentiles, strict=False))
    took_s = [file.decompress_cpu_s for file in run.files if file.decompress_cpu_s is not None]
    sent = run.delivery.sent
    return figures | {
        Metric.EPS_PAID: run.eps_paid,
        Metric.EPS_DURABLE: run.eps_durable,
        Metric.ENGINE_CPU: run.engine_cpu_paid_us,
        Metric.FLOOD_CPU: run.flood_cpu_us,
        Metric.STORE: run.store_bytes_per_event,
        Metric.FILE: sum(file.bytes for file in run.files) / sent if run.files else None,
        Metric.DECOMPRESS_CPU: 1e6 * sum(took_s) / sent if took_s else None,
    }


VARYING = frozenset({
    Metric.EPS, Metric.EPS_PAID, Metric.EPS_DURABLE,
    Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.FLOOD_CPU,
})  # fmt: skip
"""What varies with the machine's speed."""


def restarts(before: Sequence[Result], after: Sequence[Result]) -> tuple[tuple[bool, bool], ...]:
    """Of each pair, whether the engine restarted just before the run of each side."""
    return tuple((restarted(a), restarted(b)) for a, b in zip(before, after, strict=True))


def speeds(before: Sequence[Result], after: Sequence[Result]) -> Speeds | None:
    """What the probe is expected to explain of the rate of each run of both sides; None where one
    of them had none."""
    of_a, of_b = ([_speed(result) for result in side] for side in (before, after))
    a, b = ([speed for speed in side if speed is not None] for side in (of_a, of_b))
    return (a, b) if len(a) == len(of_a) and len(b) == len(of_b) else None


def _speed(result: Result) -> float | None:
    if isinstance(result, Failure) or result.speed is None:
        return None
    return PRIOR.explained(result.speed.logs, _ORIGIN)


def restarted(result: Result) -> bool:
    """Whether the engine restarted just before a run."""
    return result.spent is not None and result.spent.restart_s > 0
