"""The keys that a profile may have, read off the model, and what is known of each beside
its type."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tuner.engines.settings import REGISTERED
from tuner.errors import KeyPath
from tuner.modules.findings import FINDINGS
from tuner.profile.model import Profile
from tuner.profile.source import at
from tuner.schema.parameter import Doc, doc

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
        inner_path = f"{path}.{name}" if path else name
        yield Key(inner_path, section, name, attribute, info)
        for inner, is_item in _sections_in(info.annotation):
            yield from _keys_below(inner, f"{inner_path}[]" if is_item else inner_path)


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
    return any(at(data, (key,)) in values for key, values in _kinds_of(model))


@cache
def _kinds_of(model: type[BaseModel]) -> tuple[tuple[str, tuple[object, ...]], ...]:
    """The keys that have one value alone, by which kinds of sections are told apart."""
    return tuple(
        (key, get_args(info.annotation))
        for key, info in model.model_fields.items()
        if get_origin(info.annotation) is Literal and len(get_args(info.annotation)) == 1
    )


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


# Sections that stand in several places are explained once.
_SHARED = {"Queue": "queue", "SecretRef": "secret", "IndexSettings": "settings"}

_MANUAL = "rsyslog's manual and source"
_ENGINE = f"documentation and {REGISTERED}"
_SOURCES = (
    ("queue.", f"{_MANUAL}: rainerscript/queue_parameters, runtime/queue.c"),
    ("inputs[].", f"{_MANUAL}: the input module of that name"),
    ("impstats", f"{_MANUAL}: impstats"),
    ("ratelimits", f"{_MANUAL}: rainerscript/configuration_objects/ratelimit"),
    ("global.", f"{_MANUAL}: rainerscript/global"),
    ("parse.", f"{_MANUAL}: rainerscript/property, mmjsonparse"),
    ("streams[].parse.", f"{_MANUAL}: rainerscript/property, mmjsonparse"),
    ("steps[]", f"{_MANUAL}: rainerscript/variable_property_types, the module of that name"),
    ("streams[].steps[]", f"{_MANUAL}: the module of that name"),
    ("streams[].filter", f"{_MANUAL}: configuration/filters, rainerscript/expressions"),
    ("settings.", _ENGINE),
    ("node.", _ENGINE),
    ("outputs[].index.", _ENGINE),
    ("outputs[].document[].uses", _ENGINE),
    ("outputs[].action.", f"{_MANUAL}: configuration/actions, action.c"),
    ("outputs[].filter", f"{_MANUAL}: configuration/filters, rainerscript/expressions"),
    ("outputs[].dynaFile.", f"{_MANUAL}: omfile, configuration/templates, msg.c"),
    ("outputs[].", f"{_MANUAL}: omelasticsearch, omelasticsearch.c"),
)


def fact_of(key: Key) -> Doc:
    """What is known about `key`: what its section says of it, else what facts.yaml does; its
    traps in full."""
    fact = doc(key.section, key.attribute) or facts().get(fact_name(key), Doc(""))
    return replace(fact, traps=tuple(FINDINGS.get(trap, trap) for trap in fact.traps))


def fact_name(key: Key) -> str:
    """What the fact about `key` is called: its path, or one name for a section in many places."""
    shared = _SHARED.get(key.section.__name__)
    return f"{shared}.{key.name}" if shared else key.path


def source_of(name: str, kinds: Sequence[str] = ()) -> str:
    """Where the fact called `name` comes from, which is about inputs or outputs of those kinds."""
    sources = ((start, source) for start, source in _SOURCES if name.startswith(start))
    start, source = next(sources, ("", "rsyslog-tune's own: docs/profiles.md"))
    if start == "outputs[]." and kinds:
        return f"{_MANUAL}: {', '.join(kinds)}"
    return source


@cache
def facts() -> dict[str, Doc]:
    """The facts of facts.yaml beside this module, each by its name, such as `release.rsyslog`."""
    text = (files("tuner.profile") / "facts.yaml").read_text(encoding="utf-8")
    written: dict[str, str | dict[str, Any]] = yaml.safe_load(text)["keys"]
    return {
        name: Doc(fact)
        if isinstance(fact, str)
        else Doc(fact["does"], str(fact.get("default", "")), tuple(fact.get("traps", ())))
        for name, fact in written.items()
    }
