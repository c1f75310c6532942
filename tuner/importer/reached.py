"""What an event reaches: what each statement and the conditions before it read and write, and what
may not change places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tuner.importer.document import WHOLE_JSON
from tuner.rainerscript.conditions import Precondition, variables
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.script import (
    Call,
    Expression,
    Foreach,
    FunctionCall,
    Quoted,
    ScriptObject,
    SetVariable,
    Statement,
    Word,
    every,
    expressions_of,
    inside,
)
from tuner.rainerscript.template import Template, TemplateProperty

# How many sets of names are kept.
_MOST_SETS = 2_000

Guards = tuple[Precondition, ...]


@dataclass(frozen=True)
class Reached:
    """An action or another statement, and what must hold for an event to get there."""

    statement: Statement
    guards: Guards


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
_TAKES_OVER = "action.execonlywhenpreviousissuspended"


def kind_of(statement: Statement) -> str:
    """The module of an action, "" for any other statement."""
    return statement.type if isinstance(statement, ScriptObject) else ""


def name_of_statement(statement: Statement) -> str:
    """What to call a statement that no key of a profile stands for."""
    if isinstance(statement, ScriptObject):
        return f"action {kind_of(statement) or 'without a type'}"
    if isinstance(statement, SetVariable):
        return f"{statement.verb} {statement.variable}"
    return "foreach" if isinstance(statement, Foreach) else "reload_lookup_table"


def uses(one: Reached, other: Reached, templates: Mapping[str, Template]) -> bool:
    """Whether a statement reads what another writes."""
    return meet(read_by(one, templates), written_by(other.statement))


def why_bound(
    reached: Sequence[Reached], places: Sequence[int], templates: Mapping[str, Template]
) -> Gap | None:
    """The first statement that does something else where statements are carried out by their
    places, and in each place in their own order, and why; None where all may move."""
    writes = [_written_by(one) for one in reached]
    reads = [read_by(one, templates) for one in reached]
    for number, one in enumerate(reached):
        before = range(number)
        for guard in one.guards:
            asked = _asked(guard.condition, templates)
            for other in before[guard.after :]:
                if meet(asked, writes[other]):
                    what = f"changes {_shared(writes[other], asked)}, which its condition asks"
                    return _between(one, reached[other], what)
        for other in (each for each in before if places[number] < places[each]):
            touched = reads[number] | writes[number]
            if meet(writes[other], touched):
                what = f"changes {_shared(writes[other], touched)}, which it uses"
                return _between(one, reached[other], f"{what}, and would come after it")
            if meet(reads[other], writes[number]):
                what = f"uses {_shared(reads[other], writes[number])}, which it changes"
                return _between(one, reached[other], f"{what}, and would come after it")
        leaves = _leaves_its_place(number, reached, places)
        if leaves is not None:
            return leaves
        user = _user_elsewhere(number, reached, writes, reads)
        if user is not None and places[number] == PARSED:
            return _between(one, user, "uses what it finds, of events that it does not parse")
    return None


def _leaves_its_place(number: int, reached: Sequence[Reached], places: Sequence[int]) -> Gap | None:
    """Why a statement may not come before outputs that stand before it, or away from the action
    that it takes over from; None where it may."""
    one, before = reached[number], range(number)
    if places[number] == KEPT and _may_end(one.statement):
        for other in (each for each in before if places[each] == OUTPUT):
            return _between(one, reached[other], "would come after it, which may end the event")
    if isinstance(one.statement, ScriptObject) and one.statement.is_on(_TAKES_OVER):
        actions = [each for each in before if isinstance(reached[each].statement, ScriptObject)]
        for other in actions[-1:]:
            if places[other] != places[number]:
                what = "would not be right before it, which runs where that one is suspended"
                return _between(one, reached[other], what)
    return None


def _may_end(statement: Statement) -> bool:
    """Whether a loop may stop an event."""
    looped = every((statement,)) if isinstance(statement, Foreach) else ()
    return any(
        isinstance(one, Call) or (isinstance(one, Word) and one.word == "stop") for one in looped
    )


def _between(one: Reached, other: Reached, what: str) -> Gap:
    """What another statement has to do with one."""
    place, name = other.statement.origin, name_of_statement(other.statement)
    return Gap(one.statement.origin, f"{name} ({place.file}:{place.line}) {what}")


def _shared(some: frozenset[str], others: frozenset[str]) -> str:
    """What two statements have in common, in words."""
    names = sorted(name for name in some if meet(frozenset({name}), others))
    return " and ".join("the event" if name == "$" else name for name in names[:2])


def uses_json(reached: Sequence[Reached], templates: Mapping[str, Template]) -> Statement | None:
    """The first statement that sets JSON of the event, or that reads some although nothing parses
    messages: with messages parsed for another output, either would see what was not there."""
    is_parsed = any(kind_of(one.statement) in PARSING for one in reached)
    for one in reached:
        used = _written_by(one) | (frozenset() if is_parsed else read_by(one, templates))
        if kind_of(one.statement) not in PARSING and meet(used, frozenset({"$!"})):
            return one.statement
    return None


def _user_elsewhere(
    number: int,
    reached: Sequence[Reached],
    writes: Sequence[frozenset[str]],
    reads: Sequence[frozenset[str]],
) -> Reached | None:
    """The first statement that uses what one finds that parses, of events which that does not get:
    `parse` is done for all events, whatever the conditions."""
    if kind_of(reached[number].statement) not in PARSING:
        return None
    needed = set(reached[number].guards)
    return next(
        (
            one
            for other, one in enumerate(reached)
            if other != number
            and not needed.issubset(one.guards)
            and meet(writes[number], reads[other])
        ),
        None,
    )


def _asked(expression: Expression, templates: Mapping[str, Template]) -> frozenset[str]:
    """What an expression asks for, with the templates that it writes."""
    written = (_read_by_template(name, templates) for name in templates_in(expression))
    return frozenset().union(map(_named, variables(expression)), *written)


def templates_in(expression: Expression) -> Iterator[str]:
    """The templates that exec_template() names in an expression."""
    for part in inside(expression):
        if isinstance(part, FunctionCall) and part.name.lower() == "exec_template":
            yield from (each.text for each in part.operands if isinstance(each, Quoted))


def _named(name: str) -> str:
    lowered = name.lower()
    if lowered in WHOLE_JSON or lowered == "jsonmesg":
        return "$!"
    return lowered if lowered.startswith("$") else f"${lowered}"


def meet(some: frozenset[str], others: frozenset[str]) -> bool:
    """Whether one is a part of another."""
    if not some or not others:
        return False
    return not (_wholes(some).isdisjoint(others) and _wholes(others).isdisjoint(some))


@lru_cache(_MOST_SETS)
def _wholes(names: frozenset[str]) -> frozenset[str]:
    """Names, and all that they are parts of."""
    above = (name[: one.start()] for name in names for one in re.finditer("!", name))
    kinds = (kind for kind in ("$", "$!", "$.", "$/") for name in names if name.startswith(kind))
    return frozenset().union(names, above, kinds)


def written_by(statement: Statement) -> frozenset[str]:
    """The variables and properties that a statement may change, in small letters."""
    names: set[str] = set()
    for one in every((statement,)):
        for asked in expressions_of(one):
            names.update(_filled(asked))
        if isinstance(one, SetVariable | Foreach):
            names.add(one.variable.lower())
        elif kind_of(one).startswith("mm"):
            names |= _WRITES.get(kind_of(one), _EVERYTHING)
    return frozenset(names)


def _written_by(reached: Reached) -> frozenset[str]:
    """What a statement may change, and the conditions before it."""
    filled = (_filled(guard.condition) for guard in reached.guards)
    return written_by(reached.statement).union(*filled)


def _filled(expression: Expression) -> Iterator[str]:
    """The variables that functions such as parse_json() fill in."""
    calls = (one for one in inside(expression) if isinstance(one, FunctionCall))
    texts = (one.text for call in calls for one in call.operands if isinstance(one, Quoted))
    yield from (text.lower() for text in texts if text.startswith(("$!", "$.", "$/")))


def read_by(reached: Reached, templates: Mapping[str, Template]) -> frozenset[str]:
    """The variables and properties that a statement and its conditions ask for."""
    names: set[str] = set()
    for guard in reached.guards:
        names |= _asked(guard.condition, templates)
    for one in every((reached.statement,)):
        for asked in expressions_of(one):
            names |= _asked(asked, templates)
        if isinstance(one, ScriptObject):
            names.update(_read_by_action(one, templates))
    return frozenset(names)


def _read_by_action(action: ScriptObject, templates: Mapping[str, Template]) -> Iterator[str]:
    if kind_of(action).startswith("mm"):
        yield from _TEXT if kind_of(action) in _WRITES else _EVERYTHING
    elif (action.text("template") or "").strip().lower() not in templates:
        yield from _TEXT  # as rsyslog's own formats do
    for parameter in action.parameters:
        yield from _read_by_template(parameter.text or "", templates)


def _read_by_template(name: str, templates: Mapping[str, Template]) -> Iterator[str]:
    template = templates.get(name.strip().lower())
    if template is None:
        return
    if template.subtree is not None:
        yield _named(template.subtree)
    pieces = (piece for piece in template.pieces if isinstance(piece, TemplateProperty))
    yield from (_named(piece.name) for piece in pieces)
