"""The keys that a profile may have, read off the model: what is known of each, what it may hold and
what it holds when it is not written, in words."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
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
from tuner.modules.queue import Place, Queue, QueueType, resolve
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


Schema = Mapping[str, object]

# In words, what each pattern of the model asks for.
SHAPES: dict[str, str] = {
    r"^[A-Za-z0-9._/-]{1,255}$": "a file's name or path of letters, digits and . _ - /",
    r"^/[A-Za-z0-9._/-]+$": "an absolute path of letters, digits and . _ - /",
    r'^/[^\x00-\x1f\x7f`"\\]+$': "an absolute path without quotes, backticks or backslashes",
    r'^/[^\x00-\x20\x7f`"\\]+$': (
        "an absolute path without white space, quotes, backticks or backslashes"
    ),
    r'^[^\x00-\x1f\x7f`"\\]{1,255}$': "the end of a path, without quotes and backslashes",
    r"^0[0-7]{3}$": 'a mode in octal and in quotes such as "0640"',
    r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$": "the name of a user or group of the system",
    r"^[^\x00-\x1f\x7f]+$": "a path, such as site.yaml",
    r"^[^\x00]+$": "a text that is not empty and has no NUL in it",
    r"^[^\x00]*$": "a text that has no NUL in it",
    r"^[1-9][0-9]{0,3}s$": "whole seconds such as 10s",
    r"^8\.[0-9]{2,4}$": "an rsyslog release such as 8.2302",
    r"^[1-9][0-9]{0,14}[kmg]?$": "a size in bytes such as 512m or 2g",
    r"^[1-9][0-9]{0,14}[mg]$": "a heap size such as 512m or 4g",
    r"^[A-Z_][A-Z0-9_]*$": "the name of an environment variable, in capitals",
    r"^[A-Za-z0-9.:_-]{1,253}$": "a host name or an IP address",
    r"^([A-Za-z0-9.:_-]{1,253}|[*])$": "an IP address or a host name, * for all addresses",
    r"^[A-Za-z0-9._-]{1,15}$": "the name of a network interface such as eth0",
    r"^[A-Za-z0-9*.:_/\[\]-]+$": "a name, an address or a fingerprint, * in names for any",
    r"^[\x21-\x7e]+$": "plain characters without blanks",
    r"^[^\x00-\x1f\x7f]{1,1000}$": "one line of at most 1000 characters",
    r"^[A-Za-z0-9_.:+-]{1,1000}$": "names with colons between them, in order of preference",
    r"^[+-][0-9]{2}:[0-9]{2}$": "a time zone such as +01:00",
    r"^[A-Za-z0-9._-]+$": "a file name of letters, digits and . _ -",
    r"^[A-Za-z_*.-]+$": "a path into the reply such as items.*.status",
    r"^[A-Za-z_@][A-Za-z0-9_@-]*(\.[A-Za-z_@][A-Za-z0-9_@-]*)*$": "a field name such as host.name",
    r"^([*]|[A-Za-z_@][A-Za-z0-9_@-]*(\.[A-Za-z_@][A-Za-z0-9_@-]*)*)$": (
        "a path such as http.status, or *"
    ),
    r"^[ -\[\]-~]$": "one visible character or a blank, not a backslash",
    r"^[A-Za-z0-9_@.-]{1,64}$": "a name of letters, digits and . _ @ -, at most 64",
    r"^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$": "a broker such as kafka1:9092",
    r"^[A-Za-z0-9._-]{1,249}$": "the name of a topic: letters, digits and . _ -",
    r"^[a-z][a-z0-9._]{0,99}=[^\x00-\x1f\x7f]{0,1000}$": "name=value, as acks=all",
    r"^[a-z][a-z0-9_]{1,31}$": "a module of rsyslog such as omprog",
    r"^[!-~]{0,32}$": "up to 32 visible ASCII characters",
    r"^[A-Za-z0-9_|.:'/ -]{1,200}$": "date formats of the engine such as epoch_second",
    r"^[^\x00-\x20:`]+$": "a user name without blanks, colons or backticks",
    r"^[a-z0-9][a-z0-9._-]{0,199}$": "an index name: small letters, digits and . _ -",
    r"^[a-z][a-z0-9_-]{0,99}$": "a name of small letters, digits, _ and -, a letter first",
    r"^[0-9]{1,15}(ms|s|m)$": "a time such as 500ms, 30s or 1m",
    r"^[0-9]{1,15}[km]?$": "a number of bytes such as 512k or 100m",
    r"^[0-9]{1,15}[kmgKMG]?$": "a size such as 16m or 1g",
    r"^[A-Za-z0-9_@][A-Za-z0-9_.@-]{0,199}$": "the name of an ingest pipeline, or _none",
    r"^[1-9][0-9]{0,14}(m|h|d)$": "an age such as 12h or 30d",
    r"^[0-9]{1,15}\.[0-9]{1,15}$": "a version such as 8.19",
    r"^[0-9]{1,2}(\.[0-9]{1,15})?%$": "a percentage such as 30%",
    r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$": (
        "an address such as http://127.0.0.1:9200, without user, password or path"
    ),
    r"^(-1|[0-9]{1,15}(\.[0-9]{1,15})?(nanos|micros|ms|s|m|h|d))$": (
        "a time such as 500ms, 30s or 1m, or -1"
    ),
    r"^[0-9]{1,15}(b|kb|mb|gb|tb)$": "a size such as 512mb or 2gb",
    r"^(https?://)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$": (
        "an address such as https://loki:3100, without user, password or path"
    ),
    r"^[A-Za-z0-9_.~%!*+,;:@=&?-][A-Za-z0-9_.~%!*+,;:@=&?/-]*$": (
        "a path such as loki/api/v1/push, without a slash before it"
    ),
    r"^[A-Za-z0-9_.~%!*+,;:@=&?/-]{1,200}$": "a part of a path such as /_bulk",
    r"^[A-Za-z0-9_-]{1,100}: ?[^\x00-\x1f\x7f]{0,1000}$": "name: value, as X-Scope-OrgID: logs",
    r"^[A-Za-z0-9_-]{1,100}$": "the name of a header such as X-Scope-OrgID",
    r"^[A-Za-z0-9/.+;=_-]{1,200}$": "a content type such as application/json",
    r"^[A-Za-z][A-Za-z0-9_.-]{1,99}$": "the name of a ruleset: letters, digits and . _ -",
    r"^[a-z0-9][a-z0-9._-]{0,63}$": "small letters, digits and . _ -, at most 64",
    r"^[A-Za-z][A-Za-z0-9_.-]{0,99}$": "a name of letters, digits and . _ -, a letter first",
    r"^[^=\x00-\x1f\x7f]{1,200}=[^\x00-\x1f\x7f]{0,1000}$": "name=value, as source=edge",
    r"^[A-Za-z0-9._-]{0,100}$": "up to 100 letters, digits and . _ -",
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$": "letters, digits and . _ -, a letter or digit first",
    r"^[0-9]{1,9}(ms|s|m|h)?$": "a time such as 500ms, 5s or 1m",
    r"^[A-Za-z0-9._-]{1,255}$": "a name of letters, digits and . _ -, at most 255",
    r'^https?://[^\s@`"\\]{1,1000}$': "an address such as http://127.0.0.1:9090/api/v1/write",
    r"^[A-Za-z_][A-Za-z0-9_]{0,99}=[^\x00-\x1f\x7f]{0,1000}$": "name=value, as site=north",
}


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
        return SHAPES.get(str(schema["pattern"]), "text")
    return _KINDS.get(str(schema.get("type")), "text") + _bounds(schema)


_KINDS = {
    "object": "a section",
    "boolean": "on or off",
    "integer": "a whole number",
    "number": "a number",
}


def _bounds(schema: Schema) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "more than",
        "maximum": "at most",
    }
    bounds = [f"{word} {schema[key]}" for key, word in words.items() if key in schema]
    return "".join(f", {bound}" for bound in bounds if not bound.endswith(str(2**31 - 1)))


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
