"""What all sections of a profile have in common: frozen, no unknown keys, built when first used;
and what is said of a parameter beside its type.

Modules of sections do without `from __future__ import annotations`: pydantic would compile every
annotation again, 7 ms of every command that reads a profile.  A section that is a default is
constructed: to call its class would build it by itself too, beside the section that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class BuiltWhenUsed(BaseModel):
    """A section that stands in another is built when a profile first has one: with all of them
    built, a render of profiles/default.yaml took 4 % more instructions."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        is_built_itself = handler.field_name is None
        if is_built_itself:
            return handler(source)
        # As pydantic names the section itself, so that JSON Schema has one definition of it.
        ref = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
        return core_schema.no_info_plain_validator_function(cls._validated, ref=ref)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        if schema["type"] == "function-plain":
            whole = cls.whole()
            whole.model_rebuild()
            # By the name of the section that stands there, whichever has all of its keys.
            named: Any = {**whole.__pydantic_core_schema__, "ref": schema["ref"]}
            schema = core_schema.definitions_schema(named, [])
        return handler(schema)

    @classmethod
    def whole(cls) -> type[Self]:
        """The section with every key that it takes: itself, but for one that is built without its
        rare keys while no profile has one of them."""
        return cls

    @classmethod
    def _validated(cls, value: object) -> Self:
        """`value` as load reads it, which spells keys by their aliases alone."""
        return cls.model_validate(value, by_alias=True, by_name=False)


class Section(BuiltWhenUsed):
    """A section whose keys are spelled as its fields, or as Elasticsearch spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)


# What rsyslog writes before the dot of a parameter.
_BEFORE_DOTS = (
    "action", "action.errorfile", "action.ratelimit", "batch", "compatibility.configformat",
    "compatibility.defaults", "compress", "compression", "compression.stream", "compression.zstd",
    "conn", "embeddedIpv4", "endmsg", "framing.delimiter", "framingFix.cisco", "internalmsg",
    "ipv4", "ipv6", "keepAlive", "local", "log", "log.file", "minDequeueBatchSize", "net",
    "oversizemsg", "oversizemsg.input", "parser", "partitions", "pool", "push", "push.batch",
    "push.label", "push.timeout", "rateLimit", "ratelimit", "retry", "reverselookup.cache.ttl",
    "rotation", "senders", "shutdown.queue", "starvationProtection", "startmsg", "streamDriver",
    "sysSock", "systemd", "tls", "udp",
)  # fmt: skip
_BY_ATTRIBUTE = {
    re.sub("([A-Z])", r"_\1", start).lower().replace(".", "_"): start for start in _BEFORE_DOTS
}
_CAPITALS = frozenset({"cr", "dns", "fqdn", "lf", "pid", "san", "sni", "tx", "tz"})


def spelled_by_rsyslog(attribute: str) -> str:
    """The key of an attribute: `keepAlive.time` for keep_alive_time.  Others are their aliases."""
    words = attribute.split("_")
    for end in range(len(words) - 1, 0, -1):
        start = _BY_ATTRIBUTE.get("_".join(words[:end]))
        if start is not None:
            return f"{start}.{spelled_by_rsyslog('_'.join(words[end:]))}"
    first, *others = words
    return first + "".join(word.upper() if word in _CAPITALS else word.title() for word in others)


class RsyslogSection(BuiltWhenUsed):
    """A section whose keys are spelled as rsyslog spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=spelled_by_rsyslog)


@dataclass(frozen=True)
class OneOf:
    """Marks a union of sections whose `key` says the kind.

    It accepts, refuses and describes what pydantic's own `Field(discriminator=key)` does, which
    would look into every kind.
    """

    key: str

    def __get_pydantic_core_schema__(
        self, union: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        choices: dict[Any, CoreSchema] = {
            kind_of(section, self.key): handler.generate_schema(section)
            for section in get_args(union)
        }
        return core_schema.tagged_union_schema(choices, discriminator=self.key)


def kind_of(section: type[BaseModel], key: str = "type") -> str | None:
    """The one value that a key of a section can have, by which kinds of sections are told apart;
    None where it can have others."""
    info = section.model_fields.get(key)
    values = get_args(info.annotation) if info and get_origin(info.annotation) is Literal else ()
    return str(values[0]) if len(values) == 1 else None


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
    """A field of a section: `value` where a profile does not set it, `...` where it must, and what
    `Doc`, `Since` and `OfModule` say of it."""
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
        or kind_of(section, name) is not None
    }
