"""Whether two configurations of rsyslogd deliver the same: both run, get the same events, and what
arrives in a sink is compared document by document."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tuner.engine.client import EngineClient, at, number_at
from tuner.errors import Refused
from tuner.flood.verbatim import send
from tuner.importer.script import Block
from tuner.importer.written import printed
from tuner.lab.entrances import TcpPort, UdpPort
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.validate.substitute import LISTENERS, LabSite, substituted
from tuner.validate.varied_events import number_in

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
        made, doors = substituted(block, LabSite(sink.url, str(here), free_port))
        if not doors:
            raise Refused(
                "nothing can be sent to it: compare a configuration with an input of type "
                f"{', '.join(LISTENERS)}"
            )
        entrances = [(UdpPort if LISTENERS[d.kind] == "udp" else TcpPort)(d.port) for d in doors]
        running = Rsyslogd(printed(made), here, entrances)
        client = EngineClient(sink.url)
        try:
            for door in doors:
                send(LISTENERS[door.kind], door.port, events)
            _wait_until_quiet(client, running)
            running.stop(_FINISH_S)
            with client.new_session() as session:
                lines = session.get(f"{sink.url}/_sink/kept", timeout=_PATIENCE_S).content
        finally:
            running.stop()
            client.close()
    return tuple(_arrivals(lines))


def _wait_until_quiet(client: EngineClient, running: Rsyslogd) -> None:
    """Until nothing has come for a while."""
    deadline = time.monotonic() + _PATIENCE_S
    count, since = -1, time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < _QUIET_S:
        running.check()
        now = number_at(client.get("/_all/_count"), "count")
        if now != count:
            count, since = now, time.monotonic()
        time.sleep(0.1)


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
