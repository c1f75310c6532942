"""From words to statements; what cannot be read is named with its place, and the rest read on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from lark import Lark, Token, UnexpectedToken
from lark.lexer import Lexer
from lark.parsers.lalr_interactive_parser import InteractiveParser

from tuner.rainerscript.builder import TooDeep, builder
from tuner.rainerscript.script import Block
from tuner.rainerscript.tokens import JoinedText, Refusal, ScriptToken, joined, tokens

MOST_REFUSALS = 100
# What begins something at the outermost level, so that reading can go on there.
_OBJECTS = frozenset({"BEGIN_OBJECT", "BEGIN_TEMPLATE", "BEGIN_RULESET"})
_OPENERS = _OBJECTS | {
    "IF", "FOREACH", "SET", "RESET", "UNSET", "SELECTOR", "PROPERTY_FILTER", "DIRECTIVE",
    "BSD_BLOCK", "BEGIN_ACTION", "BEGIN_INCLUDE", "CALL", "CALL_INDIRECT",
}  # fmt: skip
_NAMES = {
    "IF": "if", "_ELSE": "else", "_THEN": "then", "_DO": "do", "_IN": "in", "_LBRACE": "{",
    "_RBRACE": "}", "_SEMICOLON": ";", "_ASSIGN": "=", "_COMMA": ",", "_LBRACKET": "[",
    "_RBRACKET": "]", "_LPAR": "(", "_RPAR": ")", "_END": ")", "NAME": "the name of a parameter",
    "STRING": "a text in quotes", "RULESET_NAME": "the name of a ruleset",
    "VARIABLE": "a variable", "COMPARE": "a comparison", "$END": "the end of the file",
}  # fmt: skip


def parse(text: str, file: str) -> tuple[Block, tuple[Refusal, ...]]:
    """The statements of a configuration, and all that cannot be read of it."""
    refused: list[Refusal] = []
    source = joined(text, file)
    words = _with_directives_inside(list(tokens(source, refused)))
    block = _statements(words, source, refused)
    refused.sort(key=lambda one: one.origin)
    return block, tuple(refused[:MOST_REFUSALS])


def _with_directives_inside(words: list[ScriptToken]) -> list[ScriptToken]:
    """`&` before the directives that stand between it and the action before: rsyslogd carries out
    directives while it reads words, wherever they stand."""
    for number, word in enumerate(words):
        begin = number
        while word.kind == "_AND_ALSO" and begin and words[begin - 1].kind == "DIRECTIVE":
            begin -= 1
        words[begin : number + 1] = [word, *words[begin:number]]
    return words


def _statements(words: Sequence[ScriptToken], source: JoinedText, refused: list[Refusal]) -> Block:
    """Each stretch without an error is parsed by itself."""
    block: Block = ()
    start = 0
    while start < len(words) and len(refused) < MOST_REFUSALS:
        part, wrong = _parsed(words[start:], source)
        if wrong is None:
            return block + part
        number, refusal = wrong
        begin = _item_start(words, start, start + number)
        if start + number == len(words):
            line = words[begin].origin.line
            message = f"the statement that begins in line {line} never ends"
            refusal = Refusal(words[begin].origin, message)
        refused.append(refusal)
        if begin > start:
            part, wrong = _parsed(words[start:begin], source)
            block += part if wrong is None else ()
        start = _next_item(words, begin, start + number)
    return block


def _parsed(
    words: Sequence[ScriptToken], source: JoinedText
) -> tuple[Block, tuple[int, Refusal] | None]:
    """The statements of all the words; or the number of the first that does not fit, and why."""
    parser = _grammar().parse_interactive()
    end = source.origin(len(source.text))
    for number, word in enumerate([*words, ScriptToken("$END", "", end)]):
        token = Token(word.kind, word)
        try:
            result = parser.feed_token(token)
        except UnexpectedToken:
            return (), (number, _refusal(word, _accepted(parser)))
        except TooDeep as bad:
            return (), (number, Refusal(bad.origin, str(bad)))
    return result, None


def _item_start(words: Sequence[ScriptToken], start: int, wrong: int) -> int:
    """Where the outermost item begins in which the word number `wrong` does not fit."""
    depth, item = 0, start
    for number in range(start, min(wrong + 1, len(words))):
        kind = words[number].kind
        if kind in _OBJECTS or (depth == 0 and kind in _OPENERS and not _continues(words, number)):
            depth, item = 0, number
        depth = max(0, depth + (kind == "_LBRACE") - (kind == "_RBRACE"))
    return item


def _continues(words: Sequence[ScriptToken], number: int) -> bool:
    """Whether what begins there belongs to what stands before it."""
    before = words[number - 1].kind if number else ""
    return before in {"_ELSE", "_THEN", "_DO", "_AND_ALSO", "SELECTOR", "PROPERTY_FILTER"}


def _next_item(words: Sequence[ScriptToken], begin: int, wrong: int) -> int:
    """Where the next outermost item begins at or after the word number `wrong`, which is inside of
    the item that begins at `begin`; inner ones are passed over."""
    depth = 0
    for number in range(begin, len(words)):
        kind = words[number].kind
        if number >= wrong and number > begin:
            begins_line = words[number].origin.line > words[number - 1].origin.line
            if kind in _OBJECTS or (depth == 0 and kind in _OPENERS and begins_line):
                return number
        depth = max(0, depth + (kind == "_LBRACE") - (kind == "_RBRACE"))
    return len(words)


def _accepted(parser: InteractiveParser) -> set[str]:
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    return accepted


def _refusal(word: ScriptToken, accepted: set[str]) -> Refusal:
    named = sorted({_NAMES.get(kind, "") for kind in accepted})
    expected = f": expected {' or '.join(named)}" if all(named) and len(named) <= 4 else ""
    if word.kind in _OBJECTS:
        name = word.text.split("(")[0].strip()
        return Refusal(word.origin, f"{name}() cannot stand here{expected}")
    text = word.text if len(word.text) <= 40 else f"{word.text[:40]}..."
    # What is in quotes may be a password.
    shown = "this text" if word.kind == "STRING" else text
    return Refusal(word.origin, f"{shown} does not fit here{expected}")


class _NoLexer(Lexer):
    """The words are given to the parser one by one."""

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, *_: object) -> None:  # type: ignore[override]
        """Never called."""


@cache
def _grammar() -> Lark:
    text = (files("tuner.rainerscript") / "grammar.lark").read_text(encoding="utf-8")
    return Lark(text, parser="lalr", lexer=_NoLexer, start="configuration", transformer=builder())
