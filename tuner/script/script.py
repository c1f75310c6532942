"""The statements and expressions of an rsyslog configuration, each with its position."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

ON = frozenset({"on", "yes", "true", "1"})
OFF = frozenset({"off", "no", "false", "0"})
QUEUE = "queue."
"""The prefix of queue parameters."""
DEFAULT = ""
"""The key of the default ruleset, which has all statements outside of other rulesets, and of the
main queue's thread."""


@dataclass(frozen=True, order=True)
class ScriptPosition:
    """A position in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


HERE = ScriptPosition("", 1, 1)
"""The position of statements that this tool makes, which are in no file."""


@dataclass(frozen=True)
class Quoted:
    """A string with escapes resolved; if `backtick`, a command for rsyslogd such as `cat FILE`."""

    text: str
    origin: ScriptPosition = field(compare=False)
    backtick: bool = False


@dataclass(frozen=True)
class ScriptNumber:
    """An integer in an expression."""

    number: int
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Variable:
    """A property or variable, spelled as in the file: `$msg`, `$!user!name`, `$.level`."""

    name: str
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class Array:
    """A list of strings in brackets."""

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
    """An operator with its operands: one, two, or more if the operator is repeated."""

    operator: str
    operands: tuple[Expression, ...]
    origin: ScriptPosition = field(compare=False)
    depth: int = field(default=1, compare=False)


Expression = Quoted | ScriptNumber | Variable | Array | FunctionCall | Operation
Value = Quoted | Array


@dataclass(frozen=True)
class Parameter:
    """`name="value"` of an object; names are not case-sensitive."""

    name: str
    value: Value
    origin: ScriptPosition = field(compare=False)

    @classmethod
    def of(cls, name: str, text: str, origin: ScriptPosition) -> Parameter:
        """A parameter whose value is a string, at one position."""
        return cls(name, Quoted(text, origin), origin)

    @property
    def key(self) -> str:
        """The name in lower case."""
        return self.name.lower()

    @property
    def text(self) -> str | None:
        """The value if it is a single string; None for a list, and for backticks, which only
        rsyslogd reads."""
        return self.texts[0] if isinstance(self.value, Quoted) and self.texts else None

    @property
    def items(self) -> tuple[Quoted, ...]:
        """The value as a list; a single string is a list of one."""
        return (self.value,) if isinstance(self.value, Quoted) else self.value.items

    @property
    def texts(self) -> tuple[str, ...]:
        """The strings of the value, without those in backticks, which are not known."""
        return tuple(item.text for item in self.items if not item.backtick)

    @property
    def is_on(self) -> bool:
        """Whether the value is one of rsyslog's words for true."""
        return (self.text or "").lower() in ON


@dataclass(frozen=True)
class ScriptObject:
    """An object such as `action(...)`, `module(...)` or `property(...)`.

    A list template has `parts`, a ruleset has a `body`; without braces `body` is None.
    """

    kind: str
    parameters: tuple[Parameter, ...]
    origin: ScriptPosition = field(compare=False)
    parts: tuple[ScriptObject, ...] = ()
    body: Block | None = None

    @classmethod
    def of(
        cls, kind: str, values: Mapping[str, object], origin: ScriptPosition = HERE
    ) -> ScriptObject:
        """An object with these parameters, see `with_values`."""
        return cls(kind, (), origin).with_values(values)

    @property
    def name(self) -> str:
        """The name parameter, "" if there is none."""
        return self.text("name") or ""

    @property
    def key(self) -> str:
        """The name in lower case, as rsyslog compares names."""
        return self.name.lower()

    @property
    def type(self) -> str:
        """The module of an input or action in lower case, "" if there is none."""
        return (self.text("type") or "").lower()

    @property
    def queue(self) -> tuple[Parameter, ...]:
        """The queue parameters."""
        return tuple(parameter for parameter in self.parameters if parameter.key.startswith(QUEUE))

    def get(self, name: str) -> Parameter | None:
        """The parameter of that name, the last one if there are several, as in rsyslog."""
        parameters = [parameter for parameter in self.parameters if parameter.key == name.lower()]
        return parameters[-1] if parameters else None

    def text(self, name: str) -> str | None:
        """The text of a parameter, None if it is not set or has no known text."""
        parameter = self.get(name)
        return None if parameter is None else parameter.text

    def is_on(self, name: str) -> bool:
        """Whether a parameter is set, and on."""
        parameter = self.get(name)
        return parameter is not None and parameter.is_on

    def without(self, names: Container[str]) -> ScriptObject:
        """The object without the parameters of these names, given in lower case."""
        return replace(self, parameters=tuple(p for p in self.parameters if p.key not in names))

    def without_beginning(self, prefixes: str | tuple[str, ...]) -> ScriptObject:
        """The object without the parameters with these prefixes, given in lower case."""
        parameters = (p for p in self.parameters if not p.key.startswith(prefixes))
        return replace(self, parameters=tuple(parameters))

    def with_values(self, values: Mapping[str, object]) -> ScriptObject:
        """The object with these parameters set: strings, numbers, booleans, and lists."""
        others = self.without({name.lower() for name in values})
        new = (Parameter(name, self._value(value), self.origin) for name, value in values.items())
        return replace(others, parameters=(*others.parameters, *new))

    def _value(self, value: object) -> Value:
        if isinstance(value, list):
            return Array(tuple(Quoted(str(item), self.origin) for item in value), self.origin)
        text = ("off", "on")[value] if isinstance(value, bool) else str(value)
        return Quoted(text, self.origin)


@dataclass(frozen=True)
class Include:
    """`include(...)` or `$IncludeConfig`; `files` are the statements of the included files."""

    parameters: tuple[Parameter, ...]
    origin: ScriptPosition = field(compare=False)
    files: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Directive:
    """A directive of the legacy format (before version 6): `$Name text`."""

    name: str
    text: str
    origin: ScriptPosition = field(compare=False)

    @property
    def key(self) -> str:
        """The name in lower case, without its `$`."""
        return self.name.lower()


@dataclass(frozen=True)
class LegacyAction:
    """An action of the legacy format: `/var/log/messages`, `@@host:514;template`, `~`."""

    text: str
    origin: ScriptPosition = field(compare=False)


@dataclass(frozen=True)
class BsdBlock:
    """`!program` or `+host`, to which all following selector lines are limited."""

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
    """`set $.x = EXPRESSION;`, also with `reset`, or `unset $.x;`, which has no value."""

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
    """The statement `stop`, or `continue`, which does nothing."""

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
    """All statements of a block, including nested ones, in the order of the text."""
    waiting = list(reversed(block))
    while waiting:
        statement = waiting.pop()
        yield statement
        for inner in reversed(inner_blocks(statement)):
            waiting.extend(reversed(inner))


def objects_in(block: Block, kind: str | None = None) -> Iterator[ScriptObject]:
    """All objects in a block, including nested ones, or those of one kind, in the order of the
    text."""
    for statement in walk(block):
        if isinstance(statement, ScriptObject) and kind in {None, statement.kind}:
            yield statement


def inner_blocks(statement: Statement) -> tuple[Block, ...]:
    """The blocks directly inside a statement."""
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
    """The expressions of a statement, without those of nested statements."""
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
    """An expression and all expressions nested in it."""
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, Operation | FunctionCall):
            waiting += part.operands
        elif isinstance(part, Array):
            waiting += part.items


def with_inner(statement: Statement, change: Callable[[Block], Block]) -> Statement:
    """The statement with `change` applied to each block directly inside it."""
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
    """The block with each statement replaced by what `change` returns for it, nested ones first."""

    def inner(block: Block) -> Block:
        return tuple(new for statement in block for new in change(with_inner(statement, inner)))

    return inner(block)


BUILT_IN = frozenset({"omfile", "omfwd", "omusrmsg", "ompipe", "omdiscard", "omshell"})
"""The output modules built into rsyslogd, which need not be loaded."""


def module_name(module: ScriptObject) -> str:
    """The name of the module that a module() object loads, without folder and suffix."""
    name = (module.text("load") or "").lower().removesuffix(".so").rpartition("/")[2]
    return name.removeprefix("builtin:")


def loading(module: str, origin: ScriptPosition) -> ScriptObject:
    """A module() object that loads a module."""
    return ScriptObject.of("module", {"load": module}, origin)


def nothing(origin: ScriptPosition) -> Statement:
    """A statement without effect, because rsyslogd refuses an empty block.

    `continue` would not do: rsyslogd 8.2302 frees an `if` that has nothing else, and a `call` of
    its ruleset then uses the freed memory.
    """
    return SetVariable("unset", "$.rsyslogtunenothing", None, origin)


ENABLED = "config.enabled"


def is_enabled(item: ScriptObject | Include) -> bool | None:
    """Whether config.enabled enables an object: only "on" does (nvlstChkDisabled() of
    grammar/rainerscript.c).  None if only rsyslogd knows the value."""
    switches = [parameter for parameter in item.parameters if parameter.key == ENABLED]
    if not switches:
        return True
    return None if switches[-1].text is None else switches[-1].text == "on"


def enabled(block: Block) -> Block:
    """The block without disabled objects."""
    return rewritten(block, _if_enabled)


def _if_enabled(statement: Statement) -> Block:
    is_off = isinstance(statement, ScriptObject) and is_enabled(statement) is False
    return () if is_off else (statement,)


@dataclass(frozen=True, order=True)
class Gap:
    """Something in a configuration that is not read or not known: its position, and why.  Bytes
    that are not UTF-8 are shown as escapes."""

    origin: ScriptPosition
    message: str

    def __post_init__(self) -> None:
        shown = self.message.encode("utf-8", "backslashreplace").decode()
        object.__setattr__(self, "message", shown)

    def __str__(self) -> str:
        return f"{self.origin}: {self.message}"


def not_loaded(block: Block) -> tuple[str, ...]:
    """The modules that inputs and actions use and no module() loads, because the file that includes
    a drop-in loads them."""
    loaded = {module_name(module) for module in objects_in(block, "module")} | BUILT_IN
    used = (item.type for item in objects_in(block) if item.kind in {"input", "action"})
    return tuple(
        dict.fromkeys(name for name in used if name.removeprefix("builtin:") not in loaded)
    )
