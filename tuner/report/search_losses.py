"""The trials of a search that lost or doubled events, in words: their settings, and how near those
are to what is recommended; pure."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.report.figures import counted, setting
from tuner.report.result import StudyResult
from tuner.report.sections import Table
from tuner.search.losses import Loss
from tuner.search.study import BASELINE, Changes

_MOST_LINES = 3


def loss_lines(result: StudyResult) -> Iterator[str]:
    """A line for each of the nearest, and one for the others."""
    for loss in result.losses[:_MOST_LINES]:
        yield f"{_name(loss)} {loss}, {_where(loss, result)}"
    others = result.losses[_MOST_LINES:]
    if others:
        numbers = ", ".join(str(one.trial) for one in others)
        yield f"{counted(len(others), 'more trial')}, further away: {numbers}"


def _name(loss: Loss) -> str:
    return "the warm-up" if loss.trial < 0 else f"trial {loss.trial}"


def _where(loss: Loss, result: StudyResult) -> str:
    """With which settings, beside those that are recommended."""
    if loss.changes == BASELINE:
        return "with the profile as written"
    recommended = result.verdict.changes
    if not recommended:
        return f"with {', '.join(_changes(loss.changes, result))}"
    shared = f"{len(loss.shared)} of the {counted(len(recommended), 'recommended change')}"
    return f"with {shared}; it differs in {', '.join(_apart(loss, result))}"


def _changes(changes: Changes, result: StudyResult) -> Iterator[str]:
    for path, level in changes:
        yield f"`{path}` {setting(result.as_written(path))} -> {setting(level)}"


def _apart(loss: Loss, result: StudyResult) -> Iterator[str]:
    """What it had instead of what is recommended."""
    made, recommended = dict(loss.changes), dict(result.verdict.changes)
    for path in loss.apart:
        as_written = result.as_written(path)
        here, there = (setting(each.get(path, as_written)) for each in (made, recommended))
        yield f"`{path}` {here} instead of {there}"


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
