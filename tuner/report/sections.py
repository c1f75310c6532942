"""What a report is made of: sections of paragraphs, lists, tables and plots, written by
`markdown`, by `page` and by the terminal; pure values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Cell = str | tuple[str, ...]
"""A cell of a table; several texts stand below one another."""

# Control characters, marks that turn the direction of writing, characters without width, and halves
# of characters; line ends and tabs stay.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
    "\ud800-\udfff]"
)

_NUMERIC = re.compile(r"[-+±]?[\d.,]+( ± [\d.,]+)?( ?(%|s|EPS|µs|[KMGTPE]iB|B))?|\d+ min \d+ s|-|")


def shown(text: str) -> str:
    """Text from profiles, logs and engines as it may be shown: what steers a reader's eye is
    written out, as `[U+202E]`."""
    return _STEERING.sub(lambda match: f"[U+{ord(match[0]):04X}]", text)


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; what stands between backticks is code.  A lead stands out."""

    text: str
    is_lead: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list; what stands between backticks is code."""

    lines: tuple[str, ...]


class RowMark(Enum):
    """How bad a row of a table is; a page colours it, and the row says so in words."""

    NONE = ""
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True)
class Table:
    """A table of that name.  A page shows the last rows of a long one and says that `all_in` holds
    the others, which are so many of what `counted` names.  `marks` say how bad each row is, where
    some are."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    counted: str = "rows"
    all_in: str = ""
    marks: tuple[RowMark, ...] = ()

    @property
    def marked(self) -> list[tuple[RowMark, tuple[Cell, ...]]]:
        """The rows with their marks."""
        return list(zip(self.marks or [RowMark.NONE] * len(self.rows), self.rows, strict=True))


PlainBlock = Paragraph | Bullets | Table
"""What a terminal shows too."""


class Colour(Enum):
    """The colours of a plot: what matplotlib is told, and by its name the class that a page
    colours."""

    INK = "#101010"
    MUTED = "#606060"
    GRID = "#d0d0d0"
    WRITTEN = "#b05000"
    BEST = "#0050a0"
    BAD = "#c00000"
    PAPER = "#fefefe"


@dataclass(frozen=True)
class Plot:
    """A plot: `says` is one sentence, `paint` draws it `height` units high, and `rows` hold under
    `header` what is drawn, which Markdown lists."""

    name: str
    title: str
    says: str
    height: int
    paint: Callable[[Figure], None]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def figures(self) -> Table:
        """What is drawn, as a table."""
        return Table(self.title, self.header, self.rows)


@dataclass(frozen=True)
class FileDiff:
    """The unified diff of one file, line by line."""

    path: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Subheading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Columns:
    """Blocks that stand beside one another where there is room; each may be several blocks."""

    columns: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True)
class Folded:
    """A table under a summary, to be opened on a page; on paper it is open, or `instead` of it
    stands a note."""

    summary: str
    table: Table
    instead: str = ""


Block = PlainBlock | Plot | FileDiff | Subheading | Columns | Folded


@dataclass(frozen=True)
class ReportSection:
    """A section: its anchor, its heading, its blocks, and what the contents of a page call it where
    that is shorter."""

    anchor: str
    heading: str
    blocks: tuple[Block, ...]
    short: str = ""


@dataclass(frozen=True)
class Caution:
    """What a reader must know before believing anything below it."""

    lead: str
    text: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class FirstScreen:
    """What stands above all sections: the verdict in one sentence, remarks on it, and cautions."""

    title: str
    name: str
    verdict: str
    remarks: tuple[str, ...]
    is_improvement: bool
    cautions: tuple[Caution, ...]
    about: str


@dataclass(frozen=True)
class Report:
    """A whole report; what is `leading` stands on the first screen."""

    first: FirstScreen
    sections: tuple[ReportSection, ...]
    leading: ReportSection | None = None


def bullets(lines: Iterable[str]) -> list[PlainBlock]:
    """A list of those lines; no block where there is no line."""
    listed = tuple(lines)
    return [Bullets(listed)] if listed else []


def numeric_columns(table: Table) -> tuple[bool, ...]:
    """Which columns hold nothing but numbers."""
    return tuple(
        all(isinstance(cell, str) and _NUMERIC.fullmatch(cell) is not None for cell in column)
        for column in zip(*table.rows, strict=True)
    )
