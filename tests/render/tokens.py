r"""An independent reader of RainerScript, written from rsyslog's own: `readConfFile` and
`unescapeStr` of grammar/rainerscript.c, the states of grammar/lexer.l, and grammar/grammar.y.

It shares no code with the renderer: what it reads back is what rsyslogd sees.  A branch comes back
as an object of kind `if` with its condition and the tokens of that, `else`, `set`, `unset`, `call`
and `stop` as objects too.  What rsyslog's releases read differently (`\xNN`, `\7`, `\v`) is not
accepted at all, nor are the older forms of a configuration, which no renderer has a reason to
write.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

Token = tuple[str, str]

# readConfFile has room for so many bytes of a line; the rest is the next line to it.
_LINE = re.compile(rb"[^\n]{0,10238}\n|[^\n]{1,10239}")
_SPACE = b" \t\n\v\f\r"

_BLANK = (r"[ \t\n]", r"/\*(?:[^*]|\*(?!/))*\*/")
_STATES: dict[str, dict[str, str]] = {
    "initial": {
        "space": "|".join((*_BLANK, r"\#[^\n]*\n", r"preprocfilelinenumber\([0-9]+\)")),
        "object": (
            r"(?:main_queue|global|template|ruleset|property|constant|input|module|action|"
            r"lookup_table)"
            r"[ \t\n]*\("
        ),
        "keyword": r"(?:if|else|set|unset|call|stop)(?![a-z0-9_.,;+-])",
        "brace": r"[{}]",
    },
    "object": {
        "space": "|".join((*_BLANK, r"\#[^\n]*")),
        "name": r"[a-z][a-z0-9_.]*",
        "string": r"\"(?:[^\"\\]|\\['\"?\\abfnrtv]|\\[0-7]{1,3})*\"",
        "backtick": r"`(?:[^`\\]|\\['`?\\abfnrtv]|\\[0-7]{1,3})*`",
        "mark": r"[),\[\]=]",
    },
    "expression": {
        "space": "|".join(_BLANK),
        "string": r"\"(?:[^\"\\$]|\\[\"'\\$bntr]|\\x[0-9a-f]{2}|\\[0-7]{3})*\"",
        "end": r"(?:then|do)(?![a-z0-9_])|;",
        "variable": r"\$[$!./]?[@a-z_]*[!@a-z0-9_.\[\]-]*",
        "number": r"(?:[1-9][0-9]*|0)(?![0-9a-z])",
        "word": r"[a-z][a-z0-9_]*",
        "mark": r"==|<=|>=|!=|<>|[<>=,*/%+&\[\]()-]",
    },
    "call": {"space": r"[ \t\n]", "name": r"[a-z][a-z0-9_.-]*"},
}
_TOKENS = {
    state: re.compile("|".join(f"(?P<{k}>{v})" for k, v in kinds.items()).encode(), re.IGNORECASE)
    for state, kinds in _STATES.items()
}

_ESCAPE = re.compile(rb"\\(?:([0-3][0-7]{2})|(.))", re.DOTALL)
_NAMED = {
    b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t",
    b"'": b"'", b'"': b'"', b"?": b"?", b"$": b"$", b"\\": b"\\",
}  # fmt: skip

_STATEMENTS = {"action"}
_BODIES = {"ruleset": _STATEMENTS, "template": {"constant", "property"}}
_TOP = {"global", "module", "template", "main_queue", "ruleset", "input", "lookup_table"}


@dataclass
class Object:
    """One object with its parameters; a backtick string keeps its backticks.  `expression` holds
    the tokens of what a branch or a `set` works out, strings decoded."""

    kind: str
    parameters: dict[str, str | list[str]] = field(default_factory=dict)
    body: list[Object] = field(default_factory=list)
    expression: list[Token] = field(default_factory=list)


def parse(text: str) -> list[Object]:
    """Every object of a configuration; fails on anything that is not one."""
    lexer = _Lexer(_as_read(text.encode("utf-8")))
    found = []
    while (token := lexer.take("initial")) is not None:
        found.append(_statement(lexer, token, _TOP | _STATEMENTS))
    return found


def unescape(quoted: str) -> str:
    """The value of a double-quoted string."""
    return _unescaped(quoted.encode("utf-8")[1:-1])


def _as_read(raw: bytes) -> bytes:
    """`raw` as readConfFile hands it on: continued lines joined, without blanks at line ends."""
    read, continues, numbered = b"", False, False
    for number, line in enumerate(_LINE.findall(raw), 1):
        if numbered:
            read += b"PreprocFileLineNumber(%d)\n" % number
            numbered = False
        kept = line.split(b"\0", 1)[0]
        kept = (kept.lstrip(_SPACE) if continues else kept).rstrip(_SPACE)
        if kept.endswith(b"\\"):
            kept, continues = kept[:-1], True
        elif kept:
            numbered, continues = continues, False
        read += kept + (b"" if continues else b"\n")
    return read


def _unescaped(raw: bytes) -> str:
    def one(match: re.Match[bytes]) -> bytes:
        value = bytes([int(match[1], 8)]) if match[1] else _NAMED.get(match[2])
        assert value is not None, f"releases read {match[0]!r} differently"
        assert value != b"\0", "rsyslog's texts end at NUL"
        return value

    # An expression may hold bytes that are no text of themselves.
    return _ESCAPE.sub(one, raw).decode("utf-8", "surrogateescape")


class _Lexer:
    """The tokens of a configuration, each read in the state that the grammar is in."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, state: str) -> Token | None:
        """The next token in `state`; None at the end of the text."""
        while self._at < len(self._data):
            match = _TOKENS[state].match(self._data, self._at)
            near = self._data[self._at : self._at + 60]
            assert match is not None, f"rsyslogd finds no {state} in {near!r}"
            assert match.lastgroup is not None
            self._at = match.end()
            if match.lastgroup in {"string", "backtick"}:
                quotes = "`" if match.lastgroup == "backtick" else ""
                return match.lastgroup, quotes + _unescaped(match[0][1:-1]) + quotes
            if match.lastgroup != "space":
                return match.lastgroup, match[0].decode("ascii")
        return None

    def need(self, state: str, kind: str, text: str | None = None) -> str:
        """The text of the next token, which must be of that kind."""
        token = self.take(state)
        assert token is not None, f"the text ends where {kind} is due"
        assert token[0] == kind, token
        assert text is None or token[1] == text, token
        return token[1]


def _statement(lexer: _Lexer, token: Token, allowed: set[str]) -> Object:
    kind, text = token
    if kind == "object":
        return _object(lexer, text.rstrip("( \t\n").lower(), allowed)
    assert kind == "keyword", token
    assert "action" in allowed, f"{text} stands where only {allowed} may"
    return _STATEMENT[text.lower()](lexer)


def _set(lexer: _Lexer) -> Object:
    tokens, end = _expression(lexer)
    assert end == ";", end
    assert [tokens[0][0], tokens[1][1]] == ["variable", "="], tokens
    return Object("set", {"variable": tokens[0][1]}, expression=tokens[2:])


def _unset(lexer: _Lexer) -> Object:
    tokens, end = _expression(lexer)
    assert ([kind for kind, _ in tokens], end) == (["variable"], ";"), tokens
    return Object("unset", {"variable": tokens[0][1]})


def _branch(lexer: _Lexer) -> Object:
    tokens, end = _expression(lexer)
    assert end.lower() == "then", end
    shown = " ".join(f'"{text}"' if kind == "string" else text for kind, text in tokens)
    body = _body(lexer, _STATEMENTS)
    return Object("if", {"condition": shown}, body, expression=tokens)


_STATEMENT: dict[str, Callable[[_Lexer], Object]] = {
    "stop": lambda _: Object("stop"),
    "call": lambda lexer: Object("call", {"ruleset": lexer.need("call", "name")}),
    "set": _set,
    "unset": _unset,
    "if": _branch,
    "else": lambda lexer: Object("else", body=_body(lexer, _STATEMENTS)),
}


def _expression(lexer: _Lexer) -> tuple[list[Token], str]:
    found: list[Token] = []
    while (token := lexer.take("expression")) is not None and token[0] != "end":
        found.append(token)
    assert token is not None, "an expression never ends"
    assert found, "an expression is empty"
    return found, token[1]


def _object(lexer: _Lexer, kind: str, allowed: set[str]) -> Object:
    assert kind in allowed, f"{kind} stands where only {allowed} may"
    made = Object(kind)
    seen: set[str] = set()
    while (token := lexer.take("object")) != ("mark", ")"):
        assert token is not None, f"{kind} never ends"
        assert token[0] == "name", token
        assert token[1].lower() not in seen, f"{token[1]} is given twice"
        seen.add(token[1].lower())
        lexer.need("object", "mark", "=")
        made.parameters[token[1]] = _value(lexer)
    if kind in _BODIES:
        made.body = _body(lexer, _BODIES[kind])
    return made


def _body(lexer: _Lexer, allowed: set[str]) -> list[Object]:
    found = []
    lexer.need("initial", "brace", "{")
    while (token := lexer.take("initial")) != ("brace", "}"):
        assert token is not None, "a body never ends"
        found.append(_statement(lexer, token, allowed))
    return found


def _value(lexer: _Lexer) -> str | list[str]:
    token = lexer.take("object")
    assert token is not None, "a value is missing"
    if token[0] in {"string", "backtick"}:
        return token[1]
    assert token == ("mark", "["), token
    values = []
    while True:
        value = lexer.take("object")
        assert value is not None, "a list never ends"
        assert value[0] in {"string", "backtick"}, value
        values.append(value[1])
        token = lexer.take("object")
        if token == ("mark", "]"):
            return values
        assert token == ("mark", ","), token
