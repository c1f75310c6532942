"""Parses tokens into statements.  An error is reported with its position, and parsing goes on with
the next statement."""

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
    DEEPEST,
    TOKEN_NAMES,
    JoinedText,
    ReadAllowance,
    ScriptToken,
    byte,
    joined,
    tokenize,
    with_characters,
)

MOST_REFUSALS = 100
# Tokens that begin a statement at the top level, where parsing can go on after an error.
_OBJECTS = frozenset({"BEGIN_OBJECT", "BEGIN_TEMPLATE", "BEGIN_RULESET"})
_OPENERS = _OBJECTS | {
    "IF", "FOREACH", "SET", "RESET", "UNSET", "SELECTOR", "PROPERTY_FILTER", "DIRECTIVE",
    "BSD_BLOCK", "BEGIN_ACTION", "BEGIN_INCLUDE", "CALL", "CALL_INDIRECT",
}  # fmt: skip


def parse(
    text: str, file: str, allowance: ReadAllowance | None = None
) -> tuple[Block, tuple[Gap, ...]]:
    """The statements of a file, and what cannot be parsed in it.  All files of a configuration
    share one allowance."""
    budget, refused = allowance or ReadAllowance(), list[Gap]()
    budget.lines -= text.count("\n")
    if budget.lines < 0:
        too_long = f"more than {ReadAllowance().lines:,} lines: this file is not read"
        return (), (Gap(ScriptPosition(file, 1, 1), too_long),)
    source = joined(text, file)
    tokens = _with_directives_inside(tokenize(source, refused, budget, MOST_REFUSALS))
    block = _statements(tokens, source, refused)
    refused.sort(key=lambda gap: gap.origin)
    return block, tuple(refused[:MOST_REFUSALS])


def _with_directives_inside(tokens: Iterable[ScriptToken]) -> list[ScriptToken]:
    """The tokens, with directives that are before a `&` moved behind it, where they parse: rsyslogd
    carries out directives while it reads them, wherever they are."""
    ordered: list[ScriptToken] = []
    directives: list[ScriptToken] = []
    for token in tokens:
        if token.kind == "DIRECTIVE":
            directives.append(token)
            continue
        if token.kind != "_AND_ALSO":
            ordered += directives
            directives = []
        ordered.append(token)
    return ordered + directives


def _statements(tokens: Sequence[ScriptToken], source: JoinedText, refused: list[Gap]) -> Block:
    """Parse all tokens, each section between two errors separately."""
    block: Block = ()
    start = 0
    while start < len(tokens) and len(refused) < MOST_REFUSALS:
        part, error = _parsed(tokens[start:], source)
        if error is None:
            return block + part
        number, refusal = error
        begin = _item_start(tokens, start, start + number)
        if start + number == len(tokens):
            line = tokens[begin].origin.line
            message = f"the statement that begins in line {line} never ends"
            refusal = Gap(tokens[begin].origin, message)
        refused.append(refusal)
        if begin > start:
            part, error = _parsed(tokens[start:begin], source)
            block += part if error is None else ()
        start = _next_item(tokens, begin, start + number)
    return block


def _parsed(
    tokens: Sequence[ScriptToken], source: JoinedText
) -> tuple[Block, tuple[int, Gap] | None]:
    """The statements of all tokens; or the number of the first token that does not fit, and why."""
    parser = _grammar().parse_interactive()
    end = source.origin(len(source.text))
    for number, token in enumerate([*tokens, ScriptToken("$END", "", end)]):
        try:
            result = parser.feed_token(Token(token.kind, token))
        except UnexpectedToken:
            return (), (number, _why(token, _accepted(parser)))
        except _TooDeep as bad:
            return (), (number, Gap(bad.origin, str(bad)))
    return result, None


def _item_start(tokens: Sequence[ScriptToken], start: int, wrong: int) -> int:
    """The number of the token that begins the top-level statement with the wrong token."""
    depth, item = 0, start
    for number in range(start, min(wrong + 1, len(tokens))):
        kind = tokens[number].kind
        if kind in _OBJECTS or (depth == 0 and kind in _OPENERS and not _continues(tokens, number)):
            depth, item = 0, number
        depth = max(0, depth + (kind == "_LBRACE") - (kind == "_RBRACE"))
    return item


def _continues(tokens: Sequence[ScriptToken], number: int) -> bool:
    """Whether the token with that number continues the statement before it."""
    before = tokens[number - 1].kind if number else ""
    return before in {"_ELSE", "_THEN", "_DO", "_AND_ALSO", "SELECTOR", "PROPERTY_FILTER"}


def _next_item(tokens: Sequence[ScriptToken], begin: int, wrong: int) -> int:
    """The number of the token that begins the next top-level statement, at or after the wrong token
    of the statement that begins at `begin`; nested statements are skipped."""
    depth = 0
    for number in range(begin, len(tokens)):
        kind = tokens[number].kind
        if number >= wrong and number > begin:
            begins_line = tokens[number].origin.line > tokens[number - 1].origin.line
            if kind in _OBJECTS or (depth == 0 and kind in _OPENERS and begins_line):
                return number
        depth = max(0, depth + (kind == "_LBRACE") - (kind == "_RBRACE"))
    return len(tokens)


def _accepted(parser: InteractiveParser) -> set[str]:
    accepted: set[str] = parser.accepts()  # type: ignore[no-untyped-call]
    return accepted


def _why(token: ScriptToken, accepted: set[str]) -> Gap:
    names = sorted({TOKEN_NAMES.get(kind, "") for kind in accepted})
    expected = f": expected {' or '.join(names)}" if all(names) and len(names) <= 4 else ""
    if token.kind in _OBJECTS:
        name = token.text.split("(")[0].strip()
        return Gap(token.origin, f"{name}() cannot stand here{expected}")
    text = token.text if len(token.text) <= 40 else f"{token.text[:40]}..."
    shown = "this text" if token.kind in _MAY_BE_SECRET else text
    return Gap(token.origin, f"{shown} does not fit here{expected}")


# Strings, words in an object where quotes may be missing, and lines of the legacy format.
_MAY_BE_SECRET = frozenset({"STRING", "NAME", "LEGACY_ACTION", "DIRECTIVE", "PROPERTY_FILTER"})


class _NoLexer(Lexer):
    """Satisfies Lark, which needs a lexer; the tokens are fed to the parser one by one."""

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
# Operators that join any number of operands in one Operation.
_REPEATED = frozenset({"and", "or", "&", "+"})
_Deep = TypeVar("_Deep", Operation, FunctionCall)


class _TooDeep(Exception):
    """An expression is nested too deeply."""

    def __init__(self, origin: ScriptPosition) -> None:
        super().__init__(f"an expression nested more than {DEEPEST} levels deep")
        self.origin = origin


@v_args(inline=True)
class _Builder(Transformer[Token, Block]):
    """Builds statements: one method for each rule of the grammar, called from the inside out.

    Each statement is a block, because `action & action` gives several.
    """

    def configuration(self, *blocks: Block) -> Block:
        return tuple(chain(*blocks))

    braces = actions = one_statement = configuration

    def plain_object(self, token: Token, parameters: _Parameters) -> tuple[ScriptObject, ...]:
        return (_object(token, parameters),)

    def list_template(
        self, token: Token, parameters: _Parameters, *parts: tuple[ScriptObject, ...]
    ) -> Block:
        return (replace(_object(token, parameters), parts=tuple(chain(*parts))),)

    def ruleset(self, token: Token, parameters: _Parameters, *body: Block) -> Block:
        return (replace(_object(token, parameters), body=tuple(chain(*body))),)

    def bsd_block(self, token: Token) -> Block:
        return (BsdBlock(token.value.text.strip(), token.value.origin),)

    def parameters(self, *parameters: Parameter) -> _Parameters:
        return parameters

    def parameter(self, name: Token, value: Quoted | Array) -> Parameter:
        return Parameter(name.value.text, value, name.value.origin)

    def string(self, token: Token) -> Quoted:
        text = token.value.text
        return Quoted(unescaped(text[1:-1]), token.value.origin, text[0] == "`")

    def array(self, *tokens: Token) -> Array:
        return Array(tuple(map(self.string, tokens)), tokens[0].value.origin)

    def if_then(
        self, token: Token, condition: Expression, then: Block, otherwise: Block = ()
    ) -> Block:
        return (If(condition, then, otherwise, token.value.origin),)

    def foreach(self, token: Token, variable: Token, values: Expression, body: Block) -> Block:
        return (Foreach(variable.value.text, values, body, token.value.origin),)

    def set_variable(self, verb: Token, variable: Token, value: Expression | None = None) -> Block:
        name = variable.value.text
        return (SetVariable(verb.value.text.lower(), name, value, verb.value.origin),)

    def legacy_filter(self, token: Token, body: Block) -> Block:
        return (LegacyFilter(token.value.text, body, token.value.origin),)

    def reload(self, token: Token, *arguments: Expression) -> Block:
        return (ReloadTable(arguments, token.value.origin),)

    def include(self, token: Token, parameters: _Parameters) -> Block:
        return (Include(parameters, token.value.origin),)

    def directive(self, token: Token) -> Block:
        origin = token.value.origin
        name, _, text = token.value.text[1:].replace("\t", " ").partition(" ")
        if name.lower() == "includeconfig":
            file = Parameter.of("file", text.strip().split(" ")[0], origin)
            return (Include((file,), origin),)
        return (Directive(name, text.strip(), origin),)

    def legacy_action(self, token: Token) -> Block:
        return (LegacyAction(token.value.text.strip(), token.value.origin),)

    def word(self, token: Token) -> Block:
        return (Word(token.value.text.lower(), token.value.origin),)

    def call(self, token: Token, ruleset: Token) -> Block:
        return (Call(ruleset.value.text, token.value.origin),)

    def call_indirect(self, token: Token, ruleset: Expression) -> Block:
        return (Call(ruleset, token.value.origin),)

    def operation(self, left: Expression, token: Token, right: Expression) -> Expression:
        return _shallow(Operation, token.value.text.lower(), (left, right), left.origin)

    def operations(self, first: Expression, *pairs: Any) -> Expression:
        """Operands with operators between them, from left to right; a repeated operator makes one
        operation with many operands."""
        operands, operator = [first], ""
        for token, right in zip(pairs[::2], pairs[1::2], strict=True):
            before, operator = operator, token.value.text.lower()
            if not before and isinstance(first, Operation) and first.operator == operator:
                operands = [*first.operands] if operator in _REPEATED else operands
            elif before and not before == operator in _REPEATED:
                operands = [_shallow(Operation, before, tuple(operands), first.origin)]
            operands.append(right)
        return _shallow(Operation, operator, tuple(operands), first.origin)

    def prefixed(self, token: Token, operand: Expression) -> Expression:
        return _shallow(Operation, token.value.text.lower(), (operand,), token.value.origin)

    def number(self, token: Token) -> ScriptNumber:
        text = token.value.text.lower()
        base = 16 if text.startswith("0x") else 8 if text.startswith("0") else 10
        return ScriptNumber(int(text, base), token.value.origin)

    def variable(self, token: Token) -> Variable:
        return Variable(token.value.text, token.value.origin)

    def parentheses(self, inner: Expression) -> Expression:
        return inner

    def function(self, token: Token, *arguments: Expression) -> Expression:
        return _shallow(FunctionCall, token.value.text, arguments, token.value.origin)


def _object(token: Token, parameters: _Parameters) -> ScriptObject:
    kind = token.value.text.split("(")[0].strip().lower()
    return ScriptObject(kind, parameters, token.value.origin)


def _shallow(
    kind: type[_Deep], word: str, operands: tuple[Expression, ...], at: ScriptPosition
) -> _Deep:
    """A new expression; raises _TooDeep if it is nested more than DEEPEST levels deep."""
    inner = (operand.depth for operand in operands if isinstance(operand, Operation | FunctionCall))
    depth = 1 + max(inner, default=0)
    if depth > DEEPEST:
        raise _TooDeep(at)
    return kind(word, operands, at, depth)


def unescaped(text: str) -> str:
    """A text with its escapes resolved as rsyslogd does it; an escaped NUL ends the text (seen on
    8.2302)."""
    return with_characters(_ESCAPE.sub(_character, text)).partition("\0")[0]


def _character(match: re.Match[str]) -> str:
    word = match[1]
    if word[0] == "x" and len(word) == 3:
        return byte(int(word[1:], 16))
    if _OCTAL.fullmatch(word):
        return byte(int(word, 8) % 256)
    if word[0] in "01234567":
        # doUnescape() of rainerscript.c takes any character after a single digit for a digit.
        return byte((8 * int(word[0]) + ord(word[1:] or "\0") - ord("0")) % 256)
    return chr(_ESCAPED[word]) if word in _ESCAPED else word
