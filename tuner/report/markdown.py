"""Sections as Markdown for a merge request, in which nothing that a log or an engine said becomes
HTML, a link, a picture or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tuner.report.sections import (
    Block,
    Bullets,
    Caution,
    Cell,
    Columns,
    FileDiff,
    FirstScreen,
    Folded,
    Paragraph,
    Plot,
    Report,
    ReportSection,
    Subheading,
    Table,
    shown,
)

_CODE = re.compile(r"(`[^`\n]*`)")
_MARKUP = re.compile(r"<|\](?=\()|@")
_HARMLESS = {"<": "&lt;", "]": "&#93;", "@": "&#64;"}
_BELOW = "Evidence, doubts, the diff, what was not tested, and every trial"
_FENCES = re.compile("`{3,}")


def report_markdown(report: Report) -> str:
    """The first screen and all sections; what is below the first screen is folded, as GitHub and
    GitLab show it in a merge request."""
    first = list(_first(report.first))
    sections = [_plain(report.first.about), *_sections(report.sections)]
    if report.leading is not None:
        first += _sections([report.leading])
        sections = [f"<details><summary>{_BELOW}</summary>", *sections, "</details>"]
    return "\n\n".join((*first, *sections)) + "\n"


def blocks_markdown(blocks: Iterable[Block]) -> str:
    """Blocks without a section."""
    return "\n\n".join(text for block in blocks for text in _block(block)) + "\n"


def _first(first: FirstScreen) -> Iterator[str]:
    yield f"# {_plain(first.title)}"
    yield f"**{_plain(first.verdict)}**"
    yield from map(_plain, first.remarks)
    for caution in first.cautions:
        yield from _caution(caution)


def _caution(caution: Caution) -> Iterator[str]:
    lead = f"**{_plain(caution.lead)}:**" if caution.text or caution.lines else caution.lead
    yield f"{lead} {_plain(caution.text)}".strip()
    if caution.lines:
        yield _list(caution.lines)


def _sections(sections: Iterable[ReportSection]) -> Iterator[str]:
    for section in sections:
        written = [text for block in section.blocks for text in _block(block)]
        if written and section.heading:
            yield f"## {_plain(section.heading)}"
        yield from written


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(text, is_lead):
            yield f"**{_plain(text)}**" if is_lead else _plain(text)
        case Bullets(lines):
            yield _list(lines)
        case Table():
            yield _table(block)
        case Plot(title=heading, figures=table) | Folded(heading, table):
            yield f"### {_plain(heading)}"
            yield _table(table)
        case Subheading(text):
            yield f"### {_plain(text)}"
        case FileDiff(path, lines):
            yield f"### {_plain(path)}"
            yield _fenced(shown("\n".join(lines)))
        case Columns(columns):
            # They go below one another.
            yield from (text for column in columns for part in column for text in _block(part))


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _table(table: Table) -> str:
    """A `|` inside a cell stays text."""
    rows = [table.header, tuple("---" for _ in table.header), *table.rows]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows)


def _cell(cell: Cell) -> str:
    texts = (cell,) if isinstance(cell, str) else cell
    return "<br>".join(_plain(text.replace("\n", " ")).replace("|", "\\|") for text in texts)


def _fenced(text: str) -> str:
    """A diff, in a fence that is longer than any inside it."""
    fence = "`" * max(3, 1 + max(map(len, _FENCES.findall(text)), default=0))
    return f"{fence}diff\n{text}\n{fence}"


def _plain(text: str) -> str:
    """`text` as Markdown in which only code is more than text."""
    return "".join(
        part if number % 2 else _MARKUP.sub(lambda match: _HARMLESS[match[0]], part)
        for number, part in enumerate(_CODE.split(shown(text)))
    )
