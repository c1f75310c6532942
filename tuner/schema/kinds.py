"""Places in a profile that take one of several kinds of section, told apart by one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


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
