"""Where a refused document comes from: the template that writes a field, the action, and the values
that a template had made the document of; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tuner.diagnose.refusal_kind import MendedIn
from tuner.diagnose.refused import RefusedGroup
from tuner.script.objects import Base
from tuner.script.script import ScriptObject, ScriptPosition, SetVariable, walk
from tuner.script.template import (
    NamedText,
    Template,
    TemplateProperty,
    members_of,
    template_of,
)

_SENDING = ("omelasticsearch", "omhttp")
_TEXTS = frozenset({"json", "jsonf"})
_MUST_BE_QUOTED = re.compile(r'["\\\x00-\x1f]')
# Inputs change what steers, unless they are told not to.
_STEERING = re.compile(r"[\x00-\x1f\x7f]")
# The proof of what is mended by quoting.
_WHOLE = "message"
_NAMING_INDEX = ("searchIndex", "dynSearchIndex", "bulkid", "pipelineName")


@dataclass(frozen=True)
class FieldWriter:
    """What writes a field: where, and which property or variable it is made of."""

    at: ScriptPosition
    source: str

    def __str__(self) -> str:
        return f"{self.at} writes it, from {self.source}"


@dataclass(frozen=True)
class RefusedOrigin:
    """The actions of a configuration that send documents, each with its template."""

    base: Base

    @property
    def actions(self) -> Iterator[tuple[ScriptObject, ScriptObject | None]]:
        """All of them."""
        for _, action in self.base.of_kind("action"):
            if action.type in _SENDING:
                name = action.text("template")
                yield action, None if name is None else self.base.template(name)

    @property
    def templates(self) -> Iterator[Template]:
        """The templates of the documents."""
        for _, template in self.actions:
            content = None if template is None else template_of(template)
            if content is not None:
                yield content

    def writers(self, field: str) -> tuple[FieldWriter, ...]:
        """What writes a field, by its whole path or the last part of it."""
        leaf = field.rpartition(".")[2]
        found = [
            FieldWriter(piece.origin, piece.name)
            for template in self.templates
            for name, piece in members(template)
            if name in {field, leaf}
        ]
        path = f"$!{field.replace('.', '!')}"
        found += [
            FieldWriter(statement.origin, statement.variable)
            for statement in walk(self.base.block)
            if isinstance(statement, SetVariable) and statement.variable == path
        ]
        return tuple(dict.fromkeys(found))

    def places(self, group: RefusedGroup) -> Iterator[str]:
        """Where it is mended in these files, as sentences."""
        yield from map(str, self.writers(group.named.field) if group.named.field else ())
        yield from self._raw(group)
        if group.named.kind.place is MendedIn.ACTION or group.named.kind.name == "bad_index_name":
            for action, _ in self.actions:
                names = [name for name in _NAMING_INDEX if action.text(name)]
                words = ", ".join(f'{name}="{action.text(name)}"' for name in names)
                yield f"{action.origin} is the action{f': {words}' if words else ''}"

    def _raw(self, group: RefusedGroup) -> Iterator[str]:
        """The properties that put into the documents what must not stand in JSON as it is."""
        if group.named.kind.proof != _WHOLE:
            return
        found = dict[str, None]()
        for template in self.templates:
            for document in group.documents:
                values = made_of(template, document) or {}
                for name, piece in members(template):
                    is_quoted = piece.options.get("format") in _TEXTS or template.options & _TEXTS
                    if not is_quoted and _MUST_BE_QUOTED.search(values.get(piece.lowered, "")):
                        said = f"{piece.origin} writes {piece.name} into {name} as it is"
                        found[f'{said}: add format="json", or :::json in a string template'] = None
        yield from found

    def values(self, document: str) -> Mapping[str, str] | None:
        """The properties that the first fitting template made this document of, by their names."""
        for template in self.templates:
            values = made_of(template, document)
            if values:
                return values
        return None


def members(template: Template) -> Iterator[tuple[str, TemplateProperty]]:
    """The members of the document that a template writes from properties."""
    return ((member.name, piece) for member in members_of(template) for piece in member.properties)


def made_of(template: Template, document: str) -> Mapping[str, str] | None:
    """The properties that a template made a document of, though it be no JSON; None where it did
    not make it."""
    with suppress(ValueError, RecursionError):
        data = json.loads(document)
        if isinstance(data, dict):
            named = ((piece.lowered, data.get(name)) for name, piece in members(template))
            return {name: value for name, value in named if isinstance(value, str)}
    return _taken_apart(template, document.strip())


def _taken_apart(template: Template, document: str) -> Mapping[str, str] | None:
    """The properties between the constants of a template, each up to the next constant; None where
    two have none between them, or a constant is not there."""
    values: dict[str, str] = {}
    at, open_ = 0, None
    pieces = [piece for piece in template.pieces if not isinstance(piece, NamedText)]
    for number, piece in enumerate(pieces):
        if isinstance(piece, TemplateProperty):
            if open_ is not None:
                return None
            open_ = piece
            continue
        text = piece.strip() if number in {0, len(pieces) - 1} else piece
        if not text.strip():
            return None if number not in {0, len(pieces) - 1} else values or None
        is_last = number == len(pieces) - 1
        found = document.rfind(text) if is_last else document.find(text, at)
        if found < at or (open_ is None and found != at):
            return None
        if open_ is not None:
            values[open_.lowered] = _plain(document[at:found], open_)
        at, open_ = found + len(text), None
    if open_ is not None:
        values[open_.lowered] = _plain(document[at:], open_)
        at = len(document)
    return values if at == len(document) else None


def _plain(text: str, piece: TemplateProperty) -> str:
    """The value of a property behind its format."""
    if piece.options.get("format") in _TEXTS:
        with suppress(ValueError):
            return str(json.loads(f'"{text}"'))
    return text


def cases_of(
    groups: Sequence[RefusedGroup], origin: RefusedOrigin
) -> Iterator[Mapping[str, object]]:
    """Cases of `rsyslog-tune test` that fail as long as a template writes what was refused."""
    for group in groups:
        proof, field = group.named.kind.proof, group.named.field
        for document in group.documents:
            values = origin.values(document)
            message = None if values is None else values.get("msg")
            if not proof or values is None or not message or _STEERING.search(message):
                continue
            if proof not in {_WHOLE, "index"} and not origin.writers(field):
                continue
            expected = _expected(proof, field, message, origin)
            if expected is None:
                continue
            head = {
                "host": values.get("hostname"),
                "program": values.get("programname") or values.get("app-name"),
            }
            yield {
                "name": f"{group.named.kind.title}{f': {field}' if field else ''}",
                "message": message.lstrip(" "),
                **{key: text for key, text in head.items() if text and " " not in text},
                "expect": [expected],
            }
            break


def _expected(
    proof: str, field: str, message: str, origin: RefusedOrigin
) -> Mapping[str, object] | None:
    """What must come once it is mended; None where it cannot be told."""
    if proof == "index":
        return {"index": {"pattern": "[^A-Z]+"}}
    if proof == _WHOLE:
        templates = (members(template) for template in origin.templates)
        pairs = (pair for template in templates for pair in template)
        name = next((name for name, piece in pairs if piece.lowered == "msg"), None)
        return None if name is None else {"fields": {name: message}}
    return {"fields": {field: {"pattern": proof}}} if field else None
