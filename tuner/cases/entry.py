"""Where messages of cases enter the rsyslogd of a lab, and how they are sent there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tuner.flood.verbatim import send, send_local
from tuner.host.process import wait_until
from tuner.lab.entrances import EventSource, ReadFile, TcpPort, UdpPort, UnixSocket
from tuner.lab.rsyslogd import Rsyslogd
from tuner.modules.input import TransportKind

ENTERED: Mapping[str, TransportKind] = {
    "imtcp": "tcp", "imptcp": "tcp", "imudp": "udp", "imfile": "file", "imuxsock": "unix",
}  # fmt: skip
"""The inputs that a lab can send to, and how."""
_PATIENCE_S = 60.0


@dataclass(frozen=True)
class Entry:
    """Where an input takes messages: its port, or the path of its file or socket."""

    transport: TransportKind
    port: int = 0
    path: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether other machines can send to it."""
        return self.port != 0

    @property
    def source(self) -> EventSource:
        """What must be there before messages are sent."""
        if self.is_remote:
            return (UdpPort if self.transport == "udp" else TcpPort)(self.port)
        return UnixSocket(self.path) if self.transport == "unix" else ReadFile(self.path)


@contextmanager
def opened(entries: Iterable[Entry]) -> Iterator[dict[str, BinaryIO]]:
    """The files to be read by their paths, open before the folder is given away."""
    with ExitStack() as stack:
        files: dict[str, BinaryIO] = {}
        for entry in entries:
            if entry.transport == "file" and entry.path not in files:
                path = Path(entry.path)
                path.parent.mkdir(parents=True, exist_ok=True)
                files[entry.path] = stack.enter_context(path.open("xb"))
        yield files


def enter(
    entry: Entry,
    files: Mapping[str, BinaryIO],
    messages: Sequence[bytes],
    running: Rsyslogd,
    sender: str,
) -> None:
    """Send each message once, by one of the open files or, where the entry is a port, from the
    address `sender` of this machine."""
    match entry.transport:
        case "unix":
            send_local(entry.path, messages)
        case "file":
            _append(files[entry.path], entry.path, messages, running)
        case "udp":
            send("udp", entry.port, messages, sender)
        case _:
            send("tcp", entry.port, messages, sender)


def _append(file: BinaryIO, path: str, messages: Sequence[bytes], running: Rsyslogd) -> None:
    """Append each message as a line, and wait until rsyslogd has read them all."""
    file.write(b"".join(message + b"\n" for message in messages))
    file.flush()
    read = ReadFile(path)
    wait_until(lambda: (read.position(running.pid) or 0) >= file.tell(), _PATIENCE_S)
