"""What is reported of a search: all sections, the outcome on a terminal, JSON, and CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import shlex
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pydantic_core import to_jsonable_python

from tuner.lint.repairs import every_change
from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement, Result
from tuner.report.first_screen import averages_line, evidence_lines, first_screen
from tuner.report.result import StudyResult
from tuner.report.search_changes import (
    change,
    effect_text,
    front,
    front_blocks,
    how_effects_are_known,
    taken_back,
)
from tuner.report.search_evidence import (
    diff,
    evidence,
    how,
    limits,
    not_traded,
    open_questions,
    sure,
    trials,
)
from tuner.report.sections import (
    Bullets,
    Caution,
    Paragraph,
    PlainBlock,
    Report,
    ReportSection,
    bullets,
    shown,
)
from tuner.search.budget import FEWEST_CALIBRATING, FEWEST_SEARCH_TRIALS
from tuner.search.study import Ending, Options, Study
from tuner.search.verdict import Claim
from tuner.space.knob import level_text

SCHEMA = 7
SECTIONS: tuple[Callable[[StudyResult], ReportSection], ...] = (
    front, evidence, taken_back, sure, limits, diff, not_traded, open_questions, how, trials,
)  # fmt: skip
"""The sections below the first screen, in order; one without blocks is left out."""


def search_report(result: StudyResult, directory: Path) -> Report:
    """The whole report of a search with this run directory."""
    leading, *sections = (section(result) for section in (change, *SECTIONS))
    full = tuple(section for section in sections if section.blocks)
    first, after = first_screen(result), next_command(result, directory)
    if after is not None and result.study.ending is Ending.FINISHED:
        first = replace(first, remarks=(*first.remarks, f"next: `{after}`"))
    return Report(first, full, leading if leading.blocks else None)


_MINUTE_S = 60


def outcome_blocks(result: StudyResult) -> Iterator[PlainBlock | Caution]:
    """The verdict first; of a search that showed nothing, what that rests on."""
    first, verdict = first_screen(result), result.verdict
    yield Paragraph(first.verdict, is_lead=True)
    yield from map(Paragraph, first.remarks)
    if verdict.changes:
        gave = ", and what it gave" if result.effect_groups else ""
        yield Paragraph(f"What changed{gave}:")
        yield Bullets(tuple(_changes(result)))
    if result.effect_groups:
        yield Paragraph(how_effects_are_known(result))
    yield from front_blocks(result)
    if verdict.claimed is not None and verdict.claim is Claim.NOT_SHOWN:
        claimed = verdict.claimed
        yield from bullets([averages_line(result, claimed), *evidence_lines(result, claimed)])
    yield from first.cautions


def _changes(result: StudyResult) -> Iterator[str]:
    """A line for each group of settings with what it gave, and for each repair."""
    for group in result.effect_groups:
        if not group.taken_back:
            changes = "; ".join(result.changed(path, level) for path, level in group.changes)
            yield f"{changes}: {effect_text(group, result.claimed_rate)}"
    repairing = dict(every_change(result.repaired))
    grouped = {change for group in result.effect_groups for change in group.changes}
    for path, level in result.verdict.changes:
        if (path, level) not in grouped:
            is_repair = " (repair)" if path in repairing else ""
            yield f"{result.changed(path, level)}{is_repair}"


def next_command(result: StudyResult, directory: Path) -> str | None:
    """What to run next; None where nothing follows but to read the report."""
    header, best = result.study.header, directory / "best.yaml"
    cluster = ["--cluster"] if result.is_on_cluster else []
    match result.verdict.claim:
        case Claim.IMPROVED if result.is_sink:
            words = ["compare", header.profile_path, str(best), *cluster]
        case Claim.IMPROVED:
            words = ["render", str(best), "-o", "rendered"]
        case Claim.NOT_SHOWN | Claim.UNFINISHED:
            words = ["search", *_searched(result), "--budget", f"{_minutes(result):.0f}m"]
            words += ["--warm-start", str(directory), *_again(header.options), *cluster]
        case Claim.INFEASIBLE:
            return None
    return shlex.join(["rsyslog-tune", *words])


def _minutes(result: StudyResult) -> float:
    """Twice the budget, and where that had no time for the pairs what a small search takes by the
    trials that there were."""
    study, twice = result.study, 2 * result.study.header.budget_s / _MINUTE_S
    took_s = [trial.ended_s - trial.at_s for trial in study.trials]
    if result.verdict.claimed is not None or not took_s:
        return twice
    trials = 2 * FEWEST_PAIRS + FEWEST_CALIBRATING + FEWEST_SEARCH_TRIALS
    return max(twice, math.ceil(trials * statistics.fmean(took_s) / _MINUTE_S) + 1)


def _searched(result: StudyResult) -> list[str]:
    """The profile, or a configuration with the sample that the traffic is like."""
    path, learnt = result.study.header.profile_path, result.written.profile.workload.learnt
    if learnt is None or not result.is_of_configuration:
        return [path]
    return ["--conf", path, "--sample", learnt.path]


def _again(options: Options) -> list[str]:
    """The options that decide what is searched, and where."""
    words = ["--elasticsearch", options.url] if options.url else ["--engine", options.engine]
    words += [word for name in options.allow for word in ("--allow", name)]
    return words if options.repairs else [*words, "--no-repair"]


def report_json(result: StudyResult) -> dict[str, object]:
    """The verdict with what explains it and every trial, under a schema number that grows when the
    shape changes."""
    repairs = (*result.repaired, *result.unrepaired)
    fields: dict[str, object] = to_jsonable_python(
        {
            "schema": SCHEMA,
            "kind": "search",
            "verdict": result.verdict,
            "repairs": [
                {**vars(repair), "why": repair.why, "recommended": repair in result.repaired}
                for repair in repairs
            ],
            "gives_up": [concession.text for concession in result.given_up],
            "costs": result.costs,
            "losses": result.losses,
            "doubts": result.doubts,
            "effects": result.effect_groups,
            "front": result.front,
            "study": result.study,
        }
    )
    return fields


def report_text(result: StudyResult) -> str:
    """The report as indented JSON text."""
    return json.dumps(report_json(result), indent=2) + "\n"


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
    """A row for each trial, as RFC 4180 has it: what was asked for, what came out, and the value of
    every knob of the search; cells without a value are empty."""
    axes, text = study.header.space, io.StringIO()
    rows: list[tuple[CsvCell, ...]] = [(*_TRIAL, *_RESULT, *(axis.path for axis in axes))]
    for trial in study.trials:
        changes, outcome = dict(trial.changes), trial.outcome
        named = _others(outcome)
        rows.append(
            (
                *(trial.number, trial.phase.value, trial.pair, trial.why, trial.at_s),
                *(trial.ended_s, trial.machine, trial.per_second),
                *(named[name] if name in named else _figure(outcome, name) for name in _RESULT),
                *(level_text(changes.get(axis.path, axis.current)) for axis in axes),
            )
        )
    csv.writer(text).writerows(map(_cell, row) for row in rows)
    return text.getvalue()


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
