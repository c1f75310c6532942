"""Refused documents, on a terminal and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tuner.diagnose.refusal import Keeper
from tuner.diagnose.refusal_kind import Fate
from tuner.diagnose.refused import Refusals, RefusedGroup
from tuner.report.sections import Bullets, Caution, Paragraph, PlainBlock
from tuner.schema.numerals import counted

_FATES: Mapping[tuple[Keeper, Fate], str] = {
    (Keeper.ERROR_FILE, Fate.REFUSED): "lost but for {file}: rsyslog does not send them again",
    (Keeper.ERROR_FILE, Fate.BUSY): (
        "lost but for {file}, although the engine would have taken them later: rsyslog does not "
        "send them again"
    ),
    (Keeper.OMHTTP, Fate.REFUSED): "lost but for {file}: omhttp does not send them again",
    (Keeper.OMHTTP, Fate.BUSY): (
        "late: omhttp sends them again, and each attempt stands in {file}, so that the same events "
        "are counted several times"
    ),
    (Keeper.RETRY_RULESET, Fate.REFUSED): (
        "not in the engine; the retry ruleset kept them in {file}"
    ),
    (Keeper.RETRY_RULESET, Fate.BUSY): (
        "late: the retry ruleset has them, and wrote them to {file}; see that it sends them again"
    ),
    (Keeper.ENGINE_LOG, Fate.REFUSED): (
        "not in the engine; whether rsyslog kept them, its errorfile or retry ruleset shows"
    ),
    (Keeper.ENGINE_LOG, Fate.BUSY): (
        "not taken at that moment; whether rsyslog sent them again, its errorfile shows"
    ),
}
_MISSING = "?"


@dataclass(frozen=True)
class WayOfGroup:
    """What is known of the way out beside the words of its kind: places in the user's files, the
    mapping that would take the values, and what mapped the field."""

    places: tuple[str, ...] = ()
    mapping: str = ""
    mapped_by: str = ""


@dataclass(frozen=True)
class RefusedDiagnosis:
    """What some files tell of refused documents, the ways out in the order of the groups, and
    remarks on the files."""

    files: tuple[str, ...]
    refused: Refusals
    ways: tuple[WayOfGroup, ...]
    remarks: tuple[str, ...]
    shows_documents: bool = False


def refused_blocks(made: RefusedDiagnosis) -> Iterator[PlainBlock | Caution]:
    """A sentence, then each group with what came, why, what became of it and the way out."""
    yield Paragraph(verdict(made.refused), is_lead=True)
    for number, (group, way) in enumerate(zip(made.refused.groups, made.ways, strict=True), 1):
        yield Paragraph("")
        yield Paragraph(f"{number}. {headline(group)}", is_lead=True)
        yield Bullets(tuple(_lines(group, way, shows_documents=made.shows_documents)))
    lines = (*_unread(made.refused), *made.remarks)
    if lines:
        yield Caution("Of the files", "", lines)


def verdict(refused: Refusals) -> str:
    """How many documents were refused, of how many, for how many reasons."""
    twice = f"; {refused.twice:,} stored already" if refused.twice else ""
    if not refused.count:
        return f"No refused document{twice}."
    of = f" of {refused.stored + refused.count:,} in the same bulks" if refused.stored else ""
    wrong = [group for group in refused.groups if group.named.kind.fate is not Fate.STORED]
    reasons = counted(len(wrong), "reason")
    others = f"; {refused.others:,} for others" if refused.others else ""
    return f"{counted(refused.count, 'document')} refused{of}, for {reasons}{others}{twice}."


def headline(group: RefusedGroup) -> str:
    """How many documents, why, and the field."""
    field = f": {group.named.field}" if group.named.field else ""
    return f"{counted(group.count, 'document')}: {group.named.kind.title}{field}"


def said(text: str, group: RefusedGroup) -> str:
    """A text of a kind with what the engine said filled in."""
    index = group.indices[0] if group.indices else "INDEX"
    values = _Filled({"index": index, **group.named.said})
    return text.format_map(values)


class _Filled(dict[str, str]):
    """What the engine did not say stands as a question mark."""

    def __missing__(self, key: str) -> str:
        return _MISSING


def _lines(group: RefusedGroup, way: WayOfGroup, *, shows_documents: bool) -> Iterator[str]:
    kind = group.named.kind
    yield f"what came: {_what_came(group)}"
    yield f"why: {said(kind.why, group)}"
    if way.mapped_by:
        yield way.mapped_by
    if kind.fate is Fate.STORED:
        yield "the events: stored already"
    else:
        name = group.places[0][0]
        fate = _FATES[group.keeper, kind.fate].format(file="what came" if name == "-" else name)
        yield f"the events: {fate}"
    if group.way_out:
        yield f"way out: {said(group.way_out, group)}"
    if way.mapping:
        yield f"in the index template, for indices that are made afterwards: {way.mapping}"
    yield from way.places
    if not group.way_out:
        yield f"the engine says: {group.words}"
    if shows_documents:
        yield from (f"document: {document}" for document in group.documents)


def _what_came(group: RefusedGroup) -> str:
    parts = []
    if group.shapes:
        parts.append(f"values like {', '.join(group.shapes)} (letters as a, digits as 9)")
    if group.indices:
        parts.append(f"for {', '.join(group.indices)}")
    if group.first:
        span = group.first if group.first == group.last else f"from {group.first} to {group.last}"
        parts.append(f"{span} by their own time")
    if group.in_whole:
        parts.append(f"{group.in_whole:,} because their whole request was refused")
    statuses = sorted(status for status in group.statuses if status)
    if statuses:
        parts.append(f"HTTP {', '.join(map(str, statuses))}")
    file, line = group.places[0]
    parts.append(f"first {file}:{line}")
    return "; ".join(parts)


def _unread(refused: Refusals) -> Iterator[str]:
    for number, why in ((refused.cut, "cut off"), (refused.unread, "of another kind")):
        if number:
            file, line = refused.first_unread[0]
            yield f"{counted(number, 'line')} {why}, first {file}:{line}"


def mapping_of(field: str, leaf: str) -> str:
    """The part of a mapping that gives a field this type."""
    mapping: object = json.loads(leaf)
    for name in reversed(field.split(".")):
        mapping = {"properties": {name: mapping}}
    return json.dumps(mapping)


def refused_json(made: RefusedDiagnosis) -> dict[str, object]:
    """The same for programs."""
    refused = made.refused
    return {
        "schema": 1,
        "kind": "refused",
        "files": made.files,
        "refused": refused.count,
        "stored_in_the_same_bulks": refused.stored,
        "groups": [
            {
                "kind": group.named.kind.name,
                "title": group.named.kind.title,
                "field": group.named.field,
                "documents": group.count,
                "in_whole_requests": group.in_whole,
                "statuses": sorted(group.statuses),
                "indices": group.indices,
                "values": group.shapes,
                "first": group.first,
                "last": group.last,
                "effect": None if group.effect is None else group.effect.value,
                "why": said(group.named.kind.why, group),
                "way_out": said(group.way_out, group),
                "mapping": way.mapping,
                "mapped_by": way.mapped_by,
                "places": way.places,
                "words": group.words,
                **({"shown": group.documents} if made.shows_documents else {}),
            }
            for group, way in zip(refused.groups, made.ways, strict=True)
        ],
        "cut": refused.cut,
        "unread": refused.unread,
        "remarks": made.remarks,
    }
