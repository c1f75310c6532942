"""The messages, one a line, between our processes on several machines: between a command and the
labs, and between the process that controls a flood and the load hosts."""

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

_stdout_lock = threading.Lock()


class JsonLines(Generic[T]):
    """Messages of these classes as lines: the name of the class, and its fields as JSON."""

    def __init__(self, *kinds: type[T]) -> None:
        self._adapters = {kind.__name__: TypeAdapter(kind) for kind in kinds}

    def line(self, message: T) -> bytes:
        """The line for a message."""
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
        """The messages on stdin, until it ends."""
        # Not sys.stdin: Python aborts at exit if a thread still reads from its buffer.
        with open(sys.stdin.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                yield self.message(line)

    def say(self, message: T) -> None:
        """Send a message on stdout; several threads may call this."""
        with _stdout_lock:
            sys.stdout.buffer.write(self.line(message))
            sys.stdout.buffer.flush()


@dataclass(frozen=True)
class Failed:
    """A request failed; `error` is the name of a class in tuner.errors."""

    error: str
    text: str

    @classmethod
    def from_error(cls, error: TuneError) -> Failed:
        """The message for an error."""
        return cls(type(error).__name__, str(error))

    def as_error(self, where: str) -> TuneError:
        """The error that it stands for, its text beginning with the machine."""
        kind = getattr(tuner.errors, self.error, None)
        text = f"{where}: {self.text}"
        if isinstance(kind, type) and issubclass(kind, TuneError):
            return kind(text)
        return TuneError(text)


_ROLES = ("client", "scheduler", "worker")


@dataclass(frozen=True)
class ClusterCertificate:
    """The trusted CA certificates, our own certificate and its key, each the text of a PEM file."""

    ca: str
    certificate: str
    key: str

    @property
    def security(self) -> Security:
        """Dask's object for them, which requires TLS on every connection."""
        # Imported here because the process on a load host does not need Dask.
        from distributed import Security

        parts = {"cert": self.certificate, "key": self.key}
        texts = {f"tls_{role}_{part}": text for role in _ROLES for part, text in parts.items()}
        return Security(tls_ca_file=self.ca, require_encryption=True, **texts)


@dataclass(frozen=True)
class SpanOver:
    """The load hosts of a lab, and the address at which they reach it; the scheduler's address and
    the certificate with which the lab joins the cluster to control them."""

    loads: tuple[str, ...]
    address: str
    scheduler: str
    certificate: ClusterCertificate | None = field(repr=False)


@dataclass(frozen=True)
class OpenLab:
    """Open a lab with this kind of engine for a profile and those measured `beside` it (as JSON).

    `allow` names settings that a search may change although they weaken a guarantee; `span` has the
    load hosts if load comes from other machines, `url` is that of an existing engine, and
    `templates` has the texts of a site's templates by name.
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
    """Start the prepared lab."""


@dataclass(frozen=True)
class RunTrial:
    """Run the trial that the search asked for, with this profile (as JSON)."""

    asked: Asked
    profile: str


@dataclass(frozen=True)
class MeasureCeiling:
    """Measure the engine's ceiling, without rsyslog, for the documents of a profile (as JSON)."""

    profile: str


@dataclass(frozen=True)
class Prepared:
    """The lab can be started: its engine has been downloaded."""


@dataclass(frozen=True)
class Opened:
    """The lab is open; downloads took so many seconds."""

    facts: LabFacts
    downloads_s: float


@dataclass(frozen=True)
class TrialEnded:
    """The outcome of a trial."""

    outcome: Result | Lost


@dataclass(frozen=True)
class CeilingFound:
    """The engine's ceiling, without rsyslog."""

    ceiling: Ceiling


Question = OpenLab | StartLab | RunTrial | MeasureCeiling
Reply = Prepared | Opened | TrialEnded | CeilingFound | Failed
QUESTIONS: JsonLines[Question] = JsonLines(*get_args(Question))
REPLIES: JsonLines[Reply] = JsonLines(*get_args(Reply))


@dataclass(frozen=True)
class Ping:
    """Ask for an immediate answer; `asked_s` is the time by the asking machine's clock."""

    asked_s: float


@dataclass(frozen=True)
class MayFlood:
    """Ask whether these hosts may be flooded from the load host."""

    hosts: tuple[str, ...]


@dataclass(frozen=True)
class BeginSender:
    """Start a sender with its first line, the spec of the flood; `files` has the text of each file
    for TLS by its path on the asking machine."""

    sender: str
    line: str
    files: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class SenderLine:
    """A line to a sender, or from it."""

    sender: str
    line: str


@dataclass(frozen=True)
class EndSender:
    """End a sender at once."""

    sender: str


@dataclass(frozen=True)
class Pong:
    """The answer to a Ping, with the machine's counters at that time."""

    asked_s: float
    counts: MachineCounts


@dataclass(frozen=True)
class Allowed:
    """The answer to MayFlood: None if they may, else the reason why not."""

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
    """A profile as it was written, without defaults, and the text of its sample.  Raises Refused if
    it has a base."""
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
        # Imported here because most profiles have no sample.
        from tuner.profile.sample import SampleFile, read_sample

        path, learnt = sample
        profile.workload.hold(SampleFile(path, learnt, read_sample(learnt, path)))
    return profile
