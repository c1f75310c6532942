"""Where rsyslogd takes events from: ports of this machine, free or not, sockets and files; and what
it needs for that on disk."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import JobFailed
from tuner.host.process import run
from tuner.host.programs import openssl
from tuner.host.usage import listener_on, position_in, sockets_at
from tuner.lab.scratch import LONGEST_SOCKET
from tuner.modules.input import LOOPBACK, TRANSPORTS, Input
from tuner.modules.secrets import COLLECTOR_NAME, SENDER_NAME, Certificates
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.reading import packaged

_LISTEN = "0A"
_ATTEMPTS = 100
# Below are the ports that well-known programs listen on.
_LOWEST, _HIGHEST = 20_000, 65_535
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A loopback port nobody uses at this moment, over TCP or UDP."""
    return free_ports(1)


def free_ports(count: int) -> int:
    """The first of `count` consecutive ports of loopback that nobody uses at this moment, over TCP
    or UDP.

    Raises JobFailed when none are found.
    """
    firsts = _lasting(count)
    for _ in range(_ATTEMPTS if firsts else 0):
        first = secrets.choice(firsts)
        if are_free(first, count):
            return first
    raise JobFailed(f"no {count} consecutive ports of {LOOPBACK} are free")


def has_address(address: str) -> bool:
    """Whether messages can be sent from that address, of IPv4, on this machine."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        tried.bind((address, 0))
        return True
    return False


def is_listening(port: int) -> bool:
    """Whether anybody listens on the port, from /proc/net/tcp (proc(5)); costs no connection."""
    return any(row[3] == _LISTEN for row in sockets_at("tcp", port))


def is_bound(port: int) -> bool:
    """Whether a UDP socket is bound to the port, from /proc/net/udp."""
    return bool(sockets_at("udp", port))


def are_free(first: int, count: int) -> bool:
    """Whether nobody uses any of `count` consecutive ports of loopback, over TCP or UDP."""
    if first + count - 1 > _HIGHEST:
        return False
    try:
        with ExitStack() as opened:
            for port in range(first, first + count):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    probe = opened.enter_context(socket.socket(socket.AF_INET, kind))
                    probe.bind((LOOPBACK, port))
    except OSError:
        return False
    return True


def _lasting(count: int) -> Sequence[int]:
    """Where `count` consecutive ports begin that the kernel gives to no outgoing connection: such
    a one could take a port in the seconds until an engine listens there (ip(7),
    ip_local_port_range).  Every port, where the kernel gives them all."""
    low, high = map(int, _EPHEMERAL.read_text(encoding="ascii").split())
    last = _HIGHEST - count + 1
    below = range(_LOWEST, min(low, _HIGHEST + 1) - count + 1)
    above = range(max(high + 1, _LOWEST), last + 1)
    return (*below, *above) or range(_LOWEST, last + 1)


_SEND_S = 20.0
# A receiver that others slow down keeps up with this.
_PAUSE_S = 0.002


@dataclass(frozen=True)
class TcpPort:
    """A TCP port of this machine."""

    port: int

    def require_free(self) -> None:
        """Raise JobFailed naming the process when somebody listens there already."""
        if is_listening(self.port):
            user = listener_on(self.port) or "an unknown process"
            raise JobFailed(f"port {self.port} is in use by {user}")

    def is_open(self, _pid: int, /) -> bool:
        """Whether anybody listens."""
        return is_listening(self.port)

    def send(self, messages: Sequence[bytes], sender: str) -> None:
        """Send each message once, from an address of this machine: a line each, with its length
        where it has several, until the receiver has read them all.  Raises OSError."""
        framed = (
            b"%d %b" % (len(text), text) if b"\n" in text else text + b"\n" for text in messages
        )
        with socket.create_connection((LOOPBACK, self.port), _SEND_S, (sender, 0)) as connection:
            connection.sendall(b"".join(framed))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass

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

    def send(self, messages: Sequence[bytes], sender: str) -> None:
        """Send each message once, from an address of this machine, slowly: datagrams that nobody
        reads are lost.  Raises OSError."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind((sender, 0))
            for message in messages:
                datagrams.sendto(message, (LOOPBACK, self.port))
                time.sleep(_PAUSE_S)

    def __str__(self) -> str:
        return f"take datagrams on port {self.port}"


@dataclass(frozen=True)
class UnixSocket:
    """A datagram socket in the file system."""

    path: str

    def require_free(self) -> None:
        """Raise JobFailed when there is anything already, or no socket can be."""
        if (length := len(os.fsencode(self.path))) > LONGEST_SOCKET:
            raise JobFailed(
                f"{self.path} has {length} bytes, and the path of a socket at most "
                f"{LONGEST_SOCKET}: start this in a folder with a shorter path"
            )
        if Path(self.path).exists():
            raise JobFailed(f"{self.path} exists already: remove it, or end what uses it")

    def is_open(self, _pid: int, /) -> bool:
        """Whether it is there."""
        return Path(self.path).is_socket()

    def send(self, messages: Sequence[bytes], _sender: str) -> None:
        """Send each message once; a full socket makes the sender wait.  Raises OSError."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagrams:
            datagrams.settimeout(_SEND_S)
            datagrams.connect(self.path)
            for message in messages:
                datagrams.send(message)

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
        return self.position(pid) is not None

    def position(self, pid: int, /) -> int | None:
        """How many bytes of it rsyslogd has read; None where it has not opened it."""
        return position_in(self.path, pid)

    def send(self, messages: Sequence[bytes], _sender: str) -> None:
        """Write each message once, as a line.  A link is refused: rsyslogd's user may have put it
        there.  Raises OSError."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
        with os.fdopen(os.open(self.path, flags), "ab") as file:
            file.write(b"".join(message + b"\n" for message in messages))

    def __str__(self) -> str:
        return f"read {self.path}"


EventSource = TcpPort | UdpPort | UnixSocket | ReadFile
"""One place that an rsyslogd of ours takes events from; as text, what it does there."""


def entrances(bound: Profile) -> tuple[EventSource, ...]:
    """Where the flood of a bound profile enters."""
    return tuple(entrance for source in bound.flooded for entrance in _entrances(bound, source))


def _entrances(bound: Profile, source: Input) -> tuple[EventSource, ...]:
    paths = source.paths(bound.workload.connections)
    match TRANSPORTS[source.transport or "tcp"].place:
        case "file":
            return tuple(map(ReadFile, paths))
        case "socket":
            return tuple(map(UnixSocket, paths))
        case "udp port":
            return tuple(map(UdpPort, ports_of(bound, source)))
        case "tcp port":
            return tuple(map(TcpPort, ports_of(bound, source)))


def furnish(bound: Profile) -> None:
    """Make what the flooded inputs need on disk, before rsyslogd starts: certificates, and empty
    files to be read."""
    sources = bound.flooded
    for files in {source.certificates for source in sources if source.certificates is not None}:
        make_certificates(files)
    for source in sources:
        for name in source.paths(bound.workload.connections) if source.transport == "file" else ():
            Path(name).touch(mode=0o644, exist_ok=False)


_DAYS = 30
_TIMEOUT_S = 30


def make_certificates(files: Certificates) -> None:
    """Write the certificate `files`, which serve 30 days, with openssl(1); raises JobFailed."""
    folder = Path(files.folder)
    folder.mkdir(mode=0o700)
    text = packaged("lab/openssl.cnf").format(collector=COLLECTOR_NAME, sender=SENDER_NAME)
    (folder / "openssl.cnf").write_text(text, encoding="ascii")
    _make(folder, "authority", files.authority, files.authority_key)
    signed = ("-CA", files.authority, "-CAkey", files.authority_key)
    _make(folder, COLLECTOR_NAME, files.collector, files.collector_key, *signed)
    _make(folder, SENDER_NAME, files.sender, files.sender_key, *signed)


def _make(folder: Path, name: str, certificate: str, key: str, *signed: str) -> None:
    """A certificate for `name` with the extensions of that section, and its key."""
    arguments = [
        openssl(), "req", "-x509", "-config", str(folder / "openssl.cnf"), "-extensions", name,
        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-sha256",
        "-days", str(_DAYS), "-subj", f"/CN={name}", "-keyout", key, "-out", certificate, *signed,
    ]  # fmt: skip
    done = run(arguments, _TIMEOUT_S)
    if done.returncode != 0:
        lines = done.stderr.splitlines() or ["it gave no reason"]
        raise JobFailed(f"openssl could not make the certificate {certificate}: {lines[-1]}")
