"""Documents with a number: a copy of their template with one more member; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tuner.engine.numbering import FIELD, FIRST_OUTPUT
from tuner.script.script import (
    HERE,
    FunctionCall,
    Parameter,
    Quoted,
    ScriptObject,
    SetVariable,
    Statement,
)
from tuner.script.template import TemplateProperty, template_of, whole_document

OWN = "rsyslog-tune-"
"""How the names of templates of ours begin."""
LINE_DIGITS = 16
"""The microseconds since 1970 before a line without a head, of which a number has the last ones."""
# What omelasticsearch writes without a template (StdJSONFmt in rsyslog's runtime/conf.c).
_STANDARD = (
    '{"message":"%msg:::json%","fromhost":"%HOSTNAME:::json%",'
    '"facility":"%syslogfacility-text%","priority":"%syslogpriority-text%",'
    '"timereported":"%timereported:::date-rfc3339%",'
    '"timegenerated":"%timegenerated:::date-rfc3339%"}'
)
_SECONDS_FROM = 5
OF_HEAD = f"%timereported:{_SECONDS_FROM}:10:date-unixtimestamp%%timereported:::date-subseconds%"
OF_LINE = f"%rawmsg:{_SECONDS_FROM}:{LINE_DIGITS}%"
"""Where a message has its number: the time in its head, or the digits before a line without one."""
# The message without its last character, a brace, which the number then comes before.
_PASSED_ON = "%msg:1000000:2:pos-end-relative%}"
_MESSAGE = "msg"
_ALL_JSON = {"$!all-json", "$!all-json-plain"}


@dataclass(frozen=True)
class NumberedDocument:
    """Templates, the name of that for documents, and what must stand before its action."""

    templates: tuple[ScriptObject, ...]
    name: str
    before: tuple[Statement, ...] = ()


def numbered(
    template: ScriptObject | None, number: int, stands_in: str = OF_HEAD
) -> NumberedDocument | None:
    """The documents of the output of that number, by its template or as rsyslog writes them without
    one, with their number as one more member; None where they are no JSON objects."""
    name, digits = f"{OWN}document-{number}", f"{FIRST_OUTPUT + number}{stands_in}"
    given = template or string_template(name, _STANDARD)
    section = whole_document(given)
    if section == _MESSAGE and stands_in == OF_LINE:
        return None
    if section == _MESSAGE:
        given, section = string_template(name, _PASSED_ON), None
    section = "$!" if section in _ALL_JSON else section
    text = given.text("string")
    if section is None and text is not None:
        longer = _with_text(text, digits)
        copy = given.with_values({"name": name, "type": "string", "string": longer})
        return NumberedDocument((copy,), name) if longer else None
    copy = given.with_values({"name": name})
    joins_members = any(given.is_on(f"option.{name}") for name in ("jsonf", "jsonftree"))
    if section is None and not joins_members:
        parts = _with_member(given.parts, digits)
        return NumberedDocument((replace(copy, parts=parts),), name) if parts else None
    # What joins members by itself, or writes a variable, takes a number as one value alone.
    variable = f"$.{FIELD}_{number}" if section is None else f"{section.rstrip('!')}!{FIELD}"
    if section is None:
        member = _property({"name": variable, "outname": FIELD, "format": "jsonf"})
        copy = replace(copy, parts=(*given.parts, member))
    with_number = string_template(f"{OWN}number-{number}", digits)
    value = FunctionCall("exec_template", (Quoted(with_number.name, HERE),), HERE)
    return NumberedDocument((with_number, copy), name, (SetVariable("set", variable, value, HERE),))


def string_template(name: str, text: str) -> ScriptObject:
    """A template of one text."""
    parameters = {"name": name, "type": "string", "string": text}
    return ScriptObject("template", (), HERE).with_values(parameters)


def constant(text: str) -> ScriptObject:
    """A part of a list template that is always the same."""
    return ScriptObject("constant", (Parameter.of("value", text, HERE),), HERE)


def _property(values: Mapping[str, object]) -> ScriptObject:
    return ScriptObject("property", (), HERE).with_values(values)


def _with_member(parts: tuple[ScriptObject, ...], digits: str) -> tuple[ScriptObject, ...]:
    """The parts of a list template with one more member of the object that they write, the last
    one, or the first where a property closes the object; none where they write none."""
    end = max((n for n, part in enumerate(parts) if not _is_blank(part)), default=None)
    if end is None:
        return ()
    last, after = parts[end], parts[end + 1 :]
    head, brace, tail = (last.text("value") or "").rpartition("}")
    if last.kind == "constant" and brace:
        head_part = last.with_values({"value": f'{head},"{FIELD}":'})
        closed = last.with_values({"value": brace + tail})
        return (*parts[:end], head_part, *_parts_of(digits), closed, *after)
    blank, brace, more = (parts[0].text("value") or "").partition("{")
    if parts[0].kind != "constant" or blank.strip() or not brace:
        return ()
    opened = constant(f'{{"{FIELD}":')
    return (opened, *_parts_of(digits), constant(f",{more}"), *parts[1:])


def _parts_of(text: str) -> Iterator[ScriptObject]:
    """The parts of a list template that write what a text with properties does."""
    content = template_of(string_template("", text))
    for piece in () if content is None else content.pieces:
        if isinstance(piece, TemplateProperty):
            yield _property({"name": piece.name, **piece.options})
        elif isinstance(piece, str):
            yield constant(piece)


def _with_text(text: str, digits: str) -> str:
    """The text of a template with one more member of the object that it writes, the last one, or
    the first where a property closes the object; "" where it writes none."""
    head, brace, tail = text.rpartition("}")
    if brace and not _without_line_ends(tail):
        return f'{head},"{FIELD}":{digits}{brace}{tail}'
    blank, brace, more = text.partition("{")
    return "" if blank.strip() or not brace else f'{{"{FIELD}":{digits},{more}'


def _is_blank(part: ScriptObject) -> bool:
    return part.kind == "constant" and not _without_line_ends(part.text("value") or "")


def _without_line_ends(text: str) -> str:
    """A text without blanks around it and, as rsyslogd unescapes it once more, without `\\n`."""
    return text.replace("\\n", "").strip()
