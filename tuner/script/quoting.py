"""Quotes values for RainerScript; every value in a rendered configuration is quoted here.

`Emitted` is text that is safe in a configuration.  Templates refuse any other string, and only this
module creates it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum

from tuner.modules.secrets import SecretRef

# Quoted values have fewer consecutive blanks than this.
_LONGEST_BLANK = 40
# A piece of a folded line, below 9,000 bytes in UTF-8.  It includes the blanks after it, because
# rsyslogd drops blanks at the start of a line.
_PIECE = re.compile(rf".{{1,2000}} {{0,{_LONGEST_BLANK}}}")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_VARIABLE = re.compile(r"\$[!.]?[A-Za-z@_][A-Za-z0-9_@.!-]*")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+")
_SIZE = re.compile(r"[0-9]+[kmgtKMGT]?")
_SECRET_FILE = re.compile(r"/[^\x00-\x1f\x7f`\"\\]+")
# NUL, and surrogates other than those that stand for bytes (SURROGATES of tokens.py).
_UNQUOTABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_SECRET_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# Other characters become octal escapes: in object parameters rsyslog knows \xNN only since 8.2608.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_BLANKS = " " * _LONGEST_BLANK


class Emitted(str):
    """Text that is safe in a rendered file without further quoting."""

    __slots__ = ()


def authored(text: str) -> Emitted:
    """RainerScript from a file of the user's, which is inserted without quoting."""
    return Emitted(text.rstrip("\n"))


def quote(value: str | int | bool) -> Emitted:
    """`value` as a double-quoted RainerScript string; booleans become on and off."""
    if isinstance(value, bool):
        return Emitted('"on"' if value else '"off"')
    if isinstance(value, int):
        return Emitted(f'"{value}"')
    escaped = "".join(_escaped(character) for character in value)
    return Emitted(f'"{_broken_blanks(escaped)}"')


def _broken_blanks(text: str) -> str:
    """The text with an escape after every 39 blanks, so that `fold` can break the line there."""
    return text.replace(_BLANKS, _BLANKS[1:] + "\\040")


def unquotable_in(text: str) -> str | None:
    """Why a text cannot be in a configuration: the first such character; None if it can."""
    character = _UNQUOTABLE.search(text)
    return character and f"{character[0]!r} cannot stand in an rsyslog configuration"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if (reason := unquotable_in(character)) is not None:
        raise ValueError(reason)
    code = ord(character)
    is_byte = 0xDC80 <= code <= 0xDCFF  # a byte that is not UTF-8
    return f"\\{code & 0xFF:03o}" if code < 0x20 or code == 0x7F or is_byte else character


def constant(value: str) -> Emitted:
    """`value` for a template's constant(), whose escapes rsyslog resolves twice."""
    return quote(value.replace("\\", "\\\\"))


def literal(value: str) -> Emitted:
    """`value` as a string in an expression, in which $ must be escaped (lexer.l, EXPR)."""
    return Emitted(quote(value).replace("$", "\\044"))


def quote_all(values: Iterable[str | SecretRef]) -> Emitted:
    """`values` as a RainerScript array."""
    return Emitted(f"[{', '.join(map(parameter, values))}]")


def secret(reference: SecretRef) -> Emitted:
    """A string in backticks, so that rsyslogd itself reads the secret when it starts."""
    if reference.file is not None:
        if not _SECRET_FILE.fullmatch(reference.file):
            raise ValueError("this path cannot stand between backticks")
        return Emitted(f"`cat {_broken_blanks(reference.file)}`")
    if not _SECRET_NAME.fullmatch(reference.env or ""):
        raise ValueError("this is not the name of an environment variable")
    return Emitted(f"`echo ${reference.env}`")


def _of_form(pattern: re.Pattern[str], text: str, noun: str) -> Emitted:
    """A text without quotes; raises ValueError unless it matches the pattern."""
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} is not {noun}")
    return Emitted(text)


def word(name: str) -> Emitted:
    """The name of an object or a parameter: letters, digits, dots and underscores."""
    return _of_form(_WORD, name, "a RainerScript name")


def identifier(name: str) -> Emitted:
    """The name of a ruleset without quotes: at least two characters, letters, digits, dots, _ and
    -, a letter first."""
    return _of_form(_IDENTIFIER, name, "the name of a ruleset")


def variable(name: str) -> Emitted:
    """A variable of the event, such as $!status, inside an expression (lexer.l, EXPR)."""
    return _of_form(_VARIABLE, name, "a variable")


def comment(text: str) -> Emitted:
    """`text` as a comment of one line; raises ValueError if it is not printable."""
    if not text.isprintable():
        raise ValueError("a comment holds printable text only")
    return Emitted(f"# {text}")


def number(value: int) -> Emitted:
    """`value` as a number inside an expression."""
    return Emitted(int(value))


def size(value: str) -> Emitted:
    """`value` as a number of bytes without quotes, such as 4g."""
    return _of_form(_SIZE, value, "a size")


def json_value(value: object) -> Emitted:
    """`value` as JSON in ASCII, with keys in their original order."""
    return Emitted(json.dumps(value, ensure_ascii=True))


def parameter(value: object) -> Emitted:
    """`value` as the value of a parameter; None, for a parameter that is left out, gives ""."""
    match value:
        case None:
            return Emitted("")
        case str() | int():
            return quote(value)
        case Enum():
            return quote(str(value.value))
        case SecretRef():
            return secret(value)
        case list() | tuple():
            return quote_all(value)
        case _:
            raise TypeError(f"{value!r} is not a value of RainerScript")


def fold(text: str) -> str:
    """`text` with long lines broken by a backslash.

    rsyslogd reads at most 10,239 bytes of a line and takes the rest for the next line (readConfFile
    in rsyslog's grammar/rainerscript.c).  A folded object must begin and end within the joined
    lines: after them rsyslogd inserts a line number, which cannot be inside an object.
    """
    return "\n".join("\\\n".join(_PIECE.findall(line)) for line in text.split("\n"))
