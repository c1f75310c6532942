"""How processes of ours on several machines talk to each other in lines: what a command and the
labs say, and what the load hosts and whoever steers a flood do."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

import tuner.errors
from tuner.errors import JobFailed, Refused, TuneError
from tuner.lab.loads import MachineCounts
from tuner.measure.ceiling import Ceiling
from tuner.measure.measurement import Result
from tuner.profile.model import Profile
from tuner.search.farm import Lost
from tuner.search.study import Asked, LabFacts

if TYPE_CHECKING:
    from distributed import Security

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
        """The message in a line; raises JobFailed for one of an unknown type."""
        name, _, fields = line.decode().partition(" ")
        if name not in self._adapters:
            raise JobFailed(f"it was told {name}, which this rsyslog-tune does not know")
        try:
            return self._adapters[name].validate_json(fields)
        except ValidationError as error:
            # Without the message itself, which may hold a key.
            first = error.errors(include_input=False)[0]
            place = ".".join([name, *map(str, first["loc"])])
            raise JobFailed(
                f"it was told what this rsyslog-tune does not know: {place}: {first['msg']}"
            ) from None

    def received(self) -> Iterator[T]:
        """The messages that this process reads, until its input ends."""
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
    def from_error(cls, error: TuneError) -> Failed:
        """The message of an error."""
        return cls(type(error).__name__, str(error))

    def raised(self, where: str) -> TuneError:
        """The error, with the machine where it happened."""
        kind = getattr(tuner.errors, self.error, None)
        text = f"{where}: {self.text}"
        if isinstance(kind, type) and issubclass(kind, TuneError):
            return kind(text)
        return TuneError(text)


_ROLES = ("client", "scheduler", "worker")


@dataclass(frozen=True)
class ClusterCertificate:
    """The certificates of those who are trusted, ours, and its key, as text in PEM."""

    ca: str
    certificate: str
    key: str

    @property
    def security(self) -> Security:
        """As Dask takes them; nothing goes without them."""
        # The process on a load host, which knows this too, does without Dask.
        from distributed import Security

        parts = {"cert": self.certificate, "key": self.key}
        texts = {f"tls_{role}_{part}": text for role in _ROLES for part, text in parts.items()}
        return Security(tls_ca_file=self.ca, require_encryption=True, **texts)


@dataclass(frozen=True)
class SpanOver:
    """The machines whose load a lab takes, the address at which they reach it, and how it joins
    their cluster to steer them: the address of the scheduler, and the certificate."""

    loads: tuple[str, ...]
    address: str
    scheduler: str
    certificate: ClusterCertificate | None = field(repr=False)


@dataclass(frozen=True)
class OpenLab:
    """Open a lab with this kind of engine for a profile (as JSON), which allows these settings, and
    for those measured `beside` it; with load from other machines where it is that of a span, on the
    engine at `url` where there is one, and with these texts of a site's templates by their names.
    """

    engine: str
    profile: str
    allow: tuple[str, ...]
    beside: tuple[str, ...] = ()
    span: SpanOver | None = None
    url: str | None = None
    templates: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StartLab:
    """Start what the lab that was prepared needs."""


@dataclass(frozen=True)
class RunTrial:
    """Measure a profile (as JSON) as was asked for."""

    asked: Asked
    profile: str


@dataclass(frozen=True)
class MeasureCeiling:
    """Measure what the engine carries of a profile's documents (as JSON) without rsyslog."""

    profile: str


@dataclass(frozen=True)
class Prepared:
    """What a lab needs is there, its engine downloaded."""


@dataclass(frozen=True)
class Opened:
    """The lab is open; downloads took so many seconds."""

    facts: LabFacts
    downloads_s: float


@dataclass(frozen=True)
class TrialEnded:
    """What a trial came to."""

    outcome: Result | Lost


@dataclass(frozen=True)
class CeilingFound:
    """What the engine carries without rsyslog."""

    ceiling: Ceiling


Question = OpenLab | StartLab | RunTrial | MeasureCeiling
Reply = Prepared | Opened | TrialEnded | CeilingFound | Failed
QUESTIONS: JsonLines[Question] = JsonLines(*get_args(Question))
REPLIES: JsonLines[Reply] = JsonLines(*get_args(Reply))


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
class SenderLine:
    """A line for a sender, or that it has said."""

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
class SenderEnded:
    """A sender has ended, and why."""

    sender: str
    complaint: str


ToLoad = Ping | MayFlood | BeginSender | SenderLine | EndSender
FromLoad = Pong | Allowed | SenderLine | SenderEnded
TO_LOAD: JsonLines[ToLoad] = JsonLines(*get_args(ToLoad))
FROM_LOAD: JsonLines[FromLoad] = JsonLines(*get_args(FromLoad))


def profile_json(profile: Profile) -> str:
    """A profile as it was written, defaults left out, with the text of its sample.  Raises Refused
    where it stands on a configuration."""
    if profile.base is not None:
        raise Refused(
            f"--cluster cannot measure a profile on a configuration ({profile.base.rsyslog}): the "
            "other machines do not have its files. Leave out --cluster"
        )
    learnt = profile.workload.learnt
    written = profile.model_dump_json(by_alias=True, exclude_unset=True)
    return json.dumps([written, None if learnt is None else (learnt.path, learnt.text)])


def profile_of(text: str) -> Profile:
    """The profile that `profile_json` wrote."""
    written, sample = json.loads(text)
    profile = Profile.model_validate_json(written)
    if sample is not None:
        # What reads a sample is imported for that alone.
        from tuner.profile.sample import SampleFile, read_sample

        path, learnt = sample
        profile.workload.hold(SampleFile(path, learnt, read_sample(learnt, path)))
    return profile
