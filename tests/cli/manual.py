"""The manual page, made of what the commands' own `--help` says: `make man` writes it.

Of the generators there are, click-man needs Click's classes, of which Typer has a copy of its own;
help2man makes a page for each command; Typer's `utils docs` writes Markdown, which only another
program turns into a page.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from tuner import __version__
from tuner.cli.commands import COMMANDS, app, command
from tuner.cli.options import unwrapped

if TYPE_CHECKING:
    from typer._click import Command

_NAME = "rsyslog-tune"
_FILES = (
    ("rsyslog-tune.yaml", "The profile that commands use when none is named."),
    ("rsyslog-tune-runs/", "Where `search` and `sweep` write, unless `--run-dir` is given."),
    (
        "/etc/rsyslog-tune/allow-targets",
        "Hosts other than this one that may be flooded or measured, one per line; "
        "`~/.config/rsyslog-tune/allow-targets` for a user.",
    ),
    (
        "/var/cache/rsyslog-tune",
        "Downloaded engines; without root `~/.cache/rsyslog-tune`. `XDG_CACHE_HOME` names another "
        "folder than that.",
    ),
    (
        "/var/lib/rsyslog-tune",
        "Locks, what is needed to end a running lab or cluster (with the private key of that), "
        "and the journal of an apply; without root `~/.local/state/rsyslog-tune`.",
    ),
)
_EXAMPLES = (
    ("rsyslog-tune init", "Write a first profile, rsyslog-tune.yaml."),
    ("rsyslog-tune validate rsyslog-tune.yaml", "Check it, with rsyslogd too."),
    (
        "rsyslog-tune render rsyslog-tune.yaml -o rendered",
        "Write its files, for your configuration management.",
    ),
    (
        "rsyslog-tune search rsyslog-tune.yaml --budget 30m",
        "Search for better settings, on an engine that it starts and stops.",
    ),
)


def page() -> str:
    """The page rsyslog-tune(1) in man's own macros; the same text for the same commands."""
    group = typer.main.get_command(app)
    exit_codes = re.findall(r"(\d+) (.+?)(?:, (?=\d+ )|\.$)", app.info.epilog or "")
    lines = [
        f'.TH RSYSLOG\\-TUNE 1 "" "{_NAME} {__version__}" "User Commands"',
        ".SH NAME",
        f"{_literal(_NAME)} \\- configure and tune rsyslog into Elasticsearch or OpenSearch",
        ".SH SYNOPSIS",
        f".B {_literal(_NAME)}",
        ".I COMMAND",
        "[OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        _text(inspect.cleandoc(group.help or "")),
        ".SH OPTIONS",
        *_tagged(_parameters(typer.Context(group, help_option_names=["-h", "--help"]))),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        lines += _sections(name, command(name))
    lines += [".SH EXIT STATUS", *_tagged(exit_codes), ".SH FILES", *_tagged(_FILES)]
    return "\n".join([*lines, ".SH EXAMPLES", *_tagged(_EXAMPLES), ""])


def _sections(name: str, asked: Command) -> Iterator[str]:
    """A section for a command, or one for each command of a group."""
    if isinstance(asked, TyperGroup):
        for inner, one in asked.commands.items():
            if one.hidden:
                continue
            yield from _sections(f"{name} {inner}", one)
        return
    context = typer.Context(asked, help_option_names=[])
    usage = asked.collect_usage_pieces(context)
    yield f".SS {_literal(' '.join([name, *usage]))}"
    yield _text(inspect.cleandoc(asked.help or ""))
    yield from _tagged(_parameters(context))


def _parameters(context: typer.Context) -> Iterator[tuple[str, str]]:
    """Arguments and options as `--help` shows them."""
    records = (one.get_help_record(context) for one in context.command.get_params(context))
    return ((tag, " ".join(text.split())) for tag, text in filter(None, records))


def _tagged(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for tag, text in entries:
        yield f".TP\n.B {_literal(tag)}\n{_text(text)}"


def _text(text: str) -> str:
    """Paragraphs; what stands in backticks is set bold."""
    paragraphs = [_escaped(one) for one in unwrapped(text).split("\n\n")]
    return "\n.PP\n".join(re.sub(r"`([^`]+)`", r"\\fB\1\\fR", one) for one in paragraphs)


def _literal(text: str) -> str:
    """Text with hyphens that can be searched for and copied."""
    return _escaped(text).replace("-", "\\-")


def _escaped(text: str) -> str:
    """Text in which roff finds nothing of its own (groff_char(7), groff(7))."""
    text = text.replace("\\", "\\e")
    return f"\\&{text}" if text[:1] in {".", "'"} else text


if __name__ == "__main__":
    sys.stdout.write(page())
