"""Opening the connections of a flood."""

from __future__ import annotations

from tuner.flood.connection import Connection, StreamConnection
from tuner.flood.datagrams import UdpConnection, UnixConnection
from tuner.flood.files import FileConnection
from tuner.flood.relp import RelpConnection
from tuner.flood.stream import open_stream
from tuner.flood.transport import Credentials, Transport


def connect(transport: Transport, number: int) -> Connection:
    """Open the connection with this number, counted from 1, to its target; raises Broken."""
    target = transport.target_of(number)
    name = f"connection {number} to {target}"
    match transport.kind:
        case "tcp":
            return StreamConnection(open_stream(name, target, None))
        case "tls":
            credentials = transport.credentials or Credentials()
            return StreamConnection(open_stream(name, target, credentials))
        case "relp":
            return RelpConnection(open_stream(name, target, transport.credentials))
        case "udp":
            return UdpConnection(name, target)
        case "unix":
            return UnixConnection(name, target)
        case "file":
            return FileConnection(name, target)
