"""An index template of the user's, as the engine tells it or takes it: what a lab can have of it;
pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

# Policies, pipelines and attributes of nodes are not there in a lab.
_ELSEWHERE = (
    "index.lifecycle.", "index.plugins.", "index.opendistro.", "index.routing.allocation.",
    "index.default_pipeline", "index.final_pipeline",
)  # fmt: skip
_OF_MAPPINGS = frozenset(
    {"properties", "dynamic", "dynamic_templates", "date_detection", "numeric_detection", "runtime"}
)


@dataclass(frozen=True)
class GivenTemplate:
    """The file, the patterns of index names that it is for, mappings, and settings by their whole
    names; `left_out` names what a lab does not have."""

    file: str
    text: str
    patterns: tuple[str, ...]
    mappings: Mapping[str, object]
    settings: Mapping[str, object]
    left_out: tuple[str, ...]

    def is_for(self, index: str) -> bool:
        """Whether an index of that name would be made from it."""
        return any(fnmatchcase(index, one) for one in self.patterns)


def given_template(file: str, text: str) -> GivenTemplate:
    """The template in a file: a body of `_index_template` or `_template`, or what one of these
    answers.  Raises ValueError, which says what is wrong."""
    body = _body(json.loads(text))
    if body.get("composed_of"):
        raise ValueError(
            "it is composed_of component templates, which are not in it: save what GET "
            "_index_template/_simulate/NAME answers instead"
        )
    inner = _object(body, "template") or body
    mappings, settings = _object(inner, "mappings"), _object(inner, "settings")
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
        patterns=_patterns(body),
        mappings=mappings,
        settings={name: value for name, value in flat.items() if name not in gone},
        left_out=beside + gone,
    )


def _body(data: object) -> Mapping[str, object]:
    """The template itself, without what an answer of the engine has around it."""
    if not isinstance(data, Mapping):
        raise ValueError("it is no JSON object")
    several = data.get("index_templates")
    if isinstance(several, list):
        if len(several) != 1:
            raise ValueError(f"it has {len(several)} templates, not one")
        return _object(several[0], "index_template")
    if len(data) == 1:
        (only,) = data.values()
        if isinstance(only, Mapping) and "index_patterns" in only:
            return only
    return data


def _object(data: object, name: str) -> Mapping[str, object]:
    found = data.get(name) if isinstance(data, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _patterns(body: Mapping[str, object]) -> tuple[str, ...]:
    """Those that are written; before Elasticsearch 6 `template` was one."""
    old = body.get("template")
    written = body.get("index_patterns", old if isinstance(old, str) else "*")
    return tuple(map(str, written)) if isinstance(written, list) else (str(written),)


def _flat(prefix: str, settings: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Settings by their whole names, which may be written with and without `index.`, nested or
    not."""
    for name, value in settings.items():
        whole = name if name == "index" or name.startswith("index.") else f"{prefix}.{name}"
        if isinstance(value, Mapping):
            yield from _flat(whole, value)
        else:
            yield whole, value
