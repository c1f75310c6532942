"""Measurements of one profile as a table, and for programs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from pydantic import TypeAdapter

from tuner.measure.bottleneck import Verdict
from tuner.measure.measurement import Failure, Measurement, Outcome
from tuner.report.bottleneck import bottleneck_text
from tuner.report.figures import eps, mebibytes, table

SCHEMA = 1

_OUTCOMES = TypeAdapter(list[Outcome])


def bench_json(
    name: str, engine: str, outcomes: Sequence[Outcome], substitutions: Sequence[str]
) -> dict[str, object]:
    """All outcomes, and the median and spread of those that are valid."""
    return {
        "schema": SCHEMA,
        "kind": "bench",
        "profile": name,
        "engine": engine,
        "substitutions": list(substitutions),
        "summary": _summary(outcomes),
        "outcomes": _OUTCOMES.dump_python(list(outcomes), mode="json"),
    }


def bench_text(
    name: str, engine: str, outcomes: Sequence[Outcome], substitutions: Sequence[str]
) -> str:
    """A table with one row a run, the median below it, then what was not tested as written."""
    header = ("run", "EPS", "sent", "indexed", "rsyslogd us/event", "engine us/event",
              "rsyslogd memory", "remarks")  # fmt: skip
    rows = [_row(number, outcome) for number, outcome in enumerate(outcomes, 1)]
    parts = [f"{name} on {engine}", table(header, rows)]
    summary = _summary(outcomes)
    if summary is not None and summary["valid"] > 1:
        parts.append(
            f"median {eps(summary['eps_median'])} EPS, from {eps(summary['eps_min'])} to "
            f"{eps(summary['eps_max'])}, coefficient of variation {summary['eps_cv']:.1%}"
        )
    verdict = _median_verdict(outcomes)
    if verdict is not None:
        parts.append(bottleneck_text(verdict))
    parts += [f"not tested as written: {line}" for line in substitutions]
    return "\n".join(parts)


def _median_verdict(outcomes: Sequence[Outcome]) -> Verdict | None:
    """What limited the run in the middle, which stands for the others."""
    runs = sorted((o for o in outcomes if isinstance(o, Measurement)), key=lambda run: run.eps)
    return runs[len(runs) // 2].verdict if runs else None


def _summary(outcomes: Sequence[Outcome]) -> dict[str, float] | None:
    rates = [outcome.eps for outcome in outcomes if isinstance(outcome, Measurement)]
    if not rates:
        return None
    spread = statistics.stdev(rates) / statistics.fmean(rates) if len(rates) > 1 else 0.0
    return {
        "eps_median": statistics.median(rates),
        "eps_min": min(rates),
        "eps_max": max(rates),
        "eps_cv": spread,
        "valid": len(rates),
    }


def _row(number: int, outcome: Outcome) -> tuple[str, ...]:
    if isinstance(outcome, Failure):
        reason = f"failed: {outcome.kind.value}: {outcome.reason}"
        return (str(number), "-", str(outcome.sent), str(outcome.indexed), "-", "-", "-", reason)
    return (
        str(number),
        f"{eps(outcome.eps)} ± {eps(outcome.eps_se)}",
        str(outcome.delivery.sent),
        str(outcome.delivery.indexed),
        f"{outcome.shipper_cpu_us:.1f}",
        f"{outcome.engine_cpu_us:.1f}",
        mebibytes(outcome.shipper_rss_bytes),
        "; ".join(map(str, outcome.doubts)),
    )
