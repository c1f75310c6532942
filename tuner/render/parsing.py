"""Where in an event a field's text is found, as parameters of the property replacer.

The expressions are POSIX extended ones, as glibc's regexec reads them.  A text that they do not
match never reaches a document: nomatchMode BLANK, where the default writes **NO MATCH**.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tuner.modules.field import DocumentField, FieldType, is_parsed
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.parsing import CsvParse, KvParse
from tuner.modules.registry import Parse
from tuner.profile.model import Profile
from tuner.render.rainerscript import Statement, Value, statement

# What JSON and the mapping both take: 18 digits fit a long, these sizes a double.
# rsyslog's dataType="number" alone writes what comes, such as abc or 007 (seen on 8.2302).
_CHECKED = {
    FieldType.INTEGER: r"-?(0|[1-9][0-9]{0,17})",
    FieldType.FLOAT: r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?",
    FieldType.BOOLEAN: r"true|false",
}
_ALWAYS_DIGITS = frozenset({"syslogfacility", "syslogseverity"})


@dataclass(frozen=True)
class _Place:
    """A piece of a property: the expression before it with its number of groups, the one after
    it, the expression of a text with the groups that may hold it, and of an optional quote."""

    property: str
    before: str
    groups: int
    after: str
    text: str = ""
    text_groups: tuple[int, ...] = ()
    quote: str = ""


def is_checked(field: DocumentField) -> bool:
    """Whether the field enters JSON unquoted although its text could be anything."""
    digits = field.type is FieldType.INTEGER and field.property in _ALWAYS_DIGITS
    return field.constant is None and field.type in _CHECKED and not digits


def checked_member(field: DocumentField, parse: Parse | None) -> Statement:
    """The whole member `"name":value`; null where the text is no value of the field's type."""
    place = _place(field, parse)
    value = f"{place.quote}({_CHECKED[field.type]}){place.quote}"
    parameters: dict[str, Value] = {
        "name": place.property,
        "outname": field.name.rpartition(".")[2],
        "format": "jsonf",
        "dataType": "number",
        "onEmpty": "null",
    }
    expression = f"{place.before}{value}{place.after}"
    return statement("property", parameters | _match(expression, place.groups + 1))


def parsed_text(field: DocumentField, parse: Parse | None) -> Iterator[Statement]:
    """The text of a parsed field, escaped for JSON: of several statements one at most writes."""
    place = _place(field, parse)
    parameters: dict[str, Value] = {"name": place.property, "format": "json"}
    if not place.text:
        yield statement("property", parameters)
    for group in place.text_groups:
        expression = f"{place.before}{place.text}{place.after}"
        yield statement("property", parameters | _match(expression, place.groups + group))


def parse_module(profile: Profile) -> Iterator[Statement]:
    """The module that the profile's parsing needs, if it needs one."""
    match profile.parse:
        case JsonParse():
            yield statement("module", {"load": "mmjsonparse"})
        case NormalizeParse():
            yield statement("module", {"load": "mmnormalize"})
        case _:
            return


def parse_action(profile: Profile) -> Iterator[Statement]:
    """The action that parses an event before the outputs see it, if there is one."""
    parse = profile.parse
    own: dict[str, Value]
    match parse:
        case JsonParse():
            own = {"name": f"{profile.name}-json", "type": "mmjsonparse", "cookie": parse.cookie}
        case NormalizeParse():
            name = f"{profile.name}-normalize"
            own = {"name": name, "type": "mmnormalize", "rulebase": parse.rulebase}
        case _:
            return
    yield statement("action", own | {"useRawMsg": parse.use_raw_msg, "queue.type": "Direct"})


def _match(expression: str, group: int) -> dict[str, Value]:
    return {
        "regex.type": "ERE",
        "regex.expression": expression,
        "regex.submatch": group,
        "regex.nomatchMode": "BLANK",
    }


def _place(field: DocumentField, parse: Parse | None) -> _Place:
    if not is_parsed(field):
        return _Place(str(field.property), "^ *", 0, " *$")
    match parse:
        case CsvParse():
            return _csv(parse, parse.columns.index(str(field.column)))
        case KvParse():
            return _kv(parse, str(field.key))
        case _:
            path = str(field.json_path).replace(".", "!")
            return _Place(f"$!{path}", "^", 0, "$")


def _csv(parse: CsvParse, passed: int) -> _Place:
    """A cell after `passed` others; rsyslog's msg starts with the blank after an RFC 3164 tag."""
    end = f"[{parse.delimiter}]"
    if not parse.quoted:
        cell = f"[^{parse.delimiter}]*"
        before = f"^ ?({cell}{end}){{{passed}}}"
        return _Place("msg", before, 1, f"({end}|$)", f"({cell})", (1,))
    bare = f'([^"{parse.delimiter}][^{parse.delimiter}]*)?'
    before = f'^ ?(("([^"]|"")*"|{bare}){end}){{{passed}}}'
    text = f'("(([^"]|"")*)"|{bare})'
    return _Place("msg", before, 4, f"({end}|$)", text, (2, 4), '"?')


def _kv(parse: KvParse, key: str) -> _Place:
    """The value of `key` where it stands outside of quotes, so that no value can pose as a key."""
    end = f"[{parse.separator}]"
    before = f'^(([^"]|"[^"]*")*{end})? *{key.replace(".", "[.]")}{parse.assignment}'
    text = f'("([^"]*)"|([^"{parse.separator}][^{parse.separator}]*)?)'
    return _Place("msg", before, 2, f"({end}|$)", text, (2, 3), '"?')
