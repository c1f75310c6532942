"""An index template of the user's, in the form that an engine accepts or returns, and the parts of
it that a lab can use; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from tuner.reading import json_of

# Settings that name policies, pipelines and node attributes, which a lab does not have.
_NOT_IN_LABS = (
    "index.lifecycle.", "index.plugins.", "index.opendistro.", "index.routing.allocation.",
    "index.default_pipeline", "index.final_pipeline",
)  # fmt: skip
# Elasticsearch 9 returns these with a template, and refuses a template that has them.
_ADDED_BY_ENGINES = ("created_date", "modified_date")
_REPLICAS, _WAITS = "index.number_of_replicas", "index.write.wait_for_active_shards"
_SETTINGS, _MAPPINGS = "settings", "mappings"
_DECODER, _BLANKS = json.JSONDecoder(), re.compile(r"[\s,]*")
_OF_MAPPINGS = frozenset(
    {"properties", "dynamic", "dynamic_templates", "date_detection", "numeric_detection", "runtime"}
)


def for_nodes(
    data_nodes: int, settings: Mapping[str, object] = MappingProxyType({})
) -> dict[str, object]:
    """Index settings without more replicas than `data_nodes` can hold, and without a wait for more
    active shards than there are.  The engine's default is one replica."""
    copies = min(int(str(settings.get(_REPLICAS, 1))) + 1, data_nodes)
    wait = str(settings.get(_WAITS, ""))
    fitting_wait = {_WAITS: min(int(wait), copies)} if wait.isdecimal() else {}
    return {**settings, _REPLICAS: copies - 1, **fitting_wait}


@dataclass(frozen=True)
class UserTemplate:
    """An index template of the user's: its file and text, the `body` to put to an engine, its name
    if the file has one, its index patterns, mappings, and settings by full names.

    `left_out` names the parts that a lab does not have.  `path` is the profile's key of a template
    that is rendered.
    """

    file: str
    text: str
    body: Mapping[str, object]
    name: str | None
    patterns: tuple[str, ...]
    mappings: Mapping[str, object]
    settings: Mapping[str, object]
    left_out: tuple[str, ...]
    path: str = ""

    @property
    def is_composable(self) -> bool:
        """Whether it is composable (`_index_template`), not a legacy template (`_template`)."""
        return _SETTINGS not in self.body and _MAPPINGS not in self.body

    @property
    def has_patterns(self) -> bool:
        """Whether it has index_patterns, which every template of an engine has."""
        return "index_patterns" in self.body

    def is_for(self, index: str) -> bool:
        """Whether one of its patterns matches the name of an index."""
        return any(fnmatchcase(index, pattern) for pattern in self.patterns)

    def on_nodes(self, data_nodes: int) -> UserTemplate:
        """The template without more replicas than `data_nodes` can hold, see
        `for_nodes`."""
        return replace(self, settings=for_nodes(data_nodes, self.settings))

    def with_settings(self, changes: Mapping[str, object]) -> UserTemplate:
        """The template with settings changed in place in its text: `changes` are values by full
        names, None removes a setting."""
        text = self.text
        for name, value in changes.items():
            text = _with_setting(text, name, value)
        return user_template(self.file, text)

    def with_mappings(self, mappings: Mapping[str, object]) -> UserTemplate:
        """The template with its mappings replaced in its text."""
        sections, value = _sections(self.text), json.dumps(mappings, indent=2)
        if _MAPPINGS in sections:
            text = sections[_MAPPINGS].replaced(self.text, value)
        else:
            text = _with_member(self.text, sections[_SETTINGS].start, _MAPPINGS, value)
        return user_template(self.file, text)


def user_template(file: str, text: str) -> UserTemplate:
    """The template in a file, which is a body for `_index_template` or `_template`, or an answer of
    one of these.  Raises ValueError, which says what is wrong."""
    name, body = _name_and_body(json_of(text))
    if body.get("composed_of"):
        raise ValueError(
            "it is composed_of component templates, which are not in it: save what GET "
            "_index_template/_simulate/NAME answers instead"
        )
    inner = _object(body, "template") or body
    mappings, settings = _object(inner, _MAPPINGS), _object(inner, _SETTINGS)
    if not mappings and not settings:
        raise ValueError("it has neither mappings nor settings")
    if len(mappings) == 1 and not mappings.keys() & _OF_MAPPINGS:
        # Before Elasticsearch 7 mappings were inside a mapping type.
        (mappings,) = (_object(mappings, name) or mappings for name in mappings)
    flat = dict(_flat("index", settings))
    dropped = tuple(name for name in flat if name.startswith(_NOT_IN_LABS))
    sections = tuple(name for name in ("data_stream", "aliases") if name in {*body, *inner})
    return UserTemplate(
        file=file,
        text=text,
        body={key: body[key] for key in body if not key.startswith(_ADDED_BY_ENGINES)},
        name=name,
        patterns=_patterns(body),
        mappings=mappings,
        settings={name: value for name, value in flat.items() if name not in dropped},
        left_out=sections + dropped,
    )


@dataclass(frozen=True)
class _Member:
    """A member of a JSON object in a text: its name, and the offsets of its name, its value and its
    end."""

    name: str
    start: int
    value: int
    end: int

    def replaced(self, text: str, value: str) -> str:
        """The text with another value for this member."""
        return text[: self.value] + value + text[self.end :]


def _members(text: str, start: int) -> Iterator[_Member]:
    """The members of the object that begins at `start`."""
    at = _after_blanks(text, start + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        value = _after_blanks(text, text.index(":", end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield _Member(name, at, value, end)
        at = _after_blanks(text, end)


def _after_blanks(text: str, at: int) -> int:
    """The offset of the next character that is neither a blank nor a comma."""
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()


def _all_members(text: str, start: int) -> Iterator[_Member]:
    """The members of an object, or of the first in a list, and those of the objects in it; mappings
    are not searched."""
    if text[start] == "[":
        start = _after_blanks(text, start + 1)
    if text[start] == "{":
        for member in _members(text, start):
            yield member
            if member.name != _MAPPINGS:
                yield from _all_members(text, member.value)


def _sections(text: str) -> dict[str, _Member]:
    """The first member of each name in a text, at any depth."""
    members = [*_all_members(text, _after_blanks(text, 0))]
    return {member.name: member for member in reversed(members)}


def _with_setting(text: str, name: str, value: object) -> str:
    """The text with one setting: in its place, or in front of the other settings."""
    sections, written = _sections(text), json.dumps(value)
    section = sections.get(_SETTINGS)
    settings = {} if section is None else dict(_settings(text, section.value))
    setting = settings.get(name)
    if value is None:
        return text if setting is None else _without(text, setting)
    if setting is not None:
        return setting.replaced(text, written)
    if section is None:
        only = json.dumps({name: value})
        return _with_member(text, sections[_MAPPINGS].start, _SETTINGS, only)
    if settings:
        return _with_member(text, _after_blanks(text, section.value + 1), name, written)
    return section.replaced(text, json.dumps({name: value}))


def _without(text: str, member: _Member) -> str:
    """The text without a member and its comma."""
    after = _after_blanks(text, member.end)
    if "," in text[member.end : after]:
        return text[: member.start] + text[after:]
    return text[: member.start].rstrip().removesuffix(",") + text[member.end :]


def _settings(text: str, start: int, prefix: str = "index") -> Iterator[tuple[str, _Member]]:
    """The settings in a section by full names, see `_flat`."""
    for member in _members(text, start):
        full_name = _full_name(prefix, member.name)
        if text[member.value] == "{":
            yield from _settings(text, member.value, full_name)
        else:
            yield full_name, member


def _with_member(text: str, at: int, name: str, value: str) -> str:
    """The text with a member inserted before the one at `at`, separated by the same white space."""
    between = text[len(text[:at].rstrip()) : at] or " "
    return f"{text[:at]}{json.dumps(name)}: {value},{between}{text[at:]}"


def _name_and_body(data: object) -> tuple[str | None, Mapping[str, object]]:
    """The name and the body of a template; only an engine's answer has a name."""
    if not isinstance(data, Mapping):
        raise ValueError("it is no JSON object")
    entries = data.get("index_templates")
    if isinstance(entries, list):
        if len(entries) != 1:
            raise ValueError(f"it has {len(entries)} templates, not one")
        body = _object(entries[0], "index_template")
        return (str(entries[0]["name"]) if body and "name" in entries[0] else None), body
    if len(data) == 1:
        ((name, body),) = data.items()
        if isinstance(body, Mapping) and "index_patterns" in body:
            return str(name), body
    return None, data


def _object(data: object, name: str) -> Mapping[str, object]:
    section = data.get(name) if isinstance(data, Mapping) else None
    return section if isinstance(section, Mapping) else {}


def _patterns(body: Mapping[str, object]) -> tuple[str, ...]:
    """The index patterns, * without any; before Elasticsearch 6 `template` was the only one."""
    old = body.get("template")
    patterns = body.get("index_patterns", old if isinstance(old, str) else "*")
    return tuple(map(str, patterns)) if isinstance(patterns, list) else (str(patterns),)


def _flat(prefix: str, settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Settings by full names; the template may nest them, and may leave `index.` out."""
    for name, value in settings.items():
        full_name = _full_name(prefix, name)
        if isinstance(value, Mapping):
            yield from _flat(full_name, value)
        else:
            yield full_name, value


def _full_name(prefix: str, name: str) -> str:
    return name if name == "index" or name.startswith("index.") else f"{prefix}.{name}"
