"""Inputs of every kind in a real rsyslogd: it takes them, and an event of each arrives."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.profile.examples import at_hand
from tests.shipped import release_at_hand
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.host.usage import thread_cpu
from tuner.lab.entrances import TcpPort, UdpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink
from tuner.measure.stages import is_of_input
from tuner.modules.imtcp import ImtcpInput
from tuner.render.artefacts import rsyslog_conf

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("inputs"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

HAS_TLS = shutil.which("rsyslogd") is not None and release_at_hand() >= 2106
needs_tls = pytest.mark.skipif(
    not HAS_TLS, reason="not possible: inputs of imtcp have TLS of their own since rsyslog 8.2106"
)
HEADER = "<13>Nov 21 06:30:00 sender app: "


@dataclass(frozen=True)
class Site:
    """A running rsyslogd with one input of each kind, and the sink behind it."""

    ports: dict[str, int]
    folder: Path
    sink: Sink

    def documents(self) -> list[dict[str, object]]:
        """Every document that the sink has."""
        lines = kept_bulks(EngineClient(self.sink.url)).decode("utf-8").splitlines()
        return [json.loads(line) for line in lines[1::2]]

    def find(self, text: str) -> dict[str, object]:
        """The one document with that text in its message, waited for."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            found = [one for one in self.documents() if text in str(one["message"])]
            if found:
                (document,) = found
                return document
            time.sleep(0.05)
        raise AssertionError(f"{text} did not arrive")


def make_certificates(folder: Path) -> None:
    """An authority, and certificates of a server and of a client that it signed."""
    for name, content in _certificates().items():
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o644)


@cache
def _certificates() -> dict[str, bytes]:
    """Their files, made once in a process: keys take their time."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)

        def openssl(*arguments: str) -> None:
            done = subprocess.run(
                ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr

        key = ("-newkey", "rsa:2048", "-nodes")
        # Python 3.13 takes no authority that does not say what its key is for.
        openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=test-ca",
                "-addext", "keyUsage=critical,keyCertSign",
                "-keyout", "ca.key", "-out", "ca.pem")  # fmt: skip
        for name in ("server", "client", "stranger"):
            openssl("req", *key, "-subj", f"/CN={name}.example.org",
                    "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
            (folder / "san").write_text(
                f"subjectAltName=DNS:{name}.example.org\nauthorityKeyIdentifier=keyid\n",
                encoding="utf-8",
            )
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                    "-CAcreateserial", "-days", "2", "-extfile", "san",
                    "-out", f"{name}.pem")  # fmt: skip
        return {file.name: file.read_bytes() for file in folder.iterdir()}


def sources(ports: dict[str, int], folder: Path) -> list[dict[str, object]]:
    """One input of each kind; imtcp with TLS that lets in one client only, where an input has TLS
    of its own."""
    one_client_only = {
        "streamDriver.name": "gtls",
        "streamDriver.mode": 1,
        "streamDriver.authMode": "x509/name",
        "permittedPeer": ["client.example.org"],
        "streamDriver.caFile": str(folder / "ca.pem"),
        "streamDriver.certFile": str(folder / "server.pem"),
        "streamDriver.keyFile": str(folder / "server.key"),
    }
    return [
        {"type": "imptcp", "port": ports["imptcp"]},
        {"type": "imudp", "port": ports["imudp"], "threads": 2, "batchSize": 64,
         "rcvbufSize": "1m", "parser": ["rsyslog.rfc3164"]},
        {"type": "imfile", "file": str(folder / "*.log"), "tag": "app:", "facility": "local3",
         "severity": "warning"},
        {"type": "imrelp", "port": ports["imrelp"], "maxDataSize": "16k",
         "oversizeMode": "truncate"},
        {"type": "imuxsock", "socket": str(folder / "app.sock"), "createPath": True},
        {"type": "imtcp", "port": ports["imtcp"], **(one_client_only if HAS_TLS else {})},
    ]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with scratch(tmp_path_factory.mktemp("inputs")) as below, Sink(keep=100) as sink:
        folder = subfolder(below, "rsyslogd")
        make_certificates(folder)
        ports = {kind: free_port() for kind in ("imptcp", "imudp", "imrelp", "imtcp")}
        profile = at_hand(
            {
                "inputs": sources(ports, folder),
                "global": {"workDirectory": str(folder)},
                "outputs[logs].servers": [sink.url],
            }
        )
        # Each module opens its ports in its own time.
        tcp = [TcpPort(ports[kind]) for kind in ("imptcp", "imrelp", "imtcp")]
        rsyslogd = Rsyslogd(rsyslog_conf(profile), folder, [*tcp, UdpPort(ports["imudp"])])
        try:
            yield Site(ports, folder, sink)
        finally:
            rsyslogd.stop()


def test_a_message_over_tcp_arrives(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.ports["imptcp"])) as sender:
        sender.sendall(f"{HEADER}over tcp\n".encode())
    assert site.find("over tcp")["host"] == {"name": "sender"}


def test_a_datagram_arrives_parsed_although_it_enters_through_its_own_ruleset(site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(f"{HEADER}over udp".encode(), ("127.0.0.1", site.ports["imudp"]))
    document = site.find("over udp")
    assert document["host"] == {"name": "sender"}
    assert document["process"] == {"name": "app"}


def test_what_only_the_other_parser_understands_stays_unparsed(site: Site) -> None:
    """The pinned parser is the only one: RFC 5424 through it is not taken apart."""
    message = "<13>1 2026-11-21T06:30:00Z sender app 17 ID - pinned {}"
    with socket.create_connection(("127.0.0.1", site.ports["imptcp"])) as tcp:
        tcp.sendall(message.format("over tcp\n").encode())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.sendto(message.format("over udp").encode(), ("127.0.0.1", site.ports["imudp"]))
    assert site.find("pinned over tcp")["message"] == "pinned over tcp"
    assert site.find("pinned over udp")["message"] != "pinned over udp"


def test_a_line_of_a_file_arrives_with_its_tag_and_severity(site: Site) -> None:
    (site.folder / "one.log").write_text("from a file\n", encoding="utf-8")
    document = site.find("from a file")
    assert document["process"] == {"name": "app"}
    assert '"local3"' in json.dumps(document)
    assert '"warning"' in json.dumps(document)


def test_a_datagram_through_a_unix_socket_arrives(site: Site) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(str(site.folder / "app.sock"))
        sender.send(b"<13>Nov 21 06:30:00 app: through a socket")
    assert site.find("through a socket")["process"] == {"name": "app"}


def test_a_message_over_relp_arrives(site: Site, tmp_path: Path) -> None:
    """A second rsyslogd sends it with rsyslog's own omrelp."""
    with scratch(tmp_path) as below:
        folder = subfolder(below, "sender")
        port = free_port()
        config = (
            'module(load="imptcp") module(load="omrelp")\n'
            f'input(type="imptcp" address="127.0.0.1" port="{port}")\n'
            f'action(type="omrelp" target="127.0.0.1" port="{site.ports["imrelp"]}")\n'
        )
        relay = Rsyslogd(config, folder, [TcpPort(port)])
        try:
            with socket.create_connection(("127.0.0.1", port)) as sender:
                sender.sendall(f"{HEADER}over relp\n".encode())
            assert site.find("over relp")["host"] == {"name": "sender"}
        finally:
            relay.stop()


def connect(site: Site, name: str) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(site.folder / "ca.pem"))
    context.load_cert_chain(site.folder / f"{name}.pem", site.folder / f"{name}.key")
    plain = socket.create_connection(("127.0.0.1", site.ports["imtcp"]), 5)
    return context.wrap_socket(plain, server_hostname="server.example.org")


@needs_tls
def test_a_message_over_tls_arrives(site: Site) -> None:
    with connect(site, "client") as sender:
        sender.sendall(f"{HEADER}over tls\n".encode())
    assert site.find("over tls")["host"] == {"name": "sender"}


@needs_tls
def test_neither_a_stranger_nor_plain_text_gets_through_tls(site: Site) -> None:
    def stranger() -> None:
        with connect(site, "stranger") as sender:
            sender.sendall(f"{HEADER}from a stranger\n".encode())

    def in_the_clear() -> None:
        with socket.create_connection(("127.0.0.1", site.ports["imtcp"])) as sender:
            sender.sendall(f"{HEADER}in the clear\n".encode())

    for attempt in (stranger, in_the_clear):
        try_it(attempt)
    with connect(site, "client") as sender:
        sender.sendall(f"{HEADER}after the others\n".encode())
    site.find("after the others")
    text = json.dumps(site.documents())
    assert "from a stranger" not in text
    assert "in the clear" not in text


def try_it(attempt: Callable[[], None]) -> None:
    """Run what may be cut off at any moment."""
    try:
        attempt()
    except OSError:
        return


def test_every_worker_of_imtcp_is_told_as_a_thread_of_an_input(tmp_path: Path) -> None:
    """What limits a trial is told by how busy these are."""
    port = free_port()
    config = (
        'module(load="imtcp")\n'
        f'input(type="imtcp" address="127.0.0.1" port="{port}" name="from-the-network")\n'
        f'action(type="omfile" file="{tmp_path}/out")\n'
    )
    with scratch(tmp_path) as below:
        rsyslogd = Rsyslogd(config, subfolder(below, "rsyslogd"), [TcpPort(port)])
        try:
            threads = thread_cpu(rsyslogd.pid)
        finally:
            rsyslogd.stop()
    inputs = sum(len(times) for name, times in threads.items() if is_of_input(name))
    assert inputs == 1 + ImtcpInput.threads_of(
        [ImtcpInput(type="imtcp", port=port)], release_at_hand()
    )
