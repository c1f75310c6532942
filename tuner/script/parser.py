"""From words to statements; what cannot be read is named with its place, and the rest read on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, TypeVar

from lark import Lark, Token, Transformer, UnexpectedToken, v_args
from lark.lexer import Lexer
from lark.parsers.lalr_interactive_parser import InteractiveParser

from tuner.reading import packaged
from tuner.script.script import (
    Array,
    Block,
    BsdBlock,
    Call,
    Directive,
    Expression,
    Foreach,
    FunctionCall,
    Gap,
    If,
    Include,
    LegacyAction,
    LegacyFilter,
    Operation,
    Parameter,
    Quoted,
    ReloadTable,
    ScriptNumber,
    ScriptObject,
    ScriptPosition,
    SetVariable,
    Variable,
    Word,
)
from tuner.script.tokens import (
    CALLED,
    DEEPEST,
    JoinedText,
    ReadAllowance,
    ScriptToken,
    byte,
    joined,
    tokens,
    with_characters,
)

MOST_REFUSALS = 100
# What begins something at the outermost level, so that reading can go on there.
_OBJECTS = frozenset({"BEGIN_OBJECT", "BEGIN_TEMPLATE", "BEGIN_RULESET"})
_OPENERS = _OBJECTS | {
    "IF", "FOREACH", "SET", "RESET", "UNSET", "SELECTOR", "PROPERTY_FILTER", "DIRECTIVE",
    "BSD_BLOCK", "BEGIN_ACTION", "BEGIN_INCLUDE", "CALL", "CALL_INDIRECT",
}  # fmt: skip


def parse(
    text: str, file: str, allowance: ReadAllowance | None = None
) -> tuple[Block, tuple[Gap, ...]]:
    """The statements of a configuration, and all that cannot be read of it; the allowance is that
    of all its files together."""
    budget, refused = allowance or ReadAllowance(), list[Gap]()
    budget.lines -= text.count("\n")
    if budget.lines < 0:
        too_long = f"more than {ReadAllowance().lines:,} lines: this file is not read"
        return (), (Gap(ScriptPosition(file, 1, 1), too_long),)
    source = joined(text, file)
    words = _with_directives_inside(tokens(source, refused, budget, MOST_REFUSALS))
    block = _statements(words, source, refused)
    refused.sort(key=lambda gap: gap.origin)
    return block, tuple(refused[:MOST_REFUSALS])


def _with_directives_inside(words: Iterable[ScriptToken]) -> list[ScriptToken]:
    """`&` before the directives that stand between it and the action before: rsyslogd carries out
    directives while it reads words, wherever they stand."""
    made: list[ScriptToken] = []
    waiting: list[ScriptToken] = []
    for word in words:
        if word.kind == "DIRECTIVE":
            waiting.append(word)
            continue
        if word.kind != "_AND_ALSO":
            made += waiting
            waiting = []
        made.append(word)
    return made + waiting


def _statements(words: Sequence[ScriptToken], source: JoinedText, refused: list[Gap]) -> Block:
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
            refusal = Gap(words[begin].origin, message)
        refused.append(refusal)
        if begin > start:
            part, wrong = _parsed(words[start:begin], source)
            block += part if wrong is None else ()
        start = _next_item(words, begin, start + number)
    return block


def _parsed(
    words: Sequence[ScriptToken], source: JoinedText
) -> tuple[Block, tuple[int, Gap] | None]:
    """The statements of all the words; or the number of the first that does not fit, and why."""
    parser = _grammar().parse_interactive()
    end = source.origin(len(source.text))
    for number, word in enumerate([*words, ScriptToken("$END", "", end)]):
        token = Token(word.kind, word)
        try:
            result = parser.feed_token(token)
        except UnexpectedToken:
            return (), (number, _why(word, _accepted(parser)))
        except _TooDeep as bad:
            return (), (number, Gap(bad.origin, str(bad)))
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


def _why(word: ScriptToken, accepted: set[str]) -> Gap:
    named = sorted({CALLED.get(kind, "") for kind in accepted})
    expected = f": expected {' or '.join(named)}" if all(named) and len(named) <= 4 else ""
    if word.kind in _OBJECTS:
        name = word.text.split("(")[0].strip()
        return Gap(word.origin, f"{name}() cannot stand here{expected}")
    text = word.text if len(word.text) <= 40 else f"{word.text[:40]}..."
    shown = "this text" if word.kind in _MAY_BE_SECRET else text
    return Gap(word.origin, f"{shown} does not fit here{expected}")


# What is in quotes, or in an object where quotes are missing, or in a line of the old form.
_MAY_BE_SECRET = frozenset({"STRING", "NAME", "LEGACY_ACTION", "DIRECTIVE", "PROPERTY_FILTER"})


class _NoLexer(Lexer):
    """The words are given to the parser one by one."""

    def __init__(self, _configuration: object) -> None:
        pass

    def lex(self, *_: object) -> None:  # type: ignore[override]
        """Never called."""


@cache
def _grammar() -> Lark:
    text = packaged("script/grammar.lark")
    return Lark(text, parser="lalr", lexer=_NoLexer, start="configuration", transformer=_Builder())


_Parameters = tuple[Parameter, ...]
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{2,3}|[0-7].?|.)", re.DOTALL)
_OCTAL = re.compile("[0-7]{2,3}")
_ESCAPED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9}
# What stands between any number of operands.
_REPEATED = frozenset({"and", "or", "&", "+"})
_Deep = TypeVar("_Deep", Operation, FunctionCall)


class _TooDeep(Exception):
    """An expression that nobody wrote by hand."""

    def __init__(self, origin: ScriptPosition) -> None:
        super().__init__(f"an expression nested more than {DEEPEST} levels deep")
        self.origin = origin


@v_args(inline=True)
class _Builder(Transformer[Token, Block]):
    """One method for each rule of the grammar, from the inside out; a statement is a block of one
    or, for `action & action`, of several."""

    def configuration(self, *blocks: Block) -> Block:
        return tuple(chain(*blocks))

    braces = actions = one_statement = configuration

    def plain_object(self, word: Token, parameters: _Parameters) -> tuple[ScriptObject, ...]:
        return (_object(word, parameters),)

    def list_template(
        self, word: Token, parameters: _Parameters, *parts: tuple[ScriptObject, ...]
    ) -> Block:
        return (replace(_object(word, parameters), parts=tuple(chain(*parts))),)

    def ruleset(self, word: Token, parameters: _Parameters, *body: Block) -> Block:
        return (replace(_object(word, parameters), body=tuple(chain(*body))),)

    def bsd_block(self, word: Token) -> Block:
        return (BsdBlock(word.value.text.strip(), word.value.origin),)

    def parameters(self, *parameters: Parameter) -> _Parameters:
        return parameters

    def parameter(self, name: Token, value: Quoted | Array) -> Parameter:
        return Parameter(name.value.text, value, name.value.origin)

    def string(self, word: Token) -> Quoted:
        text = word.value.text
        return Quoted(unescaped(text[1:-1]), word.value.origin, text[0] == "`")

    def array(self, *words: Token) -> Array:
        return Array(tuple(map(self.string, words)), words[0].value.origin)

    def if_then(
        self, word: Token, condition: Expression, then: Block, otherwise: Block = ()
    ) -> Block:
        return (If(condition, then, otherwise, word.value.origin),)

    def foreach(self, word: Token, variable: Token, values: Expression, body: Block) -> Block:
        return (Foreach(variable.value.text, values, body, word.value.origin),)

    def set_variable(self, verb: Token, variable: Token, value: Expression | None = None) -> Block:
        name = variable.value.text
        return (SetVariable(verb.value.text.lower(), name, value, verb.value.origin),)

    def legacy_filter(self, word: Token, body: Block) -> Block:
        return (LegacyFilter(word.value.text, body, word.value.origin),)

    def reload(self, word: Token, *arguments: Expression) -> Block:
        return (ReloadTable(arguments, word.value.origin),)

    def include(self, word: Token, parameters: _Parameters) -> Block:
        return (Include(parameters, word.value.origin),)

    def directive(self, word: Token) -> Block:
        origin = word.value.origin
        name, _, text = word.value.text[1:].replace("\t", " ").partition(" ")
        if name.lower() == "includeconfig":
            file = Parameter.of("file", text.strip().split(" ")[0], origin)
            return (Include((file,), origin),)
        return (Directive(name, text.strip(), origin),)

    def legacy_action(self, word: Token) -> Block:
        return (LegacyAction(word.value.text.strip(), word.value.origin),)

    def word(self, word: Token) -> Block:
        return (Word(word.value.text.lower(), word.value.origin),)

    def call(self, word: Token, ruleset: Token) -> Block:
        return (Call(ruleset.value.text, word.value.origin),)

    def call_indirect(self, word: Token, ruleset: Expression) -> Block:
        return (Call(ruleset, word.value.origin),)

    def operation(self, left: Expression, word: Token, right: Expression) -> Expression:
        return _shallow(Operation, word.value.text.lower(), (left, right), left.origin)

    def operations(self, first: Expression, *pairs: Any) -> Expression:
        """Operands from left to right, an operator before each but the first; one that is repeated
        has any number of them."""
        operands, operator = [first], ""
        for word, right in zip(pairs[::2], pairs[1::2], strict=True):
            before, operator = operator, word.value.text.lower()
            if not before and isinstance(first, Operation) and first.operator == operator:
                operands = [*first.operands] if operator in _REPEATED else operands
            elif before and not before == operator in _REPEATED:
                operands = [_shallow(Operation, before, tuple(operands), first.origin)]
            operands.append(right)
        return _shallow(Operation, operator, tuple(operands), first.origin)

    def prefixed(self, word: Token, operand: Expression) -> Expression:
        return _shallow(Operation, word.value.text.lower(), (operand,), word.value.origin)

    def number(self, word: Token) -> ScriptNumber:
        text = word.value.text.lower()
        base = 16 if text.startswith("0x") else 8 if text.startswith("0") else 10
        return ScriptNumber(int(text, base), word.value.origin)

    def variable(self, word: Token) -> Variable:
        return Variable(word.value.text, word.value.origin)

    def parentheses(self, inner: Expression) -> Expression:
        return inner

    def function(self, word: Token, *arguments: Expression) -> Expression:
        return _shallow(FunctionCall, word.value.text, arguments, word.value.origin)


def _object(word: Token, parameters: _Parameters) -> ScriptObject:
    kind = word.value.text.split("(")[0].strip().lower()
    return ScriptObject(kind, parameters, word.value.origin)


def _shallow(
    kind: type[_Deep], word: str, operands: tuple[Expression, ...], at: ScriptPosition
) -> _Deep:
    """An expression, unless it is nested so deep that nobody wrote it by hand."""
    inner = (operand.depth for operand in operands if isinstance(operand, Operation | FunctionCall))
    depth = 1 + max(inner, default=0)
    if depth > DEEPEST:
        raise _TooDeep(at)
    return kind(word, operands, at, depth)


def unescaped(text: str) -> str:
    """A text with its escapes as rsyslogd reads them; one that stands for NUL ends it (seen with
    8.2302)."""
    return with_characters(_ESCAPE.sub(_character, text)).partition("\0")[0]


def _character(match: re.Match[str]) -> str:
    word = match[1]
    if word[0] == "x" and len(word) == 3:
        return byte(int(word[1:], 16))
    if _OCTAL.fullmatch(word):
        return byte(int(word, 8) % 256)
    if word[0] in "01234567":
        # doUnescape() of rainerscript.c takes what stands behind one digit for the next.
        return byte((8 * int(word[0]) + ord(word[1:] or "\0") - ord("0")) % 256)
    return chr(_ESCAPED[word]) if word in _ESCAPED else word
