"""Where the text of a field stands: a property of the event, and the expression that finds it.

Where a field is a piece of a text, POSIX extended expressions find it, as glibc's regexec reads
them.  A text that they do not match never reaches a document: nomatchMode BLANK, where the default
writes **NO MATCH**, and so would field.number write **FIELD NOT FOUND**.
"""

from __future__ import annotations

from typing import NamedTuple

from tuner.modules.field import DocumentField, FieldType
from tuner.modules.registry import Parse
from tuner.modules.step import CsvParse, KvParse
from tuner.modules.text_source import TIMES, TextSource

METADATA = "$!metadata"
KEPT_METADATA = "$.documents!metadata"
"""What imfile says of the file, kept before the event's own JSON is read into its place."""
# What JSON and the mapping both take: 18 digits fit a long, these sizes a double.
# rsyslog's dataType="number" alone writes what comes, such as abc or 007 (seen on 8.2302).
CHECKED = {
    FieldType.INTEGER: r"-?(0|[1-9][0-9]{0,17})",
    FieldType.FLOAT: r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?",
    FieldType.BOOLEAN: r"true|false",
}


class Property(NamedTuple):
    """A property of the event: all of it, the characters from `first` to `last`, or what a group
    of an expression finds.

    With `member` it writes the whole member of that name; `data_type` and `on_empty` say how.
    """

    name: str
    member: str | None = None
    data_type: str | None = None
    on_empty: str | None = None
    first: int | None = None
    last: int | None = None
    case: str | None = None
    date_format: str | None = None
    utc: str | None = None
    format: str | None = None
    expression: str | None = None
    group: int | None = None
    nomatch: str = "BLANK"
    controls: str | None = None
    secure_path: str | None = None


class _Place(NamedTuple):
    """A piece of a property: the expression before it with its number of groups, the one after
    it, the expression of a text with the groups that may hold it, and of an optional quote."""

    property: str
    before: str
    groups: int
    after: str
    text: str = ""
    text_groups: tuple[int, ...] = ()
    quote: str = ""


def texts_of(field: TextSource, parse: Parse | None) -> tuple[Property, ...]:
    """What writes the text of a field: of several properties one at most writes."""
    place = _place(field, parse)
    options = Property(
        place.property,
        case=field.case,
        first=None if field.position is None else field.position.first,
        last=None if field.position is None else field.position.to,
        date_format=(field.date_format or "rfc3339") if field.property in TIMES else None,
    )
    if field.split is not None:
        expression, group = _piece(field.split.delimiter, field.split.number)
        return (options._replace(expression=expression, group=group),)
    if field.regex is not None:
        expression, group = field.regex.expression, field.regex.submatch
        nomatch = field.regex.nomatch
        return (options._replace(expression=expression, group=group, nomatch=nomatch),)
    expression = f"{place.before}{place.text}{place.after}"
    return tuple(
        options._replace(expression=expression, group=place.groups + group)
        for group in place.text_groups
    ) or (options,)


def checked(field: DocumentField, parse: Parse | None, variable: str | None = None) -> Property:
    """The text of a field, or of a `variable`, where it is a value of the field's type, which JSON
    takes unquoted."""
    place = _place(field, parse) if variable is None else _whole(variable)
    value = f"{place.quote}({CHECKED[field.type]}){place.quote}"
    expression = f"{place.before}{value}{place.after}"
    return Property(place.property, expression=expression, group=place.groups + 1)


def _piece(delimiter: str, number: int) -> tuple[str, int]:
    """The expression, and the group of it, for a text between two delimiters."""
    end = r"\^" if delimiter == "^" else f"[{delimiter}]"
    piece = f"([^{delimiter}]*)"
    if number == 1:
        return f"^{piece}", 1
    return f"^([^{delimiter}]*{end}){{{number - 1}}}{piece}", 2


def _place(field: TextSource, parse: Parse | None) -> _Place:
    if field.column is not None and isinstance(parse, CsvParse):
        return _csv(parse, parse.columns.index(field.column))
    if field.key is not None and isinstance(parse, KvParse):
        return _kv(parse, field.key)
    if field.json_path is not None:
        return _Place(json_name(field.json_path), "^", 0, "$")
    if field.variable is not None:
        return _Place(variable_name(field.variable), "^", 0, "$")
    return _whole(str(field.property).replace(METADATA, KEPT_METADATA))


def _whole(name: str) -> _Place:
    return _Place(name, "^ *", 0, " *$")


def json_name(path: str) -> str:
    """What rsyslog calls a path into the event's JSON."""
    return f"$!{path.replace('.', '!')}"


def variable_name(path: str) -> str:
    """What rsyslog calls a variable of the event beside its JSON."""
    return f"$.{path.replace('.', '!')}"


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
