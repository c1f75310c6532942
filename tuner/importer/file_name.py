"""The name of a file as omfile's dynaFile says it."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.importer.gaps import Gaps, Inexpressible
from tuner.importer.index_name import ROTATES, date_of, is_date
from tuner.importer.template import Template, TemplatePiece, TemplateProperty


def file_name_of(template: Template, gaps: Gaps) -> dict[str, object]:
    """The parts of a path: one property, a date, or one property and a date after it; raises
    Inexpressible for any other."""
    pieces, path = template.pieces, f"the path of template {template.name}"
    dates = [at for at, one in enumerate(pieces) if is_date(one)]
    values = [at for at, one in enumerate(pieces) if _is_property(one) and at not in dates]
    if len(values) > 1:
        raise Inexpressible(
            template.origin, f"{path} has {len(values)} properties: dynaFile takes one"
        )
    if values and dates and values[0] > dates[0]:
        raise Inexpressible(template.origin, f"{path} has its date before the property")
    places = [*values, *dates]
    before = _text(pieces[: min(places)]) if places else ""
    if not before:
        raise Inexpressible(template.origin, f"{path} has no property and no date after a folder")
    data: dict[str, object] = {"before": before}
    for value in (pieces[at] for at in values):
        if not isinstance(value, TemplateProperty) or set(value.options) - {"securepath"}:
            raise Inexpressible(template.origin, f"{path} has options of its property")
        data["property"] = value.lowered
    if dates:
        data |= _rotating(template, pieces[dates[0] : dates[-1] + 1], gaps)
        if between := _text(pieces[values[0] + 1 : dates[0]]) if values else "":
            data["between"] = between
    if after := _text(pieces[max(places) + 1 :]):
        data["after"] = after
    return data


def _text(pieces: Sequence[TemplatePiece]) -> str:
    return "".join(map(str, pieces))


def _is_property(piece: TemplatePiece) -> bool:
    return isinstance(piece, TemplateProperty)


def _rotating(
    template: Template, pieces: tuple[TemplatePiece, ...], gaps: Gaps
) -> dict[str, object]:
    """The date in the name of a file."""
    parts, separator, clock = date_of(pieces, template)
    data: dict[str, object] = {"rotate": ROTATES.get(parts, "yearly")}
    if separator != "-":
        data["separator"] = separator or "none"
    if clock == "timereported":
        data["clock"] = "reported"
    if clock == "now":
        what = "the date in the name of a file is when the event came, not when it is written"
        gaps.change(template.origin, what)
    return data
