"""README.md and docs/ as a program reads them: commands, blocks, tables, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = (README, *sorted(DOCS.glob("*.md")))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
TOOL = "rsyslog-tune"


@dataclass(frozen=True)
class Command:
    """A line of a block that calls the tool: what follows its name, and the file that its result
    is written to."""

    page: str
    line: int
    words: tuple[str, ...]
    into: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {shlex.join(self.words)}"


@dataclass(frozen=True)
class Block:
    """A block between fences: its language and text, and the line of the page it begins at."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def text_of(page: Path) -> str:
    """What is written on a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> Iterator[Block]:
    """Every block of a page."""
    text = text_of(page)
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 2
        yield Block(page.name, line, found[1], found[2])


def commands() -> tuple[Command, ...]:
    """Every call of the tool that stands in a block of a page, with a prompt or without."""
    return tuple(
        _command(block.page, block.line + number, line.removeprefix("$ "))
        for page in PAGES
        for block in blocks(page)
        for number, line in enumerate(block.text.splitlines())
        if line.removeprefix("$ ").startswith(f"{TOOL} ")
    )


def _command(page: str, number: int, line: str) -> Command:
    words = shlex.split(line, comments=True)[1:]
    into = None
    if ">" in words:
        into = words[words.index(">") + 1]
        words = words[: words.index(">")]
    return Command(page, number, tuple(words), into)


def mentions(page: Path) -> Iterator[tuple[str, ...]]:
    """What stands in backticks within the text, as words."""
    prose = _FENCE.sub("", text_of(page))
    for said in re.findall(r"`([^`]+)`", prose):
        yield tuple(said.split())


def profile_block() -> str:
    """The whole profile of docs/profiles.md, the first that stands there."""
    return next(block.text for block in blocks(DOCS / "profiles.md") if block.language == "yaml")


def rows(page: Path, heading: str) -> list[tuple[str, ...]]:
    """The cells of the table whose first heading is `heading`, its head left out."""
    _, _, after = text_of(page).partition(f"| {heading} |")
    lines = after.splitlines()[2:]
    table = lines[: next(n for n, line in enumerate([*lines, ""]) if not line.startswith("|"))]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table]


def section(page: Path, title: str) -> str:
    """What stands under a heading of the second level."""
    _, _, after = text_of(page).partition(f"\n## {title}\n")
    return after.partition("\n## ")[0]


def links(page: Path) -> Iterator[str]:
    """The targets of the links of a page that are not on another site."""
    for target in _LINK.findall(_FENCE.sub("", text_of(page))):
        if "://" not in target:
            yield target


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    titles = re.findall(r"^#+ (.*)$", _FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def outputs_over_http() -> dict[str, dict[str, object]]:
    """The outputs of omhttp that docs/profiles.md shows, by name."""
    texts = [block.text for block in blocks(DOCS / "profiles.md")]
    shown = [yaml.safe_load(text) for text in texts if "type: omhttp" in text]
    return {str(output["name"]): output for one in shown for output in one["outputs"]}
