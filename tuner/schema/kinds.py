"""Places in a profile that take one of several kinds of section, told apart by one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_args

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


@dataclass(frozen=True)
class OneOf:
    """Marks a union of sections whose `key` says the kind.

    It accepts, refuses and describes what pydantic's own `Field(discriminator=key)` does, but a
    kind is built when a profile first has one: building all of them took 20 ms of every command
    that reads a profile.
    """

    key: str

    def __get_pydantic_core_schema__(
        self, union: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        sections = {_kind(section, self.key): section for section in get_args(union)}
        choices: dict[Any, CoreSchema] = {
            kind: handler.generate_schema(Annotated[section, _BuiltWhenUsed(section)])
            for kind, section in sections.items()
        }
        return core_schema.tagged_union_schema(choices, discriminator=self.key)


def _kind(section: type[BaseModel], key: str) -> str:
    return str(get_args(section.model_fields[key].annotation)[0])


@dataclass(frozen=True)
class _BuiltWhenUsed:
    """Leaves a section unbuilt until a profile has one, or its JSON Schema is asked for."""

    section: type[BaseModel]

    def __get_pydantic_core_schema__(self, *_: object) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validated)

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        self.section.model_rebuild()
        # pydantic makes a definition, not a copy, of what stands inside another schema.
        return handler(core_schema.definitions_schema(self.section.__pydantic_core_schema__, []))

    def _validated(self, value: object) -> BaseModel:
        """`value` as load reads it, which spells keys by their aliases alone."""
        return self.section.model_validate(value, by_alias=True, by_name=False)
