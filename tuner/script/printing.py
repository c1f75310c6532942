"""Prints statements as the text of a configuration."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.script import script
from tuner.script.quoting import fold, literal, quote

_NOTHING: script.Block = (script.nothing(script.HERE),)


def printed(block: script.Block) -> str:
    """The text of an equivalent configuration, in lines short enough for rsyslogd."""
    return fold("".join(f"{line}\n" for line in _lines(block)))


def _lines(block: script.Block) -> Iterator[str]:
    for statement in block:
        yield from _statement(statement)


def _indented(block: script.Block) -> Iterator[str]:
    return (f"    {line}" for line in _lines(block))


def _statement(statement: script.Statement) -> Iterator[str]:
    match statement:
        case script.ScriptObject():
            yield from _object(statement)
        case script.Include():
            for file in statement.files:
                yield from _lines(file)
        case script.If():
            yield f"if {_expression(statement.condition)} then {{"
            yield from _indented(statement.then or _NOTHING)
            if statement.otherwise:
                yield "} else {"
                yield from _indented(statement.otherwise)
            yield "}"
        case script.LegacyFilter():
            yield f"{statement.text} {{"
            yield from _indented(statement.body or _NOTHING)
            yield "}"
        case script.Foreach():
            yield f"foreach ({statement.variable} in {_expression(statement.values)}) do {{"
            yield from _indented(statement.body or _NOTHING)
            yield "}"
        case _:
            yield _plain(statement)


def _plain(statement: script.Statement) -> str:
    """A statement that fits one line and contains no other statement."""
    match statement:
        case script.SetVariable(value=None):
            text = f"{statement.verb} {statement.variable};"
        case script.SetVariable(value=value):
            text = f"{statement.verb} {statement.variable} = {_expression(value)};"
        case script.Call(target=target):
            text = f"call {target}"
            if not isinstance(target, str):
                text = f"call_indirect {_expression(target)};"
        case script.ReloadTable():
            text = f"reload_lookup_table({', '.join(map(_expression, statement.arguments))})"
        case script.Word(word=word):
            text = word
        case script.LegacyAction() | script.BsdBlock():
            text = statement.text
        case script.Directive():
            text = f"${statement.name} {statement.text}".rstrip()
        case _:
            raise TypeError(f"{type(statement).__name__} is printed elsewhere")
    return text


def _object(item: script.ScriptObject) -> Iterator[str]:
    head = f"{item.kind}({' '.join(map(_parameter, item.parameters))})"
    if item.body is None and not item.parts:
        yield head
        return
    yield f"{head} {{"
    yield from _indented(item.parts or item.body or ())
    yield "}"


def _parameter(parameter: script.Parameter) -> str:
    if isinstance(parameter.value, script.Array):
        return f"{parameter.name}=[{', '.join(_text(item) for item in parameter.value.items)}]"
    return f"{parameter.name}={_text(parameter.value)}"


def _text(quoted: script.Quoted) -> str:
    if quoted.backtick:
        return f"`{quoted.text}`"
    return quote(quoted.text)


def _expression(expression: script.Expression | None) -> str:
    """An expression, with parentheses around each operand that is an operation."""
    text = ""
    match expression:
        case script.Quoted(backtick=True):
            text = _text(expression)
        case script.Quoted():
            text = literal(expression.text)
        case script.ScriptNumber(number=number):
            text = str(number)
        case script.Variable(name=name):
            text = name
        case script.Array(items=items):
            text = f"[{', '.join(_expression(item) for item in items)}]"
        case script.FunctionCall(name=name, operands=operands):
            text = f"{name}({', '.join(map(_expression, operands))})"
        case script.Operation(operator=operator, operands=(operand,)):
            text = f"{operator} {_operand(operand)}"
        case script.Operation(operator=operator, operands=operands):
            text = f" {operator} ".join(map(_operand, operands))
        case None:
            pass
    return text


def _operand(expression: script.Expression) -> str:
    return (
        f"({_expression(expression)})"
        if isinstance(expression, script.Operation)
        else _expression(expression)
    )
