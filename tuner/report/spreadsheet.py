"""Runs as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from tuner.measure.measurement import Delivery, Failure, Measurement, PacedMeasurement
from tuner.measure.metrics import Result
from tuner.report.sections import shown
from tuner.search.study import Study, Trial
from tuner.space.knob import level_text

# What spreadsheets take for a formula, numbers left out.
_FORMULA = re.compile(r"(?![+-]?[\d.]+$)[=+@\t-]")

_TRIAL = ("trial", "phase", "pair", "why", "at_s", "ended_s", "machine",
          "offered_per_second")  # fmt: skip
_RESULT = (
    "outcome", "eps", "eps_se", "eps_paid", "eps_durable", "eps_merged", "sent", "indexed", "lost",
    "duplicated", "shipper_cpu_us", "engine_cpu_us", "shipper_rss_bytes", "store_bytes_per_event",
    "freshness_p50_s", "freshness_p99_s", "probe_zlib_us", "probe_socket_us", "bottleneck",
    "doubts", "failure",
)  # fmt: skip

CsvCell = str | float | None


def trials_csv(study: Study) -> str:
    """A row for each trial: what was asked for, what came out, and the value of every knob of the
    search."""
    axes = study.header.space
    rows = []
    for trial in study.trials:
        changes = dict(trial.changes)
        levels = [level_text(changes.get(axis.path, axis.current)) for axis in axes]
        came_out = _came_out(trial.outcome)
        rows.append((*_asked(trial), *(came_out.get(name) for name in _RESULT), *levels))
    return _table((*_TRIAL, *_RESULT, *(axis.path for axis in axes)), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[CsvCell]]) -> str:
    """A table as RFC 4180 has it; cells without a value are empty."""
    text = io.StringIO()
    csv.writer(text).writerows([_cell(cell) for cell in row] for row in (header, *rows))
    return text.getvalue()


def _asked(trial: Trial) -> tuple[CsvCell, ...]:
    return (
        trial.number,
        trial.phase.value,
        trial.pair,
        trial.why,
        trial.at_s,
        trial.ended_s,
        trial.machine or None,
        trial.per_second,
    )


def _came_out(outcome: Result) -> dict[str, CsvCell]:
    match outcome:
        case Failure():
            account: dict[str, CsvCell] = {"sent": outcome.sent, "indexed": outcome.indexed}
            if outcome.delivery is not None:
                account = _account(outcome.delivery)
            memory = {"shipper_rss_bytes": outcome.shipper_rss_bytes}
            return {"outcome": "failed", **account, **memory, "failure": str(outcome)}
        case PacedMeasurement():
            return {"outcome": "fixed rate", **_measured(outcome), **_fresh(outcome)}
        case Measurement():
            return {"outcome": "measured", **_measured(outcome), **_rates(outcome)}


def _account(delivery: Delivery) -> dict[str, CsvCell]:
    return {name: getattr(delivery, name) for name in ("sent", "indexed", "lost", "duplicated")}


def _measured(outcome: Measurement | PacedMeasurement) -> dict[str, CsvCell]:
    return {
        "eps": outcome.eps,
        **_account(outcome.delivery),
        "shipper_cpu_us": outcome.shipper_cpu_us,
        "engine_cpu_us": outcome.engine_cpu_us,
        "shipper_rss_bytes": outcome.shipper_rss_bytes,
        "doubts": "; ".join(map(str, outcome.doubts)),
        "probe_zlib_us": None if outcome.speed is None else outcome.speed.zlib_us,
        "probe_socket_us": None if outcome.speed is None else outcome.speed.socket_us,
    }


def _rates(outcome: Measurement) -> dict[str, CsvCell]:
    return {
        "eps_se": outcome.eps_se,
        "eps_paid": outcome.eps_paid,
        "eps_durable": outcome.eps_durable,
        "eps_merged": outcome.eps_merged,
        "store_bytes_per_event": outcome.store_bytes_per_event,
        "bottleneck": None if outcome.verdict is None else outcome.verdict.bottleneck.value,
    }


def _fresh(outcome: PacedMeasurement) -> dict[str, CsvCell]:
    found = outcome.freshness_s
    return {} if found is None else {"freshness_p50_s": found.p50, "freshness_p99_s": found.p99}


def _cell(value: CsvCell) -> CsvCell:
    """A text that a spreadsheet would compute stays text behind an apostrophe."""
    if not isinstance(value, str):
        return value
    text = shown(value)
    return f"'{text}" if _FORMULA.match(text) else text
