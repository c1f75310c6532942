"""Every trial of a search by what it changed, and those that lost or doubled events."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.measure.measurement import Failure, FailureKind, PacedMeasurement
from tuner.report.figures import pair_text, setting, steps, steps_text
from tuner.report.result import StudyResult
from tuner.report.runs import run_cells
from tuner.report.sections import Cell, Folded, PaperNote, ReportSection, RowMark, Table
from tuner.schema.numerals import counted
from tuner.search.study import BASELINE, Changes, Trial
from tuner.search.verdict import Loss

_HEADER = ("trial", "phase", "what it changed", "EPS, steady window", "sent", "indexed",
           "rsyslogd us/event", "engine us/event", "doubts, or why it failed")  # fmt: skip
# Among so many points before it a point is compared with the one nearest to it.
_NEAR = 100


def trials(result: StudyResult) -> ReportSection:
    """A row for each trial."""
    every = result.study.trials
    rows = tuple(map(_row, every, _settings(result)))
    header: tuple[str, ...] = _HEADER
    if len({trial.machine for trial in every}) > 1:
        header = (*_HEADER, "machine")
        rows = tuple((*row, trial.machine) for row, trial in zip(rows, every, strict=True))
    marks = tuple(map(_mark, every))
    table = Table("Trials", header, rows, "trials", "trials.csv", marks)
    paper = "They are not printed: `trials.csv` and the page on a screen have them."
    blocks = (PaperNote(paper), Folded(_summary(result), table, on_paper=False))
    return ReportSection("trials", "Trials", blocks if rows else ())


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
    first: dict[Changes, int] = {}

    def distance(changes: Changes, other: Changes) -> int:
        return len({path for path, _ in set(changes) ^ set(other)} & written.keys())

    for trial in result.study.trials:
        point = trial.changes
        if point == BASELINE:
            yield "as written"
        elif point in first:
            yield f"as trial {first[point]}"
        else:
            among = (BASELINE, *list(first)[-_NEAR:])
            nearest = min(among, key=lambda earlier: distance(earlier, point))
            moved = steps(nearest, point, written)
            start = "" if nearest == BASELINE else f"trial {first[nearest]} with "
            yield start + steps_text(moved, result.names) if moved else trial.why
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
    pair = pair_text(trial.phase, trial.pair)
    phase = f"{trial.phase.value}, {pair}".removesuffix(", ")
    outcome, start = trial.outcome, (number, phase, settings)
    if isinstance(outcome, Failure):
        return (*start, *run_cells(outcome), (_word(outcome), str(outcome)))
    remarks = ["at a fixed rate"] if isinstance(outcome, PacedMeasurement) else []
    remarks += [doubt.kind.value for doubt in outcome.doubts]
    return (*start, *run_cells(outcome), ", ".join(remarks))


_MOST_LINES = 3


def loss_lines(result: StudyResult) -> Iterator[str]:
    """A line for each of the nearest, and one for the others."""
    for loss in result.losses[:_MOST_LINES]:
        yield f"{loss_name(loss)} {loss}, {_where(loss, result)}"
    others = result.losses[_MOST_LINES:]
    if others:
        numbers = ", ".join(str(loss.trial) for loss in others)
        yield f"{counted(len(others), 'more trial')}, further away: {numbers}"


def loss_name(loss: Loss) -> str:
    """The trial that it was in."""
    return "the warm-up" if loss.trial < 0 else f"trial {loss.trial}"


def _where(loss: Loss, result: StudyResult) -> str:
    """With which settings, beside those that are recommended."""
    if loss.changes == BASELINE:
        repaired = [trial.number for trial in result.study.trials if trial.repaired]
        return "with the profile " + ("and its repairs" if loss.trial in repaired else "as written")
    recommended = result.verdict.changes
    if not recommended:
        return f"with {', '.join(_changes(loss.changes, result))}"
    shared = f"{len(loss.shared)} of the {counted(len(recommended), 'recommended change')}"
    return f"with {shared}; it differs in {', '.join(_apart(loss, result))}"


def _changes(changes: Changes, result: StudyResult) -> Iterator[str]:
    for path, level in changes:
        yield f"`{result.name(path)}` {setting(result.as_written(path))} -> {setting(level)}"


def _apart(loss: Loss, result: StudyResult) -> Iterator[str]:
    """What it had instead of what is recommended."""
    made, recommended = dict(loss.changes), dict(result.verdict.changes)
    for path in loss.apart:
        as_written = result.as_written(path)
        here, there = (setting(levels.get(path, as_written)) for levels in (made, recommended))
        yield f"`{result.name(path)}` {here} instead of {there}"


def losses_table(result: StudyResult) -> Table:
    """All of them, with every setting that differs."""
    rows = tuple(
        (
            str(loss.trial),
            str(loss),
            tuple(_changes(loss.changes, result)) or "nothing",
            tuple(_apart(loss, result)) or "nothing",
        )
        for loss in result.losses
    )
    header = ("trial", "what happened", "differs from the profile in",
              "differs from the recommendation in")  # fmt: skip
    return Table("Trials that lost or doubled events", header, rows, "trials", "report.json")
