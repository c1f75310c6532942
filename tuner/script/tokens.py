"""Splits RainerScript into tokens.

The tokens depend on the context: `$`, `-` or `contains` mean different things in an object, in an
expression and in a line of the legacy format.  The longest match wins, so that `stop` is a
statement and `stopper` the name of a user to notify.  Therefore the lexer has modes, as in
tokens.toml; the grammar is in grammar.lark.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from tuner.reading import table
from tuner.script.script import Gap, ScriptPosition


@dataclass(frozen=True)
class JoinedText:
    """The text of a file in which lines that end in a backslash are joined with the next.

    Blanks at the ends of lines and at the start of joined lines are dropped, as in readConfFile of
    rsyslog's grammar/rainerscript.c.
    """

    file: str
    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def origin(self, offset: int) -> ScriptPosition:
        """The position in the file of the character at `offset`."""
        number = max(0, bisect_right(self.starts, offset) - 1)
        line, column = self.places[number]
        return ScriptPosition(self.file, line, column + offset - self.starts[number])


def joined(text: str, file: str) -> JoinedText:
    """`text` as rsyslogd passes it to its lexer."""
    pieces: list[str] = []
    starts: list[int] = []
    places: list[tuple[int, int]] = []
    length, continues = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.rstrip(" \t\r\v\f")
        first = len(stripped) - len(stripped.lstrip(" \t\r\v\f")) if continues else 0
        starts.append(length)
        places.append((number, first + 1))
        piece = stripped[first:]
        # A blank line after a backslash does not end the continuation.
        if piece:
            continues = piece.endswith("\\")
            piece = piece.removesuffix("\\")
        piece += "" if continues else "\n"
        pieces.append(piece)
        length += len(piece)
    return JoinedText(file, "".join(pieces), tuple(starts), tuple(places))


SURROGATES = "surrogateescape"


def byte(code: int) -> str:
    """The byte that an escape stands for.  A byte above ASCII is a surrogate, until
    `with_characters` makes a character of several."""
    return chr(code if code < 0x80 else 0xDC00 + code)


def with_characters(text: str) -> str:
    """A text with surrogates replaced by the characters that they encode in UTF-8; bytes that are
    not UTF-8 stay surrogates."""
    return text.encode("utf-8", SURROGATES).decode("utf-8", SURROGATES)


DEEPEST = 60
LONGEST_TOKEN = 100_000
LONGEST_NUMBER = 20


@dataclass
class ReadAllowance:
    """How much more of a configuration is read, far more than anybody writes by hand; `words` also
    counts blanks and comments between tokens."""

    lines: int = 100_000
    words: int = 100_000


class Mode(Enum):
    """The context of a token; the values describe it in messages."""

    STATEMENT = "a statement"
    OBJECT = "the parameters of an object"
    EXPRESSION = "an expression"
    CALL = "the name of a ruleset"
    PROCEDURE = "the arguments of reload_lookup_table"


@dataclass(frozen=True)
class ScriptToken:
    """A token: its kind, its text in the file, and its position."""

    kind: str
    text: str
    origin: ScriptPosition

    def __str__(self) -> str:
        return self.text


class _Rule(NamedTuple):
    """A pattern, the kind of its tokens ("" for blanks and comments), and the mode after it (None:
    the same)."""

    kind: str
    pattern: re.Pattern[str]
    then: Mode | None


_TABLE = table("script/tokens.toml")
TOKEN_NAMES: Mapping[str, str] = _TABLE["called"]
"""The names of the kinds of tokens in messages."""


def _rule(kind: str, pattern: str, then: str | None = None) -> _Rule:
    expression = _TABLE["shared"].get(pattern, pattern)
    compiled = re.compile(expression, re.IGNORECASE | re.MULTILINE)
    return _Rule(kind, compiled, None if then is None else Mode[then])


_RULES = {mode: tuple(_rule(*row) for row in _TABLE[mode.name]) for mode in Mode}


def tokenize(
    source: JoinedText, refused: list[Gap], allowance: ReadAllowance, most_refused: int
) -> Iterator[ScriptToken]:
    """The tokens of a text, as far as the allowance goes.  Text that is no token is reported in
    `refused` and skipped; after `most_refused` reports nothing more is read."""
    text, depth = source.text, 0
    for rule, start, end, mode in _scanned(text):
        # Each property in a template's string counts as well.
        allowance.words -= 1 + text.count("%", start, end) // 2
        if allowance.words < 0:
            refused.append(Gap(source.origin(start), _TOO_MUCH))
        if allowance.words < 0 or len(refused) >= most_refused:
            return
        if rule is None:
            refusal = Gap(source.origin(start), _why(text, start, mode))
            if refusal.message != _NO_BREAK or all(gap.message != _NO_BREAK for gap in refused):
                refused.append(refusal)
        elif rule.kind:
            token = text[start:end]
            blanks = len(token) - len(token.lstrip(" \t"))
            origin = source.origin(start + blanks)
            depth += (token in {"{", "("}) - (token in {"}", ")"})
            if depth > DEEPEST:
                refused.append(Gap(origin, f"nested more than {DEEPEST} levels deep"))
                return
            if len(token) > LONGEST_TOKEN:
                refused.append(Gap(origin, f"a text of more than {LONGEST_TOKEN:,} characters"))
            elif rule.kind == "NUMBER" and len(token) > LONGEST_NUMBER:
                refused.append(Gap(origin, f"a number of more than {LONGEST_NUMBER} digits"))
            else:
                yield ScriptToken(rule.kind, token[blanks:], origin)


def _scanned(text: str) -> Iterator[tuple[_Rule | None, int, int, Mode]]:
    """The pieces of a text: the rule (None for text that is no token), start, end, and the mode of
    each."""
    mode, start = Mode.STATEMENT, 0
    while start < len(text):
        rule, end = _longest(text, start, mode)
        end = _end_of_error(text, start) if rule is None else end
        yield rule, start, end, mode
        start, mode = end, (rule and rule.then) or mode


def comments(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each comment in a configuration, including those after directives and
    lines of the legacy format."""
    source = joined(text, "")
    lines = [0, *(line_end.end() for line_end in re.finditer("\n", text))]

    def offset(joined_offset: int) -> int:
        origin = source.origin(joined_offset)
        return lines[origin.line - 1] + origin.column - 1

    for rule, start, end, _ in _scanned(source.text):
        comment = None if rule is None else _comment_start(rule, source.text, start, end)
        if comment is not None:
            # The line end is not part of the comment.
            stop = comment + len(source.text[comment:end].rstrip("\n"))
            yield offset(comment), offset(stop - 1) + 1


_TRAILING = re.compile(r"[ \t]#")


def _comment_start(rule: _Rule, text: str, start: int, end: int) -> int | None:
    """Where a comment begins in a piece of text, None if it has none."""
    if not rule.kind:
        return start if text[start] in "#/" else None
    trailing = None
    if rule.kind == "DIRECTIVE" or (rule.kind == "LEGACY_ACTION" and text[start] != "^"):
        trailing = _TRAILING.search(text, start, end)
    return trailing and trailing.start() + 1


def _longest(text: str, start: int, mode: Mode) -> tuple[_Rule | None, int]:
    """The rule with the longest match at `start`, the first if there are several, and its end."""
    best, end = None, start
    at_line_start = start == 0 or text[start - 1] == "\n"
    rules = _RULES[mode]
    # For blanks inside a line only the last rule, for blanks and comments, can match.
    for rule in rules if at_line_start or text[start] not in " \t\n" else rules[-1:]:
        match = rule.pattern.match(text, start)
        if match is not None and match.end() > end:
            best, end = rule, match.end()
    return best, end


def _end_of_error(text: str, start: int) -> int:
    """The end of a text that is no token: of the line for a string or comment that never ends, else
    of the repetitions of one character."""
    if text[start] in "\"'`" or text.startswith("/*", start):
        end = text.find("\n", start)
        return len(text) if end < 0 else end + 1
    end = start + 1
    while text[end : end + 1] == text[start]:
        end += 1
    return end


def _why(text: str, start: int, mode: Mode) -> str:
    character = text[start]
    if text.startswith("/*", start):
        return "this comment never ends: close it with */"
    if character in "\"'`":
        return _why_no_string(text[start : text.find("\n", start)], mode)
    if character == "\xa0":
        return _NO_BREAK
    if character == "#" and mode is Mode.EXPRESSION:
        return "a comment cannot stand inside of a condition: use /* */"
    if mode is Mode.OBJECT:
        # The character may belong to a password without quotes, so it is not shown.
        return f"unexpected character in {mode.value}"
    shown = character if character.isprintable() else f"\\x{ord(character) & 0xFF:02x}"
    return f"unexpected character {shown} in {mode.value}"


def _why_no_string(line: str, mode: Mode) -> str:
    if mode is Mode.EXPRESSION and line[0] == '"' and "$" in line:
        return "a $ between double quotes must be written \\$ here, or use single quotes"
    if mode is Mode.OBJECT and line[0] == "'":
        return "a value stands in double quotes, not in single ones"
    return f"this text has no closing {line[0]}, or an escape that rsyslog does not know"


_NO_BREAK = (
    "no-break spaces, as web pages have them, which rsyslogd refuses: read as blanks from here on"
)
_TOO_MUCH = (
    f"more than {ReadAllowance().words:,} words, blanks and properties of templates: nothing is "
    "read from here on"
)
