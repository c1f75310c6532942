"""Two sides in pairs, for people and for programs."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import TypeAdapter

from tuner.measure.blocks import Run, average, by_machine, comparison, pairs, values
from tuner.measure.ceiling import Ceiling
from tuner.measure.gate import Decision, Gate
from tuner.measure.machines import outliers
from tuner.measure.measurement import Failure, PacedMeasurement
from tuner.measure.metrics import Result
from tuner.measure.paired import FEWEST_PAIRS, Comparison, least, most
from tuner.profile.metric import Metric
from tuner.report.figures import figure, interval, on, ratio_text, raw_and_adjusted, restart_text
from tuner.report.runs import percentiles_text
from tuner.report.sections import (
    Paragraph,
    PlainBlock,
    Table,
    bullets,
)
from tuner.schema.numerals import eps, p_value, share
from tuner.search.notes import standing_out

SCHEMA = 2
NAMELESS: dict[str, Any] = {"runs": {"__all__": {"machine"}}}
"""Left out of the JSON where all runs were on one machine, which has no name."""
A, B = "A", "B"
RATES = (Metric.EPS, Metric.EPS_PAID)
COMPARED = (
    *RATES, Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.STORE, Metric.MEMORY,
    Metric.EPS_DURABLE, Metric.FLOOD_CPU,
)  # fmt: skip


class Difference(Enum):
    """What the pairs show of B over A: by both rates, with interval and exact test agreeing."""

    FASTER = "faster"
    SLOWER = "slower"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few pairs"


@dataclass(frozen=True)
class Side:
    """One side: where it comes from, what the lab changed of it, and how fresh it kept
    what it indexed at a fixed rate (None: not measured)."""

    name: str
    substitutions: tuple[str, ...] = ()
    freshness: Result | None = None


@dataclass(frozen=True)
class Compared:
    """Everything that was measured of two sides, or taken from two searches, whose runs were not
    interleaved and have no seed in common.  `cores` is None where the engine has others.  On a
    cluster runs name their machine; `freshness_on` is that of both runs at a fixed rate, and
    `ceiling_on` that of the ceiling."""

    a: Side
    b: Side
    engine: str
    rsyslog: str
    machine: str
    runs: tuple[Run, ...]
    seed: int | None
    doubts: tuple[str, ...] = ()
    ceiling: Ceiling | None = None
    cores: float | None = None
    gate: Gate | None = None
    freshness_on: str = ""
    ceiling_on: str = ""

    @property
    def interleaved(self) -> bool:
        """Whether the runs of both sides took turns."""
        return self.seed is not None

    def of(self, metric: Metric) -> Comparison | None:
        """B over A by one metric."""
        return comparison(self.runs, A, B, metric)

    @property
    def difference(self) -> Difference:
        """What the pairs show."""
        found = [one for one in map(self.of, RATES) if one is not None and one.enough]
        if len(found) < len(RATES):
            return Difference.TOO_FEW
        if all(one.shows_more for one in found):
            return Difference.FASTER
        return Difference.SLOWER if all(one.shows_less for one in found) else Difference.NOT_SHOWN


_COMPARED = TypeAdapter(Compared)
_COMPARISON = TypeAdapter(Comparison)
_OF_ONE_MACHINE = {**NAMELESS, "freshness_on": True, "ceiling_on": True}


def compare_json(compared: Compared) -> dict[str, object]:
    """Everything, with the comparison by each metric."""
    left_out = None if by_machine(compared.runs) else _OF_ONE_MACHINE
    fields: dict[str, object] = _COMPARED.dump_python(compared, mode="json", exclude=left_out)
    return {
        "schema": SCHEMA,
        "kind": "compare",
        "difference": compared.difference.value,
        "interleaved": compared.interleaved,
        "metrics": {one.value: metric_json(compared.runs, (A, B), one) for one in COMPARED},
        "ceiling_shares": None if compared.ceiling is None else dict(_shares(compared)),
        **fields,
    }


def compare_blocks(compared: Compared) -> tuple[PlainBlock, ...]:
    """The sentence, a table by metric, freshness, the ceiling, and what to doubt."""
    a, b = compared.a, compared.b
    blocks: list[PlainBlock] = bullets(
        [
            f"A is {a.name}",
            f"B is {b.name}",
            f"on rsyslogd {compared.rsyslog}, {compared.engine}, {compared.machine}",
        ]
    )
    blocks += [Paragraph(_sentence(compared), is_lead=True), _table(compared)]
    if by_machine(compared.runs):
        blocks.append(machine_table(compared.runs, (A, B), Metric.EPS, "pairs"))
    eps_compared = compared.of(Metric.EPS)
    restarts = "" if eps_compared is None else restart_text(eps_compared)
    both_ways = [
        f"{metric.about.label}: {raw_and_adjusted(one)}"
        for metric in RATES
        if (one := compared.of(metric)) is not None and one.by_speed is not None
    ]
    apart = machines_standing_out(compared.runs, (A, B), Metric.EPS)
    doubts = (*compared.doubts, *apart, *remarks(compared.runs))
    notes = [
        *both_ways,
        *([restarts] if restarts else []),
        *_freshness(compared),
        *_ceiling(compared),
        *(f"doubt: {one}" for one in doubts),
        *(f"changed for the lab: {side}: {one}" for side, one in _substitutions(a, b)),
    ]
    blocks += bullets(notes)
    if compared.gate is not None:
        blocks.append(Paragraph(f"gate: {gate_text(compared.gate, compared.interleaved)}"))
    return tuple(blocks)


def _substitutions(a: Side, b: Side) -> Iterator[tuple[str, str]]:
    """What neither side had as written comes once."""
    for one in a.substitutions:
        yield ("A and B" if one in b.substitutions else A), one
    for one in b.substitutions:
        if one not in a.substitutions:
            yield B, one


def _sentence(compared: Compared) -> str:
    steady, paid = map(compared.of, RATES)
    if steady is None or paid is None or compared.difference is Difference.TOO_FEW:
        pairs, fewest = (0, FEWEST_PAIRS) if steady is None else (steady.pairs, steady.fewest)
        return f"No claim: {pairs} complete pairs, at least {fewest} are needed."
    of_both = most if compared.difference is Difference.SLOWER else least
    both = of_both((steady, paid))
    change = interval(both)
    if compared.difference is Difference.NOT_SHOWN:
        return (
            f"No difference is shown: B over A is {change}; {steady.pairs} such pairs can detect "
            f"a difference of {share(both.detectable)} or more."
        )
    claim = f"B is {compared.difference.value} than A: {change} events per second"
    return f"{claim}." if compared.interleaved else f"{claim}, in runs that were not interleaved."


def _table(compared: Compared) -> Table:
    header = ("metric, geometric mean", "A", "B", "B over A [95 %]", "p", "minimum detectable")
    rows = []
    for metric in COMPARED:
        ratio, about = compared.of(metric), metric.about
        sides = tuple(average(compared.runs, side, metric) for side in (A, B))
        rows.append(
            (
                f"{about.label}, {about.unit}",
                *(figure(metric, one) for one in (sides if ratio is None else ratio.averages)),
                ratio_text(ratio),
                "-" if ratio is None else p_value(ratio.p).removeprefix("= "),
                "-" if ratio is None else share(ratio.detectable),
            )
        )
    return Table("B over A", header, tuple(rows))


def _freshness(compared: Compared) -> Iterator[str]:
    for side_of, side in ((A, compared.a), (B, compared.b)):
        letter = f"{side_of}{on(compared.freshness_on)}"
        match side.freshness:
            case Failure() as failure:
                yield f"freshness of {letter}: not measured: {failure}"
            case PacedMeasurement(freshness_s=fresh) as paced if fresh is not None:
                what = f"{letter} at {eps(paced.offered_per_second)} events per second"
                yield f"freshness of {what}: {percentiles_text(fresh)}"
            case _:
                continue


def _ceiling(compared: Compared) -> Iterator[str]:
    top = compared.ceiling
    if top is None:
        return
    where = on(compared.ceiling_on)
    yield f"the engine's own ceiling{where} for the documents of A: {eps(top.eps)} EPS ({top.best})"
    for letter, reaches in _shares(compared):
        reached = f"{letter} reaches {reaches['of_ceiling']:.0%} of it"
        if "of_cpu_bound" in reaches:
            reached += (
                f"; {reaches['cpu_us']:.1f} us of CPU an event allow at most "
                f"{eps(reaches['cpu_bound_eps'])} EPS on {compared.cores:g} cores: "
                f"{reaches['of_cpu_bound']:.0%} of that"
            )
        yield reached


def _shares(compared: Compared) -> Iterator[tuple[str, dict[str, float]]]:
    """How near each side comes, on the machine of the ceiling, to that and to what its processor
    time allows."""
    runs = by_machine(compared.runs).get(compared.ceiling_on, compared.runs)
    for letter in (A, B):
        wanted = (Metric.EPS, Metric.EPS_PAID, Metric.SHIPPER_CPU, Metric.ENGINE_CPU)
        found = [one for one in (average(runs, letter, m) for m in wanted) if one]
        if compared.ceiling is None or len(found) < len(wanted):
            continue
        rate, paid, *each_us = found
        reaches = {"of_ceiling": rate / compared.ceiling.eps, "cpu_us": sum(each_us)}
        if compared.cores is not None:
            # Both with the work that was put off: the bound is of all that an event costs.
            bound = compared.cores * 1e6 / sum(each_us)
            reaches |= {"cpu_bound_eps": bound, "of_cpu_bound": paid / bound}
        yield letter, reaches


def gate_text(gate: Gate, interleaved: bool) -> str:
    """What became of the bar."""
    bar = f"{gate.bar:g}"
    turns = "" if interleaved else ", in runs that were not interleaved"
    match gate.decision:
        case Decision.KEPT:
            return f"kept: B is shown to be above {bar} of A{turns}"
        case Decision.BELOW:
            return f"below: B is shown to be under {bar} of A{turns}"
        case Decision.INCONCLUSIVE:
            more = (
                "measure on a quieter machine, or with a lower bar"
                if gate.pairs_wanted is None
                else f"about {gate.pairs_wanted} pairs would decide it"
            )
            return f"inconclusive: the interval holds {bar} of A: {more}"


def metric_json(runs: Sequence[Run], arms: Sequence[str], metric: Metric) -> dict[str, object]:
    """What each arm showed of a metric, and how it compares with the first."""
    about = metric.about
    first, *others = arms
    found = {arm: comparison(runs, first, arm, metric) for arm in others}
    return {
        "label": about.label,
        "unit": about.unit,
        "more_is_better": about.more_is_better,
        "values": {arm: list(values(runs, arm, metric).values()) for arm in arms},
        "averages": {arm: average(runs, arm, metric) for arm in arms},
        "to_the_first": {
            arm: None if one is None else _COMPARISON.dump_python(one, mode="json")
            for arm, one in found.items()
        },
    }


def remarks(runs: Sequence[Run]) -> Iterator[str]:
    """Doubts about the runs, each with how many had it, and every failure."""
    doubts = Counter(
        (run.arm, kind)
        for run in runs
        if not isinstance(run.result, Failure)
        for kind in dict.fromkeys(doubt.kind for doubt in run.result.doubts)
    )
    for (arm, kind), count in doubts.items():
        of = sum(run.arm == arm for run in runs)
        yield f"{arm}, {count} of {of} runs: {kind.value} ({kind.consequence.value}): {kind.advice}"
    for run in runs:
        if isinstance(run.result, Failure):
            yield f"{run.arm}, block {run.block}{on(run.machine)} failed: {run.result}"


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
            gains = _gains(own, arms[0], arms[1], metric)
            cells.append(f"{math.exp(statistics.fmean(gains)):.3f}" if gains else "-")
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
    levels = {name: _logs(values(own, first, metric).values()) for name, own in each.items()}
    yield from standing_out(outliers(levels), f"{label} of {first}")
    for arm in others:
        gains = {name: _gains(own, first, arm, metric) for name, own in each.items()}
        yield from standing_out(outliers(gains), f"{label} of {arm} over {first}")


def _logs(measured: Iterable[float]) -> list[float]:
    return [math.log(value) for value in measured if value > 0]


def _gains(runs: Sequence[Run], first: str, other: str, metric: Metric) -> list[float]:
    """The logarithms of an arm over the first, of each block that both completed."""
    both = pairs(runs, first, other, metric)
    return _logs(b / a for a, b in zip(both.a, both.b, strict=True))
