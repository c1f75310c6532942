"""Changing settings in the text of a profile: comments, order and everything else stay.  What comes
from a layer below is written into the leaf.

A round trip through ruamel.yaml would be shorter, but it changes lines that nobody asked to change:
braces over several lines are joined into one and lose their comments, `null` and Windows line ends
vanish, indentation is made uniform (17 lines in 3 of the 26 profiles and experiments of this
project).  PyYAML finds the nodes; our own is only the splice of one key.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tuner.errors import BadUsage, KeyPath
from tuner.profile.layers import BASE, EXTENDS, NAMED, layered, number_of
from tuner.profile.schema import resolve_path
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


Pair = tuple[yaml.Node, yaml.Node]


@dataclass(frozen=True)
class Splice:
    """Replace text[start:end] by `new`."""

    start: int
    end: int
    new: str = ""

    def apply(self, text: str) -> str:
        """`text` with the change made."""
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True)
class _KeyPlace:
    """The deepest node on a path: its key and its mapping, unless it is a list item or the root."""

    node: yaml.Node
    key: yaml.Node | None
    parent: yaml.Node | None
    depth: int


def setting(text: str, root: yaml.Node | None, path: KeyPath, value: object) -> Splice:
    """The splice that puts `value` at `path`, with the sections that are missing on the way."""
    if root is None:
        gap = "" if text.endswith("\n") or not text else "\n"
        return Splice(len(text), len(text), f"{gap}{_entry(path[0], _nested(path[1:], value))}\n")
    place = _walk(root, path)
    missing = path[place.depth :]
    if not missing:
        return _replacing(text, place, value)
    if isinstance(place.node, yaml.MappingNode):
        return _adding(text, place.node, _entry(missing[0], _nested(missing[1:], value)))
    if place.node.tag == "tag:yaml.org,2002:null":
        return _replacing(text, place, _nested(missing, value))
    raise BadUsage(f"{missing[0]} cannot be set inside something that is not a section")


def removing(text: str, root: yaml.Node | None, path: KeyPath) -> Splice | None:
    """The splice that removes the key at `path`; None if it is not there."""
    place = None if root is None else _walk(root, path)
    if place is None or place.depth < len(path):
        return None
    if not isinstance(place.parent, yaml.MappingNode):
        raise BadUsage("a list item cannot be removed: write the whole list")
    mapping = place.parent
    pairs: list[Pair] = mapping.value
    i = next(i for i, (key, _) in enumerate(pairs) if key is place.key)
    if len(pairs) == 1:
        return Splice(_start(mapping), _end(text, mapping), "{}")
    if mapping.flow_style:
        return _out_of_flow(text, pairs, i)
    return _out_of_block(text, pairs[i])


def appending(text: str, root: yaml.Node | None, path: KeyPath, value: object) -> Splice:
    """The splice that puts `value` at the end of the list at `path`, which has items already."""
    place = None if root is None else _walk(root, path)
    if place is None or not isinstance(place.node, yaml.SequenceNode) or not place.node.value:
        raise BadUsage("there is no list to add to: write the whole list")
    dash = "" if place.node.flow_style else "- "
    return _adding(text, place.node, dash + flow(value))


def _walk(root: yaml.Node, path: KeyPath) -> _KeyPlace:
    """Follow `path` as far as it is written."""
    place = _KeyPlace(root, None, None, 0)
    for depth, step in enumerate(path, 1):
        node = place.node
        if isinstance(node, yaml.MappingNode):
            pair = next(((k, v) for k, v in node.value if k.value == step), None)
            if pair is None:
                break
            place = _KeyPlace(pair[1], pair[0], node, depth)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            if step >= len(node.value):
                break
            place = _KeyPlace(node.value[step], None, node, depth)
        else:
            break
    return place


def _nested(keys: KeyPath, value: object) -> object:
    for key in reversed(keys):
        value = {_word(key): value}
    return value


def _entry(key: str | int, value: object) -> str:
    return f"{flow(_word(key))}: {flow(value)}"


def _word(key: str | int) -> str:
    if isinstance(key, int):
        raise BadUsage(f"there is no item {key}: write the whole list")
    return key


def _replacing(text: str, place: _KeyPlace, value: object) -> Splice:
    node, key = place.node, place.key
    if _is_block(node) and key is not None:
        # Beside the key, so that a comment between the key and the old lines stays.
        colon = text.index(":", _end(text, key)) + 1
        between = text[colon : text.rindex("\n", 0, _start(node))].rstrip("\r")
        end = _line_end(text, _end(text, node))
        return Splice(colon, end, f" {flow(value)}{between}")
    if _is_empty(node):
        start = _start(node)
        if key is not None and ":" not in text[_end(text, key) : start]:
            return Splice(_end(text, key), _end(text, key), f": {flow(value)}")
        return Splice(start, start, f" {flow(value)}")
    style = node.style if isinstance(node, yaml.ScalarNode) else None
    return Splice(_start(node), _end(text, node), flow(value, style))


def _adding(text: str, section: yaml.CollectionNode, entry: str) -> Splice:
    """An entry after all those of a mapping or a list."""
    if not section.value:
        start = _start(section) + 1
        return Splice(start, start, entry)
    end = _member_end(text, section.value[-1])
    if section.flow_style:
        return Splice(end, end, f", {entry}")
    indent = " " * int(section.start_mark.column)
    newline = "\r\n" if "\r\n" in text else "\n"
    last = _deepest(section)
    if isinstance(last, yaml.ScalarNode) and last.style in {"|", ">"}:
        end = _raw_end(last)
        if text[end - 1] == "\n":
            return Splice(end, end, f"{indent}{entry}{newline}")
    end = _line_end(text, end)
    return Splice(end, end, f"{newline}{indent}{entry}")


def _out_of_flow(text: str, pairs: list[Pair], i: int) -> Splice:
    """Take pair `i` out of {..}, with the comma that belongs to it."""
    start, end = _start(pairs[i][0]), _pair_end(text, pairs[i])
    if i == len(pairs) - 1:
        before = _pair_end(text, pairs[i - 1])
        if "\n" not in text[before:start]:
            return Splice(before, end)
        blank = len(text[end:]) - len(text[end:].lstrip(" "))
        comma = text[end + blank : end + blank + 1] == ","
        return _with_its_line(text, start, end + blank + 1 if comma else end)
    following = _start(pairs[i + 1][0])
    first_line, newline, _ = text[end:following].partition("\n")
    if newline and "," in first_line.partition("#")[0]:
        return _with_its_line(text, start, end + len(first_line))
    return Splice(start, following)


def _with_its_line(text: str, start: int, end: int) -> Splice:
    """The span, widened to the whole line when nothing else stands on it."""
    line = text.rfind("\n", 0, start) + 1
    line_end = _line_end(text, end)
    after = text[end:line_end].strip()
    if text[line:start].strip() or (after and not after.startswith("#")):
        return Splice(start, end)
    return Splice(line, _after_newline(text, line_end))


def _out_of_block(text: str, pair: Pair) -> Splice:
    """Remove a pair's lines; of `- key: value` the dash stays."""
    start = _start(pair[0])
    last = _deepest(pair[1])
    if isinstance(last, yaml.ScalarNode) and last.style in {"|", ">"}:
        end = _raw_end(last)
        after = end
    else:
        end = _line_end(text, _pair_end(text, pair))
        after = _after_newline(text, end)
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    if not before.strip():
        return Splice(line, after)
    newline = "" if end != after else "\n"
    return Splice(line + len(before.rstrip()), end, newline)


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _is_empty(node: yaml.Node) -> bool:
    """Whether the value is not written at all, as in `key:`."""
    return isinstance(node, yaml.ScalarNode) and _start(node) == _raw_end(node)


def _deepest(node: yaml.Node) -> yaml.Node:
    """The last node of a block collection, where its text really ends."""
    while _is_block(node) and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _end(text: str, node: yaml.Node) -> int:
    """Where the node's own text ends; PyYAML ends block collections at the next token."""
    if _is_block(node) and node.value:
        return _member_end(text, node.value[-1])
    if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}:
        return _start(node) + len(text[_start(node) : _raw_end(node)].rstrip())
    return _raw_end(node)


def _member_end(text: str, member: Pair | yaml.Node) -> int:
    return _pair_end(text, member) if isinstance(member, tuple) else _end(text, member)


def _pair_end(text: str, pair: Pair) -> int:
    key, value = pair
    end = _end(text, key)
    if _is_empty(value) and ":" not in text[end : _start(value)]:
        return end
    return _end(text, value)


def _start(node: yaml.Node) -> int:
    return int(node.start_mark.index)


def _raw_end(node: yaml.Node) -> int:
    return int(node.end_mark.index)


def _line_end(text: str, at: int) -> int:
    """Where the line around `at` ends, before its line break."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if end > at and text[end - 1] == "\r" else end


def _after_newline(text: str, line_end: int) -> int:
    if text.startswith("\r\n", line_end):
        return line_end + 2
    return min(line_end + 1, len(text))


_TEXT = "tag:yaml.org,2002:str"
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*|[0-9]+[A-Za-z%][A-Za-z0-9_%]*|-1[a-z]+")
_ONE_LINE = re.compile(r"[\x20-\x7e]*")


class _Dumper(yaml.SafeDumper):
    """Quotes every text but words that all versions of YAML read as text."""

    def text(self, value: str) -> yaml.ScalarNode:
        style = None if _WORD.fullmatch(value) and _stays_text(value) else '"'
        return self.represent_scalar(_TEXT, str(value), style)


_Dumper.add_multi_representer(str, _Dumper.text)
_Dumper.add_representer(str, _Dumper.text)


def _stays_text(word: str) -> bool:
    """Whether YAML reads a bare word as text, not as a switch or a number."""
    node = yaml.compose(word, Loader=yaml.SafeLoader)
    return node is not None and node.tag == _TEXT


def written(value: object) -> str:
    """`value` as a file, an item or a member a line."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=math.inf)


def flow(value: object, style: str | None = None) -> str:
    """`value` in flow style; strings keep the quotes of `style` (' or ") where they can."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{flow(key)}: {flow(member)}' for key, member in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(flow, value))}]"
    return _scalar(value, style)


def _scalar(value: object, style: str | None) -> str:
    keeps = isinstance(value, str) and (
        style == '"' or (style == "'" and _ONE_LINE.fullmatch(value) is not None)
    )
    text = yaml.dump(
        value,
        Dumper=yaml.SafeDumper if keeps else _Dumper,
        default_style=style if keeps else None,
        default_flow_style=True,
        sort_keys=False,
        width=math.inf,
    )
    return text.removesuffix("\n").removesuffix("\n...")
