"""The document of one event: texts, and the properties of the event between them.

Where a field is a piece of a text, POSIX extended expressions find it, as glibc's regexec reads
them.  A text that they do not match never reaches a document: nomatchMode BLANK, where the default
writes **NO MATCH**, and so would field.number write **FIELD NOT FOUND**.

Every property is escaped by format="json", the cheapest complete way (F6); what enters unquoted is
checked.  Fields that the profile names win over members of JSON that is merged into the document.

A text that no single property can write, a ruleset works out before, and keeps it in a variable: a
step is a `set` of a variable under `$.documents!OUTPUT`, or `$.steps` where a step of a stream
needs it, to what a template writes.  Strings of an event are copied unchanged with it, where
rsyslog's copies of JSON spoil numbers: jsonDeepCopy makes 1e+22.0 of 1e22, which is no JSON
(8.2302).
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
"""What imfile says of the file, kept before the event's own JSON is read into its place."""
# What JSON and the mapping both take: 18 digits fit a long, these sizes a double.
# rsyslog's dataType="number" alone writes what comes, such as abc or 007 (seen on 8.2302).
CHECKED = {
    FieldType.INTEGER: r"-?(0|[1-9][0-9]{0,17})",
    FieldType.FLOAT: r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?",
    FieldType.BOOLEAN: r"true|false",
}
_DIGITS = frozenset({"syslogfacility", "syslogseverity", "pri", "protocol-version"})
# What rsyslog writes itself, which no sender can fill with half a character.
_ASCII = _DIGITS | {
    "fromhost-ip", "fromhost-port", "syslogfacility-text", "syslogseverity-text", "pri-text",
    "uuid", "parsesuccess", "timereported", "timegenerated",
}  # fmt: skip


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


Piece = str | Property

EVERYTHING_FOUND = Property("$!all-json-plain")
"""All that parsing found; {} where it found nothing."""


class TextStep(NamedTuple):
    """What a template writes; with `mends` without half a character at its ends, with `joins` with
    a comma before it where it is not empty, with a `table` what that has for it, with a `fallback`
    that instead of nothing."""

    variable: str
    template: str
    pieces: tuple[Piece, ...]
    mends: bool = False
    joins: bool = False
    fallback: Emitted | None = None
    table: str | None = None
    kind: str = "text"


class JsonStep(NamedTuple):
    """What stands at a path as JSON: a text in quotes, anything else as it is.  `prefix` comes
    before it, and nothing at all is written of what is empty; without a prefix that is null."""

    variable: str
    template: str
    path: str
    prefix: str | None
    kind: str = "json"


class MergeStep(NamedTuple):
    """All that parsing found but the members `left_out`, as the end of an object that has members
    already."""

    variable: str
    template: str
    left_out: tuple[str, ...]
    kind: str = "merge"

    @property
    def tree(self) -> str:
        """The variable of what is left."""
        return f"{self.variable}!tree"

    @property
    def text(self) -> str:
        """The variable of what is written."""
        return f"{self.variable}!text"


Step = TextStep | JsonStep | MergeStep


@dataclass
class Steps:
    """Gathers the steps of one output or stream: `root` begins its variables, `stem` the names of
    its templates."""

    root: str
    stem: str
    _taken: list[Step] = field(default_factory=list)

    @property
    def taken(self) -> tuple[Step, ...]:
        """The steps in their order."""
        return tuple(self._taken)

    def text(
        self,
        pieces: tuple[Piece, ...],
        mends: bool = False,
        joins: bool = False,
        fallback: Emitted | None = None,
        variable: str | None = None,
        table: str | None = None,
    ) -> Property:
        """What writes the text of these pieces; a `variable` of its own keeps it."""
        next_variable, template = self._names()
        step_variable = variable or next_variable
        self._taken.append(TextStep(step_variable, template, pieces, mends, joins, fallback, table))
        return Property(step_variable)

    def json(self, field: DocumentField, prefix: str | None = None) -> Property:
        """What writes the JSON that a field passes on."""
        if field.json_path == EVERYTHING:
            return EVERYTHING_FOUND
        variable, template = self._names()
        self._taken.append(JsonStep(variable, template, json_name(str(field.json_path)), prefix))
        return Property(f"{variable}!text")

    def merged(self, names: list[str]) -> Property:
        """What writes the rest of an object, its brace included, of which fields have `names`.

        A name with dots is the same to the engine as the path of objects that it spells.
        """
        variable, template = self._names()
        parts = [name.split(".") for name in names]
        starts = (".".join(part[:end]) for part in parts for end in range(1, len(part) + 1))
        step = MergeStep(variable, template, tuple(dict.fromkeys(starts)))
        self._taken.append(step)
        return Property(step.text)

    def _names(self) -> tuple[str, str]:
        """A variable and a template that nothing else has: no other template's name has a dot."""
        number = len(self._taken) + 1
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
    members = list(_Members(parse, steps).of(_tree(named)))
    if named == fields:
        pieces: list[Piece] = ["{", *members, "}", end]
    elif not named:
        pieces = [EVERYTHING_FOUND, end]
    else:
        pieces = ["{", *members, steps.merged([field.name for field in named]), end]
    return tuple(_joined(pieces))


def line(output: Lines, parse: Parse | None, end: str) -> tuple[Piece, ...]:
    """The line of an output's texts with `end` after it; nothing where it has none."""
    if output.line is None:
        return ()
    keeps = output.control_characters == "keep"
    controls = None if keeps else output.control_characters
    texts = (piece for part in output.line for piece in _plain(part, parse, controls))
    return tuple(_joined([*texts, end]))


def labelled(
    labels: tuple[Piece, ...], parts: tuple[TextSource, ...], parse: Parse | None, steps: Steps
) -> tuple[Piece, ...]:
    """An event as a stream of Loki's with one line: these labels, its time in nanoseconds, these
    texts."""
    seconds, fraction = (
        Property("timegenerated", date_format=part) for part in ("unixtimestamp", "subseconds")
    )
    pieces: list[Piece] = ['{"stream":', *labels, ',"values":[["', seconds, fraction, '000","']
    for part in parts:
        if part.constant is not None:
            pieces.append(json.dumps(str(part.constant))[1:-1])
        else:
            texts = texts_in_whole(part, parse, steps)
            pieces += [text._replace(format="json") for text in texts]
    return tuple(_joined([*pieces, '"]]}']))


def _plain(part: TextSource, parse: Parse | None, controls: str | None) -> Iterator[Piece]:
    if part.constant is not None:
        yield str(part.constant)
    elif part.json_path == EVERYTHING:
        yield EVERYTHING_FOUND
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
    """Writes the members of objects, and gathers the steps that they need."""

    parse: Parse | None
    steps: Steps

    def of(self, tree: _Tree) -> Iterator[Piece]:
        """All members; those that may be left out come last and bring their comma."""
        often = {
            key: value
            for key, value in tree.items()
            if isinstance(value, DocumentField) and value.on_empty == "skip"
        }
        for number, key in enumerate(key for key in tree if key not in often):
            if number:
                yield ","
            value = tree[key]
            if isinstance(value, dict):
                yield f"{json.dumps(key)}:{{"
                yield from self.of(value)
                yield "}"
            else:
                yield from self._member(key, value)
        for key, value in often.items():
            yield self._left_out(key, value)

    def _member(self, key: str, field: DocumentField) -> Iterator[Piece]:
        """One value under its key; one that can be null brings the key itself."""
        if not is_json(field) and (_is_checked(field) or field.on_empty == "null"):
            yield self._whole(key, field, "null")
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

    def _whole(self, key: str, field: DocumentField, on_empty: str) -> Property:
        """The whole member, or what stands for one without a value."""
        kind = "number" if field.type in CHECKED else "string"
        texts = (self._value(field),) if _is_checked(field) else self._texts(field)
        property_ = texts[0] if len(texts) == 1 else self.steps.text(texts)
        return property_._replace(member=key, data_type=kind, on_empty=on_empty)

    def _left_out(self, key: str, field: DocumentField) -> Property:
        """A comma and the member, or nothing."""
        if is_json(field):
            return self.steps.json(field, f",{json.dumps(key)}:")
        return self.steps.text((self._whole(key, field, "skip"),), joins=True)

    def _value(self, field: DocumentField) -> Property:
        """A text that is checked; one that options make is checked as what they make of it."""
        if not is_changed(field):
            return checked(field, self.parse)
        return checked(field, self.parse, self.steps.text(texts_of(field, self.parse)).name)

    def _texts(self, field: DocumentField) -> tuple[Property, ...]:
        return texts_in_whole(field, self.parse, self.steps)


def texts_in_whole(source: TextSource, parse: Parse | None, steps: Steps) -> tuple[Property, ...]:
    """The properties that write a text; one that may be cut inside of a character is mended."""
    texts = texts_of(source, parse)
    is_cut = source.position is not None or source.regex is not None
    if is_cut and source.property not in _ASCII:
        return (steps.text(texts, mends=True),)
    return texts


def _is_checked(field: DocumentField) -> bool:
    """Whether the field enters JSON unquoted although its text could be anything."""
    if field.constant is not None or field.type not in CHECKED:
        return False
    is_number = field.property in _DIGITS or field.date_format == "unixtimestamp"
    return not (is_number and field.type is FieldType.INTEGER and not is_changed(field))


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """One text for each stretch between two properties."""
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
