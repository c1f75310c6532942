"""A template that writes JSON as the fields of a document."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TypeGuard

from tuner.importer.unquoted import type_without_quotes
from tuner.modules.field import DocumentField
from tuner.modules.text_source import TIMES
from tuner.rainerscript.conditions import PROPERTY_ALIASES, path_of
from tuner.rainerscript.gaps import Gaps, Inexpressible
from tuner.rainerscript.parameters import misfit
from tuner.rainerscript.script import ON, ScriptPosition, Statement
from tuner.rainerscript.template import (
    NamedText,
    Template,
    TemplatePiece,
    TemplateProperty,
    extended,
)
from tuner.rainerscript.tokens import DEEPEST

_BLANKS = " \t\r\n"
_ENDS = _BLANKS + ",}]"
_RAW = frozenset({"jsonr", "jsonfr"})
_ESCAPING = _RAW | {"json", "jsonf"}
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
        # Characters and properties, one by one.
        cells = chain.from_iterable([one] if not isinstance(one, str) else one for one in pieces)
        members = tuple(_JsonReader(list(cells), template.origin).document())
    last: dict[tuple[str, ...], Member] = {}
    for one in members:
        if one.path in last:
            gaps.change(one.origin, f"{one.name} is written twice: the profile keeps the last")
        last[one.path] = one
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
        if one.is_quoted
        and isinstance(part, TemplateProperty)
        and part.options.get("format", "").lower() not in _ESCAPING
        and not part.lowered.startswith("$!all-json")
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
                yield Member((name,), (piece,), _is_text(piece), piece.origin)
            case str():
                if piece.strip():
                    raise Inexpressible(origin, "a constant() without a name under option.jsonf")


def _is_text(one: TemplateProperty) -> bool:
    """Whether a property that brings its own name is written in quotes."""
    return one.options.get("datatype", "string").lower() == "string"


def is_rest(cell: TemplatePiece) -> TypeGuard[TemplateProperty]:
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

    def __init__(self, cells: Sequence[TemplatePiece], origin: ScriptPosition) -> None:
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

    def member(self, path: tuple[str, ...], cell: TemplatePiece) -> Iterator[Member]:
        if isinstance(cell, NamedText):
            self.here += 1
            yield Member((*path, cell.name), (cell.text,), True, self.origin)
        elif isinstance(cell, TemplateProperty):
            if cell.options.get("format", "").lower() not in _NAMED:
                raise Inexpressible(cell.origin, "a property stands where a name is expected")
            self.here += 1
            name = cell.options.get("outname", cell.name)
            yield Member((*path, name), (cell,), _is_text(cell), cell.origin)
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
            if len(path) >= DEEPEST:
                raise self.wrong(f"objects more than {DEEPEST} levels deep in one another")
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

    def cell(self) -> TemplatePiece:
        if self.here >= len(self.cells):
            raise self.wrong("it ends too early")
        return self.cells[self.here]

    def blanks(self) -> None:
        while self.here < len(self.cells) and str(self.cells[self.here]) in _BLANKS:
            self.here += 1

    def expect(self, character: str) -> None:
        self.blanks()
        if self.cell() != character:
            raise self.wrong(f"{character} is missing")
        self.here += 1

    def wrong(self, why: str) -> Inexpressible:
        return Inexpressible(self.origin, f"this template writes no JSON object: {why}")


# What changes nothing of a value that is escaped for JSON.
_IDLE = frozenset({"format", "outname", "name", "mandatory"})
# What rsyslog writes where an output names no template (msg.c, StdJSONFmt).
STANDARD_JSON: tuple[dict[str, object], ...] = (
    {"property": "msg", "name": "message"},
    {"property": "hostname", "name": "fromhost"},
    {"property": "syslogfacility-text", "name": "facility"},
    {"property": "syslogseverity-text", "name": "priority"},
    {"property": "timereported", "name": "timereported", "type": "date"},
    {"property": "timegenerated", "name": "timegenerated", "type": "date"},
)


def fields_of_template(
    template: Template, statements: Collection[Statement], gaps: Gaps
) -> list[dict[str, object]]:
    """The fields of the documents that a template writes; what a profile cannot say of one is
    noted.  Among `statements` are those that set variables.  Raises Inexpressible where that is all
    of it."""
    if template.subtree is not None:
        if template.subtree not in {"$!", ""}:
            raise Inexpressible(template.origin, f"template {template.name} is a part of the JSON")
        what = "an event without JSON becomes {}; rsyslog writes nothing, which is no document"
        gaps.change(template.origin, f"template {template.name}: {what}")
        return [whole_json(template)]
    only = template.pieces[0] if len(template.pieces) == 1 else None
    if isinstance(only, TemplateProperty) and only.name.lower() in WHOLE_JSON:
        return [whole_json(template)]
    fields, noted = [], Gaps()
    for member in members_of(template, gaps):
        try:
            fields.append(_field(member, statements, gaps))
        except Inexpressible as bad:
            noted.miss(bad.gap.origin, f"field {member.name}: {bad}")
    for first in () if fields else noted.missing[:1]:
        raise Inexpressible(first.origin, first.message)
    gaps.take(noted)
    return fields


def merges_message(template: Template) -> bool:
    """Whether the members of messages, which then are JSON, become those of the document."""
    if not any(is_rest(one) and one.lowered == "msg" for one in template.pieces):
        return False
    rest = (one.content[0] for one in members_of(template, Gaps()) if not one.path)
    return any(isinstance(one, TemplateProperty) and one.lowered == "msg" for one in rest)


def line_of_template(template: Template, gaps: Gaps) -> dict[str, object]:
    """The texts that a template writes one after the other, the line end left out, with what
    becomes of control characters.  Raises Inexpressible."""
    pieces = list(template.pieces)
    last = pieces.pop() if pieces else ""
    if template.options or not isinstance(last, str) or not last.endswith("\n"):
        raise Inexpressible(template.origin, f"template {template.name} writes no plain line")
    texts: list[dict[str, object]] = []
    controls: set[str] = set()
    for piece in [*pieces, last[:-1]]:
        if isinstance(piece, NamedText):
            raise Inexpressible(template.origin, "a constant() with a name")
        if isinstance(piece, TemplateProperty):
            if piece.options.get("format"):
                raise Inexpressible(piece.origin, f"format {piece.options['format']} in a line")
            options = {k: v for k, v in piece.options.items() if k != "droplastlf"}
            controls.add(options.pop("controlcharacters", "keep").lower())
            plain = replace(piece, options=options)
            texts.append(_property(plain, gaps))
        elif piece:
            texts.append({"constant": piece})
    if len(controls) > 1:
        raise Inexpressible(template.origin, "control characters in more than one way")
    how = controls.pop() if controls else "escape"
    return {"line": texts} | ({} if how == "escape" else {"controlCharacters": how})


def whole_json(template: Template) -> dict[str, object]:
    """All that parsing finds, as the document."""
    return _checked({"json": "*"}, template)


def _checked(data: dict[str, object], at: Template | Member) -> dict[str, object]:
    """The field, where a profile can have it."""
    wrong = misfit(DocumentField, data)
    if wrong is not None:
        raise Inexpressible(at.origin, f"a profile cannot say this: {wrong or 'this field'}")
    return data


def _field(member: Member, statements: Collection[Statement], gaps: Gaps) -> dict[str, object]:
    if any("." in word for word in member.path):
        gaps.change(
            member.origin,
            f"{member.name} has a dot in its name: the profile writes nested objects, which the "
            "engine treats alike",
        )
    if not member.path:
        return _checked({"json": "*"}, member)
    if len(member.content) > 1:
        raise Inexpressible(member.origin, "made of several parts")
    only = member.content[0]
    if isinstance(only, str):
        data = _constant(only, member)
        kind = _KINDS.get(type(data["constant"]))
    else:
        data = _property(only, gaps)
        if "position" in data:
            what = f"{member.name}: a character of UTF-8 that its position cuts in two is left out"
            gaps.change(member.origin, what)
        kind = None
        if data.get("property") in TIMES and "dateFormat" not in data:
            kind = "date"
        elif not member.is_quoted:
            kind = type_without_quotes(data, only, member.name, statements, gaps)
    return _checked({**data, "name": member.name} | ({"type": kind} if kind else {}), member)


def _constant(text: str, member: Member) -> dict[str, object]:
    if member.is_quoted:
        return {"constant": text}
    try:
        value = json.loads(text)
    except ValueError:
        raise Inexpressible(member.origin, "not a value of JSON") from None
    if value is None:
        raise Inexpressible(member.origin, "null in every document")
    return {"constant": value}


_KINDS: dict[type, str] = {bool: "boolean", int: "integer", float: "float"}


def _property(one: TemplateProperty, gaps: Gaps) -> dict[str, object]:
    """The source of a field and its options."""
    options = {key: value for key, value in one.options.items() if key not in _IDLE}
    name = PROPERTY_ALIASES.get(one.lowered, one.lowered)
    if (written := one.options.get("format", "").lower()) in _RAW:
        what = f"format {written}, which leaves backslashes as they are"
        raise Inexpressible(one.origin, what)
    if options.pop("datatype", "string").lower() not in {"string", "number", "auto", "bool"}:
        raise Inexpressible(one.origin, "an unknown dataType")
    data = _source(name, one)
    data |= _date(name, options, one, gaps)
    data |= _cut(options, one)
    if "split" in data:
        what = "where there are fewer pieces the profile writes none of **FIELD NOT FOUND**"
        gaps.change(one.origin, f"{one.name}: {what}")
    on_empty = options.pop("onempty", None)
    if on_empty is not None:
        data["onEmpty"] = {"keep": "blank"}.get(on_empty.lower(), on_empty.lower())
    if options.pop("droplastlf", None) or options.pop("compressspace", None):
        gaps.change(one.origin, f"{one.name}: the profile does not drop blanks or line ends")
    if options:
        raise Inexpressible(one.origin, f"the option {', '.join(options)}")
    return data


def _source(name: str, one: TemplateProperty) -> dict[str, object]:
    if name in WHOLE_JSON:
        return {"json": "*"}
    if name.startswith("$!metadata!"):
        return {"property": name}
    source, path = path_of(name)
    if source is None and name.startswith(("$!", "$.", "$/")):
        raise Inexpressible(one.origin, f"the variable {name}")
    return {"property": name} if source is None else {source: path}


def _date(
    name: str, options: dict[str, str], one: TemplateProperty, gaps: Gaps
) -> dict[str, object]:
    if name not in TIMES:
        if options.pop("dateformat", None) is not None:
            raise Inexpressible(one.origin, "a date format on what is no time")
        return {}
    # Without a format rsyslog writes that of RFC 3164, which has no year.
    written = options.pop("dateformat", "rfc3164").lower()
    if options.pop("date.inutc", "off").lower() in ON:
        if written != "rfc3339":
            raise Inexpressible(one.origin, "date.inUTC")
        what = f"{name} is written with its own offset instead of UTC: the same moment"
        gaps.change(one.origin, what)
    return {} if written == "rfc3339" else {"dateFormat": written}


def _whole(text: str, one: TemplateProperty, most: int = 10**9) -> int:
    """A number among the options of a property.  Raises Inexpressible."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else -1
    if not 0 <= number <= most:
        raise Inexpressible(one.origin, "something else where a number belongs")
    return number


def _cut(options: dict[str, str], one: TemplateProperty) -> dict[str, object]:
    """Case, position, field and expression."""
    data: dict[str, object] = {}
    case = options.pop("caseconversion", None)
    if case is not None:
        data["case"] = case.lower() if case.lower() in {"lower", "upper"} else case
    if options.pop("position.relativetoend", "off").lower() == "on":
        raise Inexpressible(one.origin, "a position counted from the end")
    cut = {key: options.pop(f"position.{key}", "") for key in ("from", "to")}
    position = {key: int(text) for key, text in cut.items() if re.fullmatch("-?[0-9]{1,9}", text)}
    if len(position) < len([text for text in cut.values() if text]):
        raise Inexpressible(one.origin, "a position that is not a number")
    if position:
        data["position"] = position
    if "field.number" in options:
        code = options.pop("field.delimiter", "9")
        delimiter = chr(_whole(code, one, sys.maxunicode)) if code.isdecimal() else code
        number = _whole(options.pop("field.number"), one)
        data["split"] = {"delimiter": delimiter, "number": number}
    if "regex.expression" in options:
        expression = options.pop("regex.expression")
        if options.pop("regex.type", "BRE").upper() != "ERE":
            expression = extended(expression)
        submatch = _whole(options.pop("regex.submatch", "0") or "0", one)
        missing = options.pop("regex.nomatchmode", "DFLT").upper()
        data["regex"] = {"expression": expression, "submatch": submatch, "nomatch": missing}
    return data
