"""The blocks of a report laid out for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from tuner.cli.console import show
from tuner.report.sections import (
    Bullets,
    Caution,
    Cell,
    Paragraph,
    PlainBlock,
    Table,
    numeric_columns,
    shown,
)

# Columns of shorter cells keep each cell on one line.
_SHORT = 24


def show_blocks(blocks: Iterable[PlainBlock | Caution]) -> None:
    """Print blocks as the result of a command, tables as wide as the terminal."""
    show(*(one for block in blocks for one in laid_out(block)))


def laid_out(block: PlainBlock | Caution) -> Iterator[RenderableType]:
    """A block for a terminal of any width."""
    match block:
        case Caution(lead, text, lines):
            said = f"{lead}: {text}".removesuffix(": ") + (":" if lines else "")
            yield Text(shown(said), style="bold yellow")
            if lines:
                yield _list(lines)
        case Paragraph(text, is_lead):
            yield Text(shown(text), style="bold" if is_lead else "")
        case Bullets(lines):
            yield _list(lines)
        case Table():
            yield _table(block)


def _list(lines: Iterable[str]) -> RichTable:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row(Text("-"), Text(shown(line)))
    return grid


def _table(table: Table) -> RichTable:
    """A cell that is too long for its line continues on the next: nothing is cut."""
    laid_out = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))
    rows = [[_text(cell) for cell in row] for row in table.rows]
    numeric = numeric_columns(table) or (False,) * len(table.header)
    for number, name in enumerate(table.header):
        longest = max((len(row[number]) for row in rows), default=0)
        laid_out.add_column(
            Text(shown(name)),
            justify="right" if numeric[number] else "left",
            overflow="fold",
            min_width=longest if longest <= _SHORT else None,
        )
    for row in rows:
        laid_out.add_row(*row)
    return laid_out


def _text(cell: Cell) -> Text:
    return Text(shown(cell if isinstance(cell, str) else "\n".join(cell)))
