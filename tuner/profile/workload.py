"""The workload of a profile: the traffic that a measurement floods, and how long messages are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, PrivateAttr, model_validator

from tuner.schema.scalars import AbsolutePath, NonNegative, Positive, ProfilePath
from tuner.schema.section import Section

if TYPE_CHECKING:
    from tuner.profile.sample import SampleFile

Distribution = Literal["fixed", "uniform", "lognormal"]

SPREAD = 0.25
# rsyslog's maxMessageSize unless configured: it cuts what is longer in two events.
LONGEST_MESSAGE_BYTES = 8096
# Nothing longer is sent: no datagram can be, and so many of them fit into memory.
LONGEST_SENT_BYTES = 65_507
LEAST_SHARE = 0.05
"""An action with less of the documents is not worth the time of a search."""


@dataclass(frozen=True)
class MessageSizes:
    """The sizes of messages in bytes, headers included, framing not.

    Uniform sizes without bounds reach a quarter of the mean to either side.
    """

    mean: int
    least: int | None = None
    most: int | None = None
    distribution: Distribution = "uniform"

    @property
    def longest(self) -> int:
        """No message is longer, in bytes."""
        if self.distribution == "fixed":
            return self.mean
        reach = self.most or math.ceil(self.mean * (1 + SPREAD))
        return min(reach, LONGEST_MESSAGE_BYTES)

    def fault(self) -> str | None:
        """What contradicts what, as a sentence without a subject; None if all agree."""
        return next(self._faults(), None)

    def _faults(self) -> Iterator[str]:
        if (self.least is None) != (self.most is None):
            yield "give both min and max, or neither"
        if self.least is None or self.most is None:
            if self.distribution == "lognormal":
                yield "lognormal sizes need min and max"
            return
        if self.distribution == "fixed":
            yield "fixed sizes all equal the mean: remove min and max"
        if self.least > self.most:
            yield f"min {self.least} is above max {self.most}"
        if not self.least <= self.mean <= self.most:
            yield f"mean {self.mean} lies outside min {self.least} to max {self.most}"
        middle = (self.least + self.most) / 2
        if self.distribution == "uniform" and abs(self.mean - middle) > 0.5:
            yield (
                f"uniform sizes from {self.least} to {self.most} have a mean of {middle:g}, "
                f"not {self.mean}: change the mean, or use lognormal"
            )
        if self.distribution == "lognormal" and not self.least < self.mean < self.most:
            yield f"the mean of lognormal sizes must lie between min and max, not be {self.mean}"


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

    With `replay` the bodies are the lines of that file, and with `sample` messages are like those
    of that one, which says what was learnt of a log, or is that log; `message_bytes` is then not
    used.  `shares` say what part of all events comes to each output into the engine, by its name.
    """

    rate: Literal["max"] | Positive = "max"
    connections: Annotated[int, Field(ge=1, le=512, strict=True)] = 5
    message_bytes: MessageBytes = MessageBytes.model_construct()
    format: Literal["rfc3164", "rfc5424"] = "rfc3164"
    framing: Literal["lf", "octet-counted"] = "lf"
    replay: AbsolutePath | None = None
    sample: ProfilePath | None = None
    seed: NonNegative = 1
    shares: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict)
    _learnt: "SampleFile | None" = PrivateAttr(None)

    @model_validator(mode="after")
    def _sends_one(self) -> Self:
        if self.sample is not None and self.replay is not None:
            raise ValueError("replay sends the lines of a file, sample others like them: name one")
        return self

    @property
    def mean_message_bytes(self) -> int | None:
        """The mean size of a message on the wire; None where sizes follow from a file."""
        has_file = self.replay is not None or self.sample is not None
        return None if has_file else self.message_bytes.mean

    @property
    def learnt(self) -> "SampleFile | None":
        """What was read of its sample; None without one.  Raises RuntimeError where it was not."""
        if self.sample is not None and self._learnt is None:
            raise RuntimeError("the sample was not read")
        return self._learnt

    def hold(self, learnt: "SampleFile") -> None:
        """Keep what was read."""
        self._learnt = learnt
