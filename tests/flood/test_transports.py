"""Every transport against a real receiver of its kind: none lost, none twice, none hidden."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.flood.receiver import Receiver
from tuner.errors import BadUsage, JobFailed
from tuner.flood.flood import Flood
from tuner.flood.messages import POOL, route_of
from tuner.flood.spec import Credentials, FloodSpec, Transport, address_of, loopback
from tuner.lab.entrances import make_certificates
from tuner.modules.input import TransportKind
from tuner.modules.secrets import Certificates, certificates_in
from tuner.profile.workload import MessageSizes

SEQ = re.compile(rb" seq=(\d{12}) ")
DEADLINE_S = 20.0


def spec(transport: Transport, connections: int = 3, count: int | None = None) -> FloodSpec:
    framing = transport.facts.framings[0]
    return FloodSpec(
        transport, connections, MessageSizes(244), 1, "0a1b2c3d", count, framing=framing
    )


def flooded(
    transport: Transport, count: int, connections: int = 3, beside: tuple[Transport, ...] = ()
) -> int:
    """Send that many; returns how many the flood says that it sent."""
    with Flood(replace(spec(transport, connections, count), beside=beside)) as flood:
        flood.steer(count, None)
        flood.wait_until_idle(DEADLINE_S)
        done = flood.finish()
    assert done.error is None
    assert not done.truncated
    return done.sent


def numbers(data: bytes) -> list[int]:
    return sorted(int(number) for number in SEQ.findall(data))


def wait(arrived: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + DEADLINE_S
    while not arrived() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return arrived()


class Server:
    """A stream server on loopback that serves each connection in a thread of its own."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.target = loopback(self._listener.getsockname()[1])
        self._serve = serve
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._answer, args=(connection,)))
            self._threads[-1].start()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(DEADLINE_S)
        with connection:
            try:
                self._serve(connection)
            except OSError:
                return


@contextmanager
def serving(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    server = Server(serve)
    try:
        yield server.target
    finally:
        server.close()


class Datagrams:
    """A datagram socket that keeps what arrives, `pause_s` after each thousand."""

    def __init__(self, bound: socket.socket, pause_s: float = 0.0) -> None:
        self._socket = bound
        self._pause_s = pause_s
        self._over = threading.Event()
        self.kept: list[bytes] = []
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._socket.close()

    def _keep(self) -> None:
        self._socket.settimeout(0.1)
        while not self._over.is_set():
            try:
                self.kept.append(self._socket.recv(65536))
            except TimeoutError:
                continue
            if self._pause_s and len(self.kept) % 1000 == 0:
                time.sleep(self._pause_s)


@contextmanager
def udp(pause_s: float = 0.0) -> Iterator[tuple[str, Datagrams]]:
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("127.0.0.1", 0))
    receiver = Datagrams(bound, pause_s)
    try:
        yield loopback(bound.getsockname()[1]), receiver
    finally:
        receiver.close()


def test_connections_go_to_each_target_in_turn() -> None:
    with Receiver() as first, Receiver() as second:
        targets = (loopback(first.port), loopback(second.port))
        assert flooded(Transport(targets), 20_000, connections=5) == 20_000
        assert (len(first.streams), len(second.streams)) == (3, 2)
        assert first.numbers()
        assert second.numbers()
        assert sorted(first.numbers() + second.numbers()) == list(range(20_000))


def test_each_datagram_over_udp_is_one_message_and_a_slow_receiver_loses_none() -> None:
    with udp(pause_s=0.02) as (target, receiver):
        assert flooded(Transport((target,), "udp"), 20_000) == 20_000
        assert wait(lambda: len(receiver.kept) == 20_000)
    assert all(len(SEQ.findall(one)) == 1 for one in receiver.kept)
    assert not any(one.endswith(b"\n") for one in receiver.kept)
    assert numbers(b"".join(receiver.kept)) == list(range(20_000))


def test_datagrams_that_the_kernel_drops_count_as_sent() -> None:
    """A buffer below what the flood keeps to: it cannot know, and does not hide it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.bind(("127.0.0.1", 0))
        assert flooded(Transport((loopback(deaf.getsockname()[1]),), "udp"), 1000) == 1000
        deaf.setblocking(False)
        arrived = []
        with suppress(BlockingIOError):
            while True:
                arrived.append(deaf.recv(65536))
    assert 0 < len(arrived) < 1000


def test_a_udp_receiver_that_takes_nothing_blocks_the_flood() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        target = loopback(deaf.getsockname()[1])
        with Flood(spec(Transport((target,), "udp"))) as flood:
            flood.steer(10**9, None)
            time.sleep(0.5)
            progress = flood.progress()
            finished = flood.finish()
    assert 0 < progress.sent < 1000
    assert progress.blocked_seconds > 0.1
    assert finished.truncated


def test_nobody_behind_a_udp_port_is_said_in_words() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        target = loopback(gone.getsockname()[1])
    with Flood(spec(Transport((target,), "udp"))) as flood:
        flood.steer(1000, None)
        assert "connection refused" in (flood.wait_until_idle(60).error or "")


def test_a_unix_socket_takes_every_message_however_slowly_it_reads(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    bound.bind(path)
    receiver = Datagrams(bound, pause_s=0.02)
    try:
        assert flooded(Transport((path,), "unix"), 20_000) == 20_000
        assert wait(lambda: len(receiver.kept) == 20_000)
    finally:
        receiver.close()
    assert numbers(b"".join(receiver.kept)) == list(range(20_000))


def test_a_socket_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="could not be opened: no such file"):
        Flood(spec(Transport((str(tmp_path / "s"),), "unix"))).__enter__()


def test_files_get_whole_lines_after_what_they_had(tmp_path: Path) -> None:
    paths = (tmp_path / "1.log", tmp_path / "2.log")
    paths[0].write_bytes(b"before\n")
    assert flooded(Transport(tuple(map(str, paths)), "file"), 20_000) == 20_000
    texts = [path.read_bytes() for path in paths]
    assert texts[0].startswith(b"before\n")
    assert all(text.endswith(b"\n") for text in texts)
    lines = b"".join(texts).splitlines()[1:]
    assert len(lines) == 20_000
    assert numbers(b"\n".join(lines)) == list(range(20_000))


def test_a_file_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="could not be opened: is a directory"):
        Flood(spec(Transport((str(tmp_path),), "file"))).__enter__()


def test_a_link_is_no_file_to_write_to(tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.touch()
    link.symlink_to(precious)
    with pytest.raises(JobFailed, match="could not be opened: too many levels of symbolic links"):
        Flood(spec(Transport((str(link),), "file"))).__enter__()
    assert not precious.stat().st_size


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    made = certificates_in(str(tmp_path_factory.mktemp("certificates") / "tls"))
    make_certificates(made)
    return made


def secured(certificates: Certificates, kept: list[bytes]) -> Callable[[socket.socket], None]:
    """Takes those only who show a certificate of the authority, and keeps what they send."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.collector, certificates.collector_key)
    context.load_verify_locations(certificates.authority)
    context.verify_mode = ssl.CERT_REQUIRED

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as stream:
            data = bytearray()
            while chunk := stream.recv(65536):
                data += chunk
            kept.append(bytes(data))

    return serve


def test_over_tls_every_message_arrives_encrypted(certificates: Certificates) -> None:
    ours = Credentials(certificates.authority, certificates.sender, certificates.sender_key)
    kept: list[bytes] = []
    with serving(secured(certificates, kept)) as target:
        assert flooded(Transport((target,), "tls", ours), 20_000) == 20_000
    assert len(kept) == 3
    assert all(stream.endswith(b"\n") for stream in kept)
    assert numbers(b"".join(kept)) == list(range(20_000))


def test_a_receiver_of_another_authority_is_not_trusted(
    certificates: Certificates, tmp_path: Path
) -> None:
    other = certificates_in(str(tmp_path / "other"))
    make_certificates(other)
    theirs = Credentials(other.authority, other.sender, other.sender_key)
    with (
        serving(secured(certificates, [])) as target,
        pytest.raises(JobFailed, match=r"could not be opened: .*certificate"),
    ):
        Flood(spec(Transport((target,), "tls", theirs))).__enter__()


def relp(
    kept: list[bytes], *, refuses: bool = False, takes: int | None = None
) -> Callable[[socket.socket], None]:
    """A RELP receiver: keeps messages and acknowledges them, the first `takes` if that is given."""

    def serve(connection: socket.socket) -> None:
        with connection.makefile("rb") as reader:
            expected = 1
            while header := _words(reader):
                number, command, length = int(header[0]), header[1], int(header[2])
                assert number == expected
                expected += 1
                data = reader.read(length)
                if length:
                    assert reader.read(1) == b"\n"
                if command == b"close":
                    connection.sendall(b"%d rsp 0\n0 serverclose 0\n" % number)
                    return
                if command == b"syslog":
                    kept.append(data)
                bad = refuses and command == b"syslog"
                said = b"500 no room\nreally" if bad else b"200 OK"
                if takes is None or len(kept) <= takes:
                    connection.sendall(b"%d rsp %d %b\n" % (number, len(said), said))

    return serve


def _words(reader: BinaryIO) -> list[bytes]:
    """TXNR, COMMAND and DATALEN, which ends with a space or, where no data follows, with LF."""
    words, word = [], b""
    while byte := reader.read(1):
        if byte in b" \n":
            words.append(word)
            word = b""
            if len(words) == 3:
                return words
        else:
            word += byte
    return []


def test_over_relp_every_message_is_acknowledged_before_it_counts() -> None:
    kept: list[bytes] = []
    with serving(relp(kept)) as target:
        assert flooded(Transport((target,), "relp"), 5000) == 5000
    assert numbers(b" ".join(kept)) == list(range(5000))
    assert not any(message.endswith(b"\n") for message in kept)


def test_over_relp_what_is_not_acknowledged_was_not_sent() -> None:
    kept: list[bytes] = []
    with (
        serving(relp(kept, takes=100)) as target,
        Flood(spec(Transport((target,), "relp"), 1, 400)) as flood,
    ):
        flood.steer(400, None)
        assert wait(lambda: len(kept) == 400)
        assert flood.wait_until_idle(0.3).sent == 100
        finished = flood.finish()
    assert finished.sent == 100
    assert finished.truncated


def test_over_relp_a_refusal_is_said_in_words() -> None:
    with (
        serving(relp([], refuses=True)) as target,
        Flood(spec(Transport((target,), "relp"))) as flood,
    ):
        flood.steer(1000, None)
        assert "the receiver answered '500 no room'" in (flood.wait_until_idle(60).error or "")


def test_a_receiver_that_speaks_something_else_is_no_relp_receiver() -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"220 mail.example.org ESMTP\r\n" * 5)

    with (
        serving(greet) as target,
        pytest.raises(JobFailed, match="does not speak RELP"),
    ):
        Flood(spec(Transport((target,), "relp"))).__enter__()


def test_relp_and_tls_go_together(certificates: Certificates) -> None:
    ours = Credentials(certificates.authority, certificates.sender, certificates.sender_key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.collector, certificates.collector_key)
    kept: list[bytes] = []
    plain = relp(kept)

    def serve(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as stream:
            plain(stream)

    with serving(serve) as target:
        assert flooded(Transport((target,), "relp", ours), 3000) == 3000
    assert Counter(numbers(b" ".join(kept))) == Counter(range(3000))


@pytest.mark.parametrize(
    ("targets", "kind", "credentials", "said"),
    [
        ((), "tcp", None, "at least 1 target"),
        (("/run/s",), "udp", None, "/run/s is not HOST:PORT"),
        (("127.0.0.1",), "tcp", None, "127.0.0.1 is not HOST:PORT"),
        (("127.0.0.1:0",), "tcp", None, "is not HOST:PORT"),
        (("::1:514",), "tcp", None, "is not HOST:PORT"),
        (("127.0.0.1:514",), "unix", None, "is not an absolute path: unix needs one"),
        (("app.log",), "file", None, "is not an absolute path: file needs one"),
        (("/" + "x" * 107,), "unix", None, "too long for a socket"),
        (("h:1",), "udp", Credentials("/ca"), "udp is not encrypted"),
        (("h:1",), "tls", Credentials("/ca", "/c"), "go together"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    targets: tuple[str, ...], kind: TransportKind, credentials: Credentials | None, said: str
) -> None:
    with pytest.raises(BadUsage, match=said):
        Transport(targets, kind, credentials)


def test_addresses_of_both_families_are_understood() -> None:
    assert address_of("127.0.0.1:514") == ("127.0.0.1", 514)
    assert address_of("[::1]:514") == ("::1", 514)


def test_a_framing_that_the_transport_does_not_have_is_refused() -> None:
    with pytest.raises(BadUsage, match="octet-counted does not go with udp, which has none"):
        FloodSpec(
            Transport(("h:1",), "udp"), 1, MessageSizes(244), 1, "0a1b2c3d", framing="octet-counted"
        )


def test_several_transports_take_turns_and_each_gets_its_own_messages() -> None:
    with Receiver() as stream, udp() as (target, datagrams):
        ways = (Transport((loopback(stream.port),)), Transport((target,), "udp"))
        # One connection is too few: each has its own.
        assert flooded(ways[0], 20_000, 1, ways[1:]) == 20_000
        by_stream = [number for number in range(20_000) if route_of(number % POOL, 2) == 0]
        by_udp = sorted(set(range(20_000)) - set(by_stream))
        assert wait(lambda: len(datagrams.kept) == len(by_udp))
        assert stream.numbers() == by_stream
        assert numbers(b"".join(datagrams.kept)) == by_udp


def test_of_several_transports_one_that_takes_nothing_holds_back_the_others() -> None:
    """Shares are equal: what can be carried is that of the slowest."""
    with Receiver() as first, Receiver(reads=False) as deaf:
        ways = tuple(Transport((loopback(one.port),)) for one in (first, deaf))
        with Flood(replace(spec(ways[0]), beside=ways[1:])) as flood:
            flood.steer(10**9, None)
            time.sleep(0.5)
            progress = flood.progress()
            assert 0 < progress.sent < 1_000_000
            assert progress.blocked_seconds > 0.1


def test_messages_come_from_the_address_that_is_asked_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        target, heard = loopback(server.getsockname()[1]), []

        def hear() -> None:
            taken, (address, _) = server.accept()
            with taken:
                heard.append((address, taken.makefile("rb").read().count(b"\n")))

        listening = threading.Thread(target=hear)
        listening.start()
        assert flooded(Transport((target,), source="127.0.0.2"), 100, 1) == 100
        listening.join(DEADLINE_S)
    assert heard == [("127.0.0.2", 100)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        flooded(Transport((loopback(bound.getsockname()[1]),), "udp", source="127.0.0.2"), 1, 1)
        assert bound.recvfrom(65536)[1][0] == "127.0.0.2"
