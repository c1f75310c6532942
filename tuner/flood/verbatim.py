"""Sending given messages as they are: a few for a test, no flood."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from tuner.modules.input import LOOPBACK

_TIMEOUT_S = 20.0
# A receiver that others slow down keeps up with this.
_PAUSE_S = 0.002


def send(
    kind: Literal["tcp", "udp"],
    port: int,
    messages: Sequence[bytes],
    sender: str,
) -> None:
    """Each message once, to a loopback port, from an address of this machine: over TCP a line
    each, with its length where it has several, until the receiver has read them all, over UDP
    slowly, as datagrams that nobody reads are lost."""
    if kind == "udp":
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind((sender, 0))
            for message in messages:
                datagrams.sendto(message, (LOOPBACK, port))
                time.sleep(_PAUSE_S)
        return
    with socket.create_connection((LOOPBACK, port), _TIMEOUT_S, (sender, 0)) as connection:
        connection.sendall(b"".join(map(_framed, messages)))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass


def send_local(path: str, messages: Sequence[bytes]) -> None:
    """Each message once, to a socket of this machine, which makes the sender wait."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.settimeout(_TIMEOUT_S)
        sender.connect(path)
        for message in messages:
            sender.send(message)


def has_address(address: str) -> bool:
    """Whether messages can be sent from that address, of IPv4, on this machine."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        tried.bind((address, 0))
        return True
    return False


def _framed(message: bytes) -> bytes:
    return b"%d %b" % (len(message), message) if b"\n" in message else message + b"\n"
