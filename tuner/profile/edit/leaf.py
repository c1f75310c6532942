"""Editing the leaf of a layered profile: what comes from a layer below is written into it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tuner.errors import BadUsage, KeyPath
from tuner.profile.edit import changed, plain, same, set_at, spliced
from tuner.profile.edit.splice import appending, setting
from tuner.profile.layers import BASE, EXTENDS, NAMED, layered, number_of
from tuner.profile.paths import resolve_path
from tuner.profile.source import Source, at, has


def edit_leaf(leaf: Source, below: tuple[Source, ...], changes: Mapping[str, object]) -> str:
    """The text of `leaf` with each path of the whole profile set to its value, or removed if the
    value is None; the layers below stay as they are. Raises BadUsage."""
    for path, value in changes.items():
        whole = layered(leaf, below).data
        steps = resolve_path(whole, path)
        wanted = plain(value)
        if same(at(whole, steps), wanted) and (wanted is None) != _has_key(whole, steps):
            continue
        leaf = _set(leaf, whole, steps, wanted)
        if wanted is None and _has_key(layered(leaf, below).data, steps):
            leaf = set_empty(leaf, _in_leaf(leaf, whole, steps))
    return leaf.text


def moved(leaf: Source, folder: Path) -> str:
    """The text of a profile for another folder: its `extends` and its `base` name the same files
    from there."""
    for path in ((EXTENDS,), (BASE, "rsyslog")):
        named = at(leaf.data, path)
        if isinstance(named, str) and not Path(named).is_absolute():
            target = (Path(leaf.name).parent / named).resolve()
            leaf = set_at(leaf, path, os.path.relpath(target, folder.resolve()))
    return leaf.text


def _has_key(data: object, path: KeyPath) -> bool:
    """Whether plain data has something at `path`, an empty value included."""
    return has(at(data, path[:-1]), path[-1])


def _set(leaf: Source, whole: object, steps: KeyPath, wanted: object) -> Source:
    here = _in_leaf(leaf, whole, steps)
    if not _has_namesake(leaf, here):
        leaf = _add_namesake(leaf, at(whole, (*steps[:2], "name")))
    numbers = (i for i, step in enumerate(here) if isinstance(step, int) and here[:i] != NAMED)
    cut = next(numbers, None)
    if cut is None or _has_key(leaf.data, here[:cut]):
        return set_at(leaf, here, wanted)
    # A list without names is replaced as a whole: the leaf needs all of it.
    every = changed(at(whole, steps[:cut]), steps[cut:], wanted)
    return set_at(leaf, here[:cut], every)


def _in_leaf(leaf: Source, whole: object, steps: KeyPath) -> KeyPath:
    """`steps` into the whole profile as steps into the leaf, whose named lists may be shorter;
    an item that the leaf lacks has the number after its last."""
    if steps[:1] != NAMED or len(steps) == 1:
        return steps
    items = at(leaf.data, NAMED)
    number = number_of(items, at(whole, (*steps[:2], "name")))
    if number is None:
        number = len(items) if isinstance(items, list) else 0
    return (*NAMED, number, *steps[2:])


def _has_namesake(leaf: Source, here: KeyPath) -> bool:
    """Whether the leaf has the named item that `here` leads into, if it leads into one."""
    return here[:1] != NAMED or len(here) == 1 or _has_key(leaf.data, here[:2])


def _add_namesake(leaf: Source, name: object) -> Source:
    """`leaf` with one more item in its named list, which holds its name only."""
    items = at(leaf.data, NAMED)
    item = {"name": name}
    if not isinstance(items, list) or not items:
        return set_at(leaf, NAMED, [item])
    splice = appending(leaf.text, leaf.root, NAMED, item)
    return spliced(leaf, splice, changed(leaf.data, NAMED, [*items, item]), NAMED)


def set_empty(leaf: Source, here: KeyPath) -> Source:
    """`leaf` with an empty value, which removes what a lower layer sets."""
    if any(isinstance(step, int) for step in here[2:]):
        raise BadUsage("a value inside a list cannot be removed: write the whole list")
    splice = setting(leaf.text, leaf.root, here, None)
    return spliced(leaf, splice, _with_empty(leaf.data, here), here)


def _with_empty(data: object, path: KeyPath) -> object:
    """A copy of plain data with nothing as the value at `path`."""
    parent = at(data, path[:-1])
    kept = dict(parent) if isinstance(parent, Mapping) else {}
    return changed(data, path[:-1], {**kept, path[-1]: None})
