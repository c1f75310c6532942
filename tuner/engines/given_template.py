"""An index template of the user's, as the engine tells it or takes it: what a lab can have of it;
pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from tuner.reading import json_of

# Policies, pipelines and attributes of nodes are not there in a lab.
_ELSEWHERE = (
    "index.lifecycle.", "index.plugins.", "index.opendistro.", "index.routing.allocation.",
    "index.default_pipeline", "index.final_pipeline",
)  # fmt: skip
# What Elasticsearch 9 answers beside a template, and refuses in one.
_SAID_BY_ENGINES = ("created_date", "modified_date")
_REPLICAS, _WAITS = "index.number_of_replicas", "index.write.wait_for_active_shards"
_SETTINGS, _MAPPINGS = "settings", "mappings"
_DECODER, _BLANKS = json.JSONDecoder(), re.compile(r"[\s,]*")
_OF_MAPPINGS = frozenset(
    {"properties", "dynamic", "dynamic_templates", "date_detection", "numeric_detection", "runtime"}
)


def copies_on(
    data_nodes: int, settings: Mapping[str, object] = MappingProxyType({})
) -> dict[str, object]:
    """Settings of an index with as many copies as so many nodes can hold, and no wait for more;
    where nothing says how many, an engine makes one beside the first."""
    copies = min(int(str(settings.get(_REPLICAS, 1))) + 1, data_nodes)
    waits = str(settings.get(_WAITS, ""))
    fewer = {_WAITS: min(int(waits), copies)} if waits.isdecimal() else {}
    return {**settings, _REPLICAS: copies - 1, **fewer}


@dataclass(frozen=True)
class GivenTemplate:
    """The file, what is put of it, the name that it has there (None: it does not say), the patterns
    of index names that it is for, mappings, and settings by their whole names; `left_out` names
    what a lab does not have.  One that is rendered has a `path` in its profile."""

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
        """Whether it is one of `_index_template`, not of `_template`."""
        return _SETTINGS not in self.body and _MAPPINGS not in self.body

    @property
    def says_patterns(self) -> bool:
        """Whether it says which indices it is for, as every template of an engine does."""
        return "index_patterns" in self.body

    def is_for(self, index: str) -> bool:
        """Whether an index of that name would be made from it."""
        return any(fnmatchcase(index, pattern) for pattern in self.patterns)

    def on_nodes(self, data_nodes: int) -> GivenTemplate:
        """The template with as many copies of an index as so many nodes can hold, and no wait for
        more."""
        return replace(self, settings=copies_on(data_nodes, self.settings))

    def with_settings(self, changes: Mapping[str, object]) -> GivenTemplate:
        """The template with other values of settings by their whole names, where they stand in its
        text; None takes one out, and everything else stays as it is."""
        text = self.text
        for name, value in changes.items():
            text = _with_setting(text, name, value)
        return given_template(self.file, text)

    def with_mappings(self, mappings: Mapping[str, object]) -> GivenTemplate:
        """The template with other mappings in its text; everything else stays as it is."""
        sections, written = _sections(self.text), json.dumps(mappings, indent=2)
        if _MAPPINGS in sections:
            text = sections[_MAPPINGS].replaced(self.text, written)
        else:
            text = _with_first(self.text, sections[_SETTINGS].start, _MAPPINGS, written)
        return given_template(self.file, text)


def given_template(file: str, text: str) -> GivenTemplate:
    """The template in a file: a body of `_index_template` or `_template`, or what one of these
    answers.  Raises ValueError, which says what is wrong."""
    name, body = _named(json_of(text))
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
        # Before Elasticsearch 7 mappings had a type around them.
        (mappings,) = (_object(mappings, name) or mappings for name in mappings)
    flat = dict(_flat("index", settings))
    gone = tuple(name for name in flat if name.startswith(_ELSEWHERE))
    beside = tuple(name for name in ("data_stream", "aliases") if name in {*body, *inner})
    return GivenTemplate(
        file=file,
        text=text,
        body={key: body[key] for key in body if not key.startswith(_SAID_BY_ENGINES)},
        name=name,
        patterns=_patterns(body),
        mappings=mappings,
        settings={name: value for name, value in flat.items() if name not in gone},
        left_out=beside + gone,
    )


@dataclass(frozen=True)
class _Member:
    """A member of a JSON object in a text: where its name begins, its value, and the end of it."""

    name: str
    start: int
    value: int
    end: int

    def replaced(self, text: str, written: str) -> str:
        """The text with another value of it."""
        return text[: self.value] + written + text[self.end :]


def _members(text: str, start: int) -> Iterator[_Member]:
    """Those of the object that begins there."""
    at = _after_blanks(text, start + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        value = _after_blanks(text, text.index(":", end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        yield _Member(name, at, value, end)
        at = _after_blanks(text, end)


def _after_blanks(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return at if blanks is None else blanks.end()


def _objects(text: str, start: int) -> Iterator[_Member]:
    """The members of an object, or of the only one in a list, and of the objects in it, but for
    mappings."""
    if text[start] == "[":
        start = _after_blanks(text, start + 1)
    if text[start] == "{":
        for member in _members(text, start):
            yield member
            if member.name != _MAPPINGS:
                yield from _objects(text, member.value)


def _sections(text: str) -> dict[str, _Member]:
    """The first member of each name in the objects of a text."""
    members = [*_objects(text, _after_blanks(text, 0))]
    return {member.name: member for member in reversed(members)}


def _with_setting(text: str, name: str, value: object) -> str:
    """The text with one setting: at its place, or first of all settings."""
    sections, written = _sections(text), json.dumps(value)
    section = sections.get(_SETTINGS)
    settings = {} if section is None else dict(_settings(text, section.value))
    setting = settings.get(name)
    if value is None:
        return text if setting is None else _without(text, setting)
    if setting is not None:
        return setting.replaced(text, written)
    if section is None:
        whole = json.dumps({name: value})
        return _with_first(text, sections[_MAPPINGS].start, _SETTINGS, whole)
    if settings:
        return _with_first(text, _after_blanks(text, section.value + 1), name, written)
    return section.replaced(text, json.dumps({name: value}))


def _without(text: str, member: _Member) -> str:
    """The text without a member, and the comma that belongs to it."""
    after = _after_blanks(text, member.end)
    if "," in text[member.end : after]:
        return text[: member.start] + text[after:]
    return text[: member.start].rstrip().removesuffix(",") + text[member.end :]


def _settings(text: str, start: int, prefix: str = "index") -> Iterator[tuple[str, _Member]]:
    """The settings in a section by their whole names, see `_flat`."""
    for member in _members(text, start):
        whole = _whole(prefix, member.name)
        if text[member.value] == "{":
            yield from _settings(text, member.value, whole)
        else:
            yield whole, member


def _with_first(text: str, at: int, name: str, written: str) -> str:
    """The text with a member before the one that begins there, on a line of its own as that is."""
    between = text[len(text[:at].rstrip()) : at] or " "
    return f"{text[:at]}{json.dumps(name)}: {written},{between}{text[at:]}"


def _named(data: object) -> tuple[str | None, Mapping[str, object]]:
    """The template itself, and its name where an answer of the engine has that around it."""
    if not isinstance(data, Mapping):
        raise ValueError("it is no JSON object")
    several = data.get("index_templates")
    if isinstance(several, list):
        if len(several) != 1:
            raise ValueError(f"it has {len(several)} templates, not one")
        body = _object(several[0], "index_template")
        return (str(several[0]["name"]) if body and "name" in several[0] else None), body
    if len(data) == 1:
        ((name, only),) = data.items()
        if isinstance(only, Mapping) and "index_patterns" in only:
            return str(name), only
    return None, data


def _object(data: object, name: str) -> Mapping[str, object]:
    section = data.get(name) if isinstance(data, Mapping) else None
    return section if isinstance(section, Mapping) else {}


def _patterns(body: Mapping[str, object]) -> tuple[str, ...]:
    """Those that are written; before Elasticsearch 6 `template` was one."""
    old = body.get("template")
    written = body.get("index_patterns", old if isinstance(old, str) else "*")
    return tuple(map(str, written)) if isinstance(written, list) else (str(written),)


def _flat(prefix: str, settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Settings by their whole names, which may be written with and without `index.`, nested or
    not."""
    for name, value in settings.items():
        whole = _whole(prefix, name)
        if isinstance(value, Mapping):
            yield from _flat(whole, value)
        else:
            yield whole, value


def _whole(prefix: str, name: str) -> str:
    return name if name == "index" or name.startswith("index.") else f"{prefix}.{name}"
