"""What each machine of a cluster showed, and which of them stands out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from tuner.measure.blocks import Run, average, by_machine, pairs
from tuner.measure.machines import outliers
from tuner.profile.metric import Metric
from tuner.report.figures import figure
from tuner.report.sections import Table
from tuner.search.notes import standing_out

NAMELESS: dict[str, Any] = {"runs": {"__all__": {"machine"}}}
"""Left out of the JSON where all runs were on one machine, which has no name."""


def machine_table(runs: Sequence[Run], arms: Sequence[str], metric: Metric, what: str) -> Table:
    """A row for each machine: its blocks (called `what`), the geometric mean of each arm and, of
    two, how the second compares with the first."""
    compares = len(arms) == 2
    header = ("machine", what, *(f"{arm}, {metric.about.label}" for arm in arms))
    header += (f"{arms[1]} over {arms[0]}",) if compares else ()
    rows = []
    for machine, own in by_machine(runs).items():
        blocks = ", ".join(str(block) for block in sorted({run.block for run in own}))
        cells = [machine, blocks, *(figure(metric, average(own, arm, metric)) for arm in arms)]
        if compares:
            gain = _gain(own, arms[0], arms[1], metric)
            cells.append("-" if gain is None else f"{math.exp(gain):.3f}")
        rows.append(tuple(cells))
    return Table("By machine", header, tuple(rows))


def machines_standing_out(
    runs: Sequence[Run], arms: Sequence[str], metric: Metric
) -> Iterator[str]:
    """The machines that differ from the others, in a sentence each: in what the first arm shows,
    and in how the others compare with it."""
    first, *others = arms
    each = by_machine(runs)
    label = metric.about.label
    levels = {name: average(own, first, metric) for name, own in each.items()}
    logs = {name: math.log(one) for name, one in levels.items() if one}
    yield from standing_out(outliers(logs), f"{label} of {first}")
    for arm in others:
        gains = {name: _gain(own, first, arm, metric) for name, own in each.items()}
        known = {name: one for name, one in gains.items() if one is not None}
        yield from standing_out(outliers(known), f"{label} of {arm} over {first}")


def _gain(runs: Sequence[Run], first: str, other: str, metric: Metric) -> float | None:
    """The mean logarithm of an arm over the first; None without a block that both completed."""
    both = pairs(runs, first, other, metric)
    logs = [math.log(b / a) for a, b in zip(both.a, both.b, strict=True)]
    return statistics.fmean(logs) if logs else None
