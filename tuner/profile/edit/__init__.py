"""Changing settings in the text of a profile: comments, order and everything else stay.

A round trip through ruamel.yaml would be shorter, but it changes lines that nobody asked to change:
braces over several lines are joined into one and lose their comments, `null` and Windows line ends
vanish, indentation is made uniform (17 lines in 3 of the 26 profiles and experiments of this
project).  PyYAML finds the nodes; our own is only the splice of one key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tuner.errors import BadUsage, KeyPath
from tuner.profile.edit.splice import Splice, removing, setting
from tuner.profile.paths import resolve_path
from tuner.profile.source import Source, at, has, read


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
        where = source.position(path)
        raise BadUsage(
            f"line {where.line} of {source.name} is written in a way that cannot be edited in "
            "place: put that section in the form key: value and try again"
        )
    return edited


def changed(data: object, path: KeyPath, value: object) -> object:
    """A copy of plain data with `path` set, or removed when `value` is None."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(data, list) and isinstance(step, int):
        return [changed(item, rest, value) if i == step else item for i, item in enumerate(data)]
    old = data if isinstance(data, Mapping) else {}
    if value is None and not rest:
        return {key: item for key, item in old.items() if key != step}
    return {**old, step: changed(old.get(step), rest, value)}


def plain(value: object) -> object:
    """`value` as YAML would give it back: lists for tuples."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def same(one: object, other: object) -> bool:
    """Whether plain data are equal, true and 1 being different."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def _holds(data: object, path: KeyPath) -> bool:
    return has(at(data, path[:-1]), path[-1])
