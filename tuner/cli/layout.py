"""Lays out the blocks of a report on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from tuner.cli.console import OutputFormat, result_json, show
from tuner.report import sections

_Block = sections.PlainBlock | sections.Caution
# Columns up to this width keep cells on one line if there is room; others may shrink to the second.
_SHORT, _FOLDED = 24, 8
# Characters between two columns.
_GAP = 2


def show_blocks(blocks: Iterable[_Block]) -> None:
    """Print blocks as the result of a command, tables as wide as the terminal."""
    show(*chain.from_iterable(map(renderables, blocks)))


def print_blocks(
    output: OutputFormat, data: Mapping[str, object], blocks: Iterable[_Block]
) -> None:
    """Print the result of a command, as JSON or laid out."""
    if output is OutputFormat.JSON:
        result_json(data)
    else:
        show_blocks(blocks)


def renderables(block: _Block) -> Iterator[RenderableType]:
    """A block for a terminal of any width."""
    match block:
        case sections.Caution(lead, text, lines):
            sentence = f"{lead}: {text}".removesuffix(": ") + (":" if lines else "")
            yield Text(sections.shown(sentence), style="bold yellow")
            if lines:
                yield _list(lines)
        case sections.Paragraph(text, is_lead):
            yield Text(sections.shown(text), style="bold" if is_lead else "")
        case sections.Bullets(lines):
            yield _list(lines)
        case sections.Table():
            yield _FittedTable(block)


def _list(lines: Iterable[str]) -> RichTable:
    grid = RichTable.grid(padding=(0, 1, 0, 0))
    for line in lines:
        grid.add_row(Text("-"), Text(sections.shown(line)))
    return grid


@dataclass(frozen=True)
class _FittedTable:
    """A table that keeps short cells on one line while there is room, and wraps longer ones without
    truncating any."""

    table: sections.Table

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        header = [sections.shown(name) for name in self.table.header]
        rows = [[_text(cell) for cell in row] for row in self.table.rows]
        longest = [max(map(len, column)) for column in zip(*rows, strict=True)] or [0] * len(header)
        numeric = sections.numeric_columns(self.table) or (False,) * len(header)
        widths = _widths(header, longest, options.max_width)
        grid = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name, is_number, width in zip(header, numeric, widths, strict=True):
            justify: JustifyMethod = "right" if is_number else "left"
            grid.add_column(Text(name), justify=justify, overflow="fold", width=width)
        for row in rows:
            grid.add_row(*row)
        yield grid


def _widths(header: Sequence[str], longest: Sequence[int], room: int) -> list[int | None]:
    """The width of each column, from its longest cell; None lets Rich decide.  Minimum widths would
    not do: Rich does not check that they leave room for the other columns."""
    columns = room - 1 - _GAP * len(header)
    if sum(map(max, longest, map(len, header))) <= columns:
        return [None] * len(header)
    words = [max(map(len, name.split()), default=0) for name in header]
    widths = [max(pair) if max(pair) <= _SHORT else 0 for pair in zip(longest, words, strict=True)]
    while any(widths) and sum(width or _FOLDED for width in widths) > columns:
        widths[widths.index(max(widths))] = 0
    return [width or None for width in widths]


def _text(cell: sections.Cell) -> Text:
    return Text(sections.shown(cell if isinstance(cell, str) else "\n".join(cell)))
