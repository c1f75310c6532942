"""The only way for a value to enter RainerScript.

`Emitted` is text that is known to be safe where it stands; templates refuse any other string.
It is made here and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tuner.modules.secrets import SecretRef
from tuner.render.folding import LONGEST_BLANK

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_SECRET_FILE = re.compile(r"/[^\x00-\x1f\x7f`\"\\]+")
_SECRET_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# rsyslog's lexer knows \xNN in object parameters only since 8.2608, octal always.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_BLANKS = " " * LONGEST_BLANK


class Emitted(str):
    """Text that may stand in a rendered file as it is."""

    __slots__ = ()


def quote(value: str | int | bool) -> Emitted:
    """`value` as a double-quoted RainerScript string; booleans become on and off."""
    if isinstance(value, bool):
        return Emitted('"on"' if value else '"off"')
    if isinstance(value, int):
        return Emitted(f'"{value}"')
    escaped = "".join(_escaped(character) for character in value)
    return Emitted(f'"{_broken_blanks(escaped)}"')


def _broken_blanks(text: str) -> str:
    """So that `fold` finds a place for a line to end."""
    return text.replace(_BLANKS, _BLANKS[1:] + "\\040")


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if code == 0 or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"{character!r} cannot stand in an rsyslog configuration")
    return f"\\{code:03o}" if code < 0x20 or code == 0x7F else character


def constant(value: str) -> Emitted:
    """`value` for a template's constant(), which rsyslog unescapes a second time."""
    return quote(value.replace("\\", "\\\\"))


def literal(value: str) -> Emitted:
    """`value` as a string inside an expression, where a bare $ may not stand (lexer.l, EXPR)."""
    return Emitted(quote(value).replace("$", "\\044"))


def quote_all(values: Iterable[str]) -> Emitted:
    """`values` as a RainerScript array."""
    return Emitted("[" + ", ".join(quote(value) for value in values) + "]")


def secret(reference: SecretRef) -> Emitted:
    """A backtick string: rsyslog reads the secret itself when it starts."""
    if reference.file is not None:
        if not _SECRET_FILE.fullmatch(reference.file):
            raise ValueError("this path cannot stand between backticks")
        return Emitted(f"`cat {_broken_blanks(reference.file)}`")
    if not _SECRET_NAME.fullmatch(reference.env or ""):
        raise ValueError("this is not the name of an environment variable")
    return Emitted(f"`echo ${reference.env}`")


def word(name: str) -> Emitted:
    """The name of an object or a parameter: letters, digits, dots and underscores."""
    if not _WORD.fullmatch(name):
        raise ValueError(f"{name!r} is not a RainerScript name")
    return Emitted(name)


def identifier(name: str) -> Emitted:
    """The name of a ruleset where it stands without quotes: letters, digits, dots, _ and -."""
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"{name!r} is not the name of a ruleset")
    return Emitted(name)


def comment(text: str) -> Emitted:
    """`text` as comment lines."""
    lines = text.splitlines()
    if any(not line.isprintable() for line in lines):
        raise ValueError("a comment holds printable text only")
    return Emitted("\n".join(f"# {line}".rstrip() for line in lines))
