"""Changing settings in the text of a profile: comments, order and everything else stay.  What comes
from a layer below is written into the leaf.

A round trip through ruamel.yaml would be shorter, but it changes lines that nobody asked to change:
braces over several lines are joined into one and lose their comments, `null` and Windows line ends
vanish, indentation is made uniform (17 lines in 3 of the 26 profiles and experiments of this
project).  PyYAML finds the nodes; our own is only the splice of one key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tuner.errors import BadUsage, KeyPath
from tuner.profile.edit.splice import Splice, appending, removing, setting
from tuner.profile.layers import BASE, EXTENDS, NAMED, layered, number_of
from tuner.profile.paths import resolve_path
from tuner.profile.source import Source, at, has, read
from tuner.reading import resolved


def edit(text: str, changes: Mapping[str, object]) -> str:
    """`text` with each path of `changes` set to its value, removed where the value is None.

    Paths are those of `paths.resolve_path`.  The result is read again: if it does not say
    exactly what was asked for, BadUsage is raised.
    """
    source = read(text, "the profile")
    for path, value in changes.items():
        source = set_at(source, resolve_path(source.data, path), value)
    return source.text


def set_at(source: Source, path: KeyPath, value: object) -> Source:
    """`source` with one path set, or removed when `value` is None."""
    if not path:
        raise BadUsage("a whole profile cannot be replaced by an edit")
    wanted = plain(value)
    if wanted is None:
        splice = removing(source.text, source.root, path)
    elif _holds(source.data, path) and same(at(source.data, path), wanted):
        splice = None
    else:
        splice = setting(source.text, source.root, path, wanted)
    if splice is None:
        return source
    return spliced(source, splice, changed(source.data, path, wanted), path)


def spliced(source: Source, splice: Splice, wanted: object, path: KeyPath) -> Source:
    """`source` after the splice; raises BadUsage unless it then says exactly `wanted`."""
    edited = read(splice.apply(source.text), source.name)
    if edited.problems or not same(edited.data, wanted):
        position = source.position(path)
        raise BadUsage(
            f"line {position.line} of {source.name} is written in a way that cannot be edited in "
            "place: put that section in the form key: value and try again"
        )
    return edited


def changed(data: object, path: KeyPath, value: object) -> object:
    """A copy of plain data with `path` set, or removed when `value` is None."""
    if not path:
        return value
    step, keys = path[0], path[1:]
    if isinstance(data, list) and isinstance(step, int):
        return [changed(item, keys, value) if i == step else item for i, item in enumerate(data)]
    section = data if isinstance(data, Mapping) else {}
    if value is None and not keys:
        return {key: item for key, item in section.items() if key != step}
    return {**section, step: changed(section.get(step), keys, value)}


def plain(value: object) -> object:
    """`value` as YAML would give it back: lists for tuples."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def same(first: object, second: object) -> bool:
    """Whether plain data are equal, true and 1 being different."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return type(first) is type(second) and first == second


def _holds(data: object, path: KeyPath) -> bool:
    return has(at(data, path[:-1]), path[-1])


def edit_leaf(leaf: Source, below: tuple[Source, ...], changes: Mapping[str, object]) -> str:
    """The text of `leaf` with each path of the whole profile set to its value, or removed if the
    value is None; the layers below stay as they are. Raises BadUsage."""
    for path, value in changes.items():
        whole = layered(leaf, below).data
        steps = resolve_path(whole, path)
        wanted = plain(value)
        if same(at(whole, steps), wanted) and (wanted is None) != _holds(whole, steps):
            continue
        leaf = _set(leaf, whole, steps, wanted)
        if wanted is None and _holds(layered(leaf, below).data, steps):
            leaf = set_empty(leaf, _in_leaf(leaf, whole, steps))
    return leaf.text


_OF_BASE = ("rsyslog", "root", "template", "uses")


def moved(leaf: Source, folder: Path) -> str:
    """The text of a profile for another folder: its `extends`, its `base`, its sample and snippets
    outside of its own folder name the same files from there; other snippets go with it."""
    paths = ((EXTENDS,), *((BASE, key) for key in _OF_BASE), ("workload", "sample"))
    outside = (path for path in snippet_paths(leaf.data) if is_outside(at(leaf.data, path)))
    for path in (*paths, *outside):
        named = at(leaf.data, path)
        if isinstance(named, str) and not Path(named).is_absolute():
            target = resolved(Path(leaf.name).parent / named)
            leaf = set_at(leaf, path, os.path.relpath(target, resolved(folder)))
    return leaf.text


def snippet_paths(data: object) -> Iterator[KeyPath]:
    """Where plain profile data names snippets."""
    streams = at(data, ("streams",))
    sections: list[KeyPath] = [("snippets", key) for key in ("start", "outputs", "end")]
    if isinstance(streams, Mapping):
        sections += [("streams", name, "snippets") for name in streams]
    for section in sections:
        names = at(data, section)
        yield from ((*section, i) for i in range(len(names) if isinstance(names, list) else 0))


def is_outside(name: object) -> bool:
    """Whether a path does not lead into the folder that it is relative to."""
    text = os.path.normpath(str(name))
    return text.startswith(("../", "/"))


def _set(leaf: Source, whole: object, steps: KeyPath, wanted: object) -> Source:
    path = _in_leaf(leaf, whole, steps)
    if path[:1] == NAMED and len(path) > 1 and not _holds(leaf.data, path[:2]):
        leaf = _add_namesake(leaf, at(whole, (*steps[:2], "name")))
    numbers = (i for i, step in enumerate(path) if isinstance(step, int) and path[:i] != NAMED)
    cut = next(numbers, None)
    if cut is None or _holds(leaf.data, path[:cut]):
        return set_at(leaf, path, wanted)
    # A list without names is replaced as a whole: the leaf needs all of it.
    whole_list = changed(at(whole, steps[:cut]), steps[cut:], wanted)
    return set_at(leaf, path[:cut], whole_list)


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


def _add_namesake(leaf: Source, name: object) -> Source:
    """`leaf` with one more item in its named list, which holds its name only."""
    items = at(leaf.data, NAMED)
    item = {"name": name}
    if not isinstance(items, list) or not items:
        return set_at(leaf, NAMED, [item])
    splice = appending(leaf.text, leaf.root, NAMED, item)
    return spliced(leaf, splice, changed(leaf.data, NAMED, [*items, item]), NAMED)


def set_empty(leaf: Source, path: KeyPath) -> Source:
    """`leaf` with an empty value, which removes what a lower layer sets."""
    if any(isinstance(step, int) for step in path[2:]):
        raise BadUsage("a value inside a list cannot be removed: write the whole list")
    splice = setting(leaf.text, leaf.root, path, None)
    section = at(leaf.data, path[:-1])
    values = dict(section) if isinstance(section, Mapping) else {}
    wanted = changed(leaf.data, path[:-1], {**values, path[-1]: None})
    return spliced(leaf, splice, wanted, path)
