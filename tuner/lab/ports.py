"""Ports of this machine."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from tuner.errors import JobFailed
from tuner.host.usage import listener_on
from tuner.modules.input import LOOPBACK

_LISTEN = "0A"
_ATTEMPTS = 100
# Below are the ports that well-known programs listen on.
_LOWEST, _HIGHEST = 20_000, 65_535
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A loopback port nobody uses at this moment, over TCP or UDP."""
    return free_ports(1)


def free_ports(count: int, address: str = LOOPBACK) -> int:
    """The first of `count` consecutive ports of an address of this machine, by default loopback,
    that nobody uses at this moment, over TCP or UDP.

    Raises JobFailed when none are found.
    """
    firsts = _lasting(count)
    for _ in range(_ATTEMPTS if firsts else 0):
        first = secrets.choice(firsts)
        if are_free(first, count, address):
            return first
    raise JobFailed(f"no {count} consecutive ports of {address} are free")


def has_address(address: str) -> bool:
    """Whether messages can be sent from that address, of IPv4, on this machine."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        tried.bind((address, 0))
        return True
    return False


def is_listening(port: int) -> bool:
    """Whether anybody listens on the port, from /proc/net/tcp (proc(5)); costs no connection."""
    return any(state == _LISTEN for state in _states("tcp", port))


def is_bound(port: int) -> bool:
    """Whether a UDP socket is bound to the port, from /proc/net/udp."""
    return bool(_states("udp", port))


def require_free(port: int) -> None:
    """Raise JobFailed naming the process when somebody listens on `port` already."""
    if is_listening(port):
        raise JobFailed(f"port {port} is in use by {listener_on(port) or 'an unknown process'}")


def are_free(first: int, count: int, address: str = LOOPBACK) -> bool:
    """Whether nobody uses any of `count` consecutive ports of an address, over TCP or UDP."""
    if first + count - 1 > _HIGHEST:
        return False
    try:
        with ExitStack() as opened:
            for port in range(first, first + count):
                for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                    probe = opened.enter_context(socket.socket(socket.AF_INET, kind))
                    probe.bind((address, port))
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


def _states(protocol: str, port: int) -> list[str]:
    """The states of the sockets at a local port."""
    wanted = f":{port:04X}"
    states = []
    for table in (Path(f"/proc/net/{protocol}"), Path(f"/proc/net/{protocol}6")):
        lines = table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else []
        rows = (line.split() for line in lines)
        states += [row[3] for row in rows if row[1].endswith(wanted)]
    return states
