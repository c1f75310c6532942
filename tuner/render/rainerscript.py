"""RainerScript as typed statements; values come quoted, names come from our own code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from tuner.render.quoting import Emitted, identifier, quote, word

ObjectName = Literal[
    "global", "module", "template", "constant", "property", "main_queue", "ruleset", "action",
    "input",
]  # fmt: skip

_ONE_LINE = 4
# What is longer may have to be folded, which only an object on one line can be.
_LONGEST_VALUE = 1000


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
    body: tuple[Node, ...] = ()
    form: ClassVar = "object"

    @property
    def is_long(self) -> bool:
        """Whether each parameter gets its own line."""
        short = all(len(parameter.value) <= _LONGEST_VALUE for parameter in self.parameters)
        return short and len(self.parameters) > _ONE_LINE


@dataclass(frozen=True)
class Branch:
    """What happens only where a condition holds; conditions are text of our own."""

    condition: Emitted
    body: tuple[Node, ...]
    form: ClassVar = "branch"


@dataclass(frozen=True)
class Order:
    """`stop`, or `call` with the name of a ruleset."""

    text: Emitted
    form: ClassVar = "order"


Node = Statement | Branch | Order
STOP = Order(Emitted("stop"))


def call(ruleset: str) -> Order:
    """Hand the event to another ruleset; one with a queue of its own gets a copy."""
    return Order(Emitted(f"call {identifier(ruleset)}"))


Value = Emitted | str | int | bool | None


def statement(
    kind: ObjectName, parameters: Mapping[str, Value], body: tuple[Node, ...] = ()
) -> Statement:
    """An object with `parameters` in their order; those that are None are left out."""
    given = tuple(
        Parameter(word(name), value if isinstance(value, Emitted) else quote(value))
        for name, value in parameters.items()
        if value is not None
    )
    return Statement(word(kind), given, body)
