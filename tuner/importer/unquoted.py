"""Values that a template writes into JSON without quotes: which type a profile gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tuner.modules.field import FieldType
from tuner.rainerscript.gaps import Gaps, Inexpressible
from tuner.rainerscript.script import Quoted, SetVariable, Statement
from tuner.rainerscript.template import TemplateProperty
from tuner.render.field_text import CHECKED

_DIGITS = frozenset({"syslogfacility", "syslogseverity", "pri", "protocol-version"})
# What is a number as a rule.
_NUMBERS = _DIGITS | {
    "procid", "fromhost-port", "$year", "$month", "$day", "$hour", "$minute",
    "$!metadata!fileoffset", "timereported", "timegenerated",
}  # fmt: skip
_CUTS = frozenset({"position", "split", "regex"})
_EVERYTHING = "*"


def type_without_quotes(
    data: Mapping[str, object],
    one: TemplateProperty,
    name: str,
    statements: Iterable[Statement],
    gaps: Gaps,
) -> str:
    """The type of the field `name` with the source `data`; `statements` are all that may set a
    variable.  Raises Inexpressible for a text, which is JSON no more than it was."""
    kind = one.options.get("datatype", "").lower()
    if kind in {"auto", "bool"}:
        raise Inexpressible(one.origin, f"dataType {kind}")
    is_whole, source = not _CUTS & data.keys(), data.get("property")
    if (source in _DIGITS and is_whole) or data.get("dateFormat") == "unixtimestamp":
        return FieldType.INTEGER.value
    if "json" in data and is_whole and kind != "number":
        if data["json"] != _EVERYTHING:
            what = "a text there, which broke the document, and writes null for nothing"
            gaps.change(one.origin, f"{name} stands without quotes: the profile quotes {what}")
        return FieldType.JSON.value
    if "variable" in data and is_whole:
        texts = tuple(_texts_of(one.name, statements))
        for fitting, expression in CHECKED.items() if texts and None not in texts else ():
            if all(re.fullmatch(expression, text or "") for text in texts):
                return fitting.value
        if None not in texts:
            raise Inexpressible(one.origin, f"{one.name} stands without quotes and is no number")
    if is_whole and source is not None and source not in _NUMBERS and kind != "number":
        raise Inexpressible(one.origin, f"the text of {one.name} stands without quotes")
    what = "the profile writes a number, and null where it is none"
    gaps.change(one.origin, f"{name} stands without quotes: {what}")
    return FieldType.FLOAT.value


def _texts_of(variable: str, statements: Iterable[Statement]) -> Iterator[str | None]:
    """What a variable is set to, None for what is worked out."""
    for one in statements:
        match one:
            case SetVariable(variable=name, value=value) if name.lower() == variable.lower():
                if isinstance(value, Quoted) and not value.backtick:
                    yield value.text
                elif value is not None:
                    yield None
