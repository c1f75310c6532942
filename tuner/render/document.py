"""The document of one event, as a list of constant texts and properties of the event.

A field that is a part of a text is extracted by a POSIX extended regular expression (glibc's
regexec).  nomatchMode BLANK keeps the text out of the document if it does not match; the default
would write **NO MATCH**, and field.number **FIELD NOT FOUND**.

Every property is escaped by format="json", the cheapest complete way (F6); values that are written
unquoted are checked.  Fields of the profile win over members of merged JSON.

If no single property can write a text, the ruleset computes it first.  Such a step is a `set` of a
variable to the output of a template; the variable is below `$.documents!OUTPUT`, or below `$.steps`
for a step of a stream.  A template copies an event's strings unchanged, while rsyslog's own copies
of JSON spoil numbers: jsonDeepCopy turns 1e22 into 1e+22.0, which is not JSON (8.2302).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tuner.modules.field import DocumentField, FieldType, is_json, merges
from tuner.modules.output import Lines
from tuner.modules.registry import Parse
from tuner.modules.step import CsvParse, KvParse
from tuner.modules.text_source import EVERYTHING, TIMES, TextSource, is_changed
from tuner.script.quoting import Emitted

METADATA = "$!metadata"
KEPT_METADATA = "$.documents!metadata"
"""Where imfile's metadata is saved before the event's own JSON overwrites it."""
# Values that are valid JSON and fit the mapping: 18 digits fit a long, these sizes a double.
# rsyslog's dataType="number" checks nothing: it writes abc or 007 as well (seen on 8.2302).
CHECKED = {
    FieldType.INTEGER: r"-?(0|[1-9][0-9]{0,17})",
    FieldType.FLOAT: r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?",
    FieldType.BOOLEAN: r"true|false",
}
_DIGITS = frozenset({"syslogfacility", "syslogseverity", "pri", "protocol-version"})
# Properties that rsyslog sets itself, so no sender can put a partial character into them.
_ASCII = _DIGITS | {
    "fromhost-ip", "fromhost-port", "syslogfacility-text", "syslogseverity-text", "pri-text",
    "uuid", "parsesuccess", "timereported", "timegenerated",
}  # fmt: skip


class Property(NamedTuple):
    """A property of the event: the whole value, its characters `first` to `last`, or a group of a
    regular expression.

    With `member` it writes a JSON member of that name, as `data_type` and `on_empty` say.
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


Piece = str | Property

PARSED_JSON = Property("$!all-json-plain")
"""The event's JSON, as parsing left it; {} if there is none."""


class TextStep(NamedTuple):
    """Sets a variable to the output of a template.

    `mends` removes partial characters at its ends; `joins` puts a comma before it unless it is
    empty; `table` looks it up; `fallback` replaces an empty text.
    """

    variable: str
    template: str
    pieces: tuple[Piece, ...]
    mends: bool = False
    joins: bool = False
    fallback: Emitted | None = None
    table: str | None = None
    kind: str = "text"


class JsonStep(NamedTuple):
    """The value at a JSON path, as JSON: a string in quotes, any other type unchanged.  It follows
    `prefix`, which an empty value leaves out too; without a prefix an empty value is null."""

    variable: str
    template: str
    path: str
    prefix: str | None
    kind: str = "json"


class MergeStep(NamedTuple):
    """The event's JSON without the members `left_out`, written as the end of an object that has
    members already."""

    variable: str
    template: str
    left_out: tuple[str, ...]
    kind: str = "merge"

    @property
    def tree(self) -> str:
        """The variable with the remaining JSON."""
        return f"{self.variable}!tree"

    @property
    def text(self) -> str:
        """The variable with the text to write."""
        return f"{self.variable}!text"


Step = TextStep | JsonStep | MergeStep


@dataclass
class Steps:
    """Collects the steps of one output or stream: variables start with `root`, template names with
    `stem`."""

    root: str
    stem: str
    _all: list[Step] = field(default_factory=list)

    @property
    def all(self) -> tuple[Step, ...]:
        """The steps in their order."""
        return tuple(self._all)

    def text(
        self,
        pieces: tuple[Piece, ...],
        mends: bool = False,
        joins: bool = False,
        fallback: Emitted | None = None,
        variable: str | None = None,
        table: str | None = None,
    ) -> Property:
        """Add a step that sets `variable`, by default a new one; the property that writes it."""
        next_variable, template = self._names()
        step_variable = variable or next_variable
        self._all.append(TextStep(step_variable, template, pieces, mends, joins, fallback, table))
        return Property(step_variable)

    def json(self, field: DocumentField, prefix: str | None = None) -> Property:
        """The property that writes a field's JSON, with a step if one is needed."""
        if field.json_path == EVERYTHING:
            return PARSED_JSON
        variable, template = self._names()
        self._all.append(JsonStep(variable, template, json_name(str(field.json_path)), prefix))
        return Property(f"{variable}!text")

    def merged(self, names: list[str]) -> Property:
        """Add a step for the event's JSON without `names`; the property that writes it, with the
        closing brace.

        To the engine a name with dots equals the path of nested objects.
        """
        variable, template = self._names()
        parts = [name.split(".") for name in names]
        starts = (".".join(part[:end]) for part in parts for end in range(1, len(part) + 1))
        step = MergeStep(variable, template, tuple(dict.fromkeys(starts)))
        self._all.append(step)
        return Property(step.text)

    def _names(self) -> tuple[str, str]:
        """A unique variable and template name: no other template's name has a dot."""
        number = len(self._all) + 1
        return f"{self.root}!{number}", f"{self.stem}.{number}"


_Tree = dict[str, "_Tree | DocumentField"]


def document(
    fields: tuple[DocumentField, ...],
    parse: Parse | None,
    end: str,
    steps: Steps,
) -> tuple[Piece, ...]:
    """A document of these fields, with `end` after it."""
    named = tuple(field for field in fields if not merges(field))
    members = list(_Members(parse, steps).members_of(_tree(named)))
    if named == fields:
        pieces: list[Piece] = ["{", *members, "}", end]
    elif not named:
        pieces = [PARSED_JSON, end]
    else:
        pieces = ["{", *members, steps.merged([field.name for field in named]), end]
    return tuple(_merged(pieces))


def line(output: Lines, parse: Parse | None, end: str) -> tuple[Piece, ...]:
    """The line of an output with `end` after it; empty if the output has no line."""
    if output.line is None:
        return ()
    keeps = output.control_characters == "keep"
    controls = None if keeps else output.control_characters
    texts = (piece for part in output.line for piece in _text_pieces(part, parse, controls))
    return tuple(_merged([*texts, end]))


def loki_stream(
    labels: tuple[Piece, ...], parts: tuple[TextSource, ...], parse: Parse | None, steps: Steps
) -> tuple[Piece, ...]:
    """An event as a Loki stream with one line: its labels, its time in nanoseconds and its text."""
    seconds, fraction = (
        Property("timegenerated", date_format=part) for part in ("unixtimestamp", "subseconds")
    )
    pieces: list[Piece] = ['{"stream":', *labels, ',"values":[["', seconds, fraction, '000","']
    for part in parts:
        if part.constant is not None:
            pieces.append(json.dumps(str(part.constant))[1:-1])
        else:
            texts = mended_texts(part, parse, steps)
            pieces += [text._replace(format="json") for text in texts]
    return tuple(_merged([*pieces, '"]]}']))


def _text_pieces(part: TextSource, parse: Parse | None, controls: str | None) -> Iterator[Piece]:
    if part.constant is not None:
        yield str(part.constant)
    elif part.json_path == EVERYTHING:
        yield PARSED_JSON
    else:
        yield from (text._replace(controls=controls) for text in texts_of(part, parse))


def _tree(fields: tuple[DocumentField, ...]) -> _Tree:
    """Dotted names as nested objects, in the order of first appearance."""
    root: _Tree = {}
    for leaf in fields:
        *parents, key = leaf.name.split(".")
        section = root
        for parent in parents:
            inner = section.setdefault(parent, {})
            if not isinstance(inner, dict):
                raise TypeError(f"{parent} is both a value and an object")
            section = inner
        section[key] = leaf
    return root


@dataclass(frozen=True)
class _Members:
    """Writes the members of JSON objects, and adds the steps that they need."""

    parse: Parse | None
    steps: Steps

    def members_of(self, tree: _Tree) -> Iterator[Piece]:
        """All members of an object; optional ones come last, each with its own comma."""
        optional = {
            key: value
            for key, value in tree.items()
            if isinstance(value, DocumentField) and value.on_empty == "skip"
        }
        for number, key in enumerate(key for key in tree if key not in optional):
            if number:
                yield ","
            value = tree[key]
            if isinstance(value, dict):
                yield f"{json.dumps(key)}:{{"
                yield from self.members_of(value)
                yield "}"
            else:
                yield from self._member(key, value)
        for key, value in optional.items():
            yield self._optional(key, value)

    def _member(self, key: str, field: DocumentField) -> Iterator[Piece]:
        """One member.  A value that can be null is one property that writes its key too."""
        if not is_json(field) and (_is_checked(field) or field.on_empty == "null"):
            yield self._member_property(key, field, "null")
            return
        yield json.dumps(key) + ":"
        if field.constant is not None:
            yield json.dumps(field.constant)
        elif is_json(field):
            yield self.steps.json(field)
        elif field.type is FieldType.INTEGER:
            yield from self._texts(field)
        else:
            yield '"'
            # Times hold nothing that JSON would escape.
            escaped = None if field.property in TIMES else "json"
            yield from (text._replace(format=escaped) for text in self._texts(field))
            yield '"'

    def _member_property(self, key: str, field: DocumentField, on_empty: str) -> Property:
        """A property that writes the whole member, for an empty value as `on_empty` says."""
        kind = "number" if field.type in CHECKED else "string"
        texts = (self._value(field),) if _is_checked(field) else self._texts(field)
        property_ = texts[0] if len(texts) == 1 else self.steps.text(texts)
        return property_._replace(member=key, data_type=kind, on_empty=on_empty)

    def _optional(self, key: str, field: DocumentField) -> Property:
        """An optional member: a comma and the member, or nothing."""
        if is_json(field):
            return self.steps.json(field, f",{json.dumps(key)}:")
        return self.steps.text((self._member_property(key, field, "skip"),), joins=True)

    def _value(self, field: DocumentField) -> Property:
        """The checked text of a field; options that change the text apply before the check."""
        if not is_changed(field):
            return checked(field, self.parse)
        return checked(field, self.parse, self.steps.text(texts_of(field, self.parse)).name)

    def _texts(self, field: DocumentField) -> tuple[Property, ...]:
        return mended_texts(field, self.parse, self.steps)


def mended_texts(source: TextSource, parse: Parse | None, steps: Steps) -> tuple[Property, ...]:
    """The properties that write a text; partial characters at its ends are removed."""
    texts = texts_of(source, parse)
    is_cut = source.position is not None or source.regex is not None
    if is_cut and source.property not in _ASCII:
        return (steps.text(texts, mends=True),)
    return texts


def _is_checked(field: DocumentField) -> bool:
    """Whether a field is written unquoted although a sender can choose its text."""
    if field.constant is not None or field.type not in CHECKED:
        return False
    is_number = field.property in _DIGITS or field.date_format == "unixtimestamp"
    return not (is_number and field.type is FieldType.INTEGER and not is_changed(field))


def _merged(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces, with adjacent texts merged into one."""
    text = ""
    for piece in pieces:
        if isinstance(piece, str):
            text += piece
            continue
        if text:
            yield text
        yield piece
        text = ""
    if text:
        yield text


class _Pattern(NamedTuple):
    """Where a text stands in a property, as regular expressions: that `before` it, with its number
    of `groups`; that `after` it; that of the `text`, with the groups that can hold it; and that of
    an optional `quote`."""

    property: str
    before: str
    groups: int
    after: str
    text: str = ""
    text_groups: tuple[int, ...] = ()
    quote: str = ""


def texts_of(field: TextSource, parse: Parse | None) -> tuple[Property, ...]:
    """The properties that write the text of a field; at most one of them is not empty."""
    pattern = _pattern(field, parse)
    options = Property(
        pattern.property,
        case=field.case,
        first=None if field.position is None else field.position.first,
        last=None if field.position is None else field.position.to,
        date_format=(field.date_format or "rfc3339") if field.property in TIMES else None,
    )
    if field.split is not None:
        expression, group = _delimited(field.split.delimiter, field.split.number)
        return (options._replace(expression=expression, group=group),)
    if field.regex is not None:
        expression, group = field.regex.expression, field.regex.submatch
        nomatch = field.regex.nomatch
        return (options._replace(expression=expression, group=group, nomatch=nomatch),)
    expression = f"{pattern.before}{pattern.text}{pattern.after}"
    return tuple(
        options._replace(expression=expression, group=pattern.groups + group)
        for group in pattern.text_groups
    ) or (options,)


def checked(field: DocumentField, parse: Parse | None, variable: str | None = None) -> Property:
    """The property that writes a field's text, or a `variable`, only if it is a valid JSON value of
    the field's type."""
    pattern = _pattern(field, parse) if variable is None else _whole_property(variable)
    value = f"{pattern.quote}({CHECKED[field.type]}){pattern.quote}"
    expression = f"{pattern.before}{value}{pattern.after}"
    return Property(pattern.property, expression=expression, group=pattern.groups + 1)


def _delimited(delimiter: str, number: int) -> tuple[str, int]:
    """The expression for the text between two delimiters, and the group that holds it."""
    end = r"\^" if delimiter == "^" else f"[{delimiter}]"
    piece = f"([^{delimiter}]*)"
    if number == 1:
        return f"^{piece}", 1
    return f"^([^{delimiter}]*{end}){{{number - 1}}}{piece}", 2


def _pattern(field: TextSource, parse: Parse | None) -> _Pattern:
    if field.column is not None and isinstance(parse, CsvParse):
        return _csv(parse, parse.columns.index(field.column))
    if field.key is not None and isinstance(parse, KvParse):
        return _kv(parse, field.key)
    if field.json_path is not None:
        return _Pattern(json_name(field.json_path), "^", 0, "$")
    if field.variable is not None:
        return _Pattern(variable_name(field.variable), "^", 0, "$")
    return _whole_property(str(field.property).replace(METADATA, KEPT_METADATA))


def _whole_property(name: str) -> _Pattern:
    return _Pattern(name, "^ *", 0, " *$")


def json_name(path: str) -> str:
    """The rsyslog name of a path into the event's JSON."""
    return f"$!{path.replace('.', '!')}"


def variable_name(path: str) -> str:
    """The rsyslog name of a local variable (`$.`)."""
    return f"$.{path.replace('.', '!')}"


def _csv(parse: CsvParse, skipped: int) -> _Pattern:
    """The CSV cell after `skipped` others; msg starts with the space after an RFC 3164 tag."""
    end = f"[{parse.delimiter}]"
    if not parse.quoted:
        cell = f"[^{parse.delimiter}]*"
        before = f"^ ?({cell}{end}){{{skipped}}}"
        return _Pattern("msg", before, 1, f"({end}|$)", f"({cell})", (1,))
    bare = f'([^"{parse.delimiter}][^{parse.delimiter}]*)?'
    before = f'^ ?(("([^"]|"")*"|{bare}){end}){{{skipped}}}'
    text = f'("(([^"]|"")*)"|{bare})'
    return _Pattern("msg", before, 4, f"({end}|$)", text, (2, 4), '"?')


def _kv(parse: KvParse, key: str) -> _Pattern:
    """The value of `key` outside of quotes, so that a quoted value cannot pose as a key."""
    end = f"[{parse.separator}]"
    before = f'^(([^"]|"[^"]*")*{end})? *{key.replace(".", "[.]")}{parse.assignment}'
    text = f'("([^"]*)"|([^"{parse.separator}][^{parse.separator}]*)?)'
    return _Pattern("msg", before, 2, f"({end}|$)", text, (2, 3), '"?')
