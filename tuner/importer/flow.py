"""What happens to an event that enters a ruleset: its actions in order, each with the conditions
under which it is reached; which are steps of a profile, and what may not change places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from tuner.importer.conditions import Precondition, filter_of, path_of, property_name, variables
from tuner.importer.document import WHOLE_JSON
from tuner.modules.registry import STEPS, name_of
from tuner.modules.step import SetStep, StreamStep, UnsetStep
from tuner.modules.text_source import TIMES
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parameters import is_text, known, misfit
from tuner.rainerscript.script import (
    QUEUE,
    Block,
    BsdBlock,
    Call,
    Directive,
    Expression,
    Foreach,
    FunctionCall,
    If,
    Operation,
    Parameter,
    Quoted,
    ReloadTable,
    ScriptObject,
    ScriptPosition,
    SetVariable,
    Statement,
    Variable,
    Word,
    every,
)
from tuner.rainerscript.template import Template, TemplateProperty

_MOST_ACTIONS = 200
_MOST_CONDITIONS = 25_000
_MOST_STEPS = 50_000
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
        reads = (_read(_without_bulkid(one), templates) for one in self.reached)
        read = frozenset[str]().union(*reads)
        found = []
        for number, one in enumerate(self.reached):
            written = _written(one.statement)
            is_own = _is_identity(one.statement) and written <= identities
            if is_own and not _meet(written, read):
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


def uses(one: Reached, other: Reached, templates: Mapping[str, Template]) -> bool:
    """Whether a statement reads what another writes."""
    return _meet(_read(one, templates), _written(other.statement))


def name_of_statement(statement: Statement) -> str:
    """What to call a statement that no key of a profile stands for."""
    if isinstance(statement, ScriptObject):
        return f"action {kind_of(statement) or 'without a type'}"
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


_MODULES = {name_of(one): one for one in STEPS}


def kind_of(statement: Statement) -> str:
    """The module of an action, "" for any other statement."""
    return statement.type if isinstance(statement, ScriptObject) else ""


def is_step(statement: Statement) -> bool:
    """Whether a statement changes events in a way that a step may say."""
    return isinstance(statement, SetVariable) or kind_of(statement) in _MODULES


def is_said_by_the_step(one: Parameter) -> bool:
    """Whether a parameter of an action that changes events is its name, or that it has no queue."""
    return one.key in {"type", "name"} or (
        one.key == f"{QUEUE}type" and (one.text or "").lower() == "direct"
    )


def step_of(one: Reached, parts: Parts, gaps: Gaps) -> dict[str, Any]:
    """The step; raises Inexpressible."""
    statement = one.statement
    if isinstance(statement, SetVariable):
        data = _variable(statement, parts)
        model: type[StreamStep] = UnsetStep if statement.value is None else SetStep
    else:
        kind = kind_of(statement)
        model = _MODULES[kind]
        shared = [each for each in parts.modules.get(kind, ()) if each.key != "load"]
        given = statement.parameters if isinstance(statement, ScriptObject) else ()
        own = [each for each in given if not is_said_by_the_step(each)]
        data = {"type": kind} | known(model, [*shared, *own], f"step {kind}", gaps)
    wanted = filter_of(one.guards)
    if wanted is not None:
        data["filter"] = wanted
    wrong = misfit(model, data) if is_text(data) else ""
    if wrong is not None:
        raise Inexpressible(statement.origin, f"a step does not say {wrong or 'this'}")
    return data


def _variable(statement: SetVariable, parts: Parts) -> dict[str, Any]:
    source, path = path_of(statement.variable)
    if source is None:
        raise Inexpressible(statement.origin, f"a step does not set {statement.variable}")
    if statement.value is None:
        return {"type": "unset", source: path}
    data: dict[str, Any] = {"type": "set", source: path}
    value = statement.value
    if isinstance(value, FunctionCall) and value.name.lower() == "lookup":
        table, key = value.operands
        if not isinstance(table, Quoted) or table.text not in parts.tables:
            raise Inexpressible(value.origin, "a table that is not there")
        return data | {"value": list(_texts(key, True)), "lookup": table.text}
    return data | {"value": list(_texts(value, False))}


def _texts(value: Expression, is_text: bool) -> Iterator[dict[str, object]]:
    """The sources of a text; a path into JSON alone may hold what is no text."""
    match value:
        case Quoted(text=text, backtick=False):
            yield {"constant": text}
        case Variable(name=name):
            source, path = path_of(name)
            known_name = property_name(name)
            if source is not None and is_text:
                yield {source: path}
            elif source is None and known_name is not None:
                # A script reads a time in the form of RFC 3164.
                form: dict[str, object] = {"dateFormat": "rfc3164"} if known_name in TIMES else {}
                yield {"property": known_name} | form
            else:
                raise Inexpressible(value.origin, f"a copy of {name}, which may be no text")
        case Operation(operator="&", operands=operands):
            for one in operands:
                yield from _texts(one, True)
        case _:
            raise Inexpressible(value.origin, "a value that is worked out")


PARSING = frozenset({"mmjsonparse", "mmnormalize"})
PARSED, KEPT, OUTPUT = range(3)
"""The places of a rendered ruleset: what parses, the snippets, the outputs."""

_JSON = frozenset({"$!", "$parsesuccess"})
_TEXT = frozenset({"$msg", "$rawmsg"})
# What modules that change events write; any other may write everything.
_WRITES = {
    "mmjsonparse": _JSON, "mmnormalize": _JSON, "mmfields": _JSON, "mmpstrucdata": _JSON,
    "mmdblookup": _JSON, "mmkubernetes": _JSON, "mmcount": _JSON, "mmsequence": _JSON,
    "mmutf8fix": _TEXT, "mmrm1stspace": _TEXT, "mmanon": _TEXT,
}  # fmt: skip
_EVERYTHING = frozenset({"$"})


def why_bound(
    reached: Sequence[Reached], places: Sequence[int], templates: Mapping[str, Template]
) -> Gap | None:
    """The first statement that does something else where statements are carried out by their
    places, and in each place in their own order, and why; None where all may move."""
    writes = [_written(one.statement) for one in reached]
    reads = [_read(one, templates) for one in reached]
    for number, one in enumerate(reached):
        before = range(number)
        for guard in one.guards:
            asked = _asked(guard.condition)
            for other in before[guard.after :]:
                if _meet(asked, writes[other]):
                    what = f"changes {_shared(writes[other], asked)}, which its condition asks"
                    return _between(one, reached[other], what)
        for other in (each for each in before if places[number] < places[each]):
            touched = reads[number] | writes[number]
            if _meet(writes[other], touched):
                what = f"changes {_shared(writes[other], touched)}, which it uses"
                return _between(one, reached[other], f"{what}, and would come after it")
            if _meet(reads[other], writes[number]):
                what = f"uses {_shared(reads[other], writes[number])}, which it changes"
                return _between(one, reached[other], f"{what}, and would come after it")
        # `parse` is done for all events, whatever the conditions.
        is_parse = places[number] == PARSED and kind_of(one.statement) in PARSING
        if is_parse:
            user = _user_elsewhere(number, reached, writes, reads)
            if user is not None:
                return _between(one, user, "uses what it finds, of events that it does not parse")
    return None


def _between(one: Reached, other: Reached, what: str) -> Gap:
    """What another statement has to do with one."""
    place, name = other.statement.origin, name_of_statement(other.statement)
    return Gap(one.statement.origin, f"{name} ({place.file}:{place.line}) {what}")


def _shared(some: frozenset[str], others: frozenset[str]) -> str:
    """What two statements have in common, in words."""
    names = sorted(name for name in some if _meet(frozenset({name}), others))
    return " and ".join("the event" if name == "$" else name for name in names[:2])


def uses_json(reached: Sequence[Reached], templates: Mapping[str, Template]) -> Statement | None:
    """The first statement that sets JSON of the event, or that reads some although nothing parses
    messages: with messages parsed for another output, either would see what was not there."""
    is_parsed = any(kind_of(one.statement) in PARSING for one in reached)
    for one in reached:
        used = _written(one.statement) | (frozenset() if is_parsed else _read(one, templates))
        if kind_of(one.statement) not in PARSING and _meet(used, frozenset({"$!"})):
            return one.statement
    return None


def _user_elsewhere(
    number: int,
    reached: Sequence[Reached],
    writes: Sequence[frozenset[str]],
    reads: Sequence[frozenset[str]],
) -> Reached | None:
    """The first statement that uses what another finds, of events which that does not get."""
    needed = set(reached[number].guards)
    return next(
        (
            one
            for other, one in enumerate(reached)
            if other != number
            and not needed.issubset(one.guards)
            and _meet(writes[number], reads[other])
        ),
        None,
    )


def _asked(expression: Expression) -> frozenset[str]:
    return frozenset(map(_named, variables(expression)))


def _named(name: str) -> str:
    lowered = name.lower()
    if lowered in WHOLE_JSON or lowered == "jsonmesg":
        return "$!"
    return lowered if lowered.startswith("$") else f"${lowered}"


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether one is a part of another."""
    if not some or not others:
        return False
    return not (_wholes(some).isdisjoint(others) and _wholes(others).isdisjoint(some))


@lru_cache(_MOST_ACTIONS * 10)
def _wholes(names: frozenset[str]) -> frozenset[str]:
    """Names, and all that they are parts of."""
    above = (name[: one.start()] for name in names for one in re.finditer("!", name))
    kinds = (kind for kind in ("$", "$!", "$.", "$/") for name in names if name.startswith(kind))
    return frozenset().union(names, above, kinds)


def _written(statement: Statement) -> frozenset[str]:
    names: set[str] = set()
    for one in every((statement,)):
        if isinstance(one, SetVariable):
            names |= {one.variable.lower(), *(_filled(one.value) if one.value else ())}
        elif isinstance(one, Foreach):
            names.add(one.variable.lower())
        elif kind_of(one).startswith("mm"):
            names |= _WRITES.get(kind_of(one), _EVERYTHING)
    return frozenset(names)


def _filled(expression: Expression) -> Iterator[str]:
    """The variables that functions such as parse_json() fill in."""
    if isinstance(expression, FunctionCall):
        texts = (one.text for one in expression.operands if isinstance(one, Quoted))
        yield from (text.lower() for text in texts if text.startswith(("$!", "$.", "$/")))
    if isinstance(expression, Operation | FunctionCall):
        for operand in expression.operands:
            yield from _filled(operand)


def _read(reached: Reached, templates: Mapping[str, Template]) -> frozenset[str]:
    names: set[str] = set()
    for guard in reached.guards:
        names |= _asked(guard.condition)
    for one in every((reached.statement,)):
        if isinstance(one, SetVariable) and one.value is not None:
            names |= _asked(one.value)
        elif isinstance(one, Foreach):
            names |= _asked(one.values)
        elif isinstance(one, If):
            names |= _asked(one.condition)
        elif isinstance(one, ScriptObject):
            names.update(_read_by(one, templates))
    return frozenset(names)


def _read_by(action: ScriptObject, templates: Mapping[str, Template]) -> Iterator[str]:
    if kind_of(action).startswith("mm"):
        yield from _TEXT if kind_of(action) in _WRITES else _EVERYTHING
    elif (action.text("template") or "").strip().lower() not in templates:
        yield from _TEXT  # as rsyslog's own formats do
    for parameter in action.parameters:
        template = templates.get((parameter.text or "").strip().lower())
        pieces = () if template is None else template.pieces
        if template is not None and template.subtree is not None:
            yield _named(template.subtree)
        yield from (_named(piece.name) for piece in pieces if isinstance(piece, TemplateProperty))
