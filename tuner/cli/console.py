"""The output of commands: results on stdout, everything else on stderr."""

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
    """The formats in which results are printed."""

    TEXT = "text"
    JSON = "json"


_WIDTH = 96
# More columns than any line has, so that nothing is wrapped.
_UNFOLDED = 100_000
_LABEL = 10
# How often a spinner is drawn: less than rich's 12.5 times, as that would disturb a measurement.
_SPINS_PER_SECOND = 4

# Control characters, line separators, marks of writing direction, and lone surrogates.
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
    """Print a result on stdout, its control characters as `?`."""
    typer.echo(printable(text))


def show(*parts: RenderableType) -> None:
    """Print a result on stdout in Rich's layout; if that is not a terminal, without wrapping and
    trailing blanks."""
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
    """Print a result on stdout as JSON; dataclasses become objects with their fields."""
    # Imported here because it is slow, and text output does not need it.
    from pydantic_core import to_jsonable_python

    typer.echo(json.dumps(to_jsonable_python(data), indent=2))


def print_result(
    output: OutputFormat, kind: str, fields: Mapping[str, object], text: str = ""
) -> None:
    """Print a result on stdout: as JSON its `kind` and `fields`, else its `text` if it has any."""
    if output is OutputFormat.JSON:
        result_json({"schema": 1, "kind": kind, **fields})
    elif text:
        result(text)


class ProblemFormat(Enum):
    """The formats in which problems of a profile or of test cases are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    GITLAB = "gitlab"


def print_problems(output: ProblemFormat, problems: Sequence[Problem], data: object) -> None:
    """Print `problems` as annotations of GitHub or GitLab, or else `data` as JSON."""
    if output is ProblemFormat.GITLAB:
        result_json(list(gitlab(problems)))
    elif output is ProblemFormat.JSON:
        result_json(data)
    elif problems:
        result(github(problems))


# https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions; the escapes of
# messages and of properties are those of actions/toolkit, packages/core/src/command.ts.
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = _MESSAGE | str.maketrans({":": "%3A", ",": "%2C"})


def github(problems: Iterable[Problem]) -> str:
    """A workflow command of GitHub Actions for each problem, one a line."""
    lines = []
    for problem in problems:
        places = (problem.file, problem.line, problem.column, problem.code)
        pairs = zip(("file", "line", "col", "title"), map(str, places), strict=True)
        properties = ",".join(f"{name}={value.translate(_PROPERTY)}" for name, value in pairs)
        text = problem.message.translate(_MESSAGE)
        lines.append(f"::{problem.severity.value} {properties}::{text}")
    return "\n".join(lines)


# https://docs.gitlab.com/ci/testing/code_quality/: info, minor, major, critical or blocker.
_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def gitlab(problems: Iterable[Problem]) -> Iterator[dict[str, object]]:
    """The entries of a GitLab code quality report.  A fingerprint does not depend on the line, as
    edits above it move a problem; equal problems of a file differ by their number."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for problem in problems:
        key = (problem.file, problem.code, problem.message)
        text = "\0".join((*key, str(counts[key])))
        counts[key] += 1
        yield {
            "description": problem.message,
            "check_name": problem.code,
            "fingerprint": hashlib.sha256(text.encode()).hexdigest()[:32],
            "severity": _SEVERITIES[problem.severity],
            "location": {"path": problem.file, "lines": {"begin": problem.line}},
        }


def wrapped(text: str, indent: str, first: str | None = None) -> str:
    """Wrap a text to the terminal's width, at most 96 columns; each line begins with `indent`, the
    first one with `first` if given.  If stdout is not a terminal, the text stays on one line."""
    columns = min(_WIDTH, shutil.get_terminal_size((_WIDTH, 0)).columns)
    return textwrap.fill(
        text,
        columns if sys.stdout.isatty() else _UNFOLDED,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def labelled(rows: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Lines for rows of a label and values, each value wrapped; the label precedes the first."""
    for label, values in rows:
        for number, value in enumerate(values):
            first = f"  {label if number == 0 else '':<{_LABEL}}"
            yield wrapped(value, " " * len(first), first)


@cache
def stderr() -> RichConsole:
    """Rich's console on stderr, imported when something is printed there: many commands print only
    a result."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def is_live() -> bool:
    """Whether stderr is an interactive terminal, and not that of a CI job."""
    # Rich takes a pipe for a terminal if FORCE_COLOR is set.
    return sys.stderr.isatty() and stderr().is_interactive and not os.environ.get("CI")


def say(text: str) -> None:
    """Print a message on stderr; does nothing if its terminal has hung up."""
    with contextlib.suppress(OSError):
        stderr().print(printable(text), markup=False)


_DEFERRED: dict[str, None] = {}


def say_at_end(lines: Iterable[str]) -> None:
    """Keep lines for `say_deferred`, each once: they follow the result of the command."""
    _DEFERRED.update(dict.fromkeys(lines))


def say_deferred() -> None:
    """Print the lines of `say_at_end` on stderr, unless the command ends with a usage error."""
    lines = [*_DEFERRED]
    _DEFERRED.clear()
    if not isinstance(sys.exc_info()[1], BadUsage):
        for line in lines:
            say(line)


@contextlib.contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show that something takes a while: a spinner on a terminal, a plain line elsewhere.

    Yields a function that changes the spinner's text; without a terminal it does nothing.
    """
    if not is_live():
        say(text)
        yield lambda _: None
        return
    with stderr().status(printable(text), refresh_per_second=_SPINS_PER_SECOND) as status:
        yield lambda change: status.update(printable(change))


@contextlib.contextmanager
def say_when_slow(text: str, after_s: float = 2.0) -> Iterator[None]:
    """Print `text` on stderr if the block takes longer than `after_s` seconds."""
    timer = threading.Timer(after_s, say, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Verbosity(Enum):
    """How much is printed on stderr beside the result."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"

    def say(self, text: str) -> None:
        """Print a message on stderr, unless this is QUIET."""
        if self is not Verbosity.QUIET:
            say(text)

    def working(self, text: str) -> AbstractContextManager[object]:
        """Show that something takes a while, unless this is QUIET."""
        return contextlib.nullcontext() if self is Verbosity.QUIET else working(text)
