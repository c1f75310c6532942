"""The documentation of a parameter beside its type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo


@dataclass(frozen=True)
class Since:
    """The release that brought a parameter: 2504 stands for 8.2504."""

    release: int


@dataclass(frozen=True)
class OfModule:
    """A parameter of the module: all inputs of a kind share one value of it."""


@dataclass(frozen=True)
class OfProfile:
    """A key of the profile's own, which becomes no parameter of that name."""


@dataclass(frozen=True)
class Doc:
    """What a parameter does, in one or two sentences; `default` where it depends on release or
    place and is not in the model; `traps` are sentences, or findings such as F1 by number."""

    does: str
    default: str = ""
    traps: tuple[str, ...] = ()


def parameter(
    does: str = "",
    *traps: str,
    value: object = None,
    default: str = "",
    since: int = 0,
    of_module: bool = False,
    alias: str | None = None,
) -> Any:
    """A field of a section: `value` where a profile does not set it, and what `Doc`, `Since` and
    `OfModule` say of it.  A field that every profile must set is Annotated with them instead."""
    info: Any = Field(value, alias=alias) if alias else Field(value)
    if does:
        info.metadata.append(Doc(does, default, traps))
    if since:
        info.metadata.append(Since(since))
    if of_module:
        info.metadata.append(OfModule())
    return info


def too_new(
    section: BaseModel, rsyslog: int, apart: type[BaseModel] | tuple[()] = ()
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The parameters that a section sets and a release of rsyslog does not know, by rsyslog's tags:
    their paths below the section, and the release that brought each.  Sections within it of the
    type `apart` are left out."""
    for name, info in type(section).model_fields.items():
        value = getattr(section, name) if name in section.model_fields_set else None
        if value is None:
            continue
        key = info.alias or name
        if since(info) > rsyslog:
            yield (key,), since(info)
        elif isinstance(value, BaseModel) and not isinstance(value, apart):
            yield from (((key, *path), number) for path, number in too_new(value, rsyslog, apart))


def doc(section: type[BaseModel], attribute: str) -> Doc | None:
    """The documentation of a section's field, which a section inherits with the field."""
    for owner in section.__mro__:
        if issubclass(owner, BaseModel) and attribute in owner.model_fields:
            marks = owner.model_fields[attribute].metadata
            for mark in marks:
                if isinstance(mark, Doc):
                    return mark
    return None


def since(info: FieldInfo) -> int:
    """The release that introduced the parameter; 0 if every supported release has it."""
    return max((mark.release for mark in info.metadata if isinstance(mark, Since)), default=0)


def of_module(section: type[BaseModel]) -> dict[str, str]:
    """The parameters that belong to the module: key as profiles spell it to attribute."""
    return {
        info.alias or name: name
        for name, info in section.model_fields.items()
        if any(isinstance(mark, OfModule) for mark in info.metadata)
    }


def elsewhere(section: type[BaseModel]) -> set[str]:
    """The fields that are no parameters of the section's own object: those of the module, of every
    action, and of the profile, to which the kind of the section belongs."""
    return {
        name
        for name, info in section.model_fields.items()
        if any(isinstance(mark, OfModule | OfProfile) for mark in info.metadata)
        or (info.alias or "").startswith("action.")
        or (get_origin(info.annotation) is Literal and len(get_args(info.annotation)) == 1)
    }
