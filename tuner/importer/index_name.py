"""The name of an index, and of a file, as a profile says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tuner.engines.index import Index
from tuner.modules.omelasticsearch import DEFAULT_INDEX
from tuner.rainerscript.conditions import path_of
from tuner.rainerscript.configuration import Parts
from tuner.rainerscript.gaps import Gap, Gaps, Inexpressible
from tuner.rainerscript.parameters import misfit
from tuner.rainerscript.script import ON, ScriptObject
from tuner.rainerscript.template import Template, TemplatePiece, TemplateProperty

# What has no slash, and is never empty.
_HARMLESS = frozenset({"syslogfacility-text", "syslogseverity-text"})


def file_name_of(template: Template, gaps: Gaps) -> dict[str, object]:
    """The parts of a path: one property, a date, or one property and a date after it; raises
    Inexpressible for any other."""
    pieces, path = template.pieces, f"the path of template {template.name}"
    dates = [at for at, one in enumerate(pieces) if is_date(one)]
    values = [
        (at, one)
        for at, one in enumerate(pieces)
        if isinstance(one, TemplateProperty) and at not in dates
    ]
    places = [*(at for at, _ in values), *dates]
    before = _text(pieces[: places[0]]) if places else ""
    wrong = ""
    if len(values) > 1:
        wrong = f"has {len(values)} properties: dynaFile takes one"
    elif places != sorted(places):
        wrong = "has its date before the property"
    elif not before:
        wrong = "has no property and no date after a folder"
    elif values and set(values[0][1].options) - {"securepath"}:
        wrong = "has options of its property"
    if wrong:
        raise Inexpressible(template.origin, f"{path} {wrong}")
    data: dict[str, object] = {"before": before}
    if values:
        data["property"] = values[0][1].lowered
        _say_where_it_leads(values[0][1], gaps)
    if dates:
        data |= _rotating(template, pieces[dates[0] : dates[-1] + 1], gaps)
        if between := _text(pieces[values[0][0] + 1 : dates[0]]) if values else "":
            data["between"] = between
    if after := _text(pieces[places[-1] + 1 :]):
        data["after"] = after
    return data


def _say_where_it_leads(value: TemplateProperty, gaps: Gaps) -> None:
    """Say that a value in a path leads to no other folder, where it could."""
    is_safe = value.options.get("securepath", "").lower() == "replace"
    if not is_safe and value.lowered not in _HARMLESS:
        what = "leads to no other folder: _ stands for each slash of it, and where it is empty"
        if value.lowered == "fromhost-ip":
            what = "is _ where it is empty, as of events of imfile"
        gaps.change(value.origin, f"%{value.name}% in the name of a file {what}")


def _text(pieces: Sequence[TemplatePiece]) -> str:
    return "".join(map(str, pieces))


def _rotating(
    template: Template, pieces: tuple[TemplatePiece, ...], gaps: Gaps
) -> dict[str, object]:
    """The date in the name of a file."""
    parts, separator, clock, in_utc = date_of(pieces, template)
    data: dict[str, object] = {"rotate": _ROTATES.get(parts, "yearly")}
    if separator != "-":
        data["separator"] = separator or "none"
    if clock == "timereported":
        data["clock"] = "reported"
    if in_utc:
        data["date.inUTC"] = True
    if clock == "now":
        what = "file names now use the time of arrival (was: of writing)"
        gaps.change(template.origin, what)
    return data


# What the parts of a date are called: by options of a time, and as properties of rsyslog's clock.
_PARTS = ("year", "month", "day", "hour", "week")
_TIMES = frozenset({"timereported", "timestamp", "timegenerated"})
_OWN_CLOCK = {
    "$year": ("year",), "$month": ("month",), "$day": ("day",), "$hour": ("hour",),
    "$now": ("year", "month", "day"),
}  # fmt: skip
_UTC = "-utc"
_ROTATES = {
    ("year",): "yearly",
    ("year", "month"): "monthly",
    ("year", "week"): "weekly",
    ("year", "month", "day"): "daily",
    ("year", "month", "day", "hour"): "hourly",
}
# Characters of a time in RFC 3339, and what they are.
_CUTS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("1", "4"): (("year",), ""), ("6", "7"): (("month",), ""), ("9", "10"): (("day",), ""),
    ("12", "13"): (("hour",), ""), ("1", "7"): (("year", "month"), "-"),
    ("1", "10"): (("year", "month", "day"), "-"),
}  # fmt: skip


def index_of(
    action: ScriptObject, parts: Parts, gaps: Gaps, unknown: list[Gap]
) -> dict[str, object]:
    """The index of an action; a template that is not there is `unknown`.  Raises Inexpressible."""
    given = action.get("searchindex")
    name = DEFAULT_INDEX if given is None else given.text
    if name is None:
        raise Inexpressible(action.origin, "the index is known only when rsyslogd starts")
    if not action.is_on("dynsearchindex"):
        return {"name": name}
    origin = action.origin if given is None else given.origin
    template = parts.template(name)
    if template is not None:
        plain = all(isinstance(piece, str) for piece in template.pieces)
        return {"name": _text(template.pieces)} if plain else _named(template, gaps)
    if parts.is_template(name):
        raise Inexpressible(origin, f"template {name} is made by the plugin of another module")
    what = f"there is no template {name}: the profile takes it as the name of the index"
    unknown.append(Gap(origin, what))
    return {"name": name}


def _named(template: Template, gaps: Gaps) -> dict[str, object]:
    """A name, a value of the event where one follows it, and a date where one ends it."""
    before, value, *after = (*template.pieces, "")
    if not isinstance(before, str) or not isinstance(value, TemplateProperty) or is_date(value):
        return _dated(template, gaps)
    after = after[:-1]
    if not before.endswith("-") or after[:1] not in ([], ["-"]):
        what = f"template {template.name}: not a name, a - and a value, and a - before its date"
        raise Inexpressible(template.origin, what)
    if set(value.options) - {"caseconversion"}:
        raise Inexpressible(value.origin, f"an option of %{value.name}% in a name")
    data: dict[str, object] = {"name": before[:-1]}
    if after:
        data = _dated(replace(template, pieces=(before, *after[1:])), gaps)
    source, path = path_of(value.name)
    data["by"] = {"property": value.lowered} if source is None else {source: path}
    wrong = misfit(Index, data)
    if wrong is not None:
        raise Inexpressible(value.origin, f"%{value.name}% in a name")
    gaps.change(
        value.origin,
        f"{value.name} is in small letters in the index's name, as the engine asks, and `other` "
        "where no name may hold it",
    )
    return data


def _dated(template: Template, gaps: Gaps) -> dict[str, object]:
    """`BEFORE-`, then the parts of a date with one separator between them."""
    pieces = template.pieces
    before = pieces[0] if isinstance(pieces[0], str) else ""
    parts, separator, clock, in_utc = date_of(pieces[1:] if before else pieces, template)
    rotate = _ROTATES.get(parts)
    if not before.endswith("-") or rotate is None:
        raise Inexpressible(
            template.origin, f"template {template.name}: not a name, a - and a date after it"
        )
    data: dict[str, object] = {"name": before[:-1], "rotate": rotate}
    if (separator, len(parts)) not in {(".", len(parts)), ("", 1)}:
        data["separator"] = separator or "none"
    if clock != "timereported":
        data["clock"] = "generated"
    if in_utc:
        data["date.inUTC"] = True
    wrong = misfit(Index, data)
    if wrong is not None:
        key = wrong or "such a name"
        what = f"template {template.name}: an index of a profile does not take this {key}"
        raise Inexpressible(template.origin, what)
    if clock == "now":
        gaps.change(template.origin, "the index's date is when the event came, not when it is sent")
    return data


def is_date(piece: TemplatePiece) -> bool:
    """Whether a piece of a template is a date, or a part of one."""
    if not isinstance(piece, TemplateProperty):
        return False
    return piece.lowered in _TIMES or piece.lowered.removesuffix(_UTC) in _OWN_CLOCK


class NamedDate(NamedTuple):
    """A date in a name: its parts, what separates them, whose clock it is, and whether in UTC."""

    parts: tuple[str, ...]
    separator: str
    clock: str
    in_utc: bool


def date_of(pieces: Sequence[TemplatePiece], template: Template) -> NamedDate:
    """The date that pieces of a template make, with the same between each two parts or nothing
    between any.  Raises Inexpressible."""
    read = [_part(one) for one in pieces if isinstance(one, TemplateProperty)]
    before, *between = _around_parts(pieces)
    after = between.pop() if between else ""
    separators = {*between, *(one.separator for one in read if one.separator)}
    clocks = {(one.clock, one.in_utc) for one in read}
    if before or after or len(separators) > 1 or len(clocks) != 1:
        raise Inexpressible(template.origin, f"template {template.name}: not one date")
    parts = tuple(part for one in read for part in one.parts)
    return NamedDate(parts, "".join(separators), *clocks.pop())


def _around_parts(pieces: Sequence[TemplatePiece]) -> list[str]:
    """The text before the first property, between each two, and after the last."""
    texts = [""]
    for piece in pieces:
        if isinstance(piece, TemplateProperty):
            texts.append("")
        else:
            texts[-1] += piece if isinstance(piece, str) else piece.text
    return texts


def _part(piece: TemplateProperty) -> NamedDate:
    name = piece.lowered.removesuffix(_UTC)
    if name in _OWN_CLOCK:
        separator = "-" if name == "$now" else ""
        return NamedDate(_OWN_CLOCK[name], separator, "now", piece.lowered.endswith(_UTC))
    if name in _TIMES:
        clock = "timegenerated" if name == "timegenerated" else "timereported"
        in_utc = piece.options.get("date.inutc", "off").lower() in ON
        written = piece.options.get("dateformat", "").lower()
        if written in _PARTS:
            return NamedDate((written,), "", clock, in_utc)
        place = (piece.options.get("position.from", "1"), piece.options.get("position.to", "0"))
        if written == "rfc3339" and place in _CUTS:
            return NamedDate(*_CUTS[place], clock, in_utc)
    raise Inexpressible(piece.origin, f"%{piece.name}% in a name")
