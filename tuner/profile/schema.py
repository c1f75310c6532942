"""The keys that a profile may have, read off the model: what is known of each, what it may hold and
what it holds when it is not written, in words; and the paths and names of its settings.

A list item is named in a path by its `name` or by its number, from 0.  Keys may hold dots
(`translog.flush_threshold_size`): the longest key that the profile knows is taken.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from itertools import chain, takewhile
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import yaml
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from tuner.engines.settings import REGISTERED
from tuner.errors import BadUsage, KeyPath
from tuner.modules.omelasticsearch import FILTER_PATH
from tuner.modules.queue import Place, Queue, QueueType, resolve
from tuner.profile.model import Profile
from tuner.profile.source import at
from tuner.reading import packaged
from tuner.schema.path import Path, short_names
from tuner.schema.section import BuiltWhenUsed, Doc, doc, kind_of

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
    if isinstance(annotation, type) and issubclass(annotation, BuiltWhenUsed):
        yield annotation.whole(), is_item
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
    return any(kind == at(data, (key,)) for key, kind in _kinds_of(model))


@cache
def _kinds_of(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    kinds = ((key, kind_of(model, key)) for key in model.model_fields)
    return tuple((key, kind) for key, kind in kinds if kind is not None)


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


def fact_of(key: Key) -> Doc:
    """What is known about `key`: what its section says of it, else what facts.yaml does; its
    traps in full."""
    known = facts()
    fact = doc(key.section, key.attribute) or known.keys.get(fact_name(key), Doc(""))
    texts = (
        f"{trap}: {known.findings[trap]}" if trap in known.findings else trap for trap in fact.traps
    )
    return replace(fact, traps=tuple(texts))


def fact_name(key: Key) -> str:
    """What the fact about `key` is called: its path, or one name for a section in many places."""
    shared = _SHARED.get(key.section.__name__)
    return f"{shared}.{key.name}" if shared else key.path


def source_of(name: str, kinds: Sequence[str] = ()) -> str:
    """Where the fact called `name` comes from, which is about inputs or outputs of those kinds."""
    sources = facts().sources
    start = next((start for start in sources if name.startswith(start)), None)
    if start is None:
        return "rsyslog-tune's own: docs/profiles.md"
    source = sources[start].format(registered=REGISTERED)
    if start == "outputs[]." and kinds:
        return f"{source.partition(':')[0]}: {', '.join(kinds)}"
    return source


@dataclass(frozen=True)
class Spelling:
    """What to write instead of one of rsyslog's words, and the keys that this is about."""

    write: str
    keys: tuple[str, ...] = ()


def _as_doc(fact: object) -> object:
    return {"does": fact} if isinstance(fact, str) else fact


class FactsFile(BaseModel):
    """What facts.yaml says: of keys, each by its name, such as `release.rsyslog`; where that comes
    from; findings by number; types, bounds and patterns in words; rsyslog's words that profiles
    spell otherwise; what a value must be, by the type of pydantic's error."""

    keys: dict[str, Annotated[Doc, BeforeValidator(_as_doc)]]
    sources: dict[str, str]
    findings: dict[str, str]
    kinds: dict[str, str]
    bounds: dict[str, str]
    shapes: dict[str, str]
    spellings: dict[str, Spelling]
    errors: dict[str, str]


@cache
def facts() -> FactsFile:
    """The facts of facts.yaml beside this module."""
    return FactsFile.model_validate(yaml.safe_load(packaged("profile/facts.yaml")))


Schema = Mapping[str, object]


def allowed(key: Key) -> str:
    """What `key` may hold, such as `a whole number, at least 1`."""
    schema = _schema()
    definitions = schema["$defs"]
    section = schema if key.section is Profile else definitions[key.section.__name__]
    return _words(section["properties"][key.name], definitions)


@cache
def _schema() -> dict[str, Any]:
    """That of a profile: a fifth of a second to make."""
    return Profile.model_json_schema()


def _words(schema: Schema, definitions: Mapping[str, Schema]) -> str:
    if "$ref" in schema:
        return _words(definitions[str(schema["$ref"]).rpartition("/")[2]], definitions)
    for several in ("anyOf", "oneOf"):
        parts = schema.get(several)
        if isinstance(parts, list):
            words = [_words(part, definitions) for part in parts if part.get("type") != "null"]
            return " or ".join(dict.fromkeys(words))
    items = schema.get("items")
    if isinstance(items, Mapping):
        return f"a list of: {_words(items, definitions)}"
    return _plain_words(schema)


def _plain_words(schema: Schema) -> str:
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        return ", ".join(map(str, choices))
    if "pattern" in schema:
        return facts().shapes.get(str(schema["pattern"]), "text")
    bounds = (f", {word} {schema[key]}" for key, word in facts().bounds.items() if key in schema)
    kind = facts().kinds.get(str(schema.get("type")), "text")
    return kind + "".join(bound for bound in bounds if not bound.endswith(str(2**31 - 1)))


def default_of(info: FieldInfo) -> str:
    """The value of a key that is not written, as a profile would spell it."""
    if info.is_required():
        return "must be given"
    value = info.get_default(call_default_factory=True)
    return "" if isinstance(value, BaseModel) else spelled(value)


def spelled(value: object) -> str:
    """A value as a reader would write it."""
    if value is None:
        return "not set"
    if value == {}:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ", ".join(spelled(item) for item in value) or "none"
    return str(value)


def queue_defaults(key: Key) -> tuple[str, ...]:
    """rsyslog's default of a queue's parameter at each place where a queue can stand."""
    name = next(n for n, info in Queue.model_fields.items() if info is key.info)
    lines = []
    for place in Place:
        plain = resolve(None, place)
        if plain.type is QueueType.DIRECT and name != "type":
            plain = resolve(Queue(type=QueueType.LINKED_LIST), place)
        lines.append(f"{place.value}: {spelled(getattr(plain, name))}")
    return tuple(lines)


def resolve_path(data: object, path: str) -> KeyPath:
    """`path` as keys and numbers; raises BadUsage if a profile has no such setting."""
    steps = Path(path).steps
    if not steps or not all(step.text for step in steps):
        raise BadUsage(f"{path!r} is not a path such as outputs[logs].queue.workerThreads")
    resolved: KeyPath = ()
    while steps:
        if steps[0].is_item:
            resolved, steps = (*resolved, _index(data, resolved, steps[0].text, path)), steps[1:]
            continue
        words = [step.text for step in takewhile(lambda step: not step.is_item, steps)]
        taken = _longest_key(resolved, words, path)
        resolved, steps = (*resolved, ".".join(words[:taken])), steps[taken:]
    return resolved


def get(data: object, path: str) -> object:
    """The value that plain profile data has at `path`, or None if it is not written."""
    return at(data, resolve_path(data, path))


def _longest_key(section: KeyPath, words: Sequence[str], path: str) -> int:
    """How many of `words` make the longest key known in `section`."""
    keys = keys_of(models_at(section))
    for taken in range(len(words), 0, -1):
        if ".".join(words[:taken]) in keys:
            return taken
    near = difflib.get_close_matches(".".join(words), keys, 1)
    hint = f": did you mean {near[0]}?" if near else ""
    raise BadUsage(f"a profile has no setting {path}{hint}")


def _index(data: object, section: KeyPath, item: str, path: str) -> int | str:
    """The number of the list item that is called `item`; of a section of named ones its name."""
    items = at(data, section)
    if isinstance(items, Mapping) and item in items:
        return item
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise BadUsage(f"{path}: there is no list, so [{item}] names nothing")
    for i, entry in enumerate(items):
        if isinstance(entry, Mapping) and entry.get("name") == item:
            return i
    if item.isascii() and item.isdigit() and int(item) < len(items):
        return int(item)
    raise BadUsage(f"{path}: the profile has no [{item}] there")


def full_name(profile: Profile, path: str) -> str:
    """The name of a setting: of a base that of its parameter, such as
    `action[es].queue.workerThreads`, else its path."""
    if profile.base is None or not profile.base.is_read:
        return path
    base = profile.base.kept
    steps = resolve_path(base.view.data, path)
    place = base.view.place(steps)
    if place is None:
        return path
    address, parameter = place
    # filter_path is written inside the value of `timeout`, and both are settings.
    is_part = steps[-1] == FILTER_PATH
    return base.written.key_of(address, FILTER_PATH if is_part else parameter)


def called(profile: Profile, number: int) -> str:
    """What a reader calls the output of that number: of a base its address, else its path."""
    if profile.base is None or not profile.base.is_read:
        return str(Path("outputs").item(profile.outputs[number].name))
    return profile.base.kept.view.sections["outputs", number]


def unknown_outputs(profile: Profile, names: Sequence[str]) -> str | None:
    """Which of these names no output into the engine has, and those that there are; None where
    each is known."""
    actions = profile.actions
    unknown = [name for name in names if name not in actions]
    known = f"those are {', '.join(actions)}" if actions else "there is none"
    return (
        f"no output into the engine is called {' or '.join(unknown)}: {known}" if unknown else None
    )


def names_in(profile: Profile, paths: Sequence[str]) -> dict[str, str]:
    """The shortest end of each name that no other setting has, by path."""
    names = {path: full_name(profile, path) for path in paths}
    short = short_names(list(names.values()))
    return {path: short[name] for path, name in names.items()}
