"""The keys that a profile may have, read off the model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tuner.errors import KeyPath
from tuner.profile.model import Profile
from tuner.profile.source import at

Models = tuple[type[BaseModel], ...]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Key(NamedTuple):
    """One key of one section: its path, such as `outputs[].queue.size`, and its name there and in
    the model."""

    path: str
    section: type[BaseModel]
    name: str
    attribute: str
    info: FieldInfo


@cache
def every_key() -> tuple[Key, ...]:
    """Every key that a profile may have, in the order of the model; a path comes once for each
    kind of input or output that has it."""
    return tuple(_keys_below(Profile, ""))


def _keys_below(section: type[BaseModel], path: str) -> Iterator[Key]:
    for attribute, info in section.model_fields.items():
        name = info.alias or attribute
        here = f"{path}.{name}" if path else name
        yield Key(here, section, name, attribute, info)
        for inner, is_item in _sections_in(info.annotation):
            yield from _keys_below(inner, f"{here}[]" if is_item else here)


def _sections_in(
    annotation: object, is_item: bool = False
) -> Iterator[tuple[type[BaseModel], bool]]:
    """The sections that `annotation` mentions, and whether they are items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, is_item
    for part in get_args(annotation):
        yield from _sections_in(part, is_item or get_origin(annotation) in {tuple, dict})


def models_in(annotation: object) -> Models:
    """The model classes that `annotation` mentions, through unions, tuples and Annotated."""
    return tuple(section for section, _ in _sections_in(annotation))


def keys_of(models: Models) -> dict[str, object]:
    """Key, as profiles spell it, to the annotation of its field."""
    return {
        info.alias or name: info.annotation
        for model in models
        for name, info in model.model_fields.items()
    }


def models_at(path: KeyPath, root: type[BaseModel] = Profile, data: object = None) -> Models:
    """The models that can stand at `path` of a `root`, of several kinds the one that plain `data`
    names there; empty where a plain value stands."""
    models: Models = (root,)
    named = False
    for step in path:
        data = at(data, (step,))
        if isinstance(step, str) and not named:
            inside = [keys_of((model,)).get(step) for model in models]
            # The keys of such a section are names that the user chooses.
            named = any(get_origin(annotation) is dict for annotation in inside)
            models = tuple(dict.fromkeys(chain.from_iterable(map(models_in, inside))))
        else:
            named = False
        models = tuple(model for model in models if _is_of_kind(model, data)) or models
    return models


def _is_of_kind(model: type[BaseModel], data: object) -> bool:
    """Whether plain data names the kind of section that the model is."""
    kinds = (
        (key, get_args(info.annotation))
        for key, info in model.model_fields.items()
        if get_origin(info.annotation) is Literal and len(get_args(info.annotation)) == 1
    )
    return any(at(data, (key,)) in values for key, values in kinds)


def json_schema(does: Mapping[tuple[str, str], str]) -> dict[str, object]:
    """The JSON Schema of a profile for editors; `does` describes (section's class, key).

    Pydantic's own, without the titles that it makes of names, with docstrings on one line, and
    without the demand for keys that a layer below may have.
    """
    schema = Profile.model_json_schema(by_alias=True)
    sections = {"Profile": schema, **schema["$defs"]}
    merged = {
        key.section.__name__
        for key in every_key()
        if "[]" not in key.path.removeprefix("outputs[]")
    }
    for name, section in sections.items():
        section.pop("title", None)
        if name in merged:
            section.pop("required", None)
        if "description" in section:
            section["description"] = " ".join(inspect.cleandoc(section["description"]).split())
        for key, value in section.get("properties", {}).items():
            value.pop("title", None)
            if (name, key) in does:
                value["description"] = does[name, key]
    return {"$schema": DIALECT, "title": "rsyslog-tune profile", **schema}
