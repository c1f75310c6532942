"""How messages travel, and where to."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import BadUsage
from tuner.modules.input import TRANSPORTS, TransportFacts, TransportKind

# sun_path of unix(7), its closing zero left out.
_LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True)
class Credentials:
    """What a sender trusts and shows, as paths of PEM files.

    Without `ca` the receiver's certificate is not checked; its name is compared in no case.
    """

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are given."""
        return tuple(path for path in (self.ca, self.certificate, self.key) if path is not None)


@dataclass(frozen=True)
class Transport:
    """How messages travel, and the places that take them: connections go to each in turn.

    A place is HOST:PORT; for `unix`, a datagram socket, and for `file` an absolute path.  `relp` is
    encrypted when it has credentials, `tls` always.  They come from the address `source`, where one
    is given.  Raises BadUsage for what does not fit.
    """

    targets: tuple[str, ...]
    kind: TransportKind = "tcp"
    credentials: Credentials | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if not self.targets:
            raise BadUsage("a flood needs at least 1 target")
        for target in self.targets:
            _require_place(self.kind, target)
        given = self.credentials
        if given is not None and not self.facts.may_encrypt:
            raise BadUsage(f"{self.kind} is not encrypted: certificates are for tls and relp")
        if given is not None and (given.certificate is None) != (given.key is None):
            raise BadUsage("a certificate and its key go together: give both, or neither")

    @property
    def facts(self) -> TransportFacts:
        """What there is to know of its kind."""
        return TRANSPORTS[self.kind]

    def target_of(self, number: int) -> str:
        """The target of a connection; connections are numbered from 1."""
        return self.targets[(number - 1) % len(self.targets)]

    def __str__(self) -> str:
        return ", ".join(self.targets)


def loopback(port: int) -> str:
    """The target for a port of this machine."""
    return f"127.0.0.1:{port}"


def address_of(target: str) -> tuple[str, int]:
    """The host and port of a target such as 127.0.0.1:514 or [::1]:514; raises BadUsage."""
    host, _, port = target.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    right = port.isascii() and port.isdigit() and 1 <= int(port) <= 65535
    if not host or not right or "/" in host or (":" in host and not bracketed):
        raise BadUsage(f"{target} is not HOST:PORT such as 127.0.0.1:514")
    return host, int(port)


def _require_place(kind: TransportKind, target: str) -> None:
    if not TRANSPORTS[kind].has_path:
        address_of(target)
    elif not target.startswith("/"):
        raise BadUsage(f"{target} is not an absolute path: {kind} needs one")
    elif kind == "unix" and len(target.encode()) > _LONGEST_SOCKET_PATH:
        raise BadUsage(f"{target} is too long for a socket: at most {_LONGEST_SOCKET_PATH} bytes")
