"""Profiles in layers: `extends` names the layer below, and the layer above wins key by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tuner.errors import BadProfile, KeyPath
from tuner.profile.source import LAYER, Position, Source, Spot, at, problem_at, read
from tuner.reading import resolved

EXTENDS = "extends"
# The keys of a profile that stands on a configuration (base.py, which is imported for those alone).
BASE, CHANGES = "base", "changes"
MAX_LAYERS = 5

# Lists whose items are named: they merge by `name`; every other list is replaced as a whole.
NAMED = ("outputs",)

Read = Callable[[Path], str]
"""The text of a file; raises OSError or BadProfile."""


def layers_below(leaf: Source, read_text: Read) -> tuple[Source, ...]:
    """The layers that `leaf` stands on, nearest first; raises BadProfile at the `extends`
    that cannot be followed."""
    chain, files = [leaf], [resolved(leaf.name)]
    while (path := _extended(chain[-1])) is not None:
        above = chain[-1]
        chain_text = " -> ".join([*(layer.name for layer in chain), str(path)])
        if resolved(path) in files:
            raise _bad(above, f"circular extends: {chain_text}: remove one of them")
        if len(chain) == MAX_LAYERS:
            raise _bad(above, f"more than {MAX_LAYERS} layers: {chain_text}: merge some of them")
        chain.append(_layer(above, path, read_text))
        files.append(resolved(path))
    return tuple(chain[1:])


def _extended(source: Source) -> Path | None:
    """The file that `source` extends, relative to its own folder; None if it extends
    nothing."""
    written = at(source.data, (EXTENDS,))
    if written is None:
        return None
    if not isinstance(written, str) or not written.isprintable() or not written:
        raise _bad(source, "extends must be the path of another profile, such as base.yaml")
    return Path(source.name).parent / written


def _layer(above: Source, path: Path, read_text: Read) -> Source:
    if not path.is_file():
        raise _bad(above, f"extends: there is no file {path}")
    try:
        layer = read(read_text(path), str(path))
    except OSError as bad:
        raise _bad(above, f"extends: {path} cannot be read: {bad.strerror or bad}") from None
    if layer.data is not None and not isinstance(layer.data, Mapping):
        message = "a layer must be a profile, or a part of one: sections of keys and values"
        raise BadProfile((problem_at(layer.name, Position(1, 1), message, LAYER),))
    return layer


def _bad(source: Source, message: str) -> BadProfile:
    return BadProfile((problem_at(source.name, source.position((EXTENDS,)), message, LAYER),))


def layered(leaf: Source, below: tuple[Source, ...]) -> Source:
    """`leaf` on top of the layers below it: what they say together, each value knowing its file.

    A key without a value removes what lower layers set.  The text stays that of the leaf.
    """
    if not below:
        return leaf
    return _Merge(leaf, layered(below[0], below[1:])).result()


@dataclass
class _Merge:
    """One layer laid over what lies below it."""

    above: Source
    below: Source
    spots: dict[KeyPath, Spot] = field(default_factory=dict)

    def result(self) -> Source:
        data = self._both((), (), ())
        problems = self.above.problems + self.below.problems
        return replace(self.above, data=data, spots=self.spots, problems=problems)

    def _both(self, up: KeyPath, down: KeyPath, place: KeyPath) -> object:
        """What stands at `up` in the layer above and at `down` below, noted at `place`."""
        over, under = at(self.above.data, up), at(self.below.data, down)
        if isinstance(over, Mapping) and isinstance(under, Mapping):
            self.spots[place] = self.above.spots[up]
            return self._mapping(up, down, place)
        if place == NAMED and isinstance(over, list) and isinstance(under, list):
            self.spots[place] = self.above.spots[up]
            return self._named(over, under, place)
        return self._copy(self.above, up, place)

    def _mapping(self, up: KeyPath, down: KeyPath, place: KeyPath) -> dict[str, object]:
        over, under = _keys(self.above, up), _keys(self.below, down)
        merged: dict[str, object] = {}
        for key in [*under, *(key for key in over if key not in under)]:
            if key not in over:
                merged[key] = self._copy(self.below, (*down, key), (*place, key))
            elif key not in under:
                merged[key] = self._copy(self.above, (*up, key), (*place, key))
            elif at(self.above.data, (*up, key)) is not None:
                merged[key] = self._both((*up, key), (*down, key), (*place, key))
        return merged

    def _named(self, over: list[object], under: list[object], place: KeyPath) -> list[object]:
        """The items below in their order, each with its namesake on top; then the new ones."""
        merged: list[object] = []
        taken: set[int] = set()
        for number, item in enumerate(under):
            spot = (*place, len(merged))
            twin = number_of(over, _name(item))
            if twin is None or twin in taken:
                merged.append(self._copy(self.below, (*place, number), spot))
            else:
                taken.add(twin)
                merged.append(self._both((*place, twin), (*place, number), spot))
        for number in range(len(over)):
            if number not in taken:
                spot = (*place, len(merged))
                merged.append(self._copy(self.above, (*place, number), spot))
        return merged

    def _copy(self, source: Source, path: KeyPath, place: KeyPath) -> object:
        """What `source` alone has at `path`, with its places."""
        if path in source.spots:
            self.spots[place] = source.spots[path]
        data = at(source.data, path)
        if isinstance(data, Mapping):
            return {key: self._copy(source, (*path, key), (*place, key)) for key in data}
        if isinstance(data, list):
            return [self._copy(source, (*path, i), (*place, i)) for i in range(len(data))]
        return data


def _keys(source: Source, path: KeyPath) -> list[str]:
    data = at(source.data, path)
    return list(data) if isinstance(data, Mapping) else []


def _name(item: object) -> object:
    return item.get("name") if isinstance(item, Mapping) else None


def number_of(items: object, name: object) -> int | None:
    """The number of the item called `name` in plain data; None if no item is."""
    if not isinstance(items, list) or not isinstance(name, str):
        return None
    return next((i for i, item in enumerate(items) if _name(item) == name), None)
