"""What statements read and write of an event, and whether they may change places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tuner.importer.conditions import variables
from tuner.importer.document import WHOLE_JSON
from tuner.importer.flow import Reached
from tuner.importer.script import (
    Expression,
    Foreach,
    FunctionCall,
    If,
    Operation,
    Quoted,
    SetVariable,
    Statement,
    Thing,
    every,
)
from tuner.importer.template import Template, TemplateProperty

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
) -> Statement | None:
    """The first statement that does something else where statements are carried out by their
    places, and in each place in their own order; None where all may move."""
    writes = [_written(one.statement) for one in reached]
    reads = [_read(one, templates) for one in reached]
    for number, one in enumerate(reached):
        for guard in one.guards:
            asked = _asked(guard.condition)
            if any(_meet(asked, written) for written in writes[guard.after : number]):
                return one.statement
        for other in range(number):
            is_moved = places[number] < places[other]
            touched = reads[number] | writes[number]
            if is_moved and (_meet(writes[other], touched) or _meet(reads[other], writes[number])):
                return one.statement
        if _is_parsing(one.statement, places[number]) and not _is_read_only_under(
            number, reached, writes, reads
        ):
            return one.statement
    return None


def _is_parsing(statement: Statement, place: int) -> bool:
    """Whether a statement becomes the `parse` of all events, whatever its conditions."""
    kind = (statement.text("type") or "").lower() if isinstance(statement, Thing) else ""
    return place == PARSED and kind in {"mmjsonparse", "mmnormalize"}


def _is_read_only_under(
    number: int,
    reached: Sequence[Reached],
    writes: Sequence[frozenset[str]],
    reads: Sequence[frozenset[str]],
) -> bool:
    """Whether what only some events are parsed for concerns no others."""
    needed = set(reached[number].guards)
    return all(
        needed.issubset(one.guards) or not _meet(writes[number], reads[other])
        for other, one in enumerate(reached)
        if other != number
    )


def _asked(expression: Expression) -> frozenset[str]:
    return frozenset(map(_named, variables(expression)))


def _named(name: str) -> str:
    lowered = name.lower()
    if lowered in WHOLE_JSON or lowered == "jsonmesg":
        return "$!"
    return lowered if lowered.startswith("$") else f"${lowered}"


def _meet(some: frozenset[str], others: frozenset[str]) -> bool:
    return any(_is_part(a, b) or _is_part(b, a) for a in some for b in others)


def _is_part(name: str, whole: str) -> bool:
    return name.startswith(whole) and (
        name == whole or whole in {"$", "$!", "$.", "$/"} or name[len(whole)] == "!"
    )


def _written(statement: Statement) -> frozenset[str]:
    names: set[str] = set()
    for one in every((statement,)):
        if isinstance(one, SetVariable):
            names |= {one.variable.lower(), *(_filled(one.value) if one.value else ())}
        elif isinstance(one, Foreach):
            names.add(one.variable.lower())
        elif isinstance(one, Thing) and (kind := (one.text("type") or "").lower())[:2] == "mm":
            names |= _WRITES.get(kind, _EVERYTHING)
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
        elif isinstance(one, Thing):
            names.update(_read_by(one, templates))
    return frozenset(names)


def _read_by(action: Thing, templates: Mapping[str, Template]) -> Iterator[str]:
    kind = (action.text("type") or "").lower()
    if kind.startswith("mm"):
        yield from _TEXT if kind in _WRITES else _EVERYTHING
    for parameter in action.parameters:
        template = templates.get((parameter.text or "").strip().lower())
        if template is None:
            continue
        if template.subtree is not None:
            yield _named(template.subtree)
        for piece in template.pieces:
            if isinstance(piece, TemplateProperty):
                yield _named(piece.name)
