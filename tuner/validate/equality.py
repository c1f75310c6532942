"""Whether two configurations of rsyslogd deliver the same: both run, get the same events, and what
arrives in a sink is compared document by document."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from tuner.engine.client import EngineClient, at
from tuner.engine.counters import await_quiet
from tuner.errors import Refused
from tuner.flood.verbatim import send
from tuner.importer.written import printed
from tuner.lab.entrances import TcpPort, UdpPort
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.rainerscript.script import (
    Block,
    BsdBlock,
    Directive,
    Foreach,
    If,
    Include,
    LegacyAction,
    PropertyFilter,
    ScriptObject,
    SelectorFilter,
    Statement,
    Word,
)
from tuner.validate.varied_events import number_in

# Inputs that a lab can send to, and the directives that start them.
LISTENERS: dict[str, Literal["tcp", "udp"]] = {"imtcp": "tcp", "imptcp": "tcp", "imudp": "udp"}
_STARTERS = {
    "inputtcpserverrun": "imtcp", "inputptcpserverrun": "imptcp", "udpserverrun": "imudp",
}  # fmt: skip
# What takes events of the host itself, or needs what a lab has not.
_LEFT_OUT = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark", "imfile", "impstats"})
_OF_THE_HOST = (
    "privdrop", "inputfile", "inputrunfile", "fileowner", "filegroup", "dirowner", "dirgroup",
    "umask", "actionqueuefilename", "mainmsgqueuefilename", "includeconfig", "udpserveraddress",
    "defaultnetstreamdriver",
)  # fmt: skip
_QUEUE_FILES = frozenset({"queue.filename", "queue.spooldirectory", "queue.maxdiskspace"})
_TOWARDS_ENGINE = frozenset(
    {
        "server", "serverport", "usehttps", "uid", "pwd", "apikey", "tls.cacert", "tls.mycert",
        "tls.myprivkey", "allowunsignedcerts", "skipverifyhost", "errorfile", "bulkmode",
        "searchtype", "esversion.major", *_QUEUE_FILES,
    }
)  # fmt: skip
_TLS_OF_INPUT = ("streamdriver", "permittedpeer", "gnutls")
_OF_INPUT = frozenset({"address", "port", "device", "listenportfilename", "namespace"})


@dataclass(frozen=True)
class Entry:
    """A place of an original configuration where events enter: the kind of input, and its port in
    the lab."""

    kind: str
    port: int


@dataclass(frozen=True)
class LabSite:
    """What a lab has for an original configuration; `free_port` gives another port each time."""

    sink_url: str
    folder: str
    free_port: Callable[[], int]


def substituted(block: Block, site: LabSite) -> tuple[Block, tuple[Entry, ...]]:
    """The configuration with the lab's sink, ports and folder, and where events enter."""
    changing = _Substitution(site, [])
    made = changing.block(block)
    return made, tuple(changing.entries)


@dataclass(frozen=True)
class _Substitution:
    site: LabSite
    entries: list[Entry]

    def block(self, block: Block) -> Block:
        """A block with what stays of it."""
        return tuple(made for one in block if (made := self.statement(one)) is not None)

    def statement(self, one: Statement) -> Statement | None:
        """What stands for a statement in the lab; None for what is left out."""
        made: Statement | None = one
        match one:
            case ScriptObject():
                made = self.thing(one)
            case Directive():
                made = self.directive(one)
            case LegacyAction() if one.text != "~":
                made = Word("continue", one.origin)
            case If():
                then, otherwise = self.block(one.then), self.block(one.otherwise)
                made = replace(one, then=then, otherwise=otherwise)
            case SelectorFilter() | PropertyFilter() | Foreach():
                made = replace(one, body=self.block(one.body))
            case Include():
                made = replace(one, files=tuple(map(self.block, one.files)))
            case BsdBlock():
                made = None
            case _:
                pass
        return made

    def thing(self, one: ScriptObject) -> Statement | None:
        """An object in the lab."""
        kind = (one.text("type") or one.text("load") or "").lower()
        made: Statement | None = one
        match one.kind:
            case "module" if kind in _LEFT_OUT:
                made = None
            case "input":
                made = self.input(one, kind)
            case "action":
                made = self.action(one, kind)
            case "global":
                made = self.globals(one)
            case "ruleset":
                made = replace(one.without(_QUEUE_FILES), body=self.block(one.body or ()))
            case "main_queue":
                made = one.without(_QUEUE_FILES)
            case _:
                pass
        return made

    def input(self, one: ScriptObject, kind: str) -> ScriptObject | None:
        """A listener on loopback; what a lab cannot send to is left out."""
        if kind not in LISTENERS:
            return None
        port = self.site.free_port()
        self.entries.append(Entry(kind, port))
        here = {"address": "127.0.0.1", "port": str(port)}
        kept = tuple(p for p in one.parameters if not p.key.startswith(_TLS_OF_INPUT))
        return replace(one, parameters=kept).without(_OF_INPUT).with_values(here)

    def action(self, one: ScriptObject, kind: str) -> Statement:
        """Into the sink, by bulks; what goes elsewhere does nothing."""
        if kind == "omelasticsearch":
            sink = {"server": self.site.sink_url, "bulkmode": "on", "searchType": ""}
            return one.without(_TOWARDS_ENGINE).with_values(sink)
        return one if kind.startswith("mm") else Word("continue", one.origin)

    def globals(self, one: ScriptObject) -> ScriptObject | None:
        """Nothing of the host's."""
        kept = tuple(
            parameter
            for parameter in one.parameters
            if not parameter.key.startswith(("privdrop", "debug", "workdirectory", "umask"))
        )
        return replace(one, parameters=kept) if kept else None

    def directive(self, one: Directive) -> Directive | None:
        """A directive in the lab."""
        if one.key in _STARTERS:
            port = self.site.free_port()
            self.entries.append(Entry(_STARTERS[one.key], port))
            return replace(one, text=str(port))
        if one.key == "workdirectory":
            return replace(one, text=self.site.folder)
        is_left_out = one.key == "modload" and any(name in one.text for name in _LEFT_OUT)
        return None if is_left_out or one.key.startswith(_OF_THE_HOST) else one


_KEPT = 20_000
_QUIET_S = 2.0
_PATIENCE_S = 60.0
_FINISH_S = 10.0
# What a clock says while the two run apart; an id that rsyslog makes.
_APART = timedelta(minutes=10)
_UUID_LENGTH = 32


@dataclass(frozen=True)
class Arrival:
    """One document as it came: its index and id, and its text."""

    index: str
    document_id: str | None
    text: str

    @property
    def fields(self) -> Mapping[str, object] | None:
        """Its values by dotted name; None where it is no JSON object."""
        try:
            value = json.loads(self.text)
        except ValueError:
            return None
        return dict(_flat(value, "")) if isinstance(value, dict) else None


@dataclass(frozen=True)
class Discrepancy:
    """In what the documents of some events differ, with one example."""

    what: str
    events: int
    example: str


def delivered(block: Block, events: Sequence[bytes]) -> tuple[Arrival, ...]:
    """What a configuration, fitted to a lab, makes of the events.  Raises Refused where a lab
    cannot send to it, and RsyslogdDied where rsyslogd does not take it."""
    with scratch(Path(tempfile.gettempdir())) as folder, Sink(keep=_KEPT) as sink:
        here = subfolder(folder, "rsyslogd")
        made, entries = substituted(block, LabSite(sink.url, str(here), free_port))
        if not entries:
            raise Refused(
                "nothing can be sent to it: compare a configuration with an input of type "
                f"{', '.join(LISTENERS)}"
            )
        entrances = [(UdpPort if LISTENERS[d.kind] == "udp" else TcpPort)(d.port) for d in entries]
        running = Rsyslogd(printed(made), here, entrances)
        client = EngineClient(sink.url)
        try:
            for entry in entries:
                send(LISTENERS[entry.kind], entry.port, events)
            await_quiet(client, running.check, _QUIET_S)
            running.stop(_FINISH_S)
            with client.new_session() as session:
                lines = session.get(f"{sink.url}/_sink/kept", timeout=_PATIENCE_S).content
        finally:
            running.stop()
            client.close()
    return tuple(_arrivals(lines))


def _arrivals(lines: bytes) -> Iterator[Arrival]:
    """Pairs of an action and a document; a template may end in a line end of its own."""
    waiting = iter(line for line in lines.split(b"\n") if line.strip())
    for line in waiting:
        action = json.loads(line)
        meta = action.get("create") or action.get("index") or {}
        text = next(waiting, b"").decode("utf-8", "replace")
        document_id = at(meta, "_id")
        yield Arrival(
            str(at(meta, "_index") or ""), None if document_id is None else str(document_id), text
        )


def discrepancies(
    original: Sequence[Arrival], profile: Sequence[Arrival]
) -> tuple[Discrepancy, ...]:
    """In what two deliveries of the same events differ."""
    found: dict[str, list[str]] = {}
    for what, example in _compared(original, profile):
        found.setdefault(what, []).append(example)
    return tuple(Discrepancy(what, len(said), said[0]) for what, said in sorted(found.items()))


def _compared(original: Sequence[Arrival], profile: Sequence[Arrival]) -> Iterator[tuple[str, str]]:
    ours, theirs = _by_event(profile), _by_event(original)
    for key in sorted(ours.keys() | theirs.keys(), key=str):
        left, right = theirs.get(key, []), ours.get(key, [])
        name = f"event {key}" if isinstance(key, int) else "an event"
        if len(left) != len(right):
            yield "documents", f"{name}: {len(left)} of the original, {len(right)} of the profile"
        for one, other in zip(left, right, strict=False):
            for what, example in _pair(one, other):
                yield what, f"{name}: {example}"


def _by_event(arrivals: Sequence[Arrival]) -> dict[object, list[Arrival]]:
    """The documents of each event, in a fixed order."""
    found: dict[object, list[Arrival]] = {}
    for one in arrivals:
        number = number_in(one.text)
        found.setdefault(one.index if number is None else number, []).append(one)
    return {key: sorted(ones, key=lambda o: (o.index, o.text)) for key, ones in found.items()}


def _pair(one: Arrival, other: Arrival) -> Iterator[tuple[str, str]]:
    """In what two documents of one event differ."""
    if one.index != other.index:
        yield "_index", f"{one.index} and {other.index}"
    if not _same_id(one.document_id, other.document_id):
        yield "_id", f"{one.document_id} and {other.document_id}"
    left, right = one.fields, other.fields
    if left is None or right is None:
        if one.text != other.text:
            yield "JSON", f"{one.text[:200]} and {other.text[:200]}"
        return
    for field in sorted(left.keys() | right.keys()):
        if not _same(left.get(field, _MISSING), right.get(field, _MISSING)):
            values = [json.dumps(side[field]) if field in side else "-" for side in (left, right)]
            yield field, " and ".join(value[:200] for value in values)


_MISSING = object()


def _same_id(one: str | None, other: str | None) -> bool:
    """Equal, or both made for the event."""
    both = one is not None and other is not None
    return one == other or (both and len(str(one)) == len(str(other)) == _UUID_LENGTH)


def _same(one: object, other: object) -> bool:
    """Equal, or the time at which the event came to each."""
    if one == other and type(one) is type(other):
        return True
    times = [_moment(one), _moment(other)]
    now = datetime.now(UTC)
    return all(time is not None and abs(time - now) < _APART for time in times)


def _moment(value: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time if time is not None and time.tzinfo is not None else None


def _flat(value: Mapping[str, object], path: str) -> Iterator[tuple[str, object]]:
    for key, inner in value.items():
        name = f"{path}.{key}" if path else key
        if isinstance(inner, dict) and inner:
            yield from _flat(inner, name)
        else:
            yield name, inner
