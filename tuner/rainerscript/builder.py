"""The statements that the rules of the grammar stand for."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, TypeVar

from lark import Token, Transformer

from tuner.rainerscript.script import (
    Array,
    Block,
    BsdBlock,
    Call,
    Directive,
    Expression,
    Foreach,
    FunctionCall,
    If,
    Include,
    LegacyAction,
    Operation,
    Parameter,
    PropertyFilter,
    Quoted,
    ReloadTable,
    ScriptNumber,
    ScriptObject,
    ScriptPosition,
    SelectorFilter,
    SetVariable,
    Variable,
    Word,
)
from tuner.rainerscript.tokens import DEEPEST

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9}
# Words and what was made of the rules inside, in the order of the rule.
_Children = list[Any]
_Deep = TypeVar("_Deep", Operation, FunctionCall)


class TooDeep(Exception):
    """An expression that nobody wrote by hand."""

    def __init__(self, origin: ScriptPosition) -> None:
        super().__init__(f"an expression nested more than {DEEPEST} levels deep")
        self.origin = origin


class _Builder(Transformer[Token, Block]):
    """One method for each rule of the grammar, from the inside out; a statement is a block of one
    or, for `action & action`, of several."""

    def configuration(self, blocks: _Children) -> Block:
        block: Block = ()
        return sum(blocks, block)

    braces = actions = configuration

    def one_statement(self, blocks: _Children) -> Block:
        return self.configuration(blocks)

    def plain_object(self, children: _Children) -> tuple[ScriptObject, ...]:
        word, parameters = children
        return (_object(word, parameters),)

    def list_template(self, children: _Children) -> Block:
        word, parameters, *parts = children
        return (replace(_object(word, parameters), parts=sum(parts, ())),)

    def ruleset(self, children: _Children) -> Block:
        word, parameters, *body = children
        return (replace(_object(word, parameters), body=sum(body, ())),)

    def bsd_block(self, children: _Children) -> Block:
        return (BsdBlock(children[0].value.text.strip(), _origin(children[0])),)

    def parameters(self, parameters: _Children) -> tuple[Parameter, ...]:
        return tuple(parameters)

    def parameter(self, children: _Children) -> Parameter:
        name, value = children
        return Parameter(name.value.text, value, _origin(name))

    def string(self, children: _Children) -> Quoted:
        word = children[0].value
        return Quoted(unescaped(word.text[1:-1]), word.origin, word.text[0] == "`")

    def array(self, children: _Children) -> Array:
        return Array(tuple(self.string([one]) for one in children), _origin(children[0]))

    def if_then(self, children: _Children) -> Block:
        word, condition, then, *otherwise = children
        return (If(condition, then, sum(otherwise, ()), _origin(word)),)

    def foreach(self, children: _Children) -> Block:
        word, variable, values, body = children
        return (Foreach(variable.value.text, values, body, _origin(word)),)

    def set_variable(self, children: _Children) -> Block:
        verb, variable, *value = children
        name = variable.value.text
        return (
            SetVariable(verb.value.text.lower(), name, value[0] if value else None, _origin(verb)),
        )

    def selector(self, children: _Children) -> Block:
        word, body = children
        return (SelectorFilter(word.value.text, body, _origin(word)),)

    def property_filter(self, children: _Children) -> Block:
        word, body = children
        return (PropertyFilter(word.value.text, body, _origin(word)),)

    def reload(self, children: _Children) -> Block:
        word, *arguments = children
        return (ReloadTable(tuple(arguments), _origin(word)),)

    def include(self, children: _Children) -> Block:
        word, parameters = children
        return (Include(parameters, _origin(word)),)

    def directive(self, children: _Children) -> Block:
        word = children[0].value
        name, _, text = word.text[1:].replace("\t", " ").partition(" ")
        if name.lower() == "includeconfig":
            pattern = Quoted(text.strip().split(" ")[0], word.origin)
            return (Include((Parameter("file", pattern, word.origin),), word.origin, legacy=True),)
        return (Directive(name, text.strip(), word.origin),)

    def legacy_action(self, children: _Children) -> Block:
        word = children[0].value
        return (LegacyAction(word.text.strip(), word.origin),)

    def word(self, children: _Children) -> Block:
        return (Word(children[0].value.text.lower(), _origin(children[0])),)

    def call(self, children: _Children) -> Block:
        return (Call(children[1].value.text, _origin(children[0])),)

    def call_indirect(self, children: _Children) -> Block:
        return (Call(children[1], _origin(children[0])),)

    def operation(self, children: _Children) -> Expression:
        left, word, right = children
        operator = word.value.text.lower()
        chain = isinstance(left, Operation) and left.operator == operator
        if chain and operator in {"and", "or", "&", "+"}:
            return Operation(operator, (*left.operands, right), left.origin, left.depth)
        return _shallow(Operation, operator, (left, right), left.origin)

    def prefixed(self, children: _Children) -> Expression:
        word, operand = children
        return _shallow(Operation, word.value.text.lower(), (operand,), _origin(word))

    def number(self, children: _Children) -> ScriptNumber:
        text = children[0].value.text.lower()
        base = 16 if text.startswith("0x") else 8 if text.startswith("0") else 10
        return ScriptNumber(int(text, base), _origin(children[0]))

    def variable(self, children: _Children) -> Variable:
        return Variable(children[0].value.text, _origin(children[0]))

    def parentheses(self, children: _Children) -> Expression:
        inner: Expression = children[0]
        return inner

    def function(self, children: _Children) -> Expression:
        word, *arguments = children
        return _shallow(FunctionCall, word.value.text, tuple(arguments), _origin(word))


def _origin(token: Token) -> ScriptPosition:
    origin: ScriptPosition = token.value.origin
    return origin


def _object(word: Token, parameters: tuple[Parameter, ...]) -> ScriptObject:
    return ScriptObject(word.value.text.split("(")[0].strip().lower(), parameters, _origin(word))


def _shallow(
    kind: type[_Deep], word: str, operands: tuple[Expression, ...], at: ScriptPosition
) -> _Deep:
    """An expression, unless it is nested so deep that nobody wrote it by hand."""
    inner = (one.depth for one in operands if isinstance(one, Operation | FunctionCall))
    depth = 1 + max(inner, default=0)
    if depth > DEEPEST:
        raise TooDeep(at)
    return kind(word, operands, at, depth)


def unescaped(text: str) -> str:
    """A text with its escapes as rsyslogd reads them."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    word = match[1]
    if word[0] == "x" and len(word) == 3:
        return chr(int(word[1:], 16))
    if word[0] in "01234567":
        return chr(int(word, 8) % 256)
    return chr(_ESCAPED[word]) if word in _ESCAPED else word


def builder() -> Transformer[Token, Block]:
    """What makes statements while the grammar finds them."""
    return _Builder()
