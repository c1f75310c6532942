"""A plan laid out for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tuner.cli.console import printable
from tuner.report.plan import PlanText, Row

_SPACE = ("per", "events", "messages", "primaries", "with replicas", "gzip files")


def tables(found: PlanText) -> tuple[RenderableType, ...]:
    """The headline, the plan, the space over time, the notes and the assumptions."""
    space = _table(_SPACE, found.space)
    for column in space.columns[1:]:
        column.justify = "right"
    return (
        Text(printable(found.headline), style="bold"),
        _table(("plan", "", ""), found.figures),
        space,
        *_notes(found.notes),
        _table(("assumption", "value", "", "where from"), found.assumptions),
    )


def _table(header: Row, rows: Sequence[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    for name in header:
        # What is too long for its line goes on in the next: no name is cut.
        table.add_column(name, no_wrap=name != header[-1], overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def _notes(notes: Sequence[str]) -> list[Table]:
    """Each note with its own first line marked."""
    made = []
    for note in notes:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(Text("-"), Text(printable(note)))
        made.append(grid)
    return made
