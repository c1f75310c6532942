"""What happens to an event that enters a ruleset: its actions in order, each with the conditions
under which it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tuner.importer.conditions import Precondition, variables
from tuner.rainerscript.gaps import Gap, Gaps
from tuner.rainerscript.script import (
    Block,
    BsdBlock,
    Call,
    Directive,
    Expression,
    Foreach,
    If,
    Operation,
    Parameter,
    ReloadTable,
    ScriptObject,
    ScriptPosition,
    SetVariable,
    Statement,
    Variable,
    Word,
)

_MOST_ACTIONS = 200
_DEEPEST = 20
# What a ruleset's queue has and an action's has not (runtime/queue.c, the two sets of defaults).
_RULESET_QUEUE = {"type": "FixedArray", "size": "50000", "dequeueBatchSize": "1024"}

Guards = tuple[Precondition, ...]


@dataclass(frozen=True)
class Reached:
    """An action or another statement, and what must hold for an event to get there."""

    statement: Statement
    guards: Guards


@dataclass
class Walk:
    """The way of an event through rulesets; `stop` and `call` are followed.

    `identities` are the variables that hold an id of the event's own; `bound` is why the actions
    cannot be told apart.
    """

    rulesets: Mapping[str, ScriptObject]
    gaps: Gaps
    reached: list[Reached] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    identities: set[str] = field(default_factory=set)
    bound: Gap | None = None

    def block(
        self, block: Block, guards: tuple[Precondition, ...]
    ) -> tuple[Precondition, ...] | None:
        """Follow a block; what then holds for an event that goes on after it beyond `guards`, None
        where none does."""
        more: Guards = ()
        for statement in block:
            after = self.statement(statement, (*guards, *more))
            if after is None:
                return None
            more += after
        return more

    def statement(self, statement: Statement, guards: Guards) -> Guards | None:
        """Follow one statement."""
        match statement:
            case ScriptObject(kind="action") if len(self.reached) >= _MOST_ACTIONS:
                self.bind(statement.origin, f"more than {_MOST_ACTIONS} actions")
                return None
            case If():
                return self.either(statement, guards)
            case SetVariable(value=Variable(name=name)) if name.lower() == "$uuid":
                self.identities.add(statement.variable)
            case Word(word=word):
                return None if word == "stop" else ()
            case Call(target=str(name)):
                return self.call(name, statement.origin, guards)
            case Call():
                self.bind(statement.origin, "the ruleset of call_indirect depends on the event")
            case ScriptObject(kind="action") | SetVariable() | Foreach() | ReloadTable():
                self.reached.append(Reached(statement, guards))
            case Directive():
                self.gaps.miss(statement.origin, f"the directive ${statement.name}")
            case BsdBlock():
                self.gaps.miss(statement.origin, "rsyslog 8 refuses !program and +host blocks")
            case _:
                self.gaps.miss(statement.origin, "a statement of this kind")
        return ()

    def bind(self, origin: ScriptPosition, why: str) -> None:
        """Note why the actions cannot be told apart."""
        self.bound = self.bound or Gap(origin, why)

    def either(self, one: If, guards: Guards) -> Guards | None:
        """Follow both branches; an event that comes for the first time was not refused yet."""
        asked = variables(one.condition)
        if asked and all(name.startswith("$.omes") for name in asked):
            return self.block(one.otherwise, guards)
        yes = Precondition(one.condition, True, len(self.reached))
        no = replace(yes, holds=False)
        then = self.block(one.then, (*guards, yes))
        otherwise = self.block(one.otherwise, (*guards, no))
        if then is None and otherwise is None:
            return None
        if then is None:
            return (no, *(otherwise or ()))
        if otherwise is None:
            return (yes, *then)
        # A branch that some events leave: they are not (in the branch and not going on).
        return (
            *(_unless(yes, guard) for guard in then),
            *(_unless(no, guard) for guard in otherwise),
        )

    def call(self, name: str, origin: ScriptPosition, guards: Guards) -> Guards | None:
        """Follow the statements of another ruleset."""
        ruleset = self.rulesets.get(name.lower())
        if ruleset is None:
            self.gaps.miss(origin, f"there is no ruleset {name}")
            return ()
        if name.lower() in self.calls or len(self.calls) >= _DEEPEST:
            self.bind(origin, f"ruleset {name} calls itself")
            return ()
        self.calls.append(name.lower())
        self.visited.add(name.lower())
        before = len(self.reached)
        after = self.block(ruleset.body or (), guards)
        self.calls.pop()
        queue = [one for one in ruleset.parameters if one.key.startswith("queue.")]
        return self.queued(queue, before, ruleset) if queue else after

    def queued(
        self, queue: list[Parameter], before: int, ruleset: ScriptObject
    ) -> tuple[Precondition, ...]:
        """What is called through a queue goes its own way: a queue before one action is that
        action's."""
        own = self.reached[before:]
        action = own[0].statement if len(own) == 1 else None
        is_free = isinstance(action, ScriptObject) and not any(
            one.key.startswith("queue.") for one in action.parameters
        )
        if not isinstance(action, ScriptObject) or not is_free:
            what = f"ruleset {ruleset.text('name')} is called and has a queue of its own"
            self.bind(ruleset.origin, what)
            return ()
        written = {one.key for one in queue}
        queue += [
            Parameter.of(f"queue.{key}", value, ruleset.origin)
            for key, value in _RULESET_QUEUE.items()
            if f"queue.{key.lower()}" not in written
        ]
        queued = replace(action, parameters=(*action.parameters, *queue))
        self.reached[before] = replace(own[0], statement=queued)
        return ()


def name_of_statement(statement: Statement) -> str:
    """What to call a statement that no key of a profile stands for."""
    if isinstance(statement, ScriptObject):
        return f"action {(statement.text('type') or 'without a type').lower()}"
    if isinstance(statement, SetVariable):
        return f"{statement.verb} {statement.variable}"
    return "foreach" if isinstance(statement, Foreach) else "reload_lookup_table"


def _unless(branch: Precondition, guard: Precondition) -> Precondition:
    """What holds where `guard` does wherever `branch` is taken."""
    blocked = negated(guard.condition) if guard.holds else guard.condition
    taken = branch.condition if branch.holds else negated(branch.condition)
    both = Operation("and", (taken, blocked), branch.condition.origin)
    return Precondition(both, False, min(branch.after, guard.after))


def negated(condition: Expression) -> Expression:
    """What holds where a condition does not."""
    return Operation("not", (condition,), condition.origin)
