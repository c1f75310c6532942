"""The workload of a profile: the traffic that a measurement floods."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tuner.profile.message_sizes import LONGEST_MESSAGE_BYTES, Distribution, MessageSizes
from tuner.schema.scalars import AbsolutePath, NonNegative, Positive
from tuner.schema.section import Section

_Bytes = Annotated[int, Field(ge=120, le=LONGEST_MESSAGE_BYTES, strict=True)]


class MessageBytes(Section):
    """The sizes of messages on the wire, framing excluded, in bytes."""

    mean: Annotated[int, Field(ge=120, le=8000, strict=True)] = 244
    min: _Bytes | None = None
    max: _Bytes | None = None
    distribution: Distribution = "uniform"

    @property
    def sizes(self) -> MessageSizes:
        """The same as plain data."""
        return MessageSizes(self.mean, self.min, self.max, self.distribution)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        fault = self.sizes.fault()
        if fault is not None:
            raise ValueError(fault)
        return self


class Workload(Section):
    """The traffic a measurement floods: seeded, so the same seed gives the same bytes.

    With `replay` the bodies are the lines of that file, and `message_bytes` is not used.
    """

    rate: Literal["max"] | Positive = "max"
    connections: Annotated[int, Field(ge=1, le=512, strict=True)] = 5
    message_bytes: MessageBytes = MessageBytes.model_construct()
    format: Literal["rfc3164", "rfc5424"] = "rfc3164"
    framing: Literal["lf", "octet-counted"] = "lf"
    replay: AbsolutePath | None = None
    seed: NonNegative = 1
