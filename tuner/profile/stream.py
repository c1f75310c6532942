"""Streams: named groups of inputs with their own parsing, filter, queue and outputs,
and lanes, which split one over several rulesets."""

from enum import Enum
from typing import Annotated, Self

from pydantic import Field, model_validator

from tuner.modules.filter import Filter
from tuner.modules.input import Parsers
from tuner.modules.queue import Queue
from tuner.modules.registry import AnyStep, Parse
from tuner.modules.text_source import PropertyName
from tuner.schema.scalars import AbsolutePath, ModuleName, ProfilePath
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


class LookupTable(Section):
    """A table in rsyslog's own JSON format, which a HUP reads again."""

    file: AbsolutePath


class Snippets(Section):
    """Files of RainerScript of the user's own, by their paths beside the profile: at the start of
    the configuration, before the outputs of what belongs to no stream, and at the end; `modules`
    are those that they need."""

    start: tuple[ProfilePath, ...] = ()
    outputs: tuple[ProfilePath, ...] = ()
    end: tuple[ProfilePath, ...] = ()
    modules: tuple[ModuleName, ...] = ()


class Stream(Section):
    """One ruleset: the inputs and outputs that name the stream belong to it, those that name none
    to the profile's own.

    With a `queue` the inputs hand their events straight to it, past the main queue.
    """

    parser: Parsers | None = None
    parse: Parse | None = None
    steps: tuple[AnyStep, ...] = ()
    filter: Filter | None = None
    queue: Queue | None = None
    snippets: tuple[ProfilePath, ...] = ()
