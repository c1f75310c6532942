"""How processes of ours on several machines talk to each other in lines, and what a lab and the
load hosts say, by way of the command that started them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

import tuner.errors
from tuner.errors import JobFailed, TuneError
from tuner.lab.loads import MachineCounts

T = TypeVar("T")

_out = threading.Lock()


class JsonLines(Generic[T]):
    """Messages of these kinds as lines: the name of the kind, and its fields as JSON."""

    def __init__(self, *kinds: type[T]) -> None:
        self._adapters = {kind.__name__: TypeAdapter(kind) for kind in kinds}

    def line(self, message: T) -> bytes:
        """As it is sent."""
        name = type(message).__name__
        return b"%s %s\n" % (name.encode(), self._adapters[name].dump_json(message))

    def message(self, line: bytes) -> T:
        """What was sent; raises JobFailed where it is none of these."""
        name, _, fields = line.decode().partition(" ")
        if name not in self._adapters:
            raise JobFailed(f"it was told {name}, which this rsyslog-tune does not know")
        try:
            return self._adapters[name].validate_json(fields)
        except ValidationError as error:
            raise JobFailed(f"it was told what this rsyslog-tune does not know: {error}") from None

    def told(self) -> Iterator[T]:
        """What this process is told, until its input ends."""
        # With a buffer of its own: Python aborts at its end where a thread still reads sys.stdin.
        with open(sys.stdin.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                yield self.message(line)

    def say(self, message: T) -> None:
        """Send it to whoever hears this process; several threads may."""
        with _out:
            sys.stdout.buffer.write(self.line(message))
            sys.stdout.buffer.flush()


@dataclass(frozen=True)
class Failed:
    """What was asked for cannot be done; `error` is the name of one of ours."""

    error: str
    text: str

    @classmethod
    def of(cls, error: TuneError) -> Failed:
        """The message of an error."""
        return cls(type(error).__name__, str(error))

    def raised(self, where: str) -> TuneError:
        """The error, with the machine where it happened."""
        kind = getattr(tuner.errors, self.error, None)
        text = f"{where}: {self.text}"
        if isinstance(kind, type) and issubclass(kind, TuneError):
            return kind(text)
        return TuneError(text)


@dataclass(frozen=True)
class Ping:
    """Answer at once; `asked_s` is the time by the clock of who asks."""

    asked_s: float


@dataclass(frozen=True)
class MayFlood:
    """Say whether these hosts may be flooded from there."""

    hosts: tuple[str, ...]


@dataclass(frozen=True)
class BeginSender:
    """Start a sender, whose first line says what to send; the text of each file that it needs for
    TLS comes along, by its path here."""

    sender: str
    line: str
    files: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class ToSender:
    """A line for a sender."""

    sender: str
    line: str


@dataclass(frozen=True)
class EndSender:
    """End a sender at once."""

    sender: str


@dataclass(frozen=True)
class Pong:
    """The answer to a Ping, with what the machine counted up to its time."""

    asked_s: float
    counts: MachineCounts


@dataclass(frozen=True)
class Allowed:
    """The answer to MayFlood: None, or why not."""

    refusal: str | None


@dataclass(frozen=True)
class FromSender:
    """A line of a sender."""

    sender: str
    line: str


@dataclass(frozen=True)
class SenderEnded:
    """A sender has ended, and why."""

    sender: str
    complaint: str


ToLoad = Ping | MayFlood | BeginSender | ToSender | EndSender
FromLoad = Pong | Allowed | FromSender | SenderEnded
TO_LOAD: JsonLines[ToLoad] = JsonLines(*get_args(ToLoad))
FROM_LOAD: JsonLines[FromLoad] = JsonLines(*get_args(FromLoad))
