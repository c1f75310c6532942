"""What a terminal shows of a search that ended: the verdict, what changed, what it gives and costs,
and the next command; pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from tuner.lint.repairs import every_change
from tuner.report.figures import share
from tuner.report.result import StudyResult
from tuner.report.search_numbers import numbers, rates
from tuner.report.search_report import first_screen
from tuner.report.sections import Bullets, Caution, Paragraph, PlainBlock
from tuner.search.study import Options
from tuner.search.verdict import Claim
from tuner.space.knob import level_text

_MINUTE_S = 60


def outcome_blocks(result: StudyResult) -> Iterator[PlainBlock | Caution]:
    """The verdict first; of a search that confirmed nothing, the numbers that are known."""
    first, verdict = first_screen(result), result.verdict
    yield Paragraph(first.verdict, is_lead=True)
    yield from map(Paragraph, first.remarks)
    if verdict.changes:
        yield Paragraph("What changed:")
        yield Bullets(tuple(_changes(result)))
    if verdict.claimed is None:
        yield Bullets(tuple(map(str, numbers(result))))
    else:
        lines = [str(rates(result, verdict.claimed))]
        if verdict.claim is Claim.NOT_SHOWN:
            lines.append(f"minimum detectable gain: {share(verdict.claimed.detectable)}")
        yield Bullets(tuple(lines))
    yield from first.cautions


def _changes(result: StudyResult) -> Iterator[str]:
    """A line for each setting, what is a repair named so."""
    repairing = dict(every_change(result.repaired))
    for path, level in result.verdict.changes:
        before, after = level_text(result.as_written(path)), level_text(level)
        yield f"{path}: {before} -> {after}{' (repair)' if path in repairing else ''}"


def next_command(result: StudyResult, directory: Path) -> str | None:
    """What to run next; None where nothing follows but to read the report."""
    header, best = result.study.header, directory / "best.yaml"
    match result.verdict.claim:
        case Claim.IMPROVED if result.is_sink:
            words = ["compare", header.profile_path, str(best)]
        case Claim.IMPROVED:
            words = ["render", str(best), "-o", "rendered"]
        case Claim.NOT_SHOWN | Claim.UNFINISHED:
            minutes = f"{2 * header.budget_s / _MINUTE_S:.0f}m"
            words = ["search", header.profile_path, "--budget", minutes]
            words += ["--warm-start", str(directory), *_again(header.options)]
        case Claim.INFEASIBLE:
            return None
    return shlex.join(["rsyslog-tune", *words])


def _again(options: Options) -> list[str]:
    """The options that decide what is searched, and where."""
    words = ["--elasticsearch", options.url] if options.url else ["--engine", options.engine]
    words += [word for name in options.allow for word in ("--allow", name)]
    return words if options.repairs else [*words, "--no-repair"]
