"""What all sections of a profile have in common: frozen, no unknown keys, built when first used.

Modules of sections do without `from __future__ import annotations`: pydantic would compile every
annotation again, 7 ms of every command that reads a profile.  A section that is a default is
constructed: to call its class would build it by itself too, beside the section that it stands in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
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
            cls.model_rebuild()
            schema = core_schema.definitions_schema(cls.__pydantic_core_schema__, [])
        return handler(schema)

    @classmethod
    def _validated(cls, value: object) -> Self:
        """`value` as load reads it, which spells keys by their aliases alone."""
        return cls.model_validate(value, by_alias=True, by_name=False)


class Section(BuiltWhenUsed):
    """A section whose keys are spelled as its fields, or as Elasticsearch spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True)


class RsyslogSection(BuiltWhenUsed):
    """A section whose keys are spelled as rsyslog spells them."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


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
            _kind(section, self.key): handler.generate_schema(section)
            for section in get_args(union)
        }
        return core_schema.tagged_union_schema(choices, discriminator=self.key)


def _kind(section: type[BaseModel], key: str) -> str:
    return str(get_args(section.model_fields[key].annotation)[0])
