"""An independent reader of RainerScript objects, written from rsyslog's grammar/lexer.l.

It shares no code with the renderer: what it reads back is what rsyslog would see.  A branch
comes back as an object of kind `if` with its condition, `stop` and `call NAME` as objects too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|\#[^\n]*)
  | (?P<string>"(?:[^"\\]|\\[0-7]{3}|\\.)*")
  | (?P<backtick>`[^`\\]*`)
  | (?P<word>[A-Za-z_][A-Za-z0-9_.-]*)
  | (?P<variable>\$[!.][A-Za-z_][A-Za-z0-9_!.]*)
  | (?P<number>[0-9]+)
  | (?P<comparison>==|!=|>=|<=|>|<)
  | (?P<punctuation>[()\[\]{}=,])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:([0-7]{3})|(.))", re.DOTALL)
_NAMED = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}


@dataclass
class Object:
    """One object with its parameters; a backtick string keeps its backticks."""

    kind: str
    parameters: dict[str, str | list[str]] = field(default_factory=dict)
    body: list[Object] = field(default_factory=list)


def parse(text: str) -> list[Object]:
    """Every object of a configuration; fails on anything that is not one."""
    tokens = _tokens(text)
    objects = []
    while tokens:
        objects.append(_object(tokens))
    return objects


def unescape(quoted: str) -> str:
    """The value of a double-quoted string."""

    def one(match: re.Match[str]) -> str:
        return chr(int(match[1], 8)) if match[1] else _NAMED[match[2]]

    return _ESCAPE.sub(one, quoted[1:-1])


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, f"not RainerScript: {text[at : at + 40]!r}"
        at = match.end()
        assert match.lastgroup is not None
        if match.lastgroup != "space":
            found.append((match.lastgroup, match[0]))
    return found


def _take(tokens: list[tuple[str, str]], kind: str, text: str | None = None) -> str:
    found = tokens.pop(0)
    assert found[0] == kind, found
    assert text is None or found[1] == text, found
    return found[1]


def _condition(tokens: list[tuple[str, str]]) -> str:
    """An expression up to its `then`; only what compares and joins may stand in it."""
    found = []
    while tokens[0] != ("word", "then"):
        kind, text = tokens.pop(0)
        joins = kind == "word" and text in {"and", "or", "not"}
        assert joins or kind in {"variable", "number", "comparison", "string"} or text in "()", text
        found.append(text)
    tokens.pop(0)
    return " ".join(found)


def _object(tokens: list[tuple[str, str]]) -> Object:
    made = Object(_take(tokens, "word"))
    if made.kind == "stop":
        return made
    if made.kind == "call":
        made.parameters["ruleset"] = _take(tokens, "word")
        return made
    if made.kind == "if":
        made.parameters["condition"] = _condition(tokens)
        made.body = _body(tokens)
        return made
    _take(tokens, "punctuation", "(")
    while tokens[0] != ("punctuation", ")"):
        name = _take(tokens, "word")
        _take(tokens, "punctuation", "=")
        assert name not in made.parameters
        made.parameters[name] = _value(tokens)
    _take(tokens, "punctuation", ")")
    if tokens and tokens[0] == ("punctuation", "{"):
        made.body = _body(tokens)
    return made


def _body(tokens: list[tuple[str, str]]) -> list[Object]:
    found = []
    _take(tokens, "punctuation", "{")
    while tokens[0] != ("punctuation", "}"):
        found.append(_object(tokens))
    tokens.pop(0)
    return found


def _value(tokens: list[tuple[str, str]]) -> str | list[str]:
    kind, text = tokens.pop(0)
    if kind == "backtick":
        return text
    if (kind, text) == ("punctuation", "["):
        values = [unescape(_take(tokens, "string"))]
        while tokens[0] == ("punctuation", ","):
            tokens.pop(0)
            values.append(unescape(_take(tokens, "string")))
        _take(tokens, "punctuation", "]")
        return values
    assert kind == "string", text
    return unescape(text)
