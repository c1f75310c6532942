"""`$template NAME,"TEXT",OPTION` as the template() that stands for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from tuner.script.script import Directive, Parameter, ScriptObject, ScriptPosition
from tuner.script.template import end_of_property, property_of
from tuner.script.tokens import byte, with_characters

# A text between properties; a number in an escape is decimal (template.c, do_Constant).
_TEXT = re.compile(r'(?:[^%"\\]|\\[0-9]{1,9}+|\\.|\\\Z)++', re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9]{1,9}+|.|\Z)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r"}


def template_object(one: Directive) -> ScriptObject | Directive:
    """The object that writes the same; of a percent sign as such only a list of parts can, and of
    NUL none."""
    name, _, rest = one.text.partition(",")
    rest = rest.lstrip()
    named = {"name": name.strip()}
    if not rest.startswith('"'):
        plugin = {"type": "plugin", "plugin": rest.removeprefix("=")}
        return _object("template", named | plugin, one.origin)
    pieces = tuple(_pieces(rest))
    if any("\0" in text for _, text in pieces if text is not None):
        return one
    after = rest[1 + sum(len(raw) for raw, _ in pieces) + 1 :].partition("#")[0]
    words = (word.strip().lower() for word in after.split(","))
    options = {f"option.{word}": "on" for word in words if word}
    if any("%" in text for _, text in pieces if text is not None):
        made = _object("template", named | {"type": "list"} | options, one.origin)
        return replace(made, parts=tuple(_part(raw, text, one.origin) for raw, text in pieces))
    whole = "".join(raw if text is None else text for raw, text in pieces)
    return _object("template", named | {"type": "string", "string": whole} | options, one.origin)


def _pieces(rest: str) -> Iterator[tuple[str, str | None]]:
    """What stands in the quotes, piece by piece: as it is written, and as a text; None where it is
    a property, in which nothing is escaped."""
    here = 1
    while here < len(rest) and rest[here] != '"':
        found = _TEXT.match(rest, here)
        if found is not None:
            yield found[0], with_characters(_ESCAPE.sub(_character, found[0]))
            here = found.end()
            continue
        end = end_of_property(rest, here + 1)
        stop = len(rest) if end < 0 else end + 1
        yield rest[here:stop], None
        here = stop


def _character(found: re.Match[str]) -> str:
    word = found[1]
    is_number = word.isascii() and word.isdecimal()
    return byte(int(word) % 256) if is_number else _ESCAPED.get(word, word)


def _part(raw: str, text: str | None, origin: ScriptPosition) -> ScriptObject:
    """A piece as a part of a list, in which rsyslogd unescapes a constant once more."""
    if text is not None:
        return _object("constant", {"value": text.replace("\\", "\\\\")}, origin)
    found = property_of(raw.removeprefix("%").removesuffix("%"), origin)
    return _object("property", {"name": found.name, **found.options}, origin)


def _object(kind: str, values: Mapping[str, str], origin: ScriptPosition) -> ScriptObject:
    made = (Parameter.of(name, value, origin) for name, value in values.items())
    return ScriptObject(kind, tuple(made), origin)
