"""Section of a search's report: every trial, by what it changed."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.measure.measurement import Failure, FailureKind
from tuner.measure.paced_summary import PacedMeasurement
from tuner.report.figures import eps, setting
from tuner.report.moves import steps, steps_text
from tuner.report.result import StudyResult
from tuner.report.sections import Block, Cell, Folded, PaperNote, ReportSection, RowMark, Table
from tuner.schema.path import short_names
from tuner.search.study import BASELINE, Changes, Trial

_HEADER = ("trial", "phase", "what it changed", "EPS", "sent", "indexed", "rsyslogd us/event",
           "engine us/event", "doubts, or why it failed")  # fmt: skip
# Among so many points before it a point is compared with the one nearest to it.
_NEAR = 100


def trials(result: StudyResult) -> ReportSection:
    """A row for each trial, and the settings that were tried in full."""
    every = result.study.trials
    rows = tuple(map(_row, every, _settings(result)))
    marks = tuple(map(_mark, every))
    table = Table("Trials", _HEADER, rows, "trials", "trials.csv", marks)
    paper = "They are not printed: `trials.csv` and the page on a screen have them."
    blocks: list[Block] = [PaperNote(paper), Folded(_summary(result), table, on_paper=False)]
    points = tuple(_points(result))
    if points:
        differs = ("trial", "why it was tried", "what differs from the profile as written")
        in_full = Table("Settings in full", differs, points, "points", "report.json")
        blocks.append(Folded("Settings in full", in_full, on_paper=False))
    return ReportSection("trials", "Trials", tuple(blocks) if rows else ())


def _summary(result: StudyResult) -> str:
    """What all trials came to: `95 trials: 89 measured, 2 at a fixed rate, 4 failed, ...`."""
    every = result.study.trials
    failed = len(result.failures)
    lossy = sum(_mark(trial) is RowMark.LOST for trial in every)
    paced = len(every) - len(result.measured) - failed
    parts = [f"{len(result.measured)} measured"]
    parts += [f"{paced} at a fixed rate"] if paced else []
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{lossy} of them with events lost or doubled"] if lossy else []
    return f"All {len(every)} trials: {', '.join(parts)}"


def _settings(result: StudyResult) -> Iterator[str]:
    """Of each trial what it changed of the earlier point that is nearest to it, or of the profile
    as written; a point that was measured before is named by its first trial."""
    written = result.current
    names = short_names(list(written))
    first: dict[Changes, int] = {}

    def distance(one: Changes, other: Changes) -> int:
        return len({path for path, _ in set(one) ^ set(other)} & written.keys())

    for trial in result.study.trials:
        point = trial.changes
        if point == BASELINE:
            yield "as written"
        elif point in first:
            yield f"as trial {first[point]}"
        else:
            among = (BASELINE, *list(first)[-_NEAR:])
            nearest = min(among, key=lambda one: distance(one, point))
            found = steps(nearest, point, written)
            start = "" if nearest == BASELINE else f"trial {first[nearest]} with "
            yield start + steps_text(found, names) if found else trial.why
            first[point] = trial.number


def _mark(trial: Trial) -> RowMark:
    if not isinstance(trial.outcome, Failure):
        return RowMark.NONE
    return RowMark.LOST if trial.outcome.kind is FailureKind.DELIVERY else RowMark.FAILED


def _word(failure: Failure) -> str:
    if failure.kind is not FailureKind.DELIVERY:
        return "failed"
    is_doubled = failure.delivery is not None and not failure.delivery.lost
    return "EVENTS DOUBLED" if is_doubled else "EVENTS LOST"


def _row(trial: Trial, settings: str) -> tuple[Cell, ...]:
    number = "-" if trial.number < 0 else str(trial.number)
    phase = trial.phase.value if trial.pair is None else f"{trial.phase.value}, pair {trial.pair}"
    outcome, start = trial.outcome, (number, phase, settings)
    if isinstance(outcome, Failure):
        account = (f"{outcome.sent:,}", f"{outcome.indexed:,}")
        return (*start, "-", *account, "-", "-", (_word(outcome), str(outcome)))
    rate, said = eps(outcome.eps), [doubt.kind.value for doubt in outcome.doubts]
    if isinstance(outcome, PacedMeasurement):
        said.insert(0, "at a fixed rate")
    else:
        rate += f" ± {eps(outcome.eps_se)}"
    return (
        *start,
        rate,
        f"{outcome.delivery.sent:,}",
        f"{outcome.delivery.indexed:,}",
        f"{outcome.shipper_cpu_us:.1f}",
        f"{outcome.engine_cpu_us:.1f}",
        ", ".join(said),
    )


def _points(result: StudyResult) -> Iterator[tuple[str, ...]]:
    """Every point of the search in full, by the trial that measured it first."""
    points: dict[Changes, Trial] = {}
    for trial in result.study.trials:
        if trial.changes != BASELINE:
            points.setdefault(trial.changes, trial)
    for point, trial in points.items():
        differs = ", ".join(
            f"`{path}` {setting(result.as_written(path))} -> {setting(level)}"
            for path, level in point
        )
        yield str(trial.number), trial.why, differs
