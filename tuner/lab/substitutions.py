"""What a lab changed in a profile: the difference between the profile and the bound profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_NOTHING = "none"
_LEFT_OUT = "left out"


@dataclass(frozen=True)
class Substitution:
    """One value of the profile that the lab replaced; values as a reader would write them."""

    path: str
    written: str
    used: str

    def __str__(self) -> str:
        return f"{self.path}: {self.written} -> {self.used}"


def substitutions(written: object, used: object, path: str = "") -> Iterator[Substitution]:
    """Every value below `path` that two profiles, as plain data, do not have in common.

    A section or a list item that only one of them has is one row.
    """
    if written == used:
        return
    if isinstance(written, Mapping) and isinstance(used, Mapping):
        for key in dict.fromkeys([*written, *used]):
            below = f"{path}.{key}" if path else str(key)
            yield from substitutions(written.get(key), used.get(key), below)
    elif _has_sections(written) or _has_sections(used):
        before, after = _items(written), _items(used)
        for name in dict.fromkeys([*before, *after]):
            item = f"{path}[{name}]"
            if name in after:
                yield from substitutions(before.get(name), after[name], item)
            else:
                yield Substitution(item, _kind(before[name]), _LEFT_OUT)
    else:
        yield Substitution(path, _text(written), _text(used))


def _has_sections(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping) for item in value)


def _items(value: object) -> Mapping[str, object]:
    """The items of a list by their names in paths: their `name`, else their number."""
    items = value if isinstance(value, list) else []
    return {
        str(item.get("name", number)) if isinstance(item, Mapping) else str(number): item
        for number, item in enumerate(items)
        if item is not None
    }


def _kind(item: object) -> str:
    """The type of an input or output, or what it says."""
    return str(item["type"]) if isinstance(item, Mapping) and "type" in item else _text(item)


def _text(value: object) -> str:
    if value is None or value in ({}, []):
        return _NOTHING
    match value:
        case bool():
            return "on" if value else "off"
        case dict():
            return ", ".join(f"{key} {_text(below)}" for key, below in value.items())
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
