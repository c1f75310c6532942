"""Two sides in pairs, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path

from tuner.errors import Refused
from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.machines import Decision, Gate, gate
from tuner.measure.measurement import Measurement
from tuner.measure.paired import Comparison, least, most
from tuner.measure.series import (
    MeasuredProfile,
    Run,
    Series,
    average,
    comparison,
    pairs,
    restarted,
)
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
from tuner.search.study import Header, Study
from tuner.search.verdict import ConfirmedRuns, confirmed_runs

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
        interleaved=series.seed is not None,
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
        *([] if decided is None else [Paragraph(f"gate: {gate_text(decided, series)}")]),
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
    claim = f"B is {shown.value} than A: {change} events per second"
    return f"{claim}{_turns(series)}."


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


def _turns(series: Series) -> str:
    """Said with whatever is claimed of runs that took no turns."""
    return "" if series.seed is not None else ", in runs that were not interleaved"


def gate_text(decided: Gate, series: Series) -> str:
    """What became of the bar."""
    bar = f"{decided.bar:g}"
    turns = _turns(series)
    match decided.decision:
        case Decision.KEPT:
            return f"kept: B is shown to be above {bar} of A{turns}"
        case Decision.BELOW:
            return f"below: B is shown to be under {bar} of A{turns}"
        case Decision.INCONCLUSIVE:
            more = (
                "measure on a quieter machine, or with a lower bar"
                if decided.pairs_wanted is None
                else f"about {decided.pairs_wanted} pairs would decide it"
            )
            return f"inconclusive: the interval holds {bar} of A: {more}"


def of_searches(a: Path, b: Path, studies: tuple[Study, Study]) -> Series:
    """What the searches in two run directories confirmed, as runs side by side."""
    _require_comparable(a, b, studies)
    first, second = (
        confirmed_runs(study, str(path)) for study, path in zip(studies, (a, b), strict=True)
    )
    runs = _confirmed_runs(first.confirmed, second.confirmed)
    header = studies[1].header
    return Series(
        variants=(_side(A, a, studies[0], first), _side(B, b, studies[1], second)),
        engine=header.engine,
        rsyslog=header.rsyslog,
        machine=header.machine,
        runs=runs,
        seed=None,
        doubts=tuple(_doubts(a, b, studies, (first, second))),
    )


def _require_comparable(a: Path, b: Path, studies: tuple[Study, Study]) -> None:
    """Raise Refused where more than the settings of the searches differs; a heap is a setting."""
    before, after = (study.header.fingerprint for study in studies)
    apart = before.apart(replace(after, heap=before.heap))
    if apart:
        conditions = "; ".join(f"{name}: {was} in A, {now} in B" for name, was, now in apart)
        raise Refused(
            "A and B cannot be compared, they were measured under different conditions: "
            f"{conditions}; to measure both here: "
            f"rsyslog-tune compare {a / 'best.yaml'} {b / 'best.yaml'}"
        )


def _confirmed_runs(a: Sequence[Measurement], b: Sequence[Measurement]) -> tuple[Run, ...]:
    """The runs of both in order, those just after a restart of the engine with such runs only."""
    pairs = [
        both
        for after in (False, True)
        for both in zip(
            [run for run in a if restarted(run) is after],
            [run for run in b if restarted(run) is after],
            strict=False,
        )
    ]
    return tuple(
        Run(arm, block, run)
        for block, both in enumerate(pairs, 1)
        for arm, run in zip((A, B), both, strict=True)
    )


def _side(name: str, path: Path, study: Study, outcome: ConfirmedRuns) -> MeasuredProfile:
    unchanged = "the profile as written: no improvement shown"
    title = f"{path} ({'what it confirmed' if outcome.improved else unchanged})"
    limits, substitutions = study.header.limits, study.header.substitutions
    return MeasuredProfile(name, title, limits.freshness_p99_s, substitutions, outcome.freshness)


def _doubts(
    a: Path, b: Path, studies: tuple[Study, Study], outcomes: tuple[ConfirmedRuns, ConfirmedRuns]
) -> Iterator[str]:
    yield (
        "the runs of A and B were not interleaved: they are paired by their order only, so a "
        "change of the machine in between shows as a difference"
    )
    before, after = (study.header for study in studies)
    if _profile_texts(before) != _profile_texts(after):
        yield (
            "the searches began with different profiles, so the difference is that of the profiles "
            f"and of what was found: rsyslog-tune diff {a / 'best.yaml'} {b / 'best.yaml'}"
        )
        return
    drift = _confirmed_runs(outcomes[0].written, outcomes[1].written)
    difference = comparison(drift, A, B, Metric.EPS)
    if difference is not None:
        yield (
            "both searches began with the same profile, which differed by "
            f"{interval(difference)} in the pairs of B: this much is not due to the settings"
        )


def _profile_texts(header: Header) -> tuple[object, ...]:
    return header.profile_text, header.profile_layers, header.profile_base
