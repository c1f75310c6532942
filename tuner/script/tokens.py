"""The words of RainerScript.

rsyslog's language has no fixed set of words: what `$`, `-` or `contains` means depends on whether
an object, an expression or a line of the old form is being read, and the longest match wins, so
that `stop` is a statement and `stopper` the name of a user to write to.  So the words are found by
modes, which tokens.toml says; the grammar is in grammar.lark.
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
    """Lines without the blanks at their ends; a line that ends in a backslash goes on in the next,
    whose blanks at the start are dropped (readConfFile in rsyslog's grammar/rainerscript.c)."""

    file: str
    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def origin(self, offset: int) -> ScriptPosition:
        """Where the character at `offset` stands in the file."""
        number = max(0, bisect_right(self.starts, offset) - 1)
        line, column = self.places[number]
        return ScriptPosition(self.file, line, column + offset - self.starts[number])


def joined(text: str, file: str) -> JoinedText:
    """`text` as rsyslogd's lexer gets it."""
    pieces: list[str] = []
    starts: list[int] = []
    places: list[tuple[int, int]] = []
    length, goes_on = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.rstrip(" \t\r\v\f")
        first = len(stripped) - len(stripped.lstrip(" \t\r\v\f")) if goes_on else 0
        starts.append(length)
        places.append((number, first + 1))
        piece = stripped[first:]
        # A blank line after a backslash does not end the continuation.
        if piece:
            goes_on = piece.endswith("\\")
            piece = piece.removesuffix("\\")
        piece += "" if goes_on else "\n"
        pieces.append(piece)
        length += len(piece)
    return JoinedText(file, "".join(pieces), tuple(starts), tuple(places))


SURROGATES = "surrogateescape"


def byte(code: int) -> str:
    """The byte that an escape stands for; one that is no ASCII is a surrogate until others beside
    it make a character of it."""
    return chr(code if code < 0x80 else 0xDC00 + code)


def with_characters(text: str) -> str:
    """A text with characters in place of the bytes that are UTF-8; others stay surrogates."""
    return text.encode("utf-8", SURROGATES).decode("utf-8", SURROGATES)


DEEPEST = 60
LONGEST_WORD = 100_000
LONGEST_NUMBER = 20


@dataclass
class ReadAllowance:
    """How much more of a configuration is read, words with the blanks and comments between them:
    nobody wrote so many by hand."""

    lines: int = 100_000
    words: int = 100_000


class Mode(Enum):
    """What is being read."""

    STATEMENT = "a statement"
    OBJECT = "the parameters of an object"
    EXPRESSION = "an expression"
    CALL = "the name of a ruleset"
    PROCEDURE = "the arguments of reload_lookup_table"


@dataclass(frozen=True)
class ScriptToken:
    """A word: its kind, its text as written, and where it begins."""

    kind: str
    text: str
    origin: ScriptPosition

    def __str__(self) -> str:
        return self.text


class _Rule(NamedTuple):
    """A pattern, the kind of its words, "" for blanks and comments, and the mode after it."""

    kind: str
    pattern: re.Pattern[str]
    then: Mode | None


_TABLE = table("script/tokens.toml")
CALLED: Mapping[str, str] = _TABLE["called"]
"""What messages call each kind of word."""


def _rule(kind: str, pattern: str, then: str | None = None) -> _Rule:
    written = _TABLE["shared"].get(pattern, pattern)
    compiled = re.compile(written, re.IGNORECASE | re.MULTILINE)
    return _Rule(kind, compiled, None if then is None else Mode[then])


_RULES = {mode: tuple(_rule(*row) for row in _TABLE[mode.name]) for mode in Mode}


def tokens(
    source: JoinedText, refused: list[Gap], allowance: ReadAllowance, most_refused: int
) -> Iterator[ScriptToken]:
    """The words of a text, as far as the allowance goes.  Anything that is not a word is added to
    `refused` and skipped; nothing is read once so much was."""
    text, depth = source.text, 0
    for rule, start, end, mode in _scanned(text):
        # Each property of a template counts as well.
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
            word = text[start:end]
            blanks = len(word) - len(word.lstrip(" \t"))
            origin = source.origin(start + blanks)
            depth += (word in {"{", "("}) - (word in {"}", ")"})
            if depth > DEEPEST:
                refused.append(Gap(origin, f"nested more than {DEEPEST} levels deep"))
                return
            if len(word) > LONGEST_WORD:
                refused.append(Gap(origin, f"a text of more than {LONGEST_WORD:,} characters"))
            elif rule.kind == "NUMBER" and len(word) > LONGEST_NUMBER:
                refused.append(Gap(origin, f"a number of more than {LONGEST_NUMBER} digits"))
            else:
                yield ScriptToken(rule.kind, word[blanks:], origin)


def _scanned(text: str) -> Iterator[tuple[_Rule | None, int, int, Mode]]:
    """Each piece of a text: its rule, None for what is no word, its start and end, and the mode in
    which it was read."""
    mode, start = Mode.STATEMENT, 0
    while start < len(text):
        rule, end = _longest(text, start, mode)
        end = _after(text, start) if rule is None else end
        yield rule, start, end, mode
        start, mode = end, (rule and rule.then) or mode


def comments(text: str) -> Iterator[tuple[int, int]]:
    """Where the comments of a configuration begin and end, those behind directives and lines of the
    old form among them; the text is read as `tokens` reads it."""
    source = joined(text, "")
    lines = [0, *(line_end.end() for line_end in re.finditer("\n", text))]

    def offset(joined_offset: int) -> int:
        origin = source.origin(joined_offset)
        return lines[origin.line - 1] + origin.column - 1

    for rule, start, end, _ in _scanned(source.text):
        comment = None if rule is None else _comment_start(rule, source.text, start, end)
        if comment is not None:
            # A line end stays where it is.
            stop = comment + len(source.text[comment:end].rstrip("\n"))
            yield offset(comment), offset(stop - 1) + 1


_BEHIND = re.compile(r"[ \t]#")


def _comment_start(rule: _Rule, text: str, start: int, end: int) -> int | None:
    """Where a comment begins in a word; None where it has none."""
    if not rule.kind:
        return start if text[start] in "#/" else None
    behind = None
    if rule.kind == "DIRECTIVE" or (rule.kind == "LEGACY_ACTION" and text[start] != "^"):
        behind = _BEHIND.search(text, start, end)
    return behind and behind.start() + 1


def _longest(text: str, start: int, mode: Mode) -> tuple[_Rule | None, int]:
    """The rule with the longest match at `start`, of several the first."""
    best, end = None, start
    at_line_start = start == 0 or text[start - 1] == "\n"
    rules = _RULES[mode]
    # Blanks inside of a line begin nothing else.
    for rule in rules if at_line_start or text[start] not in " \t\n" else rules[-1:]:
        match = rule.pattern.match(text, start)
        if match is not None and match.end() > end:
            best, end = rule, match.end()
    return best, end


def _after(text: str, start: int) -> int:
    """Where to go on after what is no word: a string or comment that never ends takes all of the
    line, anything else is one character, as often as it is repeated."""
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
        return _why_no_text(text[start : text.find("\n", start)], mode)
    if character == "\xa0":
        return _NO_BREAK
    if character == "#" and mode is Mode.EXPRESSION:
        return "a comment cannot stand inside of a condition: use /* */"
    if mode is Mode.OBJECT:
        # It may be of a password without quotes.
        return f"unexpected character in {mode.value}"
    shown = character if character.isprintable() else f"\\x{ord(character) & 0xFF:02x}"
    return f"unexpected character {shown} in {mode.value}"


def _why_no_text(line: str, mode: Mode) -> str:
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
