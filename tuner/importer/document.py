"""A template that writes JSON as the fields of a document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from tuner.rainerscript.gaps import Gaps, Inexpressible
from tuner.rainerscript.script import ScriptPosition
from tuner.rainerscript.template import NamedText, Template, TemplatePiece, TemplateProperty

_BLANKS = " \t\r\n"
_ENDS = _BLANKS + ",}]"
_ESCAPING = frozenset({"json", "jsonf", "jsonr", "jsonfr"})
_NAMED = frozenset({"jsonf", "jsonfr"})
WHOLE_JSON = frozenset({"$!all-json", "$!all-json-plain", "$!"})


@dataclass(frozen=True)
class Member:
    """One value of a document: its path, what it is made of, and whether in quotes."""

    path: tuple[str, ...]
    content: tuple[str | TemplateProperty, ...]
    is_quoted: bool
    origin: ScriptPosition = field(compare=False)

    @property
    def name(self) -> str:
        """The path with dots."""
        return ".".join(self.path)


def members_of(template: Template, gaps: Gaps) -> tuple[Member, ...]:
    """The values that a template writes; raises Inexpressible where it writes no JSON object."""
    pieces = template.pieces
    if template.options & {"jsonf", "jsonftree"}:
        members = tuple(_generated(pieces, template.origin))
    else:
        members = tuple(_JsonReader(_cells(pieces), template.origin).document())
    names = [one.path for one in members]
    for number, one in enumerate(members):
        if one.path in names[:number]:
            gaps.change(one.origin, f"{one.name} is written twice: the profile keeps the last")
    last = {one.path: one for one in members}
    if not last:
        raise Inexpressible(template.origin, f"template {template.name} writes no field")
    _warn_of_raw(template, tuple(last.values()), gaps)
    return tuple(last.values())


def _warn_of_raw(template: Template, members: tuple[Member, ...], gaps: Gaps) -> None:
    """Whoever may send an event can break a document whose values are not escaped."""
    if template.options & {"json", "jsonf", "jsonftree"}:
        return
    raw = [
        one.name
        for one in members
        for part in one.content
        if isinstance(part, TemplateProperty)
        and part.options.get("format", "").lower() not in _ESCAPING
        and not part.lowered.startswith("$!all-json")
        and one.path
        and not _is_harmless(part)
    ]
    if raw:
        gaps.change(
            template.origin,
            f'template {template.name} does not escape {", ".join(raw)} (format="json"): a '
            "quote in an event breaks the document; the profile escapes every value",
        )


def _is_harmless(part: TemplateProperty) -> bool:
    """What rsyslog makes itself cannot hold quotes."""
    name = part.lowered
    return "dateformat" in part.options or name.startswith(("syslog", "timere", "timege", "$now"))


def _generated(pieces: Sequence[TemplatePiece], origin: ScriptPosition) -> Iterator[Member]:
    """Under option.jsonf each part is a member by its own name."""
    for piece in pieces:
        match piece:
            case NamedText(name, text):
                yield Member((name,), (text,), True, origin)
            case TemplateProperty():
                name = piece.options.get("outname", piece.name)
                yield Member((name,), (piece,), True, piece.origin)
            case str():
                if piece.strip():
                    raise Inexpressible(origin, "a constant() without a name under option.jsonf")


def _cells(pieces: Sequence[TemplatePiece]) -> list[str | TemplateProperty | NamedText]:
    """Characters and properties, one by one."""
    cells: list[str | TemplateProperty | NamedText] = []
    for piece in pieces:
        cells.extend(piece if isinstance(piece, str) else [piece])
    return cells


def is_rest(cell: str | TemplateProperty | NamedText) -> TypeGuard[TemplateProperty]:
    """Whether a property is all JSON but for its opening brace, which `$!` has a blank after, and
    messages a blank before; tlog's manual cuts it off with an expression."""
    if not isinstance(cell, TemplateProperty) or cell.lowered not in {*WHOLE_JSON, "msg"}:
        return False
    cut = {key: value for key, value in cell.options.items() if key != "format"}
    return cut in (
        {"position.from": "2"},
        {"position.from": "3"},
        {"regex.expression": "{\\(.*\\)", "regex.submatch": "1"},
    )


class _JsonReader:
    """Reads JSON in which properties stand for values or parts of texts."""

    def __init__(
        self, cells: Sequence[str | TemplateProperty | NamedText], origin: ScriptPosition
    ) -> None:
        self.cells, self.origin, self.here = cells, origin, 0

    def document(self) -> Iterator[Member]:
        """The members of the object that is all of it."""
        yield from self.object(())
        self.blanks()
        if self.here < len(self.cells):
            raise self.wrong("something after the closing brace")

    def object(self, path: tuple[str, ...]) -> Iterator[Member]:
        self.expect("{")
        while True:
            self.blanks()
            cell = self.cell()
            if cell == "}":
                self.here += 1
                return
            if cell == ",":
                self.here += 1
                continue
            if not path and is_rest(cell):
                # The JSON without its opening brace: it brings the closing one.
                self.here += 1
                yield Member((), (cell,), False, self.origin)
                return
            yield from self.member(path, cell)

    def member(
        self, path: tuple[str, ...], cell: str | TemplateProperty | NamedText
    ) -> Iterator[Member]:
        if isinstance(cell, NamedText):
            self.here += 1
            yield Member((*path, cell.name), (cell.text,), True, self.origin)
        elif isinstance(cell, TemplateProperty):
            if cell.options.get("format", "").lower() not in _NAMED:
                raise Inexpressible(cell.origin, "a property stands where a name is expected")
            self.here += 1
            name = cell.options.get("outname", cell.name)
            quoted = cell.options.get("datatype", "string").lower() == "string"
            yield Member((*path, name), (cell,), quoted, cell.origin)
        else:
            self.expect('"')
            words = self.text()
            if len(words) != 1 or not isinstance(words[0], str):
                raise self.wrong("the name of a member is made of properties")
            self.blanks()
            self.expect(":")
            yield from self.value((*path, words[0]))

    def value(self, path: tuple[str, ...]) -> Iterator[Member]:
        self.blanks()
        cell = self.cell()
        if cell == "{":
            yield from self.object(path)
        elif cell == '"':
            self.here += 1
            content = self.text()
            yield Member(path, content, True, self.place(content))
        elif cell == "[":
            raise self.wrong(f"{'.'.join(path)} is a list")
        else:
            content = self.bare()
            yield Member(path, content, False, self.place(content))

    def text(self) -> tuple[str | TemplateProperty, ...]:
        """What stands in quotes, after the first of them."""
        parts: list[str | TemplateProperty] = []
        plain = ""
        while True:
            cell = self.cell()
            self.here += 1
            if cell == '"':
                break
            if not isinstance(cell, str):
                parts += [*self.unescaped(plain), self.plain_property(cell)]
                plain = ""
            elif cell == "\\":
                plain += cell + str(self.cell())
                self.here += 1
            else:
                plain += cell
        parts += self.unescaped(plain)
        return tuple(parts) or ("",)

    def bare(self) -> tuple[str | TemplateProperty, ...]:
        """A value without quotes."""
        parts: list[str | TemplateProperty] = []
        while not (isinstance(self.cell(), str) and str(self.cell()) in _ENDS):
            cell = self.cell()
            self.here += 1
            if isinstance(cell, str) and parts and isinstance(parts[-1], str):
                parts[-1] += cell
            else:
                parts.append(cell if isinstance(cell, str) else self.plain_property(cell))
        if not parts:
            raise self.wrong("a value is missing")
        return tuple(parts)

    def unescaped(self, plain: str) -> list[str | TemplateProperty]:
        if not plain:
            return []
        try:
            return [json.loads(f'"{plain}"', strict=False)]
        except ValueError:
            raise self.wrong("a text that JSON does not allow") from None

    def plain_property(self, cell: TemplateProperty | NamedText) -> TemplateProperty:
        if isinstance(cell, NamedText):
            raise self.wrong("a constant() with a name inside of a value")
        return cell

    def place(self, content: Sequence[str | TemplateProperty]) -> ScriptPosition:
        return next((one.origin for one in content if not isinstance(one, str)), self.origin)

    def cell(self) -> str | TemplateProperty | NamedText:
        if self.here >= len(self.cells):
            raise self.wrong("it ends too early")
        return self.cells[self.here]

    def blanks(self) -> None:
        while self.here < len(self.cells) and str(self.cells[self.here]) in set(_BLANKS):
            self.here += 1

    def expect(self, character: str) -> None:
        self.blanks()
        if self.cell() != character:
            raise self.wrong(f"{character} is missing")
        self.here += 1

    def wrong(self, why: str) -> Inexpressible:
        return Inexpressible(self.origin, f"this template writes no JSON object: {why}")
