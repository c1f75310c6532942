"""The receiver of what a base forwards: it counts what comes over TCP, UDP and RELP."""

from __future__ import annotations

import socket
from itertools import pairwise

import pytest

from tuner.host.process import wait_until
from tuner.lab.entrances import free_ports
from tuner.lab.receiver import RECEIVER_PORTS, Receiver, RelpReader, TcpReader

LINES = b"<13>a line\n<13>another\n"
FRAMES = b"7 <13>one12 <13>two\nmore4 <1>x"
RELP = b"1 open 4 abcd\n2 syslog 6 <13>ab\n3 syslog 3 a\nb\n4 close 0\n"


@pytest.mark.parametrize("cut", range(1, 20))
@pytest.mark.parametrize(("data", "messages"), [(LINES, 2), (FRAMES, 3)], ids=["lines", "frames"])
def test_messages_over_tcp_are_counted_wherever_they_are_cut(
    data: bytes, messages: int, cut: int
) -> None:
    reader = TcpReader()
    # How messages end is seen in the first bytes.
    edges = [0, *range(8, len(data), cut), len(data)]
    assert sum(reader.feed(data[a:b])[0] for a, b in pairwise(edges)) == messages


@pytest.mark.parametrize("cut", range(1, 20))
def test_every_command_of_relp_is_answered(cut: int) -> None:
    reader = RelpReader()
    parts = [reader.feed(data) for data in (RELP[:cut], RELP[cut:])]
    assert sum(messages for messages, _ in parts) == 2
    answers = b"".join(answer for _, answer in parts)
    assert answers.endswith(b"2 rsp 6 200 OK\n3 rsp 6 200 OK\n4 rsp 0\n")


def test_what_is_no_relp_ends_the_session() -> None:
    with pytest.raises(ValueError, match="no RELP"):
        RelpReader().feed(
            b"GET / HTTP/1.1\r\nHost: example.com\r\nAccept: text/plain, anything\r\n"
        )


def test_it_counts_what_comes_by_each_way() -> None:
    port = free_ports(RECEIVER_PORTS)
    with Receiver(port) as receiver:
        with socket.create_connection(("127.0.0.1", port)) as stream:
            stream.sendall(LINES)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.sendto(b"<13>one", ("127.0.0.1", port))
        with socket.create_connection(("127.0.0.1", port + 1)) as session:
            session.sendall(RELP)
            wait_until(lambda: receiver.received().messages == 5, 60)
        received = receiver.received()
        assert receiver.cpu_s >= 0
    assert (received.tcp, received.udp, received.relp) == (2, 1, 2)
    assert received.bytes == len(LINES) + 7 + len(RELP)
