"""The only way for a value to enter RainerScript.

`Emitted` is text that is known to be safe where it stands; templates refuse any other string.
It is made here and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from enum import Enum

from tuner.modules.secrets import SecretRef

# No more blanks than this follow each other in what the quoter writes.
_LONGEST_BLANK = 40
# A line begins with no blank: rsyslogd would drop it.  In UTF-8 this is below 9,000 bytes.
_PIECE = re.compile(rf".{{1,2000}} {{0,{_LONGEST_BLANK}}}")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_VARIABLE = re.compile(r"\$[!.]?[A-Za-z@_][A-Za-z0-9_@.!-]*")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_.-]+")
_SIZE = re.compile(r"[0-9]+[kmgtKMGT]?")
_SECRET_FILE = re.compile(r"/[^\x00-\x1f\x7f`\"\\]+")
# Bytes that are no UTF-8 stand as surrogates (SURROGATES of tokens.py).
_UNQUOTABLE = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
_SECRET_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# rsyslog's lexer knows \xNN in object parameters only since 8.2608, octal always.
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_BLANKS = " " * _LONGEST_BLANK


class Emitted(str):
    """Text that may stand in a rendered file as it is."""

    __slots__ = ()


def authored(text: str) -> Emitted:
    """RainerScript that the user wrote as such, in a file of its own."""
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
    """So that `fold` finds a place for a line to end."""
    return text.replace(_BLANKS, _BLANKS[1:] + "\\040")


def unquotable_in(text: str) -> str | None:
    """What of a text no configuration can say; None where there is nothing of that."""
    character = _UNQUOTABLE.search(text)
    return character and f"{character[0]!r} cannot stand in an rsyslog configuration"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if (reason := unquotable_in(character)) is not None:
        raise ValueError(reason)
    code = ord(character)
    is_byte = 0xDC80 <= code <= 0xDCFF  # one that is no UTF-8
    return f"\\{code & 0xFF:03o}" if code < 0x20 or code == 0x7F or is_byte else character


def constant(value: str) -> Emitted:
    """`value` for a template's constant(), which rsyslog unescapes a second time."""
    return quote(value.replace("\\", "\\\\"))


def literal(value: str) -> Emitted:
    """`value` as a string inside an expression, where a bare $ may not stand (lexer.l, EXPR)."""
    return Emitted(quote(value).replace("$", "\\044"))


def quote_all(values: Iterable[str | SecretRef]) -> Emitted:
    """`values` as a RainerScript array."""
    return Emitted(f"[{', '.join(map(parameter, values))}]")


def secret(reference: SecretRef) -> Emitted:
    """A backtick string: rsyslog reads the secret itself when it starts."""
    if reference.file is not None:
        if not _SECRET_FILE.fullmatch(reference.file):
            raise ValueError("this path cannot stand between backticks")
        return Emitted(f"`cat {_broken_blanks(reference.file)}`")
    if not _SECRET_NAME.fullmatch(reference.env or ""):
        raise ValueError("this is not the name of an environment variable")
    return Emitted(f"`echo ${reference.env}`")


def _of_form(pattern: re.Pattern[str], text: str, noun: str) -> Emitted:
    """A text that stands without quotes; raises ValueError for one of another form."""
    if not pattern.fullmatch(text):
        raise ValueError(f"{text!r} is not {noun}")
    return Emitted(text)


def word(name: str) -> Emitted:
    """The name of an object or a parameter: letters, digits, dots and underscores."""
    return _of_form(_WORD, name, "a RainerScript name")


def identifier(name: str) -> Emitted:
    """The name of a ruleset where it stands without quotes: letters, digits, dots, _ and -, two
    at least."""
    return _of_form(_IDENTIFIER, name, "the name of a ruleset")


def variable(name: str) -> Emitted:
    """A variable of the event, such as $!status, inside an expression (lexer.l, EXPR)."""
    return _of_form(_VARIABLE, name, "a variable")


def comment(text: str) -> Emitted:
    """`text` as a line of comment, which it cannot end."""
    if not text.isprintable():
        raise ValueError("a comment holds printable text only")
    return Emitted(f"# {text}")


def number(value: int) -> Emitted:
    """`value` as a number inside an expression."""
    return Emitted(int(value))


def size(value: str) -> Emitted:
    """`value` as a number of bytes, such as 4g, where it stands without quotes."""
    return _of_form(_SIZE, value, "a size")


def json_value(value: object) -> Emitted:
    """`value` as JSON in ASCII, its keys in their order."""
    return Emitted(json.dumps(value, ensure_ascii=True))


def parameter(value: object) -> Emitted:
    """`value` as the value of any parameter; None becomes nothing, as of one that is left out."""
    match value:
        case None:
            return Emitted("")
        case Emitted():
            return value
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
    """`text` with a backslash at the end of each line that goes on in the next.

    rsyslogd reads at most 10,239 bytes of a line and takes the rest for the next one, with a
    newline between them (readConfFile in rsyslog's grammar/rainerscript.c).  An object that is
    folded must begin and end on lines that are joined: after them rsyslogd inserts a line number,
    which may not stand inside of an object.
    """
    return "\n".join("\\\n".join(_PIECE.findall(line)) for line in text.split("\n"))
