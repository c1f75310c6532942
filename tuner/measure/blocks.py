"""Runs in blocks: each arm once a block, so that what changes with time meets all alike; pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tuner.measure.machines import compare_across
from tuner.measure.metrics import VARYING, Result, restarts, speeds, value_of
from tuner.measure.paired import Comparison, Pairs
from tuner.profile.metric import Metric
from tuner.profile.model import Profile


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
    found = ((run.block, value_of(metric, run.result)) for run in runs if run.arm == arm)
    return {block: value for block, value in found if value is not None}


def average(runs: Sequence[Run], arm: str, metric: Metric) -> float | None:
    """The geometric mean of what an arm showed of a metric, as ratios are those of geometric means;
    None when it showed nothing."""
    found = values(runs, arm, metric).values()
    if not found:
        return None
    return statistics.geometric_mean(found) if min(found) > 0 else 0.0


def pairs(runs: Sequence[Run], first: str, other: str, metric: Metric) -> Pairs:
    """What both arms showed of a metric in the blocks in which both showed something above 0."""
    before, after = values(runs, first, metric), values(runs, other, metric)
    blocks = [block for block in before if before[block] > 0 and after.get(block, 0.0) > 0]
    of = {(run.arm, run.block): run for run in runs}
    a, b = ([of[arm, block].result for block in blocks] for arm in (first, other))
    return Pairs(
        tuple(before[block] for block in blocks),
        tuple(after[block] for block in blocks),
        tuple(of[first, block].machine for block in blocks),
        restarts(a, b),
        speeds(a, b) if metric in VARYING else None,
    )


def comparison(runs: Sequence[Run], first: str, other: str, metric: Metric) -> Comparison | None:
    """How an arm compares with the first by the blocks that both completed, on whatever machines;
    None with less than two of them."""
    found = pairs(runs, first, other, metric)
    return compare_across(*found) if len(found.a) > 1 else None


def by_machine(runs: Sequence[Run]) -> dict[str, tuple[Run, ...]]:
    """The runs of each machine, by its name; nothing where there is only one without a name."""
    names = sorted({run.machine for run in runs} - {""})
    return {name: tuple(run for run in runs if run.machine == name) for name in names}
