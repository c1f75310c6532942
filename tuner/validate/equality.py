"""Whether two configurations of rsyslogd deliver the same: both run, get the same events, which
differ in everything that a configuration may look at, and what arrives in a sink is compared
document by document."""

from __future__ import annotations

import json
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from tuner.engine.client import EngineClient, at
from tuner.engine.counters import await_quiet
from tuner.errors import Refused
from tuner.flood.verbatim import send
from tuner.lab.base_script import TOWARDS_ENGINE, without_host
from tuner.lab.entrances import TcpPort, UdpPort
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.rainerscript.legacy import condition_of
from tuner.rainerscript.script import (
    Array,
    Block,
    BsdBlock,
    Directive,
    Expression,
    FunctionCall,
    If,
    LegacyAction,
    Operation,
    PropertyFilter,
    Quoted,
    ScriptObject,
    Statement,
    Variable,
    Word,
    every,
    printed,
    rewritten,
)

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
_REPLACED = TOWARDS_ENGINE | _QUEUE_FILES | {
    "errorfile", "bulkmode", "searchtype", "esversion.major"
}  # fmt: skip
_TLS_OF_INPUT = ("streamdriver", "permittedpeer", "gnutls")
_OF_INPUT = frozenset({"address", "port", "device", "listenportfilename", "namespace"})


@dataclass
class _Substitution:
    """A configuration with the lab's sink, ports and folder; `entries` are where events enter, each
    the kind of an input and its port."""

    sink_url: str
    folder: str
    entries: list[tuple[str, int]] = field(default_factory=list)

    def statement(self, one: Statement) -> Iterator[Statement]:
        """What stands for a statement in the lab."""
        match one:
            case ScriptObject():
                yield from self.object(one)
            case Directive():
                yield from self.directive(one)
            case LegacyAction() if one.text != "~":
                yield Word("continue", one.origin)
            case BsdBlock():
                return
            case _:
                yield one

    def object(self, one: ScriptObject) -> Iterator[Statement]:
        """An object in the lab: what goes elsewhere than into the engine does nothing."""
        kind = (one.text("type") or one.text("load") or "").lower()
        match one.kind:
            case "module" if kind in _LEFT_OUT:
                return
            case "input" if kind not in LISTENERS:
                return
            case "input":
                here = {"address": "127.0.0.1", "port": self.port(kind)}
                kept = (p for p in one.parameters if not p.key.startswith(_TLS_OF_INPUT))
                yield replace(one, parameters=tuple(kept)).without(_OF_INPUT).with_values(here)
            case "action" if kind == "omelasticsearch":
                sink = {"server": self.sink_url, "bulkmode": "on", "searchType": ""}
                yield one.without(_REPLACED).with_values(sink)
            case "action" if not kind.startswith("mm"):
                yield Word("continue", one.origin)
            case "global":
                yield from without_host(one)
            case "ruleset" | "main_queue":
                yield one.without(_QUEUE_FILES)
            case _:
                yield one

    def directive(self, one: Directive) -> Iterator[Directive]:
        """A directive in the lab."""
        is_left_out = one.key == "modload" and any(name in one.text for name in _LEFT_OUT)
        if one.key in _STARTERS:
            yield replace(one, text=self.port(_STARTERS[one.key]))
        elif one.key == "workdirectory":
            yield replace(one, text=self.folder)
        elif not is_left_out and not one.key.startswith(_OF_THE_HOST):
            yield one

    def port(self, kind: str) -> str:
        """A port of the lab's on which events enter."""
        port = free_port()
        self.entries.append((kind, port))
        return str(port)


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
        changing = _Substitution(sink.url, str(here))
        made, entries = rewritten(block, changing.statement), changing.entries
        if not entries:
            raise Refused(
                "nothing can be sent to it: compare a configuration with an input of type "
                f"{', '.join(LISTENERS)}"
            )
        entrances = [(UdpPort if LISTENERS[kind] == "udp" else TcpPort)(p) for kind, p in entries]
        running = Rsyslogd(printed(made), here, entrances)
        client = EngineClient(sink.url)
        try:
            for kind, port in entries:
                send(LISTENERS[kind], port, events)
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
    for name in sorted(left.keys() | right.keys()):
        if not _same(left.get(name, _MISSING), right.get(name, _MISSING)):
            values = [json.dumps(side[name]) if name in side else "-" for side in (left, right)]
            yield name, " and ".join(value[:200] for value in values)


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


EVENTS = 300
_SEED = 20
_PROGRAMS = ("sshd", "sudo", "kernel", "nginx", "app-1", "CRON", "postfix/smtpd")
_HOSTS = ("web1", "db2", "10.1.2.3", "host.example.org")
_BODIES = (
    "plain text", "", 'a "quoted" word', "back\\slash", "tab\there", "caf\u00e9 \u20ac \U0001f418",
    "percent %msg% $!all-json `id`", "it's {not} [json]", "x" * 900, "123", "true",
    '@cee: {"user":"ann","status":200,"nested":{"a":[1,2,"three"]}}',
    '{"user":"bob","status":"500","level":"warn","time":1.5}', '{"broken": ', "a,b,c;d|e",
    "key=value other=\"two words\"", "</script><b>", "line\rend",
)  # fmt: skip
# Bytes that are no UTF-8, where text is expected.
_HOSTILE = (b"\xff\xfe broken", b"\xc3( cut", b"nul\x00inside", b"\x1b[31mred")
_MOST_TEXTS = 60
_NUMBER = re.compile(r"n(\d{5})")


def varied_events(asked_for: Mapping[str, Sequence[str]]) -> tuple[bytes, ...]:
    """The same events for the same configuration, each with a number of its own; `asked_for` holds
    texts that conditions compare properties with, so that conditions are met too."""
    choose = random.Random(_SEED)
    programs = (*_names(asked_for, "programname", "app-name", "syslogtag"), *_PROGRAMS)
    hosts = (*_HOSTS, *_names(asked_for, "hostname", "source"))
    texts = [text.encode() for text in (*asked_for.get("msg", ()), *asked_for.get("rawmsg", ()))]
    # A blank comes after the tag anyway, and JSON after what announces it.
    announced = [text.strip() + b' {"user":"eve","status":200}' for text in texts]
    bodies = [*(body.encode() for body in _BODIES), *_HOSTILE, *texts, *announced]
    ids = ("-", *_names(asked_for, "msgid"))
    # Every body comes from every program, as far as there are events enough.
    return tuple(
        _event(
            number,
            programs[number // len(bodies) % len(programs)],
            choose.choice(hosts),
            choose.choice(ids),
            bodies[number % len(bodies)],
        )
        for number in range(EVENTS)
    )


def number_in(document: str) -> int | None:
    """The number of the event that a document is of; None where it holds none."""
    found = _NUMBER.search(document)
    return int(found[1]) if found else None


def _names(asked_for: Mapping[str, Sequence[str]], *properties: str) -> tuple[str, ...]:
    """What may stand in the head of a message."""
    texts = (text.strip() for name in properties for text in asked_for.get(name, ()))
    return tuple(text for text in texts if re.fullmatch(r"[!-~]{1,48}", text))


def _event(number: int, program: str, host: str, message_id: str, body: bytes) -> bytes:
    """Every priority comes in turn; most events are in the old format."""
    priority = (number * 7) % 192
    mark = f"n{number:05d}".encode()
    brace = body.find(b"{")
    if brace >= 0 and _is_json(body[brace:]):
        text = body[:-1] + b',"mark":"' + mark + b'"}'
    else:
        text = body + b" " + mark
    if number % 7 == 6:
        head = f"<{priority}>1 2026-11-21T06:30:{number % 60:02d}.{number:06d}+01:00"
        tag = program.rstrip(":")
        return f"{head} {host} {tag} {number} {message_id} - ".encode() + text
    tag = program if program.endswith(":") else f"{program}[{number}]:"
    return f"<{priority}>Nov 21 06:30:{number % 60:02d} {host} {tag} ".encode() + text


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


def words_asked_for(block: Block) -> dict[str, tuple[str, ...]]:
    """By property in lower case, the texts that conditions compare it with."""
    found: dict[str, dict[str, None]] = {}
    for statement in every(block):
        if isinstance(statement, If):
            condition = statement.condition
        elif isinstance(statement, PropertyFilter):
            condition = condition_of(statement)
        else:
            continue
        for name, text in _words_in(condition):
            found.setdefault(name, {})[text] = None
    return {name: tuple(texts)[:_MOST_TEXTS] for name, texts in found.items()}


def _words_in(expression: Expression) -> Iterator[tuple[str, str]]:
    if not isinstance(expression, Operation | FunctionCall):
        return
    names = [one.name for one in expression.operands if isinstance(one, Variable)]
    for operand in expression.operands:
        for text in _texts_of(operand) if names else ():
            yield names[0].removeprefix("$").lower(), text
        yield from _words_in(operand)


def _texts_of(operand: Expression) -> tuple[str, ...]:
    if isinstance(operand, Quoted):
        return (operand.text,)
    return tuple(one.text for one in operand.items) if isinstance(operand, Array) else ()
