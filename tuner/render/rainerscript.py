"""RainerScript as typed statements; values come quoted, names come from our own code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tuner.render.quoting import Emitted, quote, word

ObjectName = Literal[
    "global", "module", "template", "constant", "property", "main_queue", "ruleset", "action",
    "input",
]  # fmt: skip

_ONE_LINE = 4


@dataclass(frozen=True)
class Parameter:
    """One `name="value"`."""

    name: Emitted
    value: Emitted


@dataclass(frozen=True)
class Statement:
    """One object, and what stands in its braces."""

    kind: Emitted
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether each parameter gets its own line."""
        return len(self.parameters) > _ONE_LINE


Value = Emitted | str | int | bool | None


def statement(
    kind: ObjectName, parameters: Mapping[str, Value], body: tuple[Statement, ...] = ()
) -> Statement:
    """An object with `parameters` in their order; those that are None are left out."""
    given = tuple(
        Parameter(word(name), value if isinstance(value, Emitted) else quote(value))
        for name, value in parameters.items()
        if value is not None
    )
    return Statement(word(kind), given, body)
