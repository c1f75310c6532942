"""Measurements of one profile, for people and for programs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed
from tuner.measure.ceiling import Ceiling
from tuner.measure.machines import compare_across, outliers
from tuner.measure.measurement import DoubtKind, Failure, Measurement, Outcome, PacedMeasurement
from tuner.measure.metrics import speeds
from tuner.measure.paired import Comparison
from tuner.measure.sustain import Bounds, LoadTrial, Overload
from tuner.reading import json_of
from tuner.report.figures import interval, raw_and_adjusted
from tuner.report.runs import (
    bottleneck_blocks,
    ceiling_blocks,
    ceiling_json,
    effective_blocks,
    effective_table,
    freshness_blocks,
    overload_blocks,
    run_cells,
    speed_text,
    sustain_blocks,
)
from tuner.report.sections import Paragraph, PlainBlock, Table, bullets
from tuner.schema.numerals import eps, mebibytes, share
from tuner.search.notes import standing_out

SCHEMA = 3


@dataclass(frozen=True)
class Sustained:
    """The search for the maximum sustainable rate."""

    bounds: Bounds
    trials: tuple[LoadTrial, ...]


@dataclass(frozen=True)
class Bench:
    """Everything that a bench run measured; None for the phases that were not asked for.

    `message_bytes` is the mean size of its messages, None where they were replayed from a file.
    On a cluster `machines` are those of the outcomes, and `phases_on` those of the phases.
    """

    profile: str
    engine: str
    rsyslog: str
    outcomes: tuple[Outcome, ...]
    substitutions: tuple[str, ...]
    freshness_limit_s: float
    freshness: PacedMeasurement | Failure | None = None
    sustained: Sustained | None = None
    overload: Overload | Failure | None = None
    ceiling: Ceiling | None = None
    message_bytes: int | None = None
    machines: tuple[str, ...] = ()
    phases_on: tuple[tuple[str, str], ...] = ()
    untested: tuple[str, ...] = ()


_BENCH = TypeAdapter(Bench)
_COMPARISON = TypeAdapter(Comparison)


def bench_json(bench: Bench) -> dict[str, object]:
    """All outcomes, and the median and spread of those that are valid."""
    left_out = None if bench.machines else {"machines", "phases_on"}
    fields: dict[str, object] = _BENCH.dump_python(bench, mode="json", exclude=left_out)
    figures = summary(bench.outcomes)
    if bench.machines:
        fields["by_machine"] = {name: summary(own) for name, own in _each(bench).items()}
    if bench.ceiling is not None:
        machine = dict(bench.phases_on).get("ceiling", "")
        fields["ceiling"] = ceiling_json(bench.ceiling, median_on(bench, machine))
    itself = self_comparison(bench)
    spread = None if itself is None else _COMPARISON.dump_python(itself, mode="json")
    header = {"schema": SCHEMA, "kind": "bench", "summary": figures, "self_comparison": spread}
    return {**header, **fields}


def read_bench(text: str, name: str) -> Bench:
    """What `bench_json` wrote to the file of that name; raises JobFailed when it did not."""
    try:
        fields = json_of(text)
        kind, schema = fields["kind"], fields["schema"]
    except (ValueError, KeyError, TypeError):
        raise JobFailed(f"{name} is not output of `bench --output json`") from None
    if (kind, schema) != ("bench", SCHEMA):
        raise JobFailed(
            f"{name} is a {kind} of schema {schema}, this version reads a bench of {SCHEMA}: "
            "measure again with `bench --output json`"
        )
    try:
        return _BENCH.validate_python(fields)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise JobFailed(f"{name} is damaged at {place}: measure again") from None


def bench_blocks(bench: Bench) -> tuple[PlainBlock, ...]:
    """A table with one row a run, what is to be said of them and the median below it, what limited
    the run in the middle, the phases that were asked for, then what was changed for the lab."""
    header: tuple[str, ...] = (
        "run", "EPS", "sent", "indexed", "rsyslogd us/event", "engine us/event",
        "rsyslogd memory", "doubts",
    )  # fmt: skip
    rows = tuple(_row(number, outcome) for number, outcome in enumerate(bench.outcomes, 1))
    if bench.machines:
        header = (*header, "machine")
        rows = tuple((*row, name) for row, name in zip(rows, bench.machines, strict=True))
    head = Paragraph(
        f"{bench.profile} on rsyslogd {bench.rsyslog} and {bench.engine}", is_lead=True
    )
    blocks: list[PlainBlock] = [head, Table("Runs", header, rows)]
    blocks += bullets(_remarks(bench.outcomes))
    figures = summary(bench.outcomes)
    if figures is not None and figures["valid"] > 1:
        spread = (
            f"median {eps(figures['eps_median'])} EPS, from {eps(figures['eps_min'])} to "
            f"{eps(figures['eps_max'])}, coefficient of variation {figures['eps_cv']:.1%}; "
            f"CPU per event of rsyslogd {figures['shipper_cpu_cv']:.1%}, engine "
            f"{figures['engine_cpu_cv']:.1%}"
        )
        blocks.append(Paragraph(spread))
    valid = [one for one in bench.outcomes if isinstance(one, Measurement)]
    blocks += [Paragraph(text) for text in speed_text(valid)]
    if bench.machines:
        each = _each(bench)
        blocks.append(_machine_table({name: summary(own) for name, own in each.items()}))
        logs = {
            name: [math.log(run.eps) for run in own if isinstance(run, Measurement)]
            for name, own in each.items()
        }
        apart = standing_out(outliers(logs), "the rate")
        blocks += bullets([f"doubt: {text}" for text in apart])
    itself = self_comparison(bench)
    if itself is not None:
        blocks.append(Paragraph(_self_text(itself)))
    middle = _middle(bench.outcomes)
    if isinstance(middle, Measurement):
        blocks += effective_blocks(middle)
        if middle.effective is not None:
            blocks.append(effective_table(middle.effective, "Configured and effective"))
    if middle.verdict is not None:
        blocks += bottleneck_blocks(middle.verdict)
    blocks += _phases(bench)
    blocks += bullets([f"not tested: {line}" for line in bench.untested])
    blocks += bullets([f"changed for the lab: {line}" for line in bench.substitutions])
    return tuple(blocks)


def _phases(bench: Bench) -> list[PlainBlock]:
    where = ", ".join(f"{phase} on {machine}" for phase, machine in bench.phases_on)
    blocks: list[PlainBlock] = [Paragraph(f"each on one machine: {where}")] if where else []
    if bench.freshness is not None:
        blocks += freshness_blocks(bench.freshness, bench.freshness_limit_s)
    if bench.sustained is not None:
        blocks += sustain_blocks(bench.sustained.bounds, bench.sustained.trials)
    if bench.overload is not None:
        blocks += overload_blocks(bench.overload)
    if bench.ceiling is not None:
        machine = dict(bench.phases_on).get("ceiling", "")
        blocks += ceiling_blocks(bench.ceiling, median_on(bench, machine))
    return blocks


def median_on(bench: Bench, machine: str) -> float | None:
    """The median rate of the valid runs on a machine, or of all valid runs if it has none; None
    without a valid run."""
    figures = summary(_each(bench).get(machine, ())) or summary(bench.outcomes)
    return None if figures is None else figures["eps_median"]


def _each(bench: Bench) -> dict[str, tuple[Outcome, ...]]:
    """The outcomes of each machine."""
    both = list(zip(bench.machines, bench.outcomes, strict=False))
    return {
        name: tuple(one for machine, one in both if machine == name)
        for name in sorted(set(bench.machines))
    }


def _machine_table(by_machine: Mapping[str, dict[str, float] | None]) -> Table:
    header = ("machine", "valid runs", "median EPS", "from", "to", "coefficient of variation")
    rows: list[tuple[str, ...]] = []
    for name, figures in by_machine.items():
        if figures is None:
            rows.append((name, "0", "-", "-", "-", "-"))
            continue
        rates = (eps(figures[each]) for each in ("eps_median", "eps_min", "eps_max"))
        rows.append((name, str(figures["valid"]), *rates, f"{figures['eps_cv']:.1%}"))
    return Table("By machine", header, tuple(rows))


def self_comparison(bench: Bench) -> Comparison | None:
    """The profile against itself (A/A): each second run of a machine over the one before it, from
    two pairs on.  None when there are fewer, or a run failed."""
    pairs: list[tuple[Measurement, Measurement]] = []
    machines: list[str] = []
    for name, own in (_each(bench) or {"": bench.outcomes}).items():
        runs = [outcome for outcome in own if isinstance(outcome, Measurement)]
        if len(runs) < len(own):
            return None
        pairs += zip(runs[0::2], runs[1::2], strict=False)
        machines += [name] * (len(runs) // 2)
    if len(pairs) < 2:
        return None
    a, b = [one for one, _ in pairs], [other for _, other in pairs]
    rates_a, rates_b = ([run.eps for run in side] for side in (a, b))
    return compare_across(rates_a, rates_b, machines, (), speeds(a, b))


def _self_text(itself: Comparison) -> str:
    covered = "covers" if itself.low <= 1.0 <= itself.high else "DOES NOT COVER"
    return (
        f"against itself in {itself.pairs} pairs of neighbouring runs: {interval(itself)}, which "
        f"{covered} no difference; minimum detectable gain {share(itself.detectable)}"
        f"{raw_and_adjusted(itself, '; ')}"
    )


def _middle(outcomes: Sequence[Outcome]) -> Outcome:
    """The run in the middle, which stands for the others; the first one when all have failed."""
    runs = sorted((o for o in outcomes if isinstance(o, Measurement)), key=lambda run: run.eps)
    return runs[len(runs) // 2] if runs else outcomes[0]


def summary(outcomes: Sequence[Outcome]) -> dict[str, float] | None:
    """Median and spread of the valid runs; coefficients of variation, 0 for a single run.  None
    when there is none."""
    runs = [outcome for outcome in outcomes if isinstance(outcome, Measurement)]
    if not runs:
        return None
    rates = [run.eps for run in runs]
    return {
        "eps_median": statistics.median(rates),
        "eps_min": min(rates),
        "eps_max": max(rates),
        "eps_cv": _variation(rates),
        "shipper_cpu_cv": _variation([run.shipper_cpu_us for run in runs]),
        "engine_cpu_cv": _variation([run.engine_cpu_us for run in runs]),
        "valid": len(runs),
    }


def _variation(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return statistics.stdev(values) / mean if len(values) > 1 and mean > 0 else 0.0


def _row(number: int, outcome: Outcome) -> tuple[str, ...]:
    memory, doubts = "-", "failed"
    if isinstance(outcome, Measurement):
        memory = mebibytes(outcome.shipper_rss_bytes)
        doubts = ", ".join(doubt.kind.value for doubt in outcome.doubts)
    return (str(number), *run_cells(outcome), memory, doubts)


def _remarks(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Every failure, then each kind of doubt with the runs that had it, and its first figure."""
    doubts: dict[DoubtKind, dict[int, str]] = {}
    for number, outcome in enumerate(outcomes, 1):
        if isinstance(outcome, Failure):
            yield f"run {number} failed: {outcome}"
            continue
        for doubt in outcome.doubts:
            doubts.setdefault(doubt.kind, {}).setdefault(number, doubt.figure)
    for kind, figures in doubts.items():
        number, figure = next(iter(figures.items()))
        yield (
            f"doubt: {kind.value} ({kind.consequence.value}), {len(figures)} of {len(outcomes)} "
            f"runs (run {number}: {figure}): {kind.advice}"
        )
