"""Where rsyslogd takes events from: whether it is free, and whether rsyslogd is there already."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tuner.errors import JobFailed
from tuner.host.process import give_to_daemons
from tuner.lab.certificates import make_certificates
from tuner.lab.ports import is_bound, is_listening, require_free
from tuner.profile.bind_inputs import flooded
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of


class Entrance(Protocol):
    """One place that an rsyslogd of ours takes events from; as text, what it does there."""

    def require_free(self) -> None:
        """Raise JobFailed when somebody else has it."""

    def is_open(self, pid: int, /) -> bool:
        """Whether the rsyslogd with this process id takes events there."""


@dataclass(frozen=True)
class TcpPort:
    """A TCP port of this machine."""

    port: int

    def require_free(self) -> None:
        """Raise JobFailed when somebody listens there already."""
        require_free(self.port)

    def is_open(self, _pid: int, /) -> bool:
        """Whether anybody listens."""
        return is_listening(self.port)

    def __str__(self) -> str:
        return f"listen on port {self.port}"


@dataclass(frozen=True)
class UdpPort:
    """A UDP port of this machine."""

    port: int

    def require_free(self) -> None:
        """Raise JobFailed when a socket is bound to it already."""
        if is_bound(self.port):
            raise JobFailed(f"UDP port {self.port} is in use by another process")

    def is_open(self, _pid: int, /) -> bool:
        """Whether a socket is bound to it."""
        return is_bound(self.port)

    def __str__(self) -> str:
        return f"take datagrams on port {self.port}"


@dataclass(frozen=True)
class UnixSocket:
    """A datagram socket in the file system."""

    path: str

    def require_free(self) -> None:
        """Raise JobFailed when there is anything already."""
        if Path(self.path).exists():
            raise JobFailed(f"{self.path} is there already")

    def is_open(self, _pid: int, /) -> bool:
        """Whether it is there."""
        return Path(self.path).is_socket()

    def __str__(self) -> str:
        return f"make the socket {self.path}"


@dataclass(frozen=True)
class ReadFile:
    """A file that is there, and read from its beginning."""

    path: str

    def require_free(self) -> None:
        """Anybody may read a file."""

    def is_open(self, pid: int, /) -> bool:
        """Whether rsyslogd has opened it."""
        with suppress(OSError):
            opened = (one.readlink() for one in Path(f"/proc/{pid}/fd").iterdir())
            return Path(self.path) in opened
        return False

    def __str__(self) -> str:
        return f"read {self.path}"


def entrances(bound: Profile) -> tuple[Entrance, ...]:
    """Where the flood of a bound profile enters."""
    source = flooded(bound)
    paths = source.paths(bound.workload.connections)
    match source.transport:
        case "file":
            return tuple(map(ReadFile, paths))
        case "unix":
            return tuple(map(UnixSocket, paths))
        case "udp":
            return tuple(map(UdpPort, ports_of(bound, source)))
        case _:
            return tuple(map(TcpPort, ports_of(bound, source)))


def furnish(bound: Profile) -> None:
    """Make what the flooded input needs on disk, before rsyslogd starts: certificates, and empty
    files to be read."""
    source = flooded(bound)
    if source.certificates is not None:
        make_certificates(source.certificates)
    if source.transport == "file":
        for name in source.paths(bound.workload.connections):
            path = Path(name)
            path.touch(mode=0o644, exist_ok=False)
            give_to_daemons(path)
