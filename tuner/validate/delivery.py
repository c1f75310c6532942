"""Events on their way into an rsyslogd in a lab, and what came of them at the sink."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from tuner.engine.client import at
from tuner.flood.verbatim import send, send_local
from tuner.host.process import wait_until
from tuner.lab.entrances import EventSource, ReadFile, TcpPort, UdpPort, UnixSocket
from tuner.lab.rsyslogd import Rsyslogd
from tuner.validate.arrival import Arrival
from tuner.validate.comparable import LISTENERS, Entry

_PATIENCE_S = 60.0


def entrance(one: Entry) -> EventSource:
    """What must be there before events are sent."""
    if one.kind in LISTENERS:
        return (UdpPort if LISTENERS[one.kind] == "udp" else TcpPort)(one.port)
    return UnixSocket(one.path) if one.kind == "imuxsock" else ReadFile(one.path)


@contextmanager
def opened(entries: Sequence[Entry]) -> Iterator[dict[str, BinaryIO]]:
    """The files to be read, open before the folder is given away."""
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for one in entries:
            if one.kind == "imfile":
                path = Path(one.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                files[one.path] = stack.enter_context(path.open("xb"))
        yield files


def enter(
    one: Entry,
    files: Mapping[str, BinaryIO],
    events: Sequence[bytes],
    running: Rsyslogd,
    sender: str | None = None,
) -> None:
    """Send each event once by an entry, of which a file is open, from an address of this machine
    where it is a port."""
    if one.kind in LISTENERS:
        send(LISTENERS[one.kind], one.port, events, sender)
    elif one.kind == "imuxsock":
        send_local(one.path, events)
    else:
        _append(files[one.path], one.path, events, running)


def _append(file: BinaryIO, path: str, events: Sequence[bytes], running: Rsyslogd) -> None:
    """Each event as a line of a file, until rsyslogd has read them all."""
    file.write(b"".join(event + b"\n" for event in events))
    file.flush()
    read = ReadFile(path)
    wait_until(lambda: (read.position(running.pid) or 0) >= file.tell(), _PATIENCE_S)


def outside(one: Arrival, folder: str) -> Arrival:
    """What names a file that is read names it as the configuration does; JSON may escape it."""
    text = one.text.replace(folder, "").replace(folder.replace("/", "\\/"), "")
    return replace(one, text=text)


def await_same(state: Callable[[], object], quiet_s: float, patience_s: float) -> None:
    """Wait until a state stays the same for `quiet_s`, at most `patience_s`."""
    before, deadline = state(), time.monotonic() + patience_s
    while time.monotonic() < deadline:
        time.sleep(quiet_s)
        now = state()
        if now == before:
            return
        before = now


def bytes_below(folder: Path) -> int:
    """How much the files of a folder hold together."""
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def arrivals(lines: bytes) -> Iterator[Arrival]:
    """Pairs of an action and a document; a template may end in a line end of its own."""
    waiting = iter(line for line in lines.split(b"\n") if line.strip())
    for line in waiting:
        action = json.loads(line)
        meta = action.get("create") or action.get("index") or {}
        text = next(waiting, b"").decode("utf-8", "replace")
        document_id, pipeline = at(meta, "_id"), at(meta, "pipeline")
        yield Arrival(
            str(at(meta, "_index") or ""),
            None if document_id is None else str(document_id),
            text,
            None if pipeline is None else str(pipeline),
        )
