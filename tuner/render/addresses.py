"""Where an event goes: the index and the id of its document, the path of its file.

omelasticsearch copies index and id into JSON as they are, and an engine refuses the whole bulk of
one bad id: what an event brings is let in only where it is of the plainest kind.
"""

from __future__ import annotations

from tuner.engines.index import Index, IndexBy, Rotate
from tuner.modules.dyna_file import DynaFile
from tuner.modules.omelasticsearch import DocumentId
from tuner.modules.omhttp import RestPath
from tuner.render.field_text import Property, json_name
from tuner.render.quoting import literal, variable
from tuner.render.steps import Piece, Steps

# rsyslog numbers weeks from January 1 on, within the year (datetime.c, getWeek).
_DATES = {
    Rotate.HOURLY: ("year", "month", "day", "hour"),
    Rotate.DAILY: ("year", "month", "day"),
    Rotate.WEEKLY: ("year", "week"),
    Rotate.MONTHLY: ("year", "month"),
}
# What every engine takes inside of a name, once in small letters; a name has 255 bytes at most.
_ALLOWED = "^([A-Za-z0-9][A-Za-z0-9._-]{0,63})$"


# Neither has a quote or a backslash: they go into JSON as they are, because rsyslog escapes them
# itself from 8.2608 on (commit d9e4f8317) and never did before.
_PLAIN = "]!#-[^-~"
# A document's id has 512 bytes at most, and is not empty.
_ID = f"^ *([{_PLAIN}]{{1,512}}) *$"
_PIPELINE = f"^([{_PLAIN} ]{{1,200}})$"


def index_name(index: Index, steps: Steps) -> tuple[Piece, ...]:
    """What writes the name; a value that is not allowed needs a step."""
    pieces: list[Piece] = [f"{index.target}-"]
    if index.by is not None:
        pieces.append(_value(index.by, steps))
        pieces += ["-"] if index.is_dated else []
    if index.is_dated:
        pieces += date(index.rotate, index.separator, index.clock)
    return tuple(pieces)


def date(rotate: Rotate, separator: str, clock: str) -> tuple[Piece, ...]:
    """What writes the date of an event."""
    time = "timereported" if clock == "reported" else "timegenerated"
    first, *others = (Property(time, date_format=part) for part in _DATES[rotate])
    pieces: list[Piece] = [first]
    for other in others:
        pieces += [other] if separator == "none" else [separator, other]
    return tuple(pieces)


def _value(by: IndexBy, steps: Steps) -> Property:
    name = json_name(by.json_path) if by.json_path else str(by.property)
    text = Property(name, case="lower", expression=_ALLOWED, group=1)
    return steps.text((text,), fallback=literal(by.fallback))


def file_name(file: DynaFile) -> tuple[Piece, ...]:
    """What writes the path of a file.

    msg.c, MsgGetProp: `securepath` comes after `position`, makes underscores of slashes, and of a
    value that is empty, `.` or `..` one that begins with one.  File systems take 255 bytes, and
    what comes after the value needs room too.
    """
    pieces: list[Piece] = [file.before]
    if file.property is not None:
        pieces.append(Property(file.property, first=1, last=160, secure_path="replace"))
    pieces += [file.between] if file.between is not None else []
    if file.rotate is not None:
        pieces += date(Rotate(file.rotate), file.separator, file.clock)
    return (*pieces, file.after) if file.after is not None else tuple(pieces)


def rest_path(path: RestPath, steps: Steps) -> tuple[Piece, ...]:
    """What writes a path at a server, where a value cannot leave its place."""
    text = Property(path.property, case="lower", expression=_ALLOWED, group=1)
    value = steps.text((text,), fallback=literal(path.fallback))
    return tuple(one for one in (path.before, value, path.after) if one is not None)


def document_id(wanted: DocumentId | str | None, steps: Steps) -> Property:
    """What writes the id of a document: a value of the event, else a new one."""
    if not isinstance(wanted, DocumentId):
        return Property("uuid")
    name = json_name(wanted.json_path) if wanted.json_path else str(wanted.property)
    text = Property(name, expression=_ID, group=1)
    return steps.text((text,), fallback=variable("$uuid"))


def pipeline_name(name: str) -> Property:
    """What writes the name of a pipeline: a value of the event where it is plain, else nothing."""
    return Property(name, expression=_PIPELINE, group=1, nomatch="BLANK")
