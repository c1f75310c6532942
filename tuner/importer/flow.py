"""What happens to an event that enters a ruleset: its actions in order, each with the conditions
under which it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tuner.importer.reached import Guards, Reached, kind_of, meet, read_by, written_by
from tuner.rainerscript.conditions import Precondition, variables
from tuner.rainerscript.gaps import Gap, Gaps
from tuner.rainerscript.script import (
    QUEUE,
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
from tuner.rainerscript.template import Template

_MOST_ACTIONS = 200
_MOST_CONDITIONS = 25_000
_MOST_STEPS = 50_000
_DEEPEST = 20
# What a ruleset's queue has and an action's has not (runtime/queue.c, the two sets of defaults).
_RULESET_QUEUE = {"type": "FixedArray", "size": "50000", "dequeueBatchSize": "1024"}


@dataclass
class Walk:
    """The way of an event through rulesets; `stop` and `call` are followed; `bound` is why the
    actions cannot be told apart."""

    rulesets: Mapping[str, ScriptObject]
    gaps: Gaps
    reached: list[Reached] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    visited: set[str] = field(default_factory=set)
    bound: Gap | None = None
    steps: int = 0
    conditions: int = 0

    @property
    def identities(self) -> frozenset[str]:
        """The variables that hold an id of the event's own, and never anything else."""
        found = [one.statement for one in self.reached]
        sets = [one for one in found if isinstance(one, SetVariable)]
        others = {one.variable.lower() for one in sets if not _is_identity(one)}
        return frozenset(one.variable.lower() for one in sets if _is_identity(one)) - others

    def take_out_ids(self, templates: Mapping[str, Template]) -> list[Reached]:
        """What sets an id of the event's own that nothing reads but `bulkid`; nothing is left in
        its place."""
        identities = self.identities
        reads = (read_by(_without_bulkid(one), templates) for one in self.reached)
        read = frozenset[str]().union(*reads)
        found = []
        for number, one in enumerate(self.reached):
            written = written_by(one.statement)
            is_own = _is_identity(one.statement) and written <= identities
            if is_own and not meet(written, read):
                found.append(one)
                self.reached[number] = Reached(Word("continue", one.statement.origin), ())
        return found

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
        why = self.too_much(statement, guards)
        if why is not None:
            self.bind(statement.origin, why)
            return None
        match statement:
            case If():
                return self.either(statement, guards)
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

    def too_much(self, statement: Statement, guards: Guards) -> str | None:
        """Why a statement is not followed any more, as too many are; None while it is."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            return f"more than {_MOST_STEPS:,} statements on all ways together"
        if not isinstance(statement, ScriptObject | SetVariable | Foreach | ReloadTable):
            return None
        if len(self.reached) >= _MOST_ACTIONS:
            return f"more than {_MOST_ACTIONS} actions"
        self.conditions += sum(guard.size for guard in guards)
        if self.conditions > _MOST_CONDITIONS:
            return f"more than {_MOST_CONDITIONS:,} conditions before actions"
        return None

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
        if then is None:
            return None if otherwise is None else (no, *otherwise)
        if otherwise is None:
            return (yes, *then)
        # A branch that some events leave: they are not (in the branch and not going on).
        self.steps += len(then) + len(otherwise)
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
        return self.queued(before, ruleset) if ruleset.queue else after

    def queued(self, before: int, ruleset: ScriptObject) -> Guards:
        """What is called through a queue goes its own way: a queue before one action is that
        action's."""
        own = self.reached[before:]
        action = own[0].statement if len(own) == 1 else None
        if not isinstance(action, ScriptObject) or action.queue:
            what = f"ruleset {ruleset.text('name')} is called and has a queue of its own"
            self.bind(ruleset.origin, what)
            return ()
        defaults = (
            Parameter.of(f"{QUEUE}{key}", value, ruleset.origin)
            for key, value in _RULESET_QUEUE.items()
            if ruleset.get(f"{QUEUE}{key}") is None
        )
        queued = replace(action, parameters=(*action.parameters, *ruleset.queue, *defaults))
        self.reached[before] = replace(own[0], statement=queued)
        return ()


def _is_identity(statement: Statement) -> bool:
    """Whether a statement sets an id of the event's own."""
    match statement:
        case SetVariable(value=Variable(name=name)):
            return name.lower() == "$uuid"
        case _:
            return False


def _without_bulkid(one: Reached) -> Reached:
    action = one.statement
    if not isinstance(action, ScriptObject) or kind_of(action) != "omelasticsearch":
        return one
    return replace(one, statement=action.without({"bulkid"}))


def _unless(branch: Precondition, guard: Precondition) -> Precondition:
    """What holds where `guard` does wherever `branch` is taken."""
    blocked = negated(guard.condition) if guard.holds else guard.condition
    taken = branch.condition if branch.holds else negated(branch.condition)
    both = Operation("and", (taken, blocked), branch.condition.origin)
    return Precondition(both, False, min(branch.after, guard.after))


def negated(condition: Expression) -> Expression:
    """What holds where a condition does not."""
    return Operation("not", (condition,), condition.origin)
