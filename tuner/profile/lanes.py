"""Lanes: one stream split over several rulesets, each with its own queue and workers."""

from enum import Enum
from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.modules.queue import Queue
from tuner.modules.text_source import PropertyName
from tuner.schema.section import Section


class Spread(Enum):
    """How events find their lane.

    With `ports` each lane listens on a port of its own, and senders choose.  With `hash` what has
    the same value of a property stays in one lane, and so in order; `random` spreads evenly.
    """

    PORTS = "ports"
    HASH = "hash"
    RANDOM = "random"


class Lanes(Section):
    """`count` rulesets, each with a queue of its own between the inputs and the outputs.

    With `ports`, an input that listens on port P does so on P to P + count - 1 and hands events
    straight to the lanes; otherwise the main queue's workers hand them out.
    """

    count: Annotated[int, Field(ge=1, le=64, strict=True)]
    spread: Spread = Spread.PORTS
    property: PropertyName | None = None
    queue: Queue = Queue.model_construct()

    @model_validator(mode="after")
    def _hashes_a_property(self) -> Self:
        if (self.spread is Spread.HASH) != (self.property is not None):
            raise ValueError("spread: hash and property belong together: events are spread by it")
        return self
