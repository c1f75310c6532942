"""What fits on a terminal; pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from tuner.cli.console import printable

_NARROW, _WIDE = 60, 100
_BARS, _ASCII_BARS = "▁▂▃▄▅▆▇█", "_.-~=+*#"


@dataclass(frozen=True)
class Size:
    """What a terminal can show: columns, lines, and whether only ASCII."""

    width: int
    height: int
    ascii_only: bool = False

    @property
    def is_narrow(self) -> bool:
        """Whether only the shortest texts fit."""
        return self.width < _NARROW

    @property
    def is_wide(self) -> bool:
        """Whether long texts fit."""
        return self.width >= _WIDE


def fitted(text: Text, width: int) -> Text:
    """`text` in one line of at most `width` columns, without what could steer the terminal."""
    line = text.copy()
    line.plain = printable(text.plain.replace("\n", " ").replace("\t", " "))
    if line.cell_len > width:
        line.truncate(max(0, width - 3))
        line.append("..."[:width])
    return line


def folded(text: str, width: int) -> list[Text]:
    """A sentence in lines of at most `width` columns, those after the first indented more."""
    indent = " " * (len(text) - len(text.lstrip(" ")) + 2)
    lines = textwrap.wrap(
        printable(text), max(1, width), subsequent_indent=indent, break_on_hyphens=False
    )
    return [fitted(Text(line), width) for line in lines or [""]]


def fitting(width: int, *texts: str) -> str:
    """The first of these texts that fits into `width` columns; the last where none does."""
    return next((text for text in texts if len(text) <= width), texts[-1])


def apart(left: Text, right: str, width: int) -> Text:
    """A text at each end of a line; the left one is cut where both do not fit."""
    room = max(0, width - len(right) - 1)
    line = fitted(left, room)
    return fitted(line.append(" " * (room + 1 - line.cell_len)).append(right), width)


def sparkline(values: Sequence[float | None], ascii_only: bool) -> Text:
    """A bar for each value between the lowest and the highest of them, an x for None."""
    bars = _ASCII_BARS if ascii_only else _BARS
    known = [value for value in values if value is not None]
    low, spread = min(known, default=0.0), max(known, default=0.0) - min(known, default=0.0)
    line = Text()
    for value in values:
        if value is None:
            line.append("x", style="red")
        else:
            share = (value - low) / spread if spread else 1.0
            line.append(bars[round(share * (len(bars) - 1))], style="cyan")
    return line
