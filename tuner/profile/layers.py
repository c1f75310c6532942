"""Profiles in layers: `extends` names the layer below, and the layer above wins key by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    lower = layered(below[0], below[1:])
    spots: dict[KeyPath, Spot] = {}
    data = _plain(_overlaid(_node(leaf), _node(lower)), (), spots)
    return replace(leaf, data=data, spots=spots, problems=leaf.problems + lower.problems)


@dataclass(frozen=True)
class _Node:
    """A value of plain data with its place; sections and lists hold nodes."""

    spot: Spot | None
    value: object


def _node(source: Source, path: KeyPath = ()) -> _Node:
    value = at(source.data, path)
    if isinstance(value, Mapping):
        value = {key: _node(source, (*path, key)) for key in value}
    elif isinstance(value, list):
        value = [_node(source, (*path, number)) for number in range(len(value))]
    return _Node(source.spots.get(path), value)


def _plain(node: _Node, path: KeyPath, spots: dict[KeyPath, Spot]) -> object:
    """The data of a node, noting the place of each value."""
    if node.spot is not None:
        spots[path] = node.spot
    if isinstance(node.value, dict):
        return {key: _plain(item, (*path, key), spots) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item, (*path, i), spots) for i, item in enumerate(node.value)]
    return node.value


def _overlaid(above: _Node, below: _Node, path: KeyPath = ()) -> _Node:
    """What both layers say at a path."""
    over, under = above.value, below.value
    if isinstance(over, dict) and isinstance(under, dict):
        merged = dict(under)
        for key, node in over.items():
            if key not in under:
                merged[key] = node
            elif node.value is None:
                del merged[key]
            else:
                merged[key] = _overlaid(node, under[key], (*path, key))
        return _Node(above.spot, merged)
    if path == NAMED and isinstance(over, list) and isinstance(under, list):
        return _Node(above.spot, _by_name(over, under))
    return above


def _by_name(over: list[_Node], under: list[_Node]) -> list[_Node]:
    """The items below in their order, each with its namesake on top; then the new ones."""
    added, items = list(over), list[_Node]()
    for item in under:
        name = _name(item)
        twins = (node for node in added if name is not None and _name(node) == name)
        twin = next(twins, None)
        if twin is not None:
            added.remove(twin)
        items.append(item if twin is None else _overlaid(twin, item))
    return items + added


def _name(item: _Node) -> object:
    name = item.value.get("name") if isinstance(item.value, dict) else None
    return None if name is None else name.value


def number_of(items: object, name: object) -> int | None:
    """The number of the item called `name` in plain data; None if no item is."""
    if not isinstance(items, list) or not isinstance(name, str):
        return None
    return next((i for i, item in enumerate(items) if at(item, ("name",)) == name), None)
