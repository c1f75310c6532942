"""Converts parameters of rsyslog's objects into keys of a profile, by the names and types of its
models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError

from tuner.modules.input import Input
from tuner.modules.queue import Queue
from tuner.modules.registry import INPUTS, name_of
from tuner.modules.secrets import SecretRef
from tuner.schema.scalars import OLD_SEVERITIES, SEVERITIES
from tuner.script.script import OFF, ON, QUEUE, Array, Parameter, ScriptObject

# rsyslog's units: powers of 1024 in lower case, of 1000 in upper case (grammar/rainerscript.c).
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3, "K": 1000, "M": 1000**2, "G": 1000**3}
_CODES = {name: code for code, name in enumerate(SEVERITIES)}
_CODES |= {old: _CODES[name] for old, name in OLD_SEVERITIES.items()}
_SEVERITY_NAMES = {str(code): name for code, name in enumerate(SEVERITIES)}
INPUT_MODELS: dict[str, type[Input]] = {name_of(model): model for model in INPUTS}
_TLS_MODES = frozenset({"streamdriver.mode", "streamdrivermode"})
_TLS_SHARED = {
    "defaultnetstreamdriver": ("streamDriver.name", "streamDriver"),
    "defaultnetstreamdrivercafile": ("streamDriver.caFile",),
    "defaultnetstreamdrivercertfile": ("streamDriver.certFile",),
    "defaultnetstreamdriverkeyfile": ("streamDriver.keyFile",),
}


def readable(model: type[BaseModel], parameters: Iterable[Parameter]) -> dict[str, object]:
    """The keys of `model` that the parameters set, as far as it accepts their values."""
    keys = keys_of_model(model)
    data: dict[str, object] = {}
    for parameter in parameters:
        alias = keys.get(parameter.key)
        if alias is not None and parameter.texts:
            is_value, value = read_value(model, alias, parameter)
            if is_value and _is_text(value):
                data[alias] = value
    return data


def queue_of(item: ScriptObject) -> dict[str, object]:
    """The queue of an object; rsyslog ignores saveOnShutdown without a file name."""
    parameters = [replace(each, name=each.name[len(QUEUE) :]) for each in item.queue]
    queue = readable(Queue, parameters)
    if "filename" not in queue:
        queue.pop("saveOnShutdown", None)
    return queue


def certificates(
    model: type[BaseModel], data: Mapping[str, object], shared: Iterable[Parameter]
) -> dict[str, object]:
    """The certificate files of global(), for an object that uses TLS without files of its own."""
    modes = [value for key, value in data.items() if key.lower() in _TLS_MODES]
    if 1 not in modes:
        return {}
    keys = keys_of_model(model)
    renamed = [
        replace(parameter, name=keys[name.lower()])
        for parameter in shared
        for name in _TLS_SHARED.get(parameter.key, ())
        if name.lower() in keys
    ]
    return readable(model, (parameter for parameter in renamed if parameter.name not in data))


_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def _is_text(data: object) -> bool:
    """Whether a profile can hold the strings in some data: none has NUL or bytes that are not
    UTF-8."""
    match data:
        case str():
            return _NOT_TEXT.search(data) is None
        case dict() | list():
            return all(map(_is_text, data.values() if isinstance(data, dict) else data))
        case _:
            return True


def misfit(model: type[BaseModel], data: Mapping[str, object]) -> str | None:
    """The first key that a model refuses in a section, "" for the section as a whole; None if the
    model accepts the section."""
    try:
        model.model_validate(data, by_alias=True, by_name=False)
    except ValidationError as bad:
        return ".".join(map(str, bad.errors(include_url=False)[0]["loc"]))
    return None


@cache
def keys_of_model(model: type[BaseModel]) -> dict[str, str]:
    """The keys of a section that hold plain values, by their names in lower case."""
    return {
        (info.alias or name).lower(): info.alias or name
        for name, info in model.model_fields.items()
        if not _holds_section(info.annotation)
    }


def _holds_section(annotation: object) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation is not SecretRef
    return any(_holds_section(part) for part in get_args(annotation))


def read_value(model: type[BaseModel], alias: str, parameter: Parameter) -> tuple[bool, object]:
    """Whether a key accepts the value of a parameter, and the value as the key holds it."""
    adapter, choices = _reader(model, alias)
    for candidate in _candidates(parameter, choices):
        try:
            adapter.validate_python(candidate)
        except ValidationError:
            continue
        return True, candidate
    return False, None


@cache
def _reader(model: type[BaseModel], alias: str) -> tuple[TypeAdapter[Any], dict[str, object]]:
    """The validator for the values of a key, and its allowed words by their lower case."""
    info = next(info for name, info in model.model_fields.items() if alias in {info.alias, name})
    plain: Any = info.annotation
    annotated: Any = Annotated[(plain, *info.metadata)] if info.metadata else plain
    return TypeAdapter(annotated), {str(word).lower(): word for word in _choices(plain)}


def _choices(annotation: object) -> Iterator[object]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    elif isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (member.value for member in annotation)
    else:
        for part in get_args(annotation):
            yield from _choices(part)


def _candidates(parameter: Parameter, choices: dict[str, object]) -> Iterator[object]:
    """The values that the text of a parameter can mean, the most likely first."""
    if isinstance(parameter.value, Array):
        yield list(parameter.texts)
        if len(parameter.texts) != 1:
            return
    text = parameter.texts[0]
    if text.lower() in choices:
        yield choices[text.lower()]
    if text.lower() in ON or text.lower() in OFF:
        yield text.lower() in ON
    number = _number(text)
    if number is not None:
        yield number
    if text in _SEVERITY_NAMES:
        yield _SEVERITY_NAMES[text]
    if text.lower() in _CODES:
        yield _CODES[text.lower()]
    yield text
    yield text.lower()
    yield f"/{text.removeprefix('./')}"
    yield [text]
    yield [part.strip() for part in text.split(",")]


def _number(text: str) -> int | None:
    digits, unit = (text[:-1], _UNITS[text[-1]]) if text[-1:] in _UNITS else (text, 1)
    digits = digits.replace(".", "").replace(",", "")
    return int(digits) * unit if digits.removeprefix("-").isdecimal() and len(digits) < 19 else None
