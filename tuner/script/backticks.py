"""What rsyslogd reads when it starts: a text in backticks, of a variable or a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from tuner.script.script import Array, Parameter, Quoted, ScriptPosition, Value

_ECHO, _CAT = "echo ", "cat "
# A name that ends here on every release: before white space, a slash or the end (8.2302 to 8.2502
# take all else into it), and without braces, which newer ones know (expand_backticks_echo() of
# lexer.l).
_VARIABLE = re.compile(r"\$([A-Za-z0-9_]+)(?=[\s/]|$)")
_NAMED = re.compile(r"`echo [^`\n]*`")
_NAME = re.compile(r"\$\{?([A-Za-z0-9_]+)")
# What would change how rsyslogd itself runs, not what it reads.
_OF_PROGRAMS = re.compile(r"(?i)ld_|.*_proxy$|rsyslog|malloc_|glibc_")

Read = Callable[[str], str | None]
"""The content of a file by its path; None where it cannot be read."""


def variables_in(text: str) -> tuple[str, ...]:
    """The variables that stand in backticks of a configuration."""
    found = (name for one in _NAMED.findall(text) for name in _NAME.findall(one))
    return tuple(dict.fromkeys(name for name in found if not _OF_PROGRAMS.match(name)))


def unset_in(value: Value, environment: Mapping[str, str]) -> Iterator[tuple[ScriptPosition, str]]:
    """The variables of a value that are not set, each with its place."""
    for one in (value,) if isinstance(value, Quoted) else value.items:
        if one.backtick and one.text.startswith(_ECHO):
            names = _NAME.findall(one.text)
            yield from ((one.origin, name) for name in names if name not in environment)


def read_at_start(
    parameter: Parameter, environment: Mapping[str, str], read: Read | None = None
) -> Parameter:
    """A parameter with the texts in backticks that rsyslogd reads in this environment, as far as
    every release reads the same; files only where there is a `read`."""

    def known(one: Quoted) -> Quoted:
        text = _text(one.text, environment, read) if one.backtick else None
        return one if text is None else Quoted(text, one.origin)

    value = parameter.value
    items = value.items if isinstance(value, Array) else (value,)
    if not any(one.backtick for one in items):
        return parameter
    if isinstance(value, Array):
        return replace(parameter, value=Array(tuple(map(known, items)), value.origin))
    return replace(parameter, value=known(value))


def _text(command: str, environment: Mapping[str, str], read: Read | None) -> str | None:
    if command.startswith(_ECHO):
        words = command.removeprefix(_ECHO)
        known = _VARIABLE.sub("", words)
        return (
            None if "$" in known else _VARIABLE.sub(lambda one: environment.get(one[1], ""), words)
        )
    if command.startswith(_CAT) and read is not None:
        return read(command.removeprefix(_CAT))
    return None
