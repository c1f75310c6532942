"""What the process that steers a flood and those on the load hosts say to each other, by way of the
command that started them: lines of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tuner.lab.loads import MachineCounts


@dataclass(frozen=True)
class Ping:
    """Answer at once; `asked_s` is the time by the clock of who asks."""

    asked_s: float
    kind: Literal["ping"] = "ping"


@dataclass(frozen=True)
class MayFlood:
    """Say whether these hosts may be flooded from there."""

    hosts: tuple[str, ...]
    kind: Literal["may flood"] = "may flood"


@dataclass(frozen=True)
class BeginSender:
    """Start a sender, whose first line says what to send."""

    sender: str
    line: str
    kind: Literal["begin sender"] = "begin sender"


@dataclass(frozen=True)
class ToSender:
    """A line for a sender."""

    sender: str
    line: str
    kind: Literal["to sender"] = "to sender"


@dataclass(frozen=True)
class EndSender:
    """End a sender at once."""

    sender: str
    kind: Literal["end sender"] = "end sender"


@dataclass(frozen=True)
class Pong:
    """The answer to a Ping, with what the machine counted up to its time."""

    asked_s: float
    counts: MachineCounts
    kind: Literal["pong"] = "pong"


@dataclass(frozen=True)
class Allowed:
    """The answer to MayFlood: None, or why not."""

    refusal: str | None
    kind: Literal["allowed"] = "allowed"


@dataclass(frozen=True)
class FromSender:
    """A line of a sender."""

    sender: str
    line: str
    kind: Literal["from sender"] = "from sender"


@dataclass(frozen=True)
class SenderEnded:
    """A sender has ended, and why."""

    sender: str
    complaint: str
    kind: Literal["sender ended"] = "sender ended"


ToLoad = Ping | MayFlood | BeginSender | ToSender | EndSender
FromLoad = Pong | Allowed | FromSender | SenderEnded
_TO_LOAD: TypeAdapter[ToLoad] = TypeAdapter(Annotated[ToLoad, Field(discriminator="kind")])
_FROM_LOAD: TypeAdapter[FromLoad] = TypeAdapter(Annotated[FromLoad, Field(discriminator="kind")])


def to_load_line(message: ToLoad) -> bytes:
    """As it is sent."""
    return _TO_LOAD.dump_json(message) + b"\n"


def to_load_of(line: bytes) -> ToLoad:
    """What was said to a load host."""
    return _TO_LOAD.validate_json(line)


def from_load_line(message: FromLoad) -> bytes:
    """As it is sent."""
    return _FROM_LOAD.dump_json(message) + b"\n"


def from_load_of(line: bytes) -> FromLoad:
    """What a load host said."""
    return _FROM_LOAD.validate_json(line)
