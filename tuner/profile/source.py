"""YAML text to plain data, with the place in the file of every key and value.

A strict subset of YAML: one document, text keys, no tags but the core ones, no anchors, and
no spellings that YAML 1.1 silently turns into something else (octal, sexagesimal, dates).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import yaml

from tuner.errors import BadProfile, KeyPath, Problem

# The 1,000 fields that an index takes by default need half of it; reading so much takes a second.
MAX_BYTES = 1 << 17
MAX_DEPTH = 32

UNREADABLE = "RT010"
NOT_YAML = "RT011"
TOO_MUCH = "RT012"
DUPLICATE_KEY = "RT013"
TAG = "RT014"
ANCHOR = "RT015"
ODD_SCALAR = "RT016"
LAYER = "RT017"

_CORE = "tag:yaml.org,2002:"
# Python converts no text of more than 4300 digits.
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]{0,99})")
_TRUE = frozenset({"yes", "true", "on"})
# YAML's escapes can make halves of characters, which no UTF-8 can hold.
_HALF = re.compile("[\ud800-\udfff]")
# The values of these are not repeated in messages.
_SECRETS = frozenset({"pwd", "apikey"})
LONGEST_SHOWN = 60
"""What is longer is no help in a message."""


class Position(NamedTuple):
    """A place in the file; line and column count from 1."""

    line: int
    column: int


class Spot(NamedTuple):
    """Where one value stands: its key (or itself, in a list), the value, its spelling, its file."""

    key: Position
    value: Position
    raw: str | None = None
    file: str = ""


@dataclass(frozen=True)
class Source:
    """A YAML text as plain data; `problems` holds what does not make the data unusable."""

    name: str
    text: str
    data: object
    spots: Mapping[KeyPath, Spot]
    problems: tuple[Problem, ...] = ()
    root: yaml.Node | None = None

    def position(self, path: KeyPath) -> Position:
        """Where the value at `path` stands; if it is not written, the key of its section."""
        if path in self.spots:
            return self.spots[path].value
        return self.key_position(path)

    def key_position(self, path: KeyPath) -> Position:
        """Where the key at `path` stands, or that of the nearest section around it."""
        near = self._nearest(path)
        return self.spots[near].key if near else Position(1, 1)

    def file_of(self, path: KeyPath) -> str:
        """The file in which the value at `path` stands, or the nearest section around it."""
        near = self._nearest(path)
        return self.spots[near].file if near in self.spots else self.name

    def _nearest(self, path: KeyPath) -> KeyPath:
        while path and path not in self.spots:
            path = path[:-1]
        return path


def has(data: object, step: str | int) -> bool:
    """Whether plain data has something under one key or number."""
    if isinstance(data, Mapping):
        return step in data
    return isinstance(data, list) and isinstance(step, int) and step < len(data)


def at(data: object, path: KeyPath) -> object:
    """The value at `path` in plain data, or None where nothing is written."""
    for step in path:
        if isinstance(data, Mapping):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data


class _Mark(Protocol):
    """What PyYAML's marks have in common."""

    line: int
    column: int


def position_of(mark: _Mark) -> Position:
    """PyYAML counts from 0, people from 1."""
    return Position(mark.line + 1, mark.column + 1)


def problem_at(name: str, position: Position, message: str, code: str) -> Problem:
    """An error at a place of the file."""
    return Problem(name, position.line, position.column, message, code)


class _Forbidden(Exception):
    """A construct we do not accept at all."""

    def __init__(self, event: yaml.Event, message: str, code: str) -> None:
        super().__init__(message)
        self.position = position_of(event.start_mark) if event.start_mark else Position(1, 1)
        self.message, self.code = message, code


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, minus anchors and aliases, with bounded depth."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose one node, refusing before anything could be expanded."""
        self.check_event()
        event: yaml.NodeEvent = self.current_event
        if event.anchor is not None:
            message = "anchors and aliases are not accepted here: write the value out"
            raise _Forbidden(event, message, ANCHOR)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            message = f"nested more than {MAX_DEPTH} levels deep: a profile needs fewer than ten"
            raise _Forbidden(event, message, TOO_MUCH)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def compose(text: str, name: str) -> yaml.Node | None:
    """The node tree of `text`, None if it holds no document; raises BadProfile."""
    try:
        loader = _Loader(text)
        return loader.get_single_node()
    except _Forbidden as bad:
        position, message, code = bad.position, bad.message, bad.code
    except yaml.reader.ReaderError as bad:
        before, code = text[: bad.position], NOT_YAML
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        message = f"character {bad.character!r} is not allowed in YAML: remove it"
    except (ValueError, OverflowError):
        # PyYAML makes a character of whatever number an escape has.
        position, code = position_of(loader.get_mark()), NOT_YAML
        message = "an escape here is no character: there is none above \\U0010FFFF"
    except yaml.MarkedYAMLError as bad:
        mark = bad.problem_mark or bad.context_mark
        position = position_of(mark) if mark else Position(1, 1)
        message, code = _not_yaml(bad), NOT_YAML
    raise BadProfile((problem_at(name, position, message, code),))


def _not_yaml(bad: yaml.MarkedYAMLError) -> str:
    """What PyYAML says, with what to do where it is a matter of indentation."""
    message = f"{bad.context}: {bad.problem}" if bad.context else str(bad.problem)
    if "'\\t'" in message:
        return "not YAML, a tab in the indentation: indent with spaces"
    if "block" in message or "mapping values are not allowed" in message:
        return f"not YAML, {message}: check the indentation here and in the lines above"
    return f"not YAML, {message}" if bad.context else f"not YAML: {message}"


@dataclass
class _Reading:
    """The walk over the nodes, with its results so far."""

    name: str
    spots: dict[KeyPath, Spot] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def complain(self, node: yaml.Node, message: str, code: str) -> None:
        self.problems.append(problem_at(self.name, position_of(node.start_mark), message, code))

    def value(self, node: yaml.Node, path: KeyPath, key: yaml.Node | None = None) -> object:
        """The plain data of `node`, noting its place under `path`."""
        start = position_of(node.start_mark)
        raw = node.value if isinstance(node, yaml.ScalarNode) else None
        at_key = position_of(key.start_mark) if key else start
        self.spots[path] = Spot(at_key, start, raw, self.name)
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_CORE}map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_CORE}seq":
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self.complain(node, f"the tag {node.tag} is not accepted: write plain YAML", TAG)
        return None

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, object]:
        data: dict[str, object] = {}
        for key, value in node.value:
            name = self._key(key)
            if name is None:
                continue
            if name in data:
                first = self.spots[(*path, name)].key.line
                message = f"{shortened(name)} is set twice, first in line {first}: keep one of them"
                self.complain(key, message, DUPLICATE_KEY)
                continue
            data[name] = self.value(value, (*path, name), key)
        return data

    def _key(self, key: yaml.Node) -> str | None:
        whole = isinstance(key, yaml.ScalarNode) and not _HALF.search(key.value)
        if whole and key.tag == f"{_CORE}str":
            return str(key.value)
        spelled = shortened(key.value) if whole else "this"
        self.complain(key, f"a key must be a word; {spelled} is not one", ODD_SCALAR)
        return None

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> object:
        kind, text = node.tag.removeprefix(_CORE), str(node.value)
        if kind == "str":
            if _HALF.search(text):
                message = "half of a character is escaped here: write the whole character"
                self.complain(node, message, ODD_SCALAR)
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in _TRUE
        if kind == "int" and _DECIMAL.fullmatch(text):
            return int(text)
        if kind == "float" and ":" not in text and math.isfinite(number := _float(text)):
            return number
        if kind in {"int", "float", "timestamp", "value", "merge"}:
            shown = "this" if _SECRETS & set(path) else shortened(text)
            message = (
                f"YAML reads {shown} in a way you may not mean: "
                f'write "{shown}" in quotes for text, or a plain decimal number'
            )
            self.complain(node, message, ODD_SCALAR)
        else:
            self.complain(node, f"the tag {node.tag} is not accepted: write plain YAML", TAG)
        return None


def shortened(text: str) -> str:
    """A text that messages repeat, without what is too long of it."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def _float(text: str) -> float:
    """A YAML float as Python reads it; infinite for what Python cannot read."""
    try:
        return float(text)
    except ValueError:
        return math.inf


def read(text: str, name: str) -> Source:
    """`text` as plain data with places; raises BadProfile if there is no data."""
    node = compose(text, name)
    reading = _Reading(name)
    data = None if node is None else reading.value(node, ())
    return Source(name, text, data, reading.spots, tuple(reading.problems), node)
