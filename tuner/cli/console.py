"""How things look: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import textwrap
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

import typer

from tuner.errors import BadUsage, Problem, Severity

if TYPE_CHECKING:
    from rich.console import Console as RichConsole
    from rich.console import RenderableType


class OutputFormat(Enum):
    """How results are written."""

    TEXT = "text"
    JSON = "json"


_WIDTH = 96
# More columns than any line has.
_UNFOLDED = 100_000
_LABEL = 10
# How often a spinner turns in a second: less than rich's 12.5, beside what is being measured.
_SPINS = 4

# Control characters, marks that turn the direction of writing, and halves of characters.
_CONTROL = dict.fromkeys(
    (
        *range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F,
        *range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000),
    ),
    "?",
)  # fmt: skip


def printable(text: str) -> str:
    """`text` with control characters shown as `?`, so that no name or log line can steer a
    terminal."""
    return text.translate(_CONTROL)


def result(text: str) -> None:
    """What the user asked for, on stdout, where no host's or engine's words steer a terminal."""
    typer.echo(printable(text))


def show(*parts: RenderableType) -> None:
    """What the user asked for, laid out, on stdout; where that is no terminal, without folding
    and without blanks at the ends of lines."""
    from rich.console import Console

    console = Console(highlight=False)
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    console.width = _UNFOLDED
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    for line in captured.get().splitlines():
        typer.echo(line.rstrip())


def result_json(data: object) -> None:
    """What a program asked for, on stdout; data classes by their fields, which name the units."""
    # Whoever asks for text waits for none of it.
    from pydantic_core import to_jsonable_python

    typer.echo(json.dumps(to_jsonable_python(data), indent=2))


def print_result(
    output: OutputFormat, kind: str, fields: Mapping[str, object], text: str = ""
) -> None:
    """A result of that kind, on stdout: its fields as JSON, else its text, where it has one."""
    if output is OutputFormat.JSON:
        result_json({"schema": 1, "kind": kind, **fields})
    elif text:
        result(text)


class ProblemFormat(Enum):
    """How the problems and the layers are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    GITLAB = "gitlab"


def show_to_program(output: ProblemFormat, problems: Sequence[Problem], data: object) -> None:
    """Print problems as annotations, or all `data` as JSON."""
    if output is ProblemFormat.GITLAB:
        result_json(list(gitlab(problems)))
    elif output is ProblemFormat.JSON:
        result_json(data)
    elif problems:
        result(github(problems))


# https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions, with the
# escapes of actions/toolkit, packages/core/src/command.ts: the message first, then properties too.
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def github(problems: Iterable[Problem]) -> str:
    """A workflow command of GitHub Actions for each problem, one a line."""
    lines = []
    for problem in problems:
        places = (problem.file, problem.line, problem.column, problem.code)
        named = zip(("file", "line", "col", "title"), map(str, places), strict=True)
        properties = ",".join(f"{name}={value.translate(_PROPERTY)}" for name, value in named)
        text = problem.message.translate(_MESSAGE)
        lines.append(f"::{problem.severity.value} {properties}::{text}")
    return "\n".join(lines)


# https://docs.gitlab.com/ci/testing/code_quality/: info, minor, major, critical or blocker.
_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def gitlab(problems: Iterable[Problem]) -> Iterator[dict[str, object]]:
    """The entries of a code quality report of GitLab.  A fingerprint stays when its problem moves
    in its file; those that say the same are told apart by their number."""
    before: Counter[tuple[str, str, str]] = Counter()
    for problem in problems:
        sentence = (problem.file, problem.code, problem.message)
        text = "\0".join((*sentence, str(before[sentence])))
        before[sentence] += 1
        yield {
            "description": problem.message,
            "check_name": problem.code,
            "fingerprint": hashlib.sha256(text.encode()).hexdigest()[:32],
            "severity": _SEVERITIES[problem.severity],
            "location": {"path": problem.file, "lines": {"begin": problem.line}},
        }


def wrapped(text: str, indent: str, first: str | None = None) -> str:
    """A text in lines of a terminal, at most 96 columns, the first indented by another text; in one
    line where stdout is no terminal."""
    columns = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    return textwrap.fill(
        text,
        columns if sys.stdout.isatty() else _UNFOLDED,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def labelled(rows: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """A line or more for each value, the first of a row behind its label."""
    for label, values in rows:
        for number, value in enumerate(values):
            first = f"  {label if number == 0 else '':<{_LABEL}}"
            yield wrapped(value, " " * len(first), first)


@cache
def stderr() -> RichConsole:
    """The terminal or file that stderr is.  Imported when something is said: most commands that
    only write results say nothing."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def is_live() -> bool:
    """Whether stderr is a terminal that can be drawn on, with somebody before it."""
    # Rich takes a pipe for a terminal where FORCE_COLOR is set.
    return sys.stderr.isatty() and stderr().is_interactive and not os.environ.get("CI")


def say(text: str) -> None:
    """A line about what is going on, on stderr; nothing where its terminal hung up."""
    with contextlib.suppress(OSError):
        stderr().print(printable(text), markup=False)


_LAST: dict[str, None] = {}


def say_last(lines: Iterable[str]) -> None:
    """Lines on stderr, each once, when the command has shown what was asked for: see
    `say_what_waited`."""
    _LAST.update(dict.fromkeys(lines))


def say_what_waited() -> None:
    """Say what was left to the end, but where the command ends with a usage error."""
    lines = [*_LAST]
    _LAST.clear()
    if not isinstance(sys.exc_info()[1], BadUsage):
        for line in lines:
            say(line)


@contextlib.contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes a while: a spinner on a terminal, a plain line elsewhere.

    Gives a function that changes the text; without a terminal that prints nothing more.
    """
    if not is_live():
        say(text)
        yield lambda _: None
        return
    with stderr().status(printable(text), refresh_per_second=_SPINS) as status:
        yield lambda change: status.update(printable(change))


@contextlib.contextmanager
def say_when_slow(text: str, after_s: float = 2.0) -> Iterator[None]:
    """Say that once what is done meanwhile has taken longer."""
    timer = threading.Timer(after_s, say, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Verbosity(Enum):
    """How much is said beside the result."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"

    def say(self, text: str) -> None:
        """A line about what is going on, unless only the result is wanted."""
        if self is not Verbosity.QUIET:
            say(text)

    def working(self, text: str) -> AbstractContextManager[object]:
        """Show that something takes a while, unless only the result is wanted."""
        return contextlib.nullcontext() if self is Verbosity.QUIET else working(text)
