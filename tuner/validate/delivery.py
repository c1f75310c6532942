"""What a configuration of rsyslogd delivers: it runs in a lab and gets events, and what reaches the
sink, and files that stand for all other places, is told."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from tuner.engine.client import EngineClient, at
from tuner.engine.counters import await_quiet
from tuner.engine.feed import kept
from tuner.errors import JobFailed, Refused
from tuner.flood.verbatim import send, send_local
from tuner.host.process import give_to_daemons, own_environment, run_as_daemon, wait_until
from tuner.host.programs import find, rsyslogd
from tuner.lab.entrances import EventSource, ReadFile, TcpPort, UdpPort, UnixSocket
from tuner.lab.ports import has_ipv6
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.rainerscript.legacy import modern
from tuner.rainerscript.script import Block, ScriptObject, every
from tuner.rainerscript.servers import servers_of
from tuner.rainerscript.tokens import SURROGATES
from tuner.validate.comparable import ENTERED, LISTENERS, ComparableScript, Entry
from tuner.validate.equality import Arrival, Delivered

_KEPT = 100_000
_QUIET_S = 2.0
_PATIENCE_S = 60.0
_FINISH_S = 10.0


def delivered(block: Block, events: Sequence[bytes]) -> Delivered:
    """What a configuration, fitted to a lab, makes of the events.  Raises Refused where a lab
    cannot send to it, and RsyslogdDied where rsyslogd does not take it."""
    with (
        scratch(Path(tempfile.gettempdir())) as folder,
        Sink(keep=_KEPT) as sink,
        ExitStack() as stack,
    ):
        here = subfolder(folder, "rsyslogd")
        changing = ComparableScript(sink.url, str(here), has_ipv6())
        text, entries = changing.text(block), changing.entries
        if not entries:
            raise Refused(
                "nothing can be sent to it: compare a configuration with an input of type "
                f"{', '.join(ENTERED)}"
            )
        files = stack.enter_context(opened(entries))
        running = Rsyslogd(text, here, [entrance(one) for one in entries])
        client = EngineClient(sink.url)
        try:
            for one in entries:
                enter(one, files, events, running)
            await_quiet(client, running.check, _QUIET_S)
            await_same(lambda: bytes_below(here), _QUIET_S / 2, _PATIENCE_S)
            running.stop(_FINISH_S)
            lines = kept(client)
        finally:
            running.stop()
            client.close()
        written = [*_written(Path(changing.files), "/"), *_written(Path(changing.sent), "")]
    came = tuple(outside(one, changing.read) for one in (*arrivals(lines), *written))
    servers, local = frozenset(_servers(block)), frozenset(changing.local)
    return Delivered(came, servers, listening(block), local)


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
        send(LISTENERS[one.kind], one.port, events, one.address, sender)
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


def _written(folder: Path, before: str) -> Iterator[Arrival]:
    """The lines of the files below a folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            place = before + str(path.relative_to(folder)).replace("|", "/")
            for line in path.read_bytes().splitlines():
                yield Arrival(place, None, line.decode("utf-8", "replace"), place=place)


def _servers(block: Block) -> Iterator[str]:
    """Where actions send documents."""
    for one in every(block):
        if isinstance(one, ScriptObject) and one.type == "omelasticsearch":
            pipeline = one.text("pipelineName")
            more = "" if pipeline is None or one.is_on("dynPipelineName") else f" ({pipeline})"
            for server in filter(None, servers_of(one, one.is_on("usehttps"))):
                where = f"{server.hostname}:{server.port}{server.path.rstrip('/')}"
                yield f"{server.scheme}://{where}{more}"


# In a network of its own, where every address can be listened on; $0 to $3 are rsyslogd, its
# configuration, its pid file and ports, each of which an input may open seconds after another; $4
# is empty where some socket must come.  rsyslogd dies with the shell, which is killed where it
# takes too long.
_SOCKETS = r"""
ip link set lo up || exit 1
sysctl -qw net.ipv4.ip_nonlocal_bind=1 net.ipv6.ip_nonlocal_bind=1
setpriv --pdeathsig KILL "$0" -n -f "$1" -i "$2" >/dev/null 2>&1 &
before= same=0 round=0
while [ $same -lt 3 ] && [ $round -lt 40 ]; do
    sleep 0.25
    now=$(ss -Hlntu | awk '{print $1, $5}' | sort -u)
    [ -n "$now$4" ] && [ "$now" = "$before" ] && same=$((same + 1)) || same=0
    for port in $3; do echo "$now" | grep -q ":$port\$" || same=0; done
    before=$now round=$((round + 1))
done
kill $! && echo "$now"
"""
_SOCKETS_S = 30.0


def listening(block: Block) -> frozenset[str] | None:
    """The sockets on which a configuration listens; None where that cannot be seen here."""
    if not all(map(find, ("unshare", "ip", "ss"))):
        return None
    with scratch(Path(tempfile.gettempdir())) as folder:
        here = subfolder(folder, "sockets")
        path = here / "rsyslog.conf"
        path.touch(mode=0o644)
        script = ComparableScript("http://127.0.0.1:9", str(here), keeps_inputs=True)
        path.write_bytes(script.text(block).encode("utf-8", SURROGATES))
        give_to_daemons(here)
        parts = (one for one in every(modern(block)) if isinstance(one, ScriptObject))
        inputs = [one for one in parts if one.kind == "input"]
        named = {one.text("port") or "" for one in inputs} - {"0"}
        ports = " ".join(sorted(filter(str.isdecimal, named)))
        # What is neither read from a file nor from a socket of this machine may listen.
        none = "none" if {one.type for one in inputs} <= ENTERED.keys() - LISTENERS.keys() else ""
        run = ["sh", "-c", _SOCKETS, rsyslogd(), str(path), str(here / "pid"), ports, none]
        try:
            done = run_as_daemon(["unshare", "-rn", *run], _SOCKETS_S, own_environment())
        except JobFailed:
            return None
    if done.returncode != 0:
        return None
    return frozenset(line.strip() for line in done.stdout.splitlines() if line.strip())
