"""The manual page, made of what the commands say of themselves: `make man` writes it.

click-man makes such pages, but knows only click's own classes, and typer has its own copy of them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from tuner import __version__
from tuner.cli.commands import HELP, command
from tuner.cli.main import app

_NAME = "rsyslog-tune"
_FILES = {
    "rsyslog-tune.yaml": "The profile that `search` and `lab` take when none is named.",
    "rsyslog-tune-runs/": "Where searches put their results, unless `--run-dir` says otherwise.",
    "/etc/rsyslog-tune/allow-targets": "Hosts beyond loopback that this machine may flood, one a "
    "line; `~/.config/rsyslog-tune/allow-targets` for a user.",
    "/var/cache/rsyslog-tune": "Engines of labs, fetched once; without root "
    "`~/.cache/rsyslog-tune`.",
    "/var/lib/rsyslog-tune": "The lock of a measurement, and the record of a lab that is up; "
    "without root `~/.local/state/rsyslog-tune`.",
}
_HELP = {"-h, --help": "Say what the command, or rsyslog-tune, can do and takes."}
_EXAMPLES = {
    "rsyslog-tune init": "A first profile, rsyslog-tune.yaml.",
    "rsyslog-tune validate rsyslog-tune.yaml": "Is it right, and does rsyslogd take it?",
    "rsyslog-tune render rsyslog-tune.yaml -o rendered": "Its files, for your configuration "
    "management.",
    "rsyslog-tune search rsyslog-tune.yaml --budget 30m": "Better settings, on an engine that it "
    "starts and ends.",
}


def page() -> str:
    """The page rsyslog-tune(1) in man's own macros; the same text for the same commands."""
    group = typer.main.get_command(app)
    about = inspect.cleandoc(group.help or "")
    return "\n".join(
        [
            f'.TH RSYSLOG\\-TUNE 1 "" "{_NAME} {__version__}" "User Commands"',
            ".SH NAME",
            f"{_literal(_NAME)} \\- configure and tune rsyslog into Elasticsearch or OpenSearch",
            ".SH SYNOPSIS",
            f".B {_literal(_NAME)}",
            ".I COMMAND",
            "[OPTIONS] [ARGUMENTS]",
            ".SH DESCRIPTION",
            _text(about),
            ".SH OPTIONS",
            *_tagged(_HELP | {_tag(one): _said(one) for one in group.params}),
            ".SH COMMANDS",
            *_commands(),
            ".SH EXIT STATUS",
            *_exit_codes(),
            ".SH FILES",
            *_tagged(_FILES),
            ".SH EXAMPLES",
            *_tagged(_EXAMPLES),
            "",
        ]
    )


def _commands() -> Iterator[str]:
    for name in HELP:
        found = command(name)
        inside = getattr(found, "commands", None)
        if inside is None:
            yield from _command(name, found)
        else:
            for inner, one in inside.items():
                yield from _command(f"{name} {inner}", one)


def _command(name: str, found: Any) -> Iterator[str]:
    arguments = [one for one in found.params if one.param_type_name == "argument"]
    usage = ["[OPTIONS]", *map(_argument, arguments)]
    yield f".SS {_literal(name)} {_literal(' '.join(usage))}"
    yield _text(inspect.cleandoc(found.help or ""))
    yield from _tagged({_tag(one): _said(one) for one in found.params})


def _argument(parameter: Any) -> str:
    name = str(parameter.name).upper()
    return name if parameter.required else f"[{name}]"


def _tag(parameter: Any) -> str:
    """How a parameter is written: `--budget BUDGET`, `--shrink, --no-shrink`, `PROFILE`."""
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    names = ", ".join((*parameter.opts, *parameter.secondary_opts))
    if parameter.is_flag:
        return names
    default = parameter.default
    choices = "|".join(map(_plain, type(default))) if isinstance(default, Enum) else ""
    long = str(max(parameter.opts, key=len)).lstrip("-")
    return f"{names} {parameter.metavar or choices or long.upper()}"


def _said(parameter: Any) -> str:
    """Its help, and its default where one is worth to be told."""
    default = parameter.default
    silent = default is None or default is False or callable(default)
    if silent or not parameter.show_default:
        return str(parameter.help)
    told = parameter.opts[0] if default is True else _plain(default)
    return f"{parameter.help} Default: {told}."


def _plain(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)


def _exit_codes() -> Iterator[str]:
    """What --help ends with, an entry for each code."""
    said = (app.info.epilog or "").removeprefix("Exit codes: ").removesuffix(".")
    codes = (one.partition(" ") for one in re.split(r", (?=\d+ )", said))
    yield from _tagged({code: meaning for code, _, meaning in codes})


def _tagged(entries: dict[str, str]) -> Iterator[str]:
    for tag, text in entries.items():
        yield f".TP\n.B {_literal(tag)}\n{_text(text)}"


def _text(text: str) -> str:
    """Paragraphs; what stands in backticks is set bold."""
    paragraphs = [_escaped(" ".join(one.split())) for one in text.split("\n\n")]
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
