"""How things look: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import RenderableType

# Control characters, marks that turn the direction of writing, and halves of characters.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """`text` with control characters shown as `?`, so that no name or log line can steer a
    terminal."""
    return _CONTROL.sub("?", text)


def result(text: str) -> None:
    """What the user asked for, on stdout."""
    typer.echo(text)


def show(*parts: RenderableType) -> None:
    """What the user asked for, laid out, on stdout; 100 columns where that is no terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 100
    console.print(*parts, sep="\n")


def result_json(data: object) -> None:
    """What a program asked for, on stdout."""
    typer.echo(json.dumps(data, indent=2))


@cache
def _stderr() -> RichConsole:
    """Imported when something is said: most commands that only write results say nothing."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """A line about what is going on, on stderr."""
    _stderr().print(printable(text), markup=False)


@contextlib.contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes a while: a spinner on a terminal, a plain line elsewhere.

    Gives a function that changes the text; without a terminal that prints nothing more.
    """
    if not _stderr().is_terminal:
        say(text)
        yield lambda _: None
        return
    with _stderr().status(printable(text)) as status:
        yield lambda change: status.update(printable(change))
