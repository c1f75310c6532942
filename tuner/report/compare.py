"""Two sides in pairs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.machines import Decision, Gate, gate
from tuner.measure.paired import Comparison, least, most
from tuner.measure.series import Series, average, comparison, pairs
from tuner.profile.metric import Metric
from tuner.report.figures import figure, interval, ratio_text, restart_text
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.report.series import (
    RATES,
    closing_blocks,
    conditions,
    machine_blocks,
    phase_blocks,
    series_json,
    speed_notes,
)
from tuner.schema.numerals import p_value, share

A, B = "A", "B"
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


def compared(series: Series, metric: Metric) -> Comparison | None:
    """B over A by one metric."""
    return comparison(series.runs, A, B, metric)


def difference(series: Series) -> Difference:
    """What the pairs show."""
    rates = [compared(series, metric) for metric in RATES]
    shown = [rate for rate in rates if rate is not None and rate.enough]
    if len(shown) < len(RATES):
        return Difference.TOO_FEW
    if all(rate.shows_more for rate in shown):
        return Difference.FASTER
    return Difference.SLOWER if all(rate.shows_less for rate in shown) else Difference.NOT_SHOWN


def gate_of(series: Series, bar: float | None) -> Gate | None:
    """What becomes of a bar, by both rates; None without a bar or pairs."""
    rates = [pairs(series.runs, A, B, metric) for metric in RATES]
    return None if bar is None or len(rates[0].a) < 2 else gate(rates, bar)


def compare_json(series: Series, decided: Gate | None) -> dict[str, object]:
    """Everything, with what the pairs show and what became of a bar."""
    return series_json(
        series,
        "compare",
        COMPARED,
        difference=difference(series),
        interleaved=True,
        gate=decided,
    )


def compare_blocks(series: Series, decided: Gate | None) -> tuple[PlainBlock, ...]:
    """The sentence, a table by metric, freshness, the ceiling, and what to doubt."""
    return (
        *bullets(
            [
                *(f"{variant.name} is {variant.title}" for variant in series.variants),
                conditions(series),
            ]
        ),
        Paragraph(_sentence(series), is_lead=True),
        _table(series),
        *machine_blocks(series, Metric.EPS, "pair"),
        *bullets([*speed_notes(series, RATES), *_restarts(series)]),
        *phase_blocks(series),
        *closing_blocks(series, Metric.EPS),
        *([] if decided is None else [Paragraph(f"gate: {gate_text(decided)}")]),
    )


def _restarts(series: Series) -> Iterator[str]:
    steady = compared(series, Metric.EPS)
    if steady is not None and (text := restart_text(steady)):
        yield text


def _sentence(series: Series) -> str:
    shown = difference(series)
    steady, paid = (compared(series, metric) for metric in RATES)
    if steady is None or paid is None or shown is Difference.TOO_FEW:
        count, fewest = (0, FEWEST_PAIRS) if steady is None else (steady.pairs, steady.fewest)
        return f"No claim: {count} complete pairs, at least {fewest} are needed."
    of_both = most if shown is Difference.SLOWER else least
    both = of_both((steady, paid))
    change = interval(both)
    if shown is Difference.NOT_SHOWN:
        return (
            f"No difference is shown: B over A is {change}; {steady.pairs} such pairs can detect "
            f"a difference of {share(both.detectable)} or more."
        )
    return f"B is {shown.value} than A: {change} events per second."


def _table(series: Series) -> Table:
    header = ("metric, geometric mean", "A", "B", "B over A [95 %]", "p", "minimum detectable")
    rows = []
    for metric in COMPARED:
        ratio, about = compared(series, metric), metric.about
        sides = tuple(average(series.runs, side, metric) for side in (A, B))
        rows.append(
            (
                f"{about.label}, {about.unit}",
                *(figure(metric, side) for side in (sides if ratio is None else ratio.averages)),
                ratio_text(ratio),
                "-" if ratio is None else p_value(ratio.p).removeprefix("= "),
                "-" if ratio is None else share(ratio.detectable),
            )
        )
    return Table("B over A", header, tuple(rows))


def gate_text(decided: Gate) -> str:
    """What became of the bar."""
    bar = f"{decided.bar:g}"
    match decided.decision:
        case Decision.KEPT:
            return f"kept: B is shown to be above {bar} of A"
        case Decision.BELOW:
            return f"below: B is shown to be under {bar} of A"
        case Decision.INCONCLUSIVE:
            more = (
                "measure on a quieter machine, or with a lower bar"
                if decided.pairs_wanted is None
                else f"about {decided.pairs_wanted} pairs would decide it"
            )
            return f"inconclusive: the interval holds {bar} of A: {more}"
