"""Two sides in pairs, as text and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from pydantic import TypeAdapter

from tuner.measure.blocks import Run, comparison, median
from tuner.measure.ceiling import Ceiling
from tuner.measure.gate import Decision, Gate
from tuner.measure.measurement import Failure
from tuner.measure.metrics import Result
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.paired import FEWEST_PAIRS, Comparison
from tuner.profile.metric import Metric
from tuner.report.comparisons import figure, metric_json, ratio_text, remarks
from tuner.report.figures import eps, percent, restart_text, table
from tuner.report.paced import percentiles_text
from tuner.report.shown import shown

SCHEMA = 1
A, B = "A", "B"
RATES = (Metric.EPS, Metric.EPS_PAID)
COMPARED = (
    *RATES, Metric.EPS_DURABLE, Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.FLOOD_CPU,
    Metric.STORE, Metric.MEMORY,
)  # fmt: skip


class Difference(Enum):
    """What the pairs show of B over A: by both rates, with interval and exact test agreeing."""

    FASTER = "faster"
    SLOWER = "slower"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few pairs"


@dataclass(frozen=True)
class Side:
    """One side: where it comes from, what of it was not tested as written, and how fresh it kept
    what it indexed at a fixed rate (None: not measured)."""

    name: str
    substitutions: tuple[str, ...] = ()
    freshness: Result | None = None


@dataclass(frozen=True)
class Compared:
    """Everything that was measured of two sides, or taken from two searches, whose runs were not
    interleaved and have no seed in common.  `cores` is None where the engine has others."""

    a: Side
    b: Side
    engine: str
    machine: str
    runs: tuple[Run, ...]
    seed: int | None
    doubts: tuple[str, ...] = ()
    ceiling: Ceiling | None = None
    cores: int | None = None
    gate: Gate | None = None

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


def compare_json(compared: Compared) -> dict[str, object]:
    """Everything, with the comparison by each metric."""
    fields: dict[str, object] = _COMPARED.dump_python(compared, mode="json")
    return {
        "schema": SCHEMA,
        "kind": "compare",
        "difference": compared.difference.value,
        "interleaved": compared.interleaved,
        "metrics": {one.value: metric_json(compared.runs, (A, B), one) for one in COMPARED},
        "ceiling_shares": None if compared.ceiling is None else dict(_shares(compared)),
        **fields,
    }


def compare_text(compared: Compared) -> str:
    """The sentence, a table by metric, freshness, the ceiling, and what to doubt."""
    a, b = compared.a, compared.b
    parts = [
        f"A is {a.name}\nB is {b.name}\non {compared.engine}, {compared.machine}",
        _sentence(compared),
        _table(compared),
        _restarts(compared),
        "\n".join(_freshness(compared)),
        "\n".join(_ceiling(compared)),
        "\n".join(f"doubt: {one}" for one in (*compared.doubts, *remarks(compared.runs))),
        "\n".join(f"not tested as written: {side}: {one}" for side, one in _substitutions(a, b)),
        _gate(compared),
    ]
    return shown("\n\n".join(part for part in parts if part))


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
        return f"Nothing is claimed: {pairs} complete pairs, where {fewest} are needed."
    lesser = min((steady, paid), key=lambda one: abs(one.ratio - 1))
    change = f"{percent(lesser.ratio)} [{percent(lesser.low)}, {percent(lesser.high)}]"
    if compared.difference is Difference.NOT_SHOWN:
        seen = max(steady.detectable, paid.detectable)
        return (
            f"No difference is shown: B over A is {change}; {steady.pairs} such pairs show a "
            f"difference of {seen:.1%} or more."
        )
    found = f"B is {compared.difference.value} than A: {change} events per second"
    return f"{found}." if compared.interleaved else f"{found}, in runs that did not take turns."


def _table(compared: Compared) -> str:
    header = ("metric", "A", "B", "B over A [95 %]", "p", "smallest that is shown")
    rows = []
    for metric in COMPARED:
        found, about = compared.of(metric), metric.about
        rows.append(
            (
                f"{about.label}, {about.unit}",
                *(figure(metric, median(compared.runs, side, metric)) for side in (A, B)),
                ratio_text(found),
                "-" if found is None else f"{found.p:.3f}",
                "-" if found is None else f"{found.detectable:.1%}",
            )
        )
    return table(header, rows)


def _restarts(compared: Compared) -> str:
    found = compared.of(Metric.EPS)
    return "" if found is None else restart_text(found)


def _freshness(compared: Compared) -> Iterator[str]:
    for letter, side in ((A, compared.a), (B, compared.b)):
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
    yield f"the engine's own ceiling for the documents of A: {eps(top.eps)} EPS ({top.best})"
    for letter, share in _shares(compared):
        reached = f"{letter} reaches {share['of_ceiling']:.0%} of it"
        if "of_cpu_bound" in share:
            reached += (
                f"; {share['cpu_us']:.1f} us of CPU an event allow at most "
                f"{eps(share['cpu_bound_eps'])} EPS on {compared.cores} cores: "
                f"{share['of_cpu_bound']:.0%} of that"
            )
        yield reached


def _shares(compared: Compared) -> Iterator[tuple[str, dict[str, float]]]:
    """How near each side comes to the ceiling, and to what its processor time allows."""
    for letter in (A, B):
        wanted = (Metric.EPS, Metric.EPS_PAID, Metric.SHIPPER_CPU, Metric.ENGINE_CPU)
        found = [one for one in (median(compared.runs, letter, m) for m in wanted) if one]
        if compared.ceiling is None or len(found) < len(wanted):
            continue
        rate, paid, *each_us = found
        share = {"of_ceiling": rate / compared.ceiling.eps, "cpu_us": sum(each_us)}
        if compared.cores is not None:
            # Both with the work that was put off: the bound is of all that an event costs.
            bound = compared.cores * 1e6 / sum(each_us)
            share |= {"cpu_bound_eps": bound, "of_cpu_bound": paid / bound}
        yield letter, share


def _gate(compared: Compared) -> str:
    if compared.gate is None:
        return ""
    return f"gate: {gate_text(compared.gate, compared.interleaved)}"


def gate_text(gate: Gate, interleaved: bool) -> str:
    """What became of the bar."""
    bar = f"{gate.bar:g}"
    turns = "" if interleaved else ", in runs that did not take turns"
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
