"""Runs as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence

from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, Result
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
"""The columns of a result: figures of the run or of its delivery by their own names, and others."""

CsvCell = str | float | None


def trials_csv(study: Study) -> str:
    """A row for each trial: what was asked for, what came out, and the value of every knob of the
    search."""
    axes = study.header.space
    rows = []
    for trial in study.trials:
        changes, outcome = dict(trial.changes), trial.outcome
        levels = [level_text(changes.get(axis.path, axis.current)) for axis in axes]
        others = _others(outcome)
        result = (others[name] if name in others else _figure(outcome, name) for name in _RESULT)
        rows.append((*_asked(trial), *result, *levels))
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


def _figure(outcome: Result, name: str) -> CsvCell:
    """A figure of a run, or of its delivery; None where it has none of the name."""
    figure: CsvCell = getattr(outcome.delivery, name, None)
    return getattr(outcome, name, None) if figure is None else figure


def _others(outcome: Result) -> dict[str, CsvCell]:
    """What is not a figure by its own name."""
    match outcome:
        case Failure():
            return {"outcome": "failed", "failure": str(outcome)}
        case PacedMeasurement(freshness_s=fresh):
            kind: dict[str, CsvCell] = {"outcome": "fixed rate"}
            if fresh is not None:
                kind |= {"freshness_p50_s": fresh.p50, "freshness_p99_s": fresh.p99}
        case Measurement(verdict=verdict):
            kind = {"outcome": "measured"}
            kind["bottleneck"] = None if verdict is None else verdict.bottleneck.value
    speed = outcome.speed
    return {
        **kind,
        "doubts": "; ".join(map(str, outcome.doubts)),
        "probe_zlib_us": None if speed is None else speed.zlib_us,
        "probe_socket_us": None if speed is None else speed.socket_us,
    }


def _cell(value: CsvCell) -> CsvCell:
    """A text that a spreadsheet would compute stays text behind an apostrophe."""
    if not isinstance(value, str):
        return value
    text = shown(value)
    return f"'{text}" if _FORMULA.match(text) else text
