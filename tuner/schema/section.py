"""The base classes of a profile's sections, which are frozen, refuse unknown keys and are built
when first used; and the metadata of a parameter beside its type.

Modules that define sections do without `from __future__ import annotations`: pydantic would compile
every annotation again, which takes 7 ms of every command that reads a profile.  A default that is a
section is made by `model_construct`: calling its class would build it even where no profile has it.
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
    """A model whose validator is built when a profile first has that section, even in another one:
    with all of them built, a render of profiles/default.yaml took 4 % more instructions."""

    model_config = ConfigDict(defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        is_outermost = handler.field_name is None
        if is_outermost:
            return handler(source)
        # The name that pydantic gives the section, so that JSON Schema has one definition of it.
        ref = f"{cls.__module__}.{cls.__qualname__}:{id(cls)}"
        return core_schema.no_info_plain_validator_function(cls._validated, ref=ref)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        if schema["type"] == "function-plain":
            whole = cls.whole()
            whole.model_rebuild()
            # Under the name of this section, also if `whole` is another class.
            named: Any = {**whole.__pydantic_core_schema__, "ref": schema["ref"]}
            schema = core_schema.definitions_schema(named, [])
        return handler(schema)

    @classmethod
    def whole(cls) -> type[Self]:
        """The class that has every key of the section: this one, unless it leaves rare keys out
        because they take long to build."""
        return cls

    @classmethod
    def _validated(cls, value: object) -> Self:
        """Validate `value` as a profile is loaded: keys are known only by their aliases."""
        return cls.model_validate(value, by_alias=True, by_name=False)


class Section(BuiltWhenUsed):
    """A section whose keys have the names of its fields, or Elasticsearch's names as aliases."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)


# The prefixes in the dotted names of rsyslog's parameters.
_PREFIXES = (
    "action", "action.errorfile", "action.ratelimit", "batch", "compatibility.configformat",
    "compatibility.defaults", "compress", "compression", "compression.stream", "compression.zstd",
    "conn", "embeddedIpv4", "endmsg", "framing.delimiter", "framingFix.cisco", "internalmsg",
    "ipv4", "ipv6", "keepAlive", "local", "log", "log.file", "minDequeueBatchSize", "net",
    "oversizemsg", "oversizemsg.input", "parser", "partitions", "pool", "push", "push.batch",
    "push.label", "push.timeout", "rateLimit", "ratelimit", "retry", "reverselookup.cache.ttl",
    "rotation", "senders", "shutdown.queue", "starvationProtection", "startmsg", "streamDriver",
    "sysSock", "systemd", "tls", "udp",
)  # fmt: skip
_PREFIX_BY_ATTRIBUTE = {
    re.sub("([A-Z])", r"_\1", prefix).lower().replace(".", "_"): prefix for prefix in _PREFIXES
}
_CAPITALS = frozenset({"cr", "dns", "fqdn", "lf", "pid", "san", "sni", "tx", "tz"})


def spelled_by_rsyslog(attribute: str) -> str:
    """The key of an attribute, `keepAlive.time` for keep_alive_time; exceptions have an alias."""
    words = attribute.split("_")
    for end in range(len(words) - 1, 0, -1):
        prefix = _PREFIX_BY_ATTRIBUTE.get("_".join(words[:end]))
        if prefix is not None:
            return f"{prefix}.{spelled_by_rsyslog('_'.join(words[end:]))}"
    first, *others = words
    return first + "".join(word.upper() if word in _CAPITALS else word.title() for word in others)


class RsyslogSection(BuiltWhenUsed):
    """A section whose keys are spelled as rsyslog spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=spelled_by_rsyslog)


@dataclass(frozen=True)
class OneOf:
    """Marks a union of sections that differ in the value of `key`.

    It has the effect of pydantic's own `Field(discriminator=key)`, which would build every section
    of the union.
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
    """The only value that a key of a section can have, which tells its kind; None if it can have
    several."""
    info = section.model_fields.get(key)
    values = get_args(info.annotation) if info and get_origin(info.annotation) is Literal else ()
    return str(values[0]) if len(values) == 1 else None


@dataclass(frozen=True)
class Since:
    """The release that introduced a parameter: 2504 stands for 8.2504."""

    release: int


@dataclass(frozen=True)
class OfModule:
    """Marks a parameter of the module, whose value all its inputs or actions share."""


@dataclass(frozen=True)
class OfProfile:
    """Marks a key that only profiles have: rsyslog has no parameter of that name."""


@dataclass(frozen=True)
class Doc:
    """What a parameter does, in one or two sentences; `default` if that depends on release or place
    and is not in the model; `traps` are sentences, or findings such as F1 by number."""

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
    """A field of a section: `value` is its default, or `...` if a profile must set it; for the
    others see `Doc`, `Since` and `OfModule`."""
    info: Any = Field(value, alias=alias) if alias else Field(value)
    if does:
        info.metadata.append(Doc(does, default, traps))
    if since:
        info.metadata.append(Since(since))
    if of_module:
        info.metadata.append(OfModule())
    return info


def too_new(
    section: BaseModel, rsyslog: int, omitted: type[BaseModel] | tuple[()] = ()
) -> Iterator[tuple[tuple[str, ...], int]]:
    """The parameters that a section sets but the release `rsyslog` does not have: the path of each
    below the section, and the release that introduced it.  Subsections of the type `omitted` are
    left out."""
    for name, info in type(section).model_fields.items():
        value = getattr(section, name) if name in section.model_fields_set else None
        if value is None:
            continue
        key = info.alias or name
        if since(info) > rsyslog:
            yield (key,), since(info)
        elif isinstance(value, BaseModel) and not isinstance(value, omitted):
            yield from (((key, *path), number) for path, number in too_new(value, rsyslog, omitted))


def doc(section: type[BaseModel], attribute: str) -> Doc | None:
    """The documentation of a section's field, which may be that of a base class."""
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
    """The attributes of the parameters that belong to the module, by their keys in profiles."""
    return {
        info.alias or name: name
        for name, info in section.model_fields.items()
        if any(isinstance(mark, OfModule) for mark in info.metadata)
    }


def foreign_fields(section: type[BaseModel]) -> set[str]:
    """The fields that are not parameters of the section's own object: those of the module, of every
    action, and of the profile alone, such as the type of the section."""
    return {
        name
        for name, info in section.model_fields.items()
        if any(isinstance(mark, OfModule | OfProfile) for mark in info.metadata)
        or (info.alias or "").startswith("action.")
        or kind_of(section, name) is not None
    }
