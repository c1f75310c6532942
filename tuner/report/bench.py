"""Measurements of one profile as a table, and for programs."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from tuner.errors import JobFailed
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Failure, Measurement, Outcome
from tuner.measure.overload import Overload
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.paired import Comparison, compare
from tuner.measure.sustain import Bounds, LoadTrial
from tuner.report.bottleneck import bottleneck_text
from tuner.report.ceiling import ceiling_json, ceiling_text
from tuner.report.effective import effective_text
from tuner.report.figures import eps, interval, mebibytes, table
from tuner.report.paced import freshness_text, overload_text, sustain_text

SCHEMA = 2


@dataclass(frozen=True)
class Sustained:
    """The search for the maximum sustainable rate."""

    bounds: Bounds
    trials: tuple[LoadTrial, ...]


@dataclass(frozen=True)
class Bench:
    """Everything that a bench run measured; None for the phases that were not asked for.

    `message_bytes` is the mean size of its messages, None where they were replayed from a file.
    """

    profile: str
    engine: str
    outcomes: tuple[Outcome, ...]
    substitutions: tuple[str, ...]
    freshness_limit_s: float
    freshness: PacedMeasurement | Failure | None = None
    sustained: Sustained | None = None
    overload: Overload | Failure | None = None
    ceiling: Ceiling | None = None
    message_bytes: int | None = None


_BENCH = TypeAdapter(Bench)


def bench_json(bench: Bench) -> dict[str, object]:
    """All outcomes, and the median and spread of those that are valid."""
    fields: dict[str, object] = _BENCH.dump_python(bench, mode="json")
    found = summary(bench.outcomes)
    if bench.ceiling is not None:
        fields["ceiling"] = ceiling_json(bench.ceiling, _median(found))
    itself = self_comparison(bench.outcomes)
    spread = None if itself is None else asdict(itself)
    header = {"schema": SCHEMA, "kind": "bench", "summary": found, "self_comparison": spread}
    return {**header, **fields}


def read_bench(text: str, name: str) -> Bench:
    """What `bench_json` wrote to the file of that name; raises JobFailed when it did not."""
    try:
        fields = json.loads(text)
        kind, schema = fields["kind"], fields["schema"]
    except (ValueError, KeyError, TypeError):
        raise JobFailed(f"{name} is no output of `bench --output json`") from None
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


def bench_text(bench: Bench) -> str:
    """A table with one row a run and the median below it, what limited the run in the middle, the
    phases that were asked for, then what was not tested as written."""
    header = ("run", "EPS", "sent", "indexed", "rsyslogd us/event", "engine us/event",
              "rsyslogd memory", "remarks")  # fmt: skip
    rows = [_row(number, outcome) for number, outcome in enumerate(bench.outcomes, 1)]
    parts = [f"{bench.profile} on {bench.engine}", table(header, rows)]
    found = summary(bench.outcomes)
    if found is not None and found["valid"] > 1:
        parts.append(
            f"median {eps(found['eps_median'])} EPS, from {eps(found['eps_min'])} to "
            f"{eps(found['eps_max'])}, coefficient of variation {found['eps_cv']:.1%}; "
            f"CPU per event of rsyslogd {found['shipper_cpu_cv']:.1%}, engine "
            f"{found['engine_cpu_cv']:.1%}"
        )
    itself = self_comparison(bench.outcomes)
    if itself is not None:
        parts.append(_self_text(itself))
    middle = _middle(bench.outcomes)
    if isinstance(middle, Measurement):
        parts.append(effective_text(middle))
    if middle.verdict is not None:
        parts.append(bottleneck_text(middle.verdict))
    parts += _phases(bench, found)
    parts.append("\n".join(f"not tested as written: {line}" for line in bench.substitutions))
    return "\n\n".join(part for part in parts if part)


def _phases(bench: Bench, found: dict[str, float] | None) -> list[str]:
    parts = []
    if bench.freshness is not None:
        parts.append(freshness_text(bench.freshness, bench.freshness_limit_s))
    if bench.sustained is not None:
        parts.append(sustain_text(bench.sustained.bounds, bench.sustained.trials))
    if bench.overload is not None:
        parts.append(overload_text(bench.overload))
    if bench.ceiling is not None:
        parts.append(ceiling_text(bench.ceiling, _median(found)))
    return parts


def _median(found: dict[str, float] | None) -> float | None:
    return None if found is None else found["eps_median"]


def self_comparison(outcomes: Sequence[Outcome]) -> Comparison | None:
    """The profile against itself (A/A): each second run over the one before it, from two pairs on.
    None when there are fewer, or a run failed."""
    rates = [outcome.eps for outcome in outcomes if isinstance(outcome, Measurement)]
    if len(rates) < len(outcomes) or len(rates) < 4:
        return None
    paired = len(rates) // 2 * 2
    return compare(rates[0:paired:2], rates[1:paired:2])


def _self_text(found: Comparison) -> str:
    covered = "covers" if found.low <= 1.0 <= found.high else "DOES NOT COVER"
    return (
        f"against itself in {found.pairs} pairs of neighbouring runs: {interval(found)}, which "
        f"{covered} no difference; so many pairs would show a gain of {found.detectable:.1%}"
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
    if isinstance(outcome, Failure):
        account = (f"{outcome.sent:,}", f"{outcome.indexed:,}")
        return (str(number), "-", *account, "-", "-", "-", f"failed: {outcome}")
    return (
        str(number),
        f"{eps(outcome.eps)} ± {eps(outcome.eps_se)}",
        f"{outcome.delivery.sent:,}",
        f"{outcome.delivery.indexed:,}",
        f"{outcome.shipper_cpu_us:.1f}",
        f"{outcome.engine_cpu_us:.1f}",
        mebibytes(outcome.shipper_rss_bytes),
        "; ".join(map(str, outcome.doubts)),
    )
