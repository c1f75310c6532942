"""What a configuration makes of messages: it runs on a real rsyslogd in a lab and gets them one
after the other.  Of each a run tells what reached the sink and the files that stand for all other
places."""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.cases.script import CaseScript
from tuner.engine.client import EngineClient, at
from tuner.engine.feed import kept_bulks
from tuner.engine.sampled import leaves
from tuner.engine.status import count
from tuner.engines.refusals import document_refusal
from tuner.errors import JobFailed, ProgramMissing
from tuner.host.process import open_given, own_environment, wait_until, wait_until_quiet
from tuner.lab.check import check
from tuner.lab.entrances import ReadFile, TcpPort, UdpPort, UnixSocket
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.modules.input import LOOPBACK, TRANSPORTS, TransportKind
from tuner.script.objects import Base
from tuner.script.script import Gap

_KEPT = 100_000
_PATIENCE_S = 20.0
_QUIET_S = 0.15
_FINISH_S = 10.0


@dataclass(frozen=True)
class Arrival:
    """One document as it came: its index, id and pipeline, and its text; or a line, and `place`,
    where it was written or sent to."""

    index: str
    document_id: str | None
    text: str
    pipeline: str | None = None
    place: str = ""

    @property
    def fields(self) -> Mapping[str, object] | None:
        """Its values by dotted name; None where it is no JSON object that an engine takes."""
        if document_refusal(self.text) is not None:
            return None
        return dict(leaves(json.loads(self.text)))

    def outside(self, folder: str) -> Arrival:
        """With the files that are read below `folder` named as in the configuration; JSON may
        escape their names."""
        text = self.text.replace(folder, "").replace(folder.replace("/", "\\/"), "")
        return replace(self, text=text)


@dataclass(frozen=True)
class Came:
    """What came of a message by one output."""

    output: str
    arrival: Arrival


@dataclass(frozen=True)
class Sent:
    """A message as it is sent: by which input, and from which address."""

    input: str
    message: bytes
    sender: str = LOOPBACK


@dataclass(frozen=True)
class Surface:
    """What tests of a configuration can name: its inputs, each with how messages are sent to it,
    and its outputs; and what is not tested."""

    inputs: Mapping[str, TransportKind]
    outputs: tuple[str, ...]
    gaps: tuple[Gap, ...]


_TRANSPORTS: Mapping[type, TransportKind] = {
    TcpPort: "tcp", UdpPort: "udp", ReadFile: "file", UnixSocket: "unix",
}  # fmt: skip


def surface(base: Base) -> Surface:
    """What tests of a configuration can name."""
    script = CaseScript(base, "http://127.0.0.1:9", "/lab", mark="-")
    script.text()
    transports = {name: _TRANSPORTS[type(entrance)] for name, entrance in script.entrances.items()}
    # Messages come from other machines where they can.
    inputs = sorted(transports.items(), key=lambda named: TRANSPORTS[named[1]].has_path)
    return Surface(dict(inputs), tuple(script.outputs), tuple(script.gaps))


def run(
    base: Base, messages: Sequence[Sent], time_zone: str | None = None
) -> tuple[tuple[Came, ...], ...]:
    """What came of each message, sent in this order to one rsyslogd, in that time zone or this
    machine's.  Raises JobFailed where rsyslogd does not take the configuration or a message, and
    ProgramMissing where it lacks a module."""
    with scratch(Path(tempfile.gettempdir())) as folder, Sink(keep=_KEPT) as sink:
        home = subfolder(folder, "rsyslogd")
        script = CaseScript(base, sink.url, str(home), mark=f"#{secrets.token_hex(8)}#")
        text = script.text()
        _require_accepted(text)
        entrances = [*script.entrances.values()]
        for entrance in entrances:
            if isinstance(entrance, ReadFile):
                path = Path(entrance.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        environment = own_environment() | ({} if time_zone is None else {"TZ": time_zone})
        rsyslogd = Rsyslogd(text, home, entrances, environment)
        with closing(EngineClient(sink.url)) as client:
            try:
                for number, sent in enumerate(messages):
                    _send(script, number, sent, rsyslogd)
                written = Path(script.written)
                # Rulesets may have queues of their own.
                wait_until_quiet(
                    lambda: (_bytes_below(written), count(client, "_all")), rsyslogd.check, _QUIET_S
                )
                rsyslogd.stop(_FINISH_S)
                came = [*documents(kept_bulks(client)), *lines(written)]
            finally:
                rsyslogd.stop()
    names = {number: name for name, number in script.outputs.items()}
    arrivals: list[list[Came]] = [[] for _ in messages]
    for case, output, arrival in came:
        if case.isdecimal() and output in names:
            arrivals[int(case)].append(Came(names[output], arrival.outside(script.read)))
    return tuple(map(tuple, arrivals))


def _bytes_below(folder: Path) -> int:
    """How much the files of a folder hold together."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _require_accepted(text: str) -> None:
    verdict = check(text)
    if not verdict.accepted:
        kind = ProgramMissing if verdict.modules else JobFailed
        raise kind(f"rsyslogd rejects the configuration: {verdict.why_not}")


def _send(script: CaseScript, number: int, sent: Sent, rsyslogd: Rsyslogd) -> None:
    """Send a message between two of ours, and wait until rsyslogd has worked on the second."""
    after = f"{number}-"
    messages = (*script.message(str(number)), sent.message, *script.message(after))
    try:
        script.entrances[sent.input].send(messages, sent.sender)
    except OSError as error:
        rsyslogd.check()
        raise JobFailed(f"{sent.input} takes no message: {error.strerror or error}") from None
    fence = Path(script.fence)

    def has_passed() -> bool:
        rsyslogd.check()
        return fence.is_file() and after.encode() in fence.read_bytes().split(b"\n")

    if not wait_until(has_passed, _PATIENCE_S, poll_s=0.002):
        raise JobFailed(
            f"{sent.input} took a message, and within {_PATIENCE_S:g} s none came to its ruleset: "
            "parameters of the input, such as a rate limit, may drop it"
        )


def documents(bulks: bytes) -> Iterator[tuple[str, str, Arrival]]:
    """The documents in bulks with the numbers of their cases and outputs, which their indices say;
    a template may end in a line end of its own."""
    waiting = iter(line for line in bulks.split(b"\n") if line.strip())
    for line in waiting:
        action = json.loads(line)
        meta = action.get("create") or action.get("index") or {}
        text = next(waiting, b"").decode("utf-8", "replace")
        case, output, index = str(at(meta, "_index")).split("/", 2)
        document_id, pipeline = at(meta, "_id"), at(meta, "pipeline")
        yield (
            case[1:],
            output,
            Arrival(
                index,
                None if document_id is None else str(document_id),
                text,
                None if pipeline is None else str(pipeline),
            ),
        )


def lines(folder: Path) -> Iterator[tuple[str, str, Arrival]]:
    """The lines of files with the numbers of their cases and outputs, which their folders say."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        case, output, kind, *rest = path.relative_to(folder).parts
        place = "/" + "/".join(rest) if kind == "files" else rest[0].replace("|", "/")
        with open_given(path) as file:
            written = file.read().removesuffix(b"\n").split(b"\n")
        for line in filter(None, written) if kind == "sent" else written:
            text = line.decode("utf-8", "replace")
            yield case[1:], output, Arrival(place, None, text, place=place)
