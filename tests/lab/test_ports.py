"""Free ports, several in a row where a profile needs them."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tuner.errors import JobFailed
from tuner.lab.entrances import (
    ReadFile,
    TcpPort,
    UdpPort,
    UnixSocket,
    are_free,
    free_port,
    free_ports,
    is_bound,
    is_listening,
)


def test_consecutive_ports_are_free_over_tcp_and_udp() -> None:
    first = free_ports(8)
    opened = []
    for port in range(first, first + 8):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            opened.append(socket.socket(socket.AF_INET, kind))
            opened[-1].bind(("127.0.0.1", port))
    for one in opened:
        one.close()


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_one_port_that_is_taken_spoils_the_row(kind: socket.SocketKind) -> None:
    first = free_ports(3)
    assert are_free(first, 3)
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", first + 2))
        assert not are_free(first, 3)
        assert are_free(first, 2)
    assert not are_free(65_535, 2)


@pytest.mark.parametrize(
    ("ephemeral", "allowed"),
    [
        ("30000 60999", {*range(20_000, 30_000), *range(61_000, 65_536)}),
        ("1024 60999", {*range(61_000, 65_536)}),
        ("32768 65535", {*range(20_000, 32_768)}),
        ("1024 65535", {*range(20_000, 65_536)}),
    ],
)
def test_no_port_is_one_that_an_outgoing_connection_may_be_given(
    ephemeral: str, allowed: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine listens only seconds after its port was chosen, and again after each restart."""
    written = tmp_path / "ip_local_port_range"
    written.write_text(ephemeral)
    monkeypatch.setattr("tuner.lab.entrances._EPHEMERAL", written)
    for _ in range(50):
        first = free_ports(4)
        assert set(range(first, first + 4)) <= allowed


def test_more_ports_than_there_are_is_said_in_words() -> None:
    with pytest.raises(JobFailed, match=r"no 70000 consecutive ports of 127\.0\.0\.1 are free"):
        free_ports(70_000)


def test_tcp_and_udp_are_told_apart() -> None:
    port = free_port()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", port))
        assert is_bound(port)
        assert not is_listening(port)
        TcpPort(port).require_free()
        with pytest.raises(JobFailed, match=f"UDP port {port} is in use"):
            UdpPort(port).require_free()
    assert not is_bound(port)
    with socket.create_server(("127.0.0.1", port)):
        assert is_listening(port)
        assert not is_bound(port)
        with pytest.raises(JobFailed, match=f"port {port} is in use by"):
            TcpPort(port).require_free()


def test_a_socket_that_is_there_already_is_not_taken_for_ours(tmp_path: Path) -> None:
    path = f"{tmp_path}/s"
    assert not UnixSocket(path).is_open(1)
    UnixSocket(path).require_free()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(path)
        assert UnixSocket(path).is_open(1)
        with pytest.raises(JobFailed, match="exists already"):
            UnixSocket(path).require_free()


def test_a_socket_whose_path_is_too_long_is_said() -> None:
    longest = "/" + "s" * 106
    UnixSocket(longest).require_free()
    with pytest.raises(JobFailed, match=r"has 108 bytes, .* at most 107: start this in a folder"):
        UnixSocket(longest + "s").require_free()


def test_a_file_is_read_as_far_as_it_was_read_however_often_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("hello\n", encoding="utf-8")
    read = ReadFile(str(path))
    assert read.position(os.getpid()) is None
    with path.open("rb", buffering=0), path.open("rb", buffering=0) as second:
        second.read()
        assert read.position(os.getpid()) == 6
    with path.open("rb", buffering=0) as first, path.open("rb", buffering=0):
        first.read()
        assert read.position(os.getpid()) == 6
