"""What a key may hold and what it holds when it is not written, in words."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.profile.model import Profile
from tuner.profile.schema import Key
from tuner.profile.shapes import SHAPES

Schema = Mapping[str, object]


def allowed(key: Key) -> str:
    """What `key` may hold, such as `a whole number, at least 1`."""
    schema = _schema()
    definitions = schema["$defs"]
    section = schema if key.section is Profile else definitions[key.section.__name__]
    return _words(section["properties"][key.name], definitions)


@cache
def _schema() -> dict[str, Any]:
    """That of a profile: a fifth of a second to make."""
    return Profile.model_json_schema()


def _words(schema: Schema, known: Mapping[str, Schema]) -> str:
    if "$ref" in schema:
        return _words(known[str(schema["$ref"]).rpartition("/")[2]], known)
    for several in ("anyOf", "oneOf"):
        parts = schema.get(several)
        if isinstance(parts, list):
            words = [_words(part, known) for part in parts if part.get("type") != "null"]
            return " or ".join(dict.fromkeys(words))
    items = schema.get("items")
    if isinstance(items, Mapping):
        return f"a list of: {_words(items, known)}"
    return _plain_words(schema)


def _plain_words(schema: Schema) -> str:
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        return ", ".join(map(str, choices))
    if "pattern" in schema:
        return SHAPES.get(str(schema["pattern"]), "text")
    return _KINDS.get(str(schema.get("type")), "text") + _bounds(schema)


_KINDS = {
    "object": "a section",
    "boolean": "on or off",
    "integer": "a whole number",
    "number": "a number",
}


def _bounds(schema: Schema) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
    }
    said = [f"{word} {schema[key]}" for key, word in words.items() if key in schema]
    return "".join(f", {one}" for one in said if not one.endswith(str(2**31 - 1)))


def default_of(info: FieldInfo) -> str:
    """The value of a key that is not written, as a profile would spell it."""
    if info.is_required():
        return "must be given"
    value = info.get_default(call_default_factory=True)
    return "" if isinstance(value, BaseModel) else spelled(value)


def spelled(value: object) -> str:
    """A value as a reader would write it."""
    if value is None:
        return "not set"
    if value == {}:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ", ".join(spelled(item) for item in value) or "none"
    return str(value)


def queue_defaults(key: Key) -> tuple[str, ...]:
    """rsyslog's default of a queue's parameter at each place where a queue can stand."""
    name = next(n for n, info in Queue.model_fields.items() if info is key.info)
    lines = []
    for place in Place:
        plain = resolve(None, place)
        if plain.type is QueueType.DIRECT and name != "type":
            plain = resolve(Queue(type=QueueType.LINKED_LIST), place)
        lines.append(f"{place.value}: {spelled(getattr(plain, name))}")
    return tuple(lines)
