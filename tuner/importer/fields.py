"""The values of a document as fields of a profile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pydantic import ValidationError

from tuner.importer.conditions import PROPERTY_ALIASES, path_of
from tuner.importer.document import WHOLE_JSON, Member, members_of
from tuner.modules.field import DocumentField
from tuner.rainerscript.gaps import Gaps, Inexpressible
from tuner.rainerscript.script import ON
from tuner.rainerscript.template import NamedText, Template, TemplateProperty, extended

_TIMES = frozenset({"timereported", "timegenerated"})
_CASES = {"lower": "lower", "upper": "upper"}
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


def fields_of_template(template: Template, gaps: Gaps) -> list[dict[str, object]]:
    """The fields of the documents that a template writes; what a profile cannot say of one is
    noted.  Raises Inexpressible where that is all of it."""
    if template.subtree is not None:
        return [_subtree(template)]
    only = template.pieces[0] if len(template.pieces) == 1 else None
    if isinstance(only, TemplateProperty) and only.name.lower() in WHOLE_JSON:
        return [whole_json(template)]
    fields = []
    for member in members_of(template, gaps):
        try:
            fields.append(_field(member, gaps))
        except Inexpressible as bad:
            gaps.miss(bad.gap.origin, f"field {member.name}: {bad}")
    if not fields:
        raise Inexpressible(template.origin, f"no field of template {template.name} is understood")
    return fields


def texts_of_template(template: Template, gaps: Gaps) -> list[dict[str, object]]:
    """The texts that a template writes one after the other, the line end left out.  Raises
    Inexpressible."""
    pieces = list(template.pieces)
    last = pieces.pop() if pieces else ""
    if template.options or not isinstance(last, str) or not last.endswith("\n"):
        raise Inexpressible(template.origin, f"template {template.name} writes no plain line")
    texts: list[dict[str, object]] = []
    for piece in [*pieces, last[:-1]]:
        if isinstance(piece, NamedText):
            raise Inexpressible(template.origin, "a constant() with a name")
        if isinstance(piece, TemplateProperty):
            if piece.options.get("format"):
                raise Inexpressible(piece.origin, f"format {piece.options['format']} in a line")
            options = {k: v for k, v in piece.options.items() if k != "droplastlf"}
            plain = replace(piece, options=options)
            texts.append(_property(plain, Member((), (), True, piece.origin), gaps))
        elif piece:
            texts.append({"constant": piece})
    return texts


def whole_json(template: Template) -> dict[str, object]:
    """All that parsing finds, as the document."""
    return _checked({"json": "*"}, template)


def _subtree(template: Template) -> dict[str, object]:
    path = (template.subtree or "").removeprefix("$!").replace("!", ".")
    if path:
        raise Inexpressible(template.origin, f"template {template.name} is a part of the JSON")
    return whole_json(template)


def _checked(data: dict[str, object], at: Template | Member) -> dict[str, object]:
    """The field, where a profile can have it."""
    try:
        DocumentField.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as bad:
        first = bad.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "this field"
        raise Inexpressible(at.origin, f"a profile cannot say this: {where}") from None
    return data


def _field(member: Member, gaps: Gaps) -> dict[str, object]:
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
    data = _constant(only, member) if isinstance(only, str) else _property(only, member, gaps)
    return _checked({**data, "name": member.name} | _type_of(data, member), member)


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


def _type_of(data: Mapping[str, object], member: Member) -> dict[str, object]:
    """The type in the document, where it is not a text."""
    constant = data.get("constant")
    if constant is not None:
        kinds = {bool: "boolean", int: "integer", float: "float"}
        kind = kinds.get(type(constant))
        return {} if kind is None else {"type": kind}
    if data.get("property") in _TIMES and "dateFormat" not in data:
        return {"type": "date"}
    if member.is_quoted:
        return {}
    if "json" in data:
        return {"type": "json"}
    return {"type": "integer"}


def _property(one: TemplateProperty, member: Member, gaps: Gaps) -> dict[str, object]:
    """The source of a field and its options."""
    options = {key: value for key, value in one.options.items() if key not in _IDLE}
    name = PROPERTY_ALIASES.get(one.lowered, one.lowered)
    if options.pop("datatype", "string").lower() not in {"string", "number", "auto", "bool"}:
        raise Inexpressible(one.origin, "an unknown dataType")
    data = _source(name, one)
    data |= _date(name, options, one, gaps)
    data |= _cut(options, one)
    on_empty = options.pop("onempty", None)
    if on_empty is not None:
        data["onEmpty"] = {"keep": "blank"}.get(on_empty.lower(), on_empty.lower())
    if options.pop("droplastlf", None) or options.pop("compressspace", None):
        gaps.change(one.origin, f"{member.name}: the profile does not drop blanks or line ends")
    if options:
        raise Inexpressible(one.origin, f"the option {', '.join(options)}")
    return data


def _source(name: str, one: TemplateProperty) -> dict[str, object]:
    if name in WHOLE_JSON:
        return {"json": "*"}
    if name.startswith("$!metadata!"):
        return {"property": name}
    if name.startswith("$/"):
        raise Inexpressible(one.origin, f"the variable {name}")
    source, path = path_of(name)
    return {"property": name} if source is None else {source: path}


def _date(
    name: str, options: dict[str, str], one: TemplateProperty, gaps: Gaps
) -> dict[str, object]:
    if name not in _TIMES:
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


def _cut(options: dict[str, str], one: TemplateProperty) -> dict[str, object]:
    """Case, position, field and expression."""
    data: dict[str, object] = {}
    case = options.pop("caseconversion", None)
    if case is not None:
        data["case"] = _CASES.get(case.lower(), case)
    if options.pop("position.relativetoend", "off").lower() == "on":
        raise Inexpressible(one.origin, "a position counted from the end")
    position = {
        key: int(options[f"position.{key}"])
        for key in ("from", "to")
        if options.get(f"position.{key}", "").isdecimal()
    }
    options.pop("position.from", None)
    options.pop("position.to", None)
    if position:
        data["position"] = position
    if "field.number" in options:
        code = options.pop("field.delimiter", "9")
        delimiter = chr(int(code)) if code.isdecimal() else code
        data["split"] = {"delimiter": delimiter, "number": int(options.pop("field.number"))}
    if "regex.expression" in options:
        expression = options.pop("regex.expression")
        if options.pop("regex.type", "BRE").upper() != "ERE":
            expression = extended(expression)
        submatch = int(options.pop("regex.submatch", "0") or "0")
        missing = options.pop("regex.nomatchmode", "DFLT").upper()
        data["regex"] = {"expression": expression, "submatch": submatch, "nomatch": missing}
    return data
