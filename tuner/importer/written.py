"""What is written: statements as RainerScript, and a profile as commented YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tuner.profile.edit.splice import flow
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.quoting import literal, quote
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
    Statement,
    Variable,
    Word,
)

Comments = dict[tuple[str | int, ...], ScriptPosition]
"""Where a section of a profile comes from."""


@dataclass(frozen=True)
class Imported:
    """A profile as plain data, where its sections come from, what is missing and what differs."""

    data: dict[str, object]
    comments: Comments
    missing: tuple[Gap, ...]
    changed: tuple[Gap, ...]
    kept: tuple[Gap, ...] = ()
    snippets: Mapping[str, str] = field(default_factory=dict)


def printed(block: Block) -> str:
    """The text of a configuration, which says the same."""
    return "".join(f"{line}\n" for line in _lines(block))


def _lines(block: Block) -> Iterator[str]:
    for statement in block:
        yield from _statement(statement)


def _indented(block: Block) -> Iterator[str]:
    return (f"    {line}" for line in _lines(block))


def _statement(statement: Statement) -> Iterator[str]:
    match statement:
        case ScriptObject():
            yield from _object(statement)
        case Include():
            for file in statement.files:
                yield from _lines(file)
        case If():
            yield f"if {expression(statement.condition)} then {{"
            yield from _indented(statement.then or _NOTHING)
            if statement.otherwise:
                yield "} else {"
                yield from _indented(statement.otherwise)
            yield "}"
        case SelectorFilter() | PropertyFilter():
            yield f"{statement.text} {{"
            yield from _indented(statement.body or _NOTHING)
            yield "}"
        case Foreach():
            yield f"foreach ({statement.variable} in {expression(statement.values)}) do {{"
            yield from _indented(statement.body or _NOTHING)
            yield "}"
        case _:
            yield _plain(statement)


def _plain(statement: Statement) -> str:
    """A statement on a line of its own."""
    match statement:
        case SetVariable(value=None):
            text = f"{statement.verb} {statement.variable};"
        case SetVariable(value=value):
            text = f"{statement.verb} {statement.variable} = {expression(value)};"
        case Call(target=target):
            text = f"call {target}"
            if not isinstance(target, str):
                text = f"call_indirect {expression(target)};"
        case ReloadTable():
            text = f"reload_lookup_table({', '.join(map(expression, statement.arguments))})"
        case Word(word=word):
            text = word
        case LegacyAction() | BsdBlock():
            text = statement.text
        case Directive():
            text = f"${statement.name} {statement.text}".rstrip()
        case _:
            raise TypeError(f"{type(statement).__name__} is printed elsewhere")
    return text


def _object(one: ScriptObject) -> Iterator[str]:
    head = f"{one.kind}({' '.join(map(_parameter, one.parameters))})"
    if one.body is None and not one.parts:
        yield head
        return
    yield f"{head} {{"
    yield from _indented(one.parts or one.body or ())
    yield "}"


def _parameter(one: Parameter) -> str:
    if isinstance(one.value, Array):
        return f"{one.name}=[{', '.join(_text(item) for item in one.value.items)}]"
    return f"{one.name}={_text(one.value)}"


def _text(quoted: Quoted) -> str:
    if quoted.backtick:
        return f"`{quoted.text}`"
    return quote(quoted.text)


def expression(one: Expression | None) -> str:
    """An expression, with parentheses around every part that is one itself."""
    text = ""
    match one:
        case Quoted(backtick=True):
            text = _text(one)
        case Quoted():
            text = literal(one.text)
        case ScriptNumber(number=number):
            text = str(number)
        case Variable(name=name):
            text = name
        case Array(items=items):
            text = f"[{', '.join(expression(item) for item in items)}]"
        case FunctionCall(name=name, operands=operands):
            text = f"{name}({', '.join(map(expression, operands))})"
        case Operation(operator=operator, operands=(only,)):
            text = f"{operator} {_inner(only)}"
        case Operation(operator=operator, operands=operands):
            text = f" {operator} ".join(map(_inner, operands))
        case None:
            pass
    return text


def _inner(one: Expression) -> str:
    return f"({expression(one)})" if isinstance(one, Operation) else expression(one)


# rsyslogd refuses an empty block; this statement does nothing.
_NOTHING: Block = (Word("continue", ScriptPosition("", 1, 1)),)


_MODELINE = "# yaml-language-server: $schema=profile.schema.json"
_WIDEST = 96


def profile_text(imported: Imported, files: Sequence[str]) -> str:
    """The text of the profile."""
    lines = [_MODELINE, "#", f"# Imported by rsyslog-tune from {_printable(', '.join(files))}."]
    for key, value in imported.data.items():
        lines += ["", *_section(key, value, imported.comments)]
    lines += _listed("Not in this profile:", imported.missing)
    lines += _listed("Kept as RainerScript, in the snippets:", imported.kept)
    lines += _listed("Done another way:", imported.changed)
    return "\n".join(lines) + "\n"


def _listed(title: str, gaps: Sequence[Gap]) -> list[str]:
    if not gaps:
        return []
    return ["", f"# {title}", *(f"#   {_printable(str(one))}" for one in gaps)]


def _section(key: str, value: object, comments: Comments) -> Iterator[str]:
    if (key,) in comments:
        yield _comment(comments, (key,))
    if not isinstance(value, list) or not _holds_sections(value):
        yield from _entry(key, value, "")
        return
    yield f"{key}:"
    for number, item in enumerate(value):
        if (key, number) in comments:
            yield f"  {_comment(comments, (key, number))}"
        yield from _item(item, "  ")


def _comment(comments: Comments, path: tuple[str | int, ...]) -> str:
    origin = comments[path]
    return f"# {_printable(origin.file)}:{origin.line}"


def _item(item: object, indent: str) -> Iterator[str]:
    """An item of a list: on one line where it fits."""
    short = f"{indent}- {flow(item)}"
    inner = item.values() if isinstance(item, Mapping) else ()
    is_deep = any(isinstance(value, Mapping | list) for value in inner)
    if not isinstance(item, Mapping) or (len(short) <= _WIDEST and not is_deep):
        yield short
        return
    for number, (key, value) in enumerate(item.items()):
        lines = list(_entry(key, value, f"{indent}  "))
        if number == 0:
            lines[0] = f"{indent}- {lines[0].lstrip()}"
        yield from lines


def _entry(key: str, value: object, indent: str) -> Iterator[str]:
    short = f"{indent}{flow(key)}: {flow(value)}"
    if (
        not isinstance(value, Mapping | list)
        or not value
        or (len(short) <= _WIDEST and not _holds_sections(value))
    ):
        yield short
    else:
        yield f"{indent}{flow(key)}:"
        if isinstance(value, Mapping):
            for inner, one in value.items():
                yield from _entry(inner, one, f"{indent}  ")
        else:
            for one in value:
                yield from _item(one, f"{indent}  ")


def _holds_sections(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(one, Mapping) for one in value)


def _printable(text: str) -> str:
    """A comment ends with its line, and YAML takes printable characters only."""
    return "".join(one if one.isprintable() else "?" for one in text)
