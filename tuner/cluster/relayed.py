"""What a lab and the load and engine hosts say to each other, by way of the command that started
them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from tuner.cluster.lines import Failed, JsonLines
from tuner.engines.versions import Distribution
from tuner.lab.loads import MachineCounts
from tuner.lab.node import NodePlace, NodePlan


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
    """Start a sender, whose first line says what to send; the text of each file that it needs for
    TLS comes along, by its path here."""

    sender: str
    line: str
    files: Mapping[str, str] = field(repr=False)
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


@dataclass(frozen=True)
class PrepareEngine:
    """Be ready to run a node of this engine at an address of that machine."""

    distribution: Distribution
    address: str
    kind: Literal["prepare engine"] = "prepare engine"


@dataclass(frozen=True)
class StartNode:
    """Start a node in the place of the one before, if any; it is called by a number."""

    number: int
    plan: NodePlan
    place: NodePlace
    kind: Literal["start node"] = "start node"


@dataclass(frozen=True)
class StopNode:
    """End the node, if any."""

    kind: Literal["stop node"] = "stop node"


@dataclass(frozen=True)
class CountMachine:
    """Say what the machine counted up to now."""

    kind: Literal["count machine"] = "count machine"


@dataclass(frozen=True)
class MachineCounted:
    """The answer to CountMachine."""

    counts: MachineCounts
    kind: Literal["machine counted"] = "machine counted"


@dataclass(frozen=True)
class EngineReady:
    """A node may start, at the first of two free ports; the download took so many seconds."""

    port: int
    memory_bytes: int
    downloads_s: float
    kind: Literal["engine ready"] = "engine ready"


@dataclass(frozen=True)
class NodeStarted:
    """A node has been started."""

    kind: Literal["node started"] = "node started"


@dataclass(frozen=True)
class NodeStopped:
    """No node runs."""

    kind: Literal["node stopped"] = "node stopped"


@dataclass(frozen=True)
class NodeEnded:
    """A node has ended, whoever ended it: how, with what is known of why, and its last lines."""

    number: int
    exit: str
    ending: str
    reasons: str
    kind: Literal["node ended"] = "node ended"


ToLoad = Ping | MayFlood | BeginSender | ToSender | EndSender
FromLoad = Pong | Allowed | FromSender | SenderEnded
ToEngine = PrepareEngine | StartNode | StopNode | CountMachine
FromEngine = EngineReady | NodeStarted | NodeStopped | NodeEnded | MachineCounted | Failed

TO_LOAD: JsonLines[ToLoad] = JsonLines(TypeAdapter(Annotated[ToLoad, Field(discriminator="kind")]))
FROM_LOAD: JsonLines[FromLoad] = JsonLines(
    TypeAdapter(Annotated[FromLoad, Field(discriminator="kind")])
)
TO_ENGINE: JsonLines[ToEngine] = JsonLines(
    TypeAdapter(Annotated[ToEngine, Field(discriminator="kind")])
)
FROM_ENGINE: JsonLines[FromEngine] = JsonLines(
    TypeAdapter(Annotated[FromEngine, Field(discriminator="kind")])
)
