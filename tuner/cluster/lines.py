"""Lines of JSON between processes of ours, and what stands in one where something failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import TypeAdapter

import tuner.errors
from tuner.errors import TuneError

T = TypeVar("T")


@dataclass(frozen=True)
class JsonLines(Generic[T]):
    """Messages of the kinds that `adapter` knows, as lines."""

    adapter: TypeAdapter[T]

    def line(self, message: T) -> bytes:
        """As it is sent."""
        return self.adapter.dump_json(message) + b"\n"

    def message(self, line: bytes) -> T:
        """What was sent."""
        return self.adapter.validate_json(line)


@dataclass(frozen=True)
class Failed:
    """What was asked for cannot be done; `error` is the name of one of ours."""

    error: str
    text: str
    kind: Literal["failed"] = "failed"

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
