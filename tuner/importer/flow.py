"""What happens to an event that enters a ruleset: its actions in order, each with the conditions
under which it is reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tuner.importer.conditions import Guard
from tuner.importer.gaps import Gaps
from tuner.importer.script import (
    Block,
    BsdBlock,
    Call,
    Directive,
    Expression,
    Foreach,
    FunctionCall,
    If,
    Operation,
    ReloadTable,
    ScriptPosition,
    SetVariable,
    Statement,
    Thing,
    Variable,
    Word,
)

_MOST_ACTIONS = 200
_DEEPEST = 20


@dataclass(frozen=True)
class Reached:
    """An action or another statement, and what must hold for an event to get there."""

    statement: Statement
    guards: tuple[Guard, ...]


@dataclass
class Walk:
    """The way of an event through rulesets; `stop` and `call` are followed.

    `identities` are the variables that hold an id of the event's own.
    """

    rulesets: Mapping[str, Thing]
    gaps: Gaps
    reached: list[Reached] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    identities: set[str] = field(default_factory=set)

    def block(self, block: Block, guards: tuple[Guard, ...]) -> tuple[Guard, ...] | None:
        """Follow a block; what then holds for an event that goes on after it beyond `guards`, None
        where none does."""
        more: tuple[Guard, ...] = ()
        for statement in block:
            after = self.statement(statement, (*guards, *more))
            if after is None:
                return None
            more += after
        return more

    def statement(
        self, statement: Statement, guards: tuple[Guard, ...]
    ) -> tuple[Guard, ...] | None:
        """Follow one statement."""
        match statement:
            case Thing(kind="action"):
                if len(self.reached) >= _MOST_ACTIONS:
                    self.gaps.miss(statement.origin, "more actions than a profile can have")
                    return ()
                self.reached.append(Reached(statement, guards))
            case If():
                return self.either(statement, guards)
            case SetVariable(value=Variable(name=name)) if name.lower() == "$uuid":
                self.identities.add(statement.variable)
            case Word(word=word):
                return None if word == "stop" else ()
            case Call(target=str(name)):
                return self.call(name, statement.origin, guards)
            case SetVariable() | Foreach() | ReloadTable():
                self.reached.append(Reached(statement, guards))
            case _:
                self.gaps.miss(statement.origin, _unknown(statement))
        return ()

    def either(self, one: If, guards: tuple[Guard, ...]) -> tuple[Guard, ...] | None:
        """Follow both branches; an event that comes for the first time was not refused yet."""
        if _is_about_refused(one.condition):
            return self.block(one.otherwise, guards)
        then = self.block(one.then, (*guards, (one.condition, True)))
        otherwise = self.block(one.otherwise, (*guards, (one.condition, False)))
        if then is None and otherwise is None:
            return None
        if then is None:
            return ((one.condition, False), *(otherwise or ()))
        if otherwise is None:
            return ((one.condition, True), *then)
        # A branch that some events leave: they are not (in the branch and not going on).
        return (
            *(_unless(one.condition, True, guard) for guard in then),
            *(_unless(one.condition, False, guard) for guard in otherwise),
        )

    def call(
        self, name: str, origin: ScriptPosition, guards: tuple[Guard, ...]
    ) -> tuple[Guard, ...] | None:
        """Follow the statements of another ruleset."""
        ruleset = self.rulesets.get(name.lower())
        if ruleset is None:
            self.gaps.miss(origin, f"there is no ruleset {name}")
            return ()
        if name.lower() in self.calls or len(self.calls) >= _DEEPEST:
            self.gaps.miss(origin, f"ruleset {name} calls itself")
            return ()
        self.calls.append(name.lower())
        self.visited.add(name.lower())
        after = self.block(ruleset.body or (), guards)
        self.calls.pop()
        if any(one.key.startswith("queue.") for one in ruleset.parameters):
            self.gaps.miss(ruleset.origin, f"ruleset {name} is called and has a queue of its own")
            return ()
        return after


_UNKNOWN = {
    Call: "call_indirect: its ruleset is known only when an event comes",
    BsdBlock: "rsyslog 8 refuses !program and +host blocks",
}


def _unknown(statement: Statement) -> str:
    """What to call a statement that neither a key nor a snippet stands for."""
    if isinstance(statement, Directive):
        return f"the directive ${statement.name}"
    return _UNKNOWN.get(type(statement), "this statement")


def name_of_statement(statement: Statement) -> str:
    """What to call a statement that no key of a profile stands for."""
    if isinstance(statement, SetVariable):
        return f"{statement.verb} {statement.variable}"
    return "foreach" if isinstance(statement, Foreach) else "reload_lookup_table"


def _is_about_refused(condition: Expression) -> bool:
    """Whether a condition is about `$.omes`, which only refused documents have."""
    names = [one.name.lower() for one in _variables(condition)]
    return bool(names) and all(name.startswith("$.omes") for name in names)


def _variables(expression: Expression) -> Iterator[Variable]:
    if isinstance(expression, Variable):
        yield expression
    elif isinstance(expression, Operation | FunctionCall):
        for operand in expression.operands:
            yield from _variables(operand)


def _unless(condition: Expression, holds: bool, guard: Guard) -> Guard:
    """What holds where `guard` does wherever the branch of `condition` is taken."""
    inner, wanted = guard
    blocked = inner if not wanted else Operation("not", (inner,), inner.origin)
    taken = condition if holds else Operation("not", (condition,), condition.origin)
    return Operation("and", (taken, blocked), condition.origin), False
