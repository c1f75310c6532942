"""What a command and the labs on other machines say to each other: lines of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

import tuner.errors
from tuner.errors import TuneError
from tuner.measure.ceiling import Ceiling
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.study import Asked, LabFacts


@dataclass(frozen=True)
class SpanOver:
    """The machines whose load a lab takes, and the address at which they reach it."""

    loads: tuple[str, ...]
    address: str


@dataclass(frozen=True)
class OpenLab:
    """Open a lab with this kind of engine for a profile (as JSON), which allows these settings, and
    for those measured `beside` it; with load from other machines where it is that of a span, and on
    the engine at `url` where there is one."""

    engine: str
    profile: str
    allow: tuple[str, ...]
    beside: tuple[str, ...] = ()
    span: SpanOver | None = None
    url: str | None = None
    kind: Literal["open"] = "open"


@dataclass(frozen=True)
class RunTrial:
    """Measure a profile (as JSON) as was asked for."""

    asked: Asked
    profile: str
    kind: Literal["trial"] = "trial"


@dataclass(frozen=True)
class MeasureCeiling:
    """Measure what the engine carries of a profile's documents (as JSON) without rsyslog."""

    profile: str
    kind: Literal["ceiling"] = "ceiling"


@dataclass(frozen=True)
class RelayedFrom:
    """A load host has said a line."""

    machine: str
    line: str
    kind: Literal["relayed from"] = "relayed from"


@dataclass(frozen=True)
class LoadLost:
    """A load host is gone."""

    machine: str
    reason: str
    kind: Literal["load lost"] = "load lost"


@dataclass(frozen=True)
class Opened:
    """The lab is open; downloads took so many seconds."""

    facts: LabFacts
    downloads_s: float
    kind: Literal["opened"] = "opened"


@dataclass(frozen=True)
class TrialEnded:
    """What a trial came to."""

    outcome: Result
    kind: Literal["measured"] = "measured"


@dataclass(frozen=True)
class CeilingFound:
    """What the engine carries without rsyslog."""

    ceiling: Ceiling
    kind: Literal["ceiling found"] = "ceiling found"


@dataclass(frozen=True)
class TrialLost:
    """A trial came to nothing, for a reason that is not its settings."""

    reason: str
    kind: Literal["trial lost"] = "trial lost"


@dataclass(frozen=True)
class RelayedTo:
    """A line for a load host."""

    machine: str
    line: str
    kind: Literal["relayed to"] = "relayed to"


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


Question = OpenLab | RunTrial | MeasureCeiling
LoadNews = RelayedFrom | LoadLost
Reply = Opened | TrialEnded | CeilingFound | TrialLost | RelayedTo | Failed
_QUESTION: TypeAdapter[Question | LoadNews] = TypeAdapter(
    Annotated[Question | LoadNews, Field(discriminator="kind")]
)
_REPLY: TypeAdapter[Reply] = TypeAdapter(Annotated[Reply, Field(discriminator="kind")])


def profile_json(profile: Profile) -> str:
    """A profile as it was written, defaults left out."""
    return profile.model_dump_json(by_alias=True, exclude_unset=True)


def profile_of(text: str) -> Profile:
    """The profile that `profile_json` wrote."""
    return Profile.model_validate_json(text)


def question_line(question: Question | LoadNews) -> bytes:
    """As it is sent."""
    return _QUESTION.dump_json(question) + b"\n"


def question_of(line: bytes) -> Question | LoadNews:
    """What was asked, or what is new of the load hosts."""
    return _QUESTION.validate_json(line)


def reply_line(reply: Reply) -> bytes:
    """As it is sent."""
    return _REPLY.dump_json(reply) + b"\n"


def reply_of(line: bytes) -> Reply:
    """What was answered."""
    return _REPLY.validate_json(line)
