"""What a configuration of rsyslog says: its statements and expressions, each with its place; and as
text again."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

ON = frozenset({"on", "yes", "true", "1"})
OFF = frozenset({"off", "no", "false", "0"})
QUEUE = "queue."
"""How the parameters of a queue begin."""
DEFAULT = ""
"""Stands for the default ruleset, which has all statements outside of others, and for the thread of
the main queue."""


@dataclass(frozen=True, order=True)
class ScriptPosition:
    """A place in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


HERE = ScriptPosition("", 1, 1)
"""Where statements of ours stand, which no file says."""


@dataclass(frozen=True)
class Quoted:
    """A text in quotes, unescaped; a `backtick` one is a command to rsyslogd such as `cat FILE`."""

    text: str
    origin: ScriptPosition = field(compare=False)
    backtick: bool = False


@dataclass(frozen=True)
class ScriptNumber:
    """A whole number of an expression."""

    number: int
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Variable:
    """A property or variable, spelled as in the file: `$msg`, `$!user!name`, `$.level`."""

    name: str
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Array:
    """Several texts in brackets."""

    items: tuple[Quoted, ...]
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class FunctionCall:
    """A function with its arguments."""

    name: str
    operands: tuple[Expression, ...]
    origin: ScriptPosition = field(compare=False)
    depth: int = field(default=1, compare=False)


@dataclass(frozen=True)
class Operation:
    """An operator and its operands: one, two, or more where it is repeated."""

    operator: str
    operands: tuple[Expression, ...]
    origin: ScriptPosition = field(compare=False)
    depth: int = field(default=1, compare=False)


Expression = Quoted | ScriptNumber | Variable | Array | FunctionCall | Operation
Value = Quoted | Array


@dataclass(frozen=True)
class Parameter:
    """`name="value"` of an object; names of rsyslog are the same in any case."""

    name: str
    value: Value
    origin: ScriptPosition = field(compare=False)

    @classmethod
    def of(cls, name: str, text: str, origin: ScriptPosition) -> Parameter:
        """One whose value is a text in quotes."""
        return cls(name, Quoted(text, origin), origin)

    @property
    def key(self) -> str:
        """The name in lower case."""
        return self.name.lower()

    @property
    def text(self) -> str | None:
        """The value where it is one text; None for what rsyslogd reads only when it starts."""
        return self.texts[0] if isinstance(self.value, Quoted) and self.texts else None

    @property
    def items(self) -> tuple[Quoted, ...]:
        """The value as a list, which one text is too."""
        return (self.value,) if isinstance(self.value, Quoted) else self.value.items

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the value; what stands in backticks is not known."""
        return tuple(item.text for item in self.items if not item.backtick)

    @property
    def is_on(self) -> bool:
        """Whether the value is one of the words for yes."""
        return (self.text or "").lower() in ON


@dataclass(frozen=True)
class ScriptObject:
    """An object such as `action(...)`, `module(...)` or `property(...)`; a list template has
    `parts`, a ruleset a `body`, which is None where the braces are missing."""

    kind: str
    parameters: tuple[Parameter, ...]
    origin: ScriptPosition = field(compare=False)
    parts: tuple[ScriptObject, ...] = ()
    body: Block | None = None

    @classmethod
    def of(
        cls, kind: str, values: Mapping[str, object], origin: ScriptPosition = HERE
    ) -> ScriptObject:
        """One with these parameters: texts, numbers, switches and lists of them."""
        return cls(kind, (), origin).with_values(values)

    @property
    def name(self) -> str:
        """Its own name; "" without one."""
        return self.text("name") or ""

    @property
    def key(self) -> str:
        """The name in lower case, in which rsyslog compares it."""
        return self.name.lower()

    @property
    def type(self) -> str:
        """The module of an input or action in lower case; "" without one."""
        return (self.text("type") or "").lower()

    @property
    def queue(self) -> tuple[Parameter, ...]:
        """The parameters of its queue."""
        return tuple(parameter for parameter in self.parameters if parameter.key.startswith(QUEUE))

    def get(self, name: str) -> Parameter | None:
        """The parameter of that name; rsyslog takes the last one where it is written twice."""
        given = [parameter for parameter in self.parameters if parameter.key == name.lower()]
        return given[-1] if given else None

    def text(self, name: str) -> str | None:
        """The text of a parameter; None where it is not written."""
        given = self.get(name)
        return None if given is None else given.text

    def is_on(self, name: str) -> bool:
        """Whether a parameter is written, and on."""
        given = self.get(name)
        return given is not None and given.is_on

    def without(self, names: Container[str]) -> ScriptObject:
        """The object without the parameters of these names, in lower case."""
        return replace(self, parameters=tuple(p for p in self.parameters if p.key not in names))

    def without_beginning(self, words: str | tuple[str, ...]) -> ScriptObject:
        """The object without the parameters whose names begin so, in lower case."""
        parameters = (p for p in self.parameters if not p.key.startswith(words))
        return replace(self, parameters=tuple(parameters))

    def with_values(self, values: Mapping[str, object]) -> ScriptObject:
        """The object with these parameters in place of its own of the same names: texts, numbers,
        switches and lists of them."""
        others = self.without({name.lower() for name in values})
        given = (Parameter(name, self._value(value), self.origin) for name, value in values.items())
        return replace(others, parameters=(*others.parameters, *given))

    def _value(self, value: object) -> Value:
        if isinstance(value, list):
            return Array(tuple(Quoted(str(item), self.origin) for item in value), self.origin)
        text = ("off", "on")[value] if isinstance(value, bool) else str(value)
        return Quoted(text, self.origin)


@dataclass(frozen=True)
class Include:
    """`include(...)` or `$IncludeConfig`; `files` are what it brought in."""

    parameters: tuple[Parameter, ...]
    origin: ScriptPosition = field(compare=False)
    files: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Directive:
    """A line of the form before version 6: `$Name text`."""

    name: str
    text: str
    origin: ScriptPosition = field(compare=False)

    @property
    def key(self) -> str:
        """The name in lower case, without its `$`."""
        return self.name.lower()


@dataclass(frozen=True)
class LegacyAction:
    """An action of the form before version 6: `/var/log/messages`, `@@host:514;template`, `~`."""

    text: str
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class BsdBlock:
    """`!program` or `+host`, which every following selector line is limited to."""

    text: str
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class If:
    """`if CONDITION then ... else ...`."""

    condition: Expression
    then: Block
    otherwise: Block
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class LegacyFilter:
    """A selector, `facility.severity;...`, or `:property, operation, "text"` before an action."""

    text: str
    body: Block
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Foreach:
    """`foreach ($.item in EXPRESSION) do ...`."""

    variable: str
    values: Expression
    body: Block
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class SetVariable:
    """`set $.x = EXPRESSION;`, `reset` the same, and `unset $.x;` without a value."""

    verb: str
    variable: str
    value: Expression | None
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Call:
    """`call RULESET`, or `call_indirect EXPRESSION;`."""

    target: str | Expression
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Word:
    """`stop`, or `continue`, which does nothing."""

    word: str
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class ReloadTable:
    """`reload_lookup_table("name", "stub")`."""

    arguments: tuple[Expression, ...]
    origin: ScriptPosition = field(compare=False)


Statement = (
    ScriptObject
    | Include
    | Directive
    | LegacyAction
    | BsdBlock
    | If
    | LegacyFilter
    | Foreach
    | SetVariable
    | Call
    | Word
    | ReloadTable
)
Block = tuple[Statement, ...]


def walk(block: Block) -> Iterator[Statement]:
    """All statements of a block and inside of them, in the order of the text."""
    waiting = list(reversed(block))
    while waiting:
        statement = waiting.pop()
        yield statement
        for inner in reversed(inner_blocks(statement)):
            waiting.extend(reversed(inner))


def objects_in(block: Block, kind: str | None = None) -> Iterator[ScriptObject]:
    """All objects of a block and inside of it, or those of a kind, in the order of the text."""
    for statement in walk(block):
        if isinstance(statement, ScriptObject) and kind in {None, statement.kind}:
            yield statement


def inner_blocks(statement: Statement) -> tuple[Block, ...]:
    """The blocks of statements directly inside of one."""
    match statement:
        case If():
            return statement.then, statement.otherwise
        case LegacyFilter() | Foreach():
            return (statement.body,)
        case ScriptObject():
            return (statement.body or (),)
        case Include():
            return statement.files
        case _:
            return ()


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """The expressions of a statement itself."""
    match statement:
        case If():
            return (statement.condition,)
        case Foreach():
            return (statement.values,)
        case SetVariable(value=value) if value is not None:
            return (value,)
        case Call(target=target) if not isinstance(target, str):
            return (target,)
        case ReloadTable():
            return statement.arguments
        case _:
            return ()


def inside(expression: Expression) -> Iterator[Expression]:
    """An expression, and all that it consists of."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Operation | FunctionCall):
            waiting += part.operands
        elif isinstance(part, Array):
            waiting += part.items


def with_inner(statement: Statement, change: Callable[[Block], Block]) -> Statement:
    """The statement with each block directly inside of it changed."""
    match statement:
        case If():
            then, otherwise = change(statement.then), change(statement.otherwise)
            return replace(statement, then=then, otherwise=otherwise)
        case LegacyFilter() | Foreach() | ScriptObject(body=tuple()):
            return replace(statement, body=change(statement.body or ()))
        case Include():
            return replace(statement, files=tuple(map(change, statement.files)))
        case _:
            return statement


def rewritten(block: Block, change: Callable[[Statement], Iterable[Statement]]) -> Block:
    """The block with what `change` makes of each of its statements, of those inside first."""

    def inner(block: Block) -> Block:
        return tuple(made for statement in block for made in change(with_inner(statement, inner)))

    return inner(block)


BUILT_IN = frozenset({"omfile", "omfwd", "omusrmsg", "ompipe", "omdiscard", "omshell"})
"""Actions of rsyslogd itself, whose modules nobody loads."""


def module_name(module: ScriptObject) -> str:
    """The module that is loaded, without its folder."""
    name = (module.text("load") or "").lower().removesuffix(".so").rpartition("/")[2]
    return name.removeprefix("builtin:")


def loading(module: str, origin: ScriptPosition) -> ScriptObject:
    """The statement that loads a module."""
    return ScriptObject.of("module", {"load": module}, origin)


def nothing(origin: ScriptPosition) -> Statement:
    """A statement that does nothing: rsyslogd refuses an empty block.  `continue` is no such one:
    of an `if` that has nothing else 8.2302 frees the memory, and a `call` of its ruleset uses it.
    """
    return SetVariable("unset", "$.rsyslogtunenothing", None, origin)


ENABLED = "config.enabled"


def is_enabled(item: ScriptObject | Include) -> bool | None:
    """Whether rsyslogd takes an object, which any text but "on" forbids (nvlstChkDisabled() of
    grammar/rainerscript.c); None where that is known only when it starts."""
    given = [parameter for parameter in item.parameters if parameter.key == ENABLED]
    if not given:
        return True
    return None if given[-1].text is None else given[-1].text == "on"


def enabled(block: Block) -> Block:
    """The block without the objects that are switched off."""
    return rewritten(block, _if_enabled)


def _if_enabled(statement: Statement) -> Block:
    is_off = isinstance(statement, ScriptObject) and is_enabled(statement) is False
    return () if is_off else (statement,)


@dataclass(frozen=True, order=True)
class Gap:
    """One thing at one place, and why; bytes that are no UTF-8 as escapes."""

    origin: ScriptPosition
    message: str

    def __post_init__(self) -> None:
        shown = self.message.encode("utf-8", "backslashreplace").decode()
        object.__setattr__(self, "message", shown)

    def __str__(self) -> str:
        return f"{self.origin}: {self.message}"


def not_loaded(block: Block) -> tuple[str, ...]:
    """The modules that inputs and actions are of, and that nothing loads: the file that includes a
    drop-in does."""
    loaded = {module_name(module) for module in objects_in(block, "module")} | BUILT_IN
    used = (item.type for item in objects_in(block) if item.kind in {"input", "action"})
    return tuple(
        dict.fromkeys(name for name in used if name.removeprefix("builtin:") not in loaded)
    )
