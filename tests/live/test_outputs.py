"""Files and other syslog servers as outputs of a real rsyslogd: every event is there, once."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.live.outputs import (
    Place,
    daemon,
    lines,
    place,
    receiving,
    wait,
)
from tests.live.test_inputs import make_certificates
from tests.shipped import release_at_hand
from tuner.engine.client import EngineClient
from tuner.engine.feed import kept_bulks
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import EventSource, TcpPort, UdpPort, free_port
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("outputs"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 2000
SENT = [
    b"<13>Nov 21 06:30:00 web1 app[77]: event %06d of many" % number for number in range(EVENTS)
]
TEXTS = [f" event {number:06d} of many" for number in range(EVENTS)]
QUEUE: dict[str, object] = {
    "type": "LinkedList", "size": 20000, "dequeueBatchSize": 200, "timeoutEnqueue": 86400000,
    "timeoutShutdown": 10000,
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def file_of(site: Place, **more: object) -> dict[str, object]:
    return {"name": "file", "type": "omfile", "file": f"{site.folder}/out", **more}


def texts(found: list[str]) -> list[str]:
    """What follows the tag in lines of RSYSLOG_FileFormat."""
    return [line.partition("app[77]:")[2] for line in found]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"asyncWriting": True, "flushInterval": 5},
        {"flushOnTXEnd": False, "ioBufferSize": "256k"},
        {"sync": True, "queue": QUEUE},
    ],
)
def test_a_file_has_every_event_in_its_order(site: Place, more: dict[str, object]) -> None:
    with site.running([file_of(site, **more)]):
        site.send(SENT)
    assert texts(lines(site.folder / "out")) == TEXTS


@pytest.mark.full
@pytest.mark.parametrize("more", [{}, {"veryRobustZip": True}, {"asyncWriting": True}])
def test_a_gzip_file_has_every_event(site: Place, more: dict[str, object]) -> None:
    with site.running([file_of(site, zipLevel=6, **more)]):
        site.send(SENT)
    raw = (site.folder / "out").read_bytes()
    assert raw[:2] == b"\x1f\x8b"
    assert len(raw) < 20 * EVENTS
    assert texts(gzip.decompress(raw).decode("utf-8").splitlines()) == TEXTS


@pytest.mark.full
@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
@pytest.mark.parametrize("more", [{}, {"veryRobustZip": True, "compression.zstd.workers": 2}])
def test_a_zstd_file_has_every_event(site: Place, more: dict[str, object]) -> None:
    if release_at_hand() < 2208:
        pytest.skip("not possible: omfile has compression.driver since rsyslog 8.2208")
    zstd = {"zipLevel": 3, "compression.driver": "zstd", **more}
    with site.running([file_of(site, **zstd)]):
        site.send(SENT)
    raw = (site.folder / "out").read_bytes()
    assert raw[:4] == b"\x28\xb5\x2f\xfd"
    done = subprocess.run(["zstd", "-dc"], input=raw, capture_output=True, check=True)
    assert texts(done.stdout.decode("utf-8").splitlines()) == TEXTS


@pytest.mark.full
@pytest.mark.parametrize(("robust", "readable"), [(True, True), (False, False)])
def test_what_is_appended_after_a_crash_is_readable_only_where_lint_says_so(
    site: Place, robust: bool, readable: bool
) -> None:
    output = file_of(site, zipLevel=3, veryRobustZip=robust)
    with site.running([output]) as running:
        site.send(SENT[:1000])
        wait(lambda: (site.folder / "out").exists() and running.usage().cpu_s > 0.01, 2)
        wait(lambda: False, 1)
        running.stop(0)
    with site.running([output]):
        site.send(SENT[1000:])
    done = subprocess.run(
        ["gzip", "-dc"], input=(site.folder / "out").read_bytes(), capture_output=True, check=False
    )
    found = texts(done.stdout.decode("utf-8", "replace").splitlines())
    assert (found == TEXTS) is readable


HOSTILE = [
    b'"quoted" \\ and \\n {"index":{}}', b"%msg% $x `id` '", b"caf\xc3\xa9", b"latin \xe9 \xff",
    b"a\x01b\tc", b"", b"}", b"x" * 3000,
]  # fmt: skip


def test_json_lines_are_the_documents_of_the_engine(site: Place) -> None:
    sent = [b"<13>Nov 21 06:30:00 web1 app[%d]: %b" % pair for pair in enumerate(HOSTILE)]
    file = file_of(site, document="ecs")
    with Sink(keep=100) as sink:
        client = EngineClient(sink.url)
        engine: dict[str, object] = {
            "name": "logs", "type": "omelasticsearch", "servers": [sink.url],
            "index": {"name": "syslog"}, "indexTimeout": 60000, "queue": QUEUE,
        }  # fmt: skip
        with site.running([engine, file]):
            site.send(sent)
            wait(lambda: kept_bulks(client).count(b"\n") >= 2 * len(sent))
        documents = [json.loads(line) for line in kept_bulks(client).splitlines()[1::2]]
        client.close()
    found = [json.loads(line) for line in lines(site.folder / "out")]
    assert len(found) == len(sent)
    assert sorted(found, key=json.dumps) == sorted(documents, key=json.dumps)


def test_json_lines_are_valid_without_any_engine(site: Place) -> None:
    sent = [b"<13>Nov 21 06:30:00 web1 app[%d]: %b" % pair for pair in enumerate(HOSTILE)]
    with site.running([file_of(site, document="logstash")]):
        site.send(sent)
    found = [json.loads(line)["message"] for line in lines(site.folder / "out")]
    assert found[0] == ' "quoted" \\ and \\n {"index":{}}'
    assert len(found) == len(sent)


HOSTS = {
    "web1": "web1",
    "../../etc/x": ".._.._etc_x",
    "..": "_.",
    ".": "_",
    "/etc/passwd": "_etc_passwd",
    "a/b": "a_b",
    "%msg%": "%msg%",
    "x" * 400: "x" * 160,
    "`id`": "`id`",
    'q"\\': 'q"\\',
}


@pytest.mark.parametrize("after", [".log", "/messages"])
def test_no_host_name_leaves_the_folder(site: Place, after: str) -> None:
    before = site.folder / "hosts"
    output: dict[str, object] = {
        "name": "hosts",
        "type": "omfile",
        "dynaFile": {"before": f"{before}/", "property": "hostname", "after": after},
    }
    sent = [
        b"<13>1 2026-11-21T06:30:00Z %b app 77 - - number %d" % (host.encode(), number)
        for number, host in enumerate(HOSTS)
    ]
    outside = {path for path in site.folder.parent.rglob("*") if before not in path.parents}
    with site.running([output]):
        site.send(sent)
    left = {path for path in site.folder.parent.rglob("*") if before not in path.parents}
    own = {"hosts", "rsyslog.conf", "rsyslogd.log", "rsyslogd.pid"}
    names = {path.name for path in left - outside}
    assert {name for name in names if not name.startswith("sender-")} <= own
    found = {
        str(path.relative_to(before)): lines(path) for path in before.rglob("*") if path.is_file()
    }
    assert set(found) == {name + after for name in HOSTS.values()}
    for number, name in enumerate(HOSTS.values()):
        (line,) = found[name + after]
        assert line.endswith(f" number {number}")


@pytest.mark.full
def test_files_of_many_hosts_are_all_complete(site: Place) -> None:
    """With fewer open files than there are hosts."""
    output: dict[str, object] = {
        "name": "hosts",
        "type": "omfile",
        "dynaFile": {"before": f"{site.folder}/hosts/", "property": "hostname", "after": ".log"},
        "dynaFileCacheSize": 7,
    }
    sent = [b"<13>Nov 21 06:30:00 h%d app[77]: n %d" % (n % 40, n) for n in range(EVENTS)]
    with site.running([output]):
        site.send(sent)
    for host in range(40):
        found = texts(lines(site.folder / f"hosts/h{host}.log"))
        assert found == [f" n {number}" for number in range(host, EVENTS, 40)]


def received(number: int) -> str:
    """What the receiver has to write down of an event: severity, facility and all."""
    return f"5|1|web1|app|77|{TEXTS[number]}"


@contextmanager
def receiver(folder: Path, module: str, parameters: str, entrance: EventSource) -> Iterator[Path]:
    """Another rsyslogd, and the file that it writes what it receives to."""
    with scratch(folder) as below:
        own = subfolder(below, "receiver")
        with daemon(receiving(module, parameters, own / "received"), own, [entrance]):
            yield own / "received"


def forward(kind: str, port: int, **more: object) -> dict[str, object]:
    return {
        "name": "up", "type": kind, "target": "127.0.0.1", "port": port, "queue": QUEUE, **more
    }  # fmt: skip


def delivered(site: Place, file: Path, output: Mapping[str, object]) -> list[str]:
    """What arrives of all events that are sent."""
    with site.running([output]):
        site.send(SENT)
        wait(lambda: len(lines(file)) >= EVENTS)
        wait(lambda: len(lines(file)) > EVENTS, 0.5)
    return lines(file)


ALL = [received(number) for number in range(EVENTS)]

WAYS: list[tuple[str, dict[str, object], str, str]] = [
    ("omfwd", {}, "imtcp", ""),
    ("omfwd", {"TCP_Framing": "octet-counted"}, "imtcp", ""),
    ("omfwd", {"template": "RSYSLOG_ForwardFormat", "keepAlive": True}, "imptcp", ""),
    ("omfwd", {"compression.mode": "stream:always", "zipLevel": 3}, "imptcp",
     'compression.mode="stream:always"'),
    ("omfwd", {"rebindInterval": 100}, "imtcp", ""),
    ("omrelp", {}, "imrelp", ""),
    ("omrelp", {"windowSize": 5000, "rebindInterval": 500, "timeout": 20, "conn.timeout": 5},
     "imrelp", ""),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "more", "module", "parameters"), WAYS)
def test_everything_arrives_once_and_as_it_was(
    site: Place, tmp_path: Path, kind: str, more: dict[str, object], module: str, parameters: str
) -> None:
    port = free_port()
    at = f'port="{port}" {parameters}'
    with receiver(tmp_path, module, at, TcpPort(port)) as file:
        found = delivered(site, file, forward(kind, port, **more))
    assert sorted(found) == sorted(ALL)


def test_datagrams_arrive_once_and_as_they_were(site: Place, tmp_path: Path) -> None:
    """As many as the receiver's buffer holds: UDP waits for nobody."""
    port = free_port()
    with receiver(tmp_path, "imudp", f'port="{port}" rcvbufsize="4m"', UdpPort(port)) as file:
        output = forward("omfwd", port, protocol="udp", **{"udp.sendBuf": "1m"})
        found = delivered(site, file, output)
    assert sorted(found) == sorted(ALL)


def test_json_is_forwarded_as_one_message_an_event(site: Place, tmp_path: Path) -> None:
    port = free_port()
    document = [{"property": "msg", "name": "m"}]
    with receiver(tmp_path, "imptcp", f'port="{port}"', TcpPort(port)) as file:
        output = forward("omfwd", port, document=document)
        found = delivered(site, file, output)
    assert len(found) == EVENTS
    assert '"event 000007 of many"' in found[7].replace('" event', '"event')


tls_of_inputs = pytest.mark.skipif(
    shutil.which("rsyslogd") is not None and release_at_hand() < 2106,
    reason="not possible: the receiver's imtcp has TLS for the whole module only",
)
TLS = {
    "streamDriver": "gtls", "streamDriverMode": 1, "streamDriverAuthMode": "x509/name",
    "streamDriverPermittedPeers": ["server.example.org"],
}  # fmt: skip


def tls_paths(folder: Path, name: str) -> dict[str, str]:
    return {
        "streamDriver.caFile": f"{folder}/ca.pem",
        "streamDriver.certFile": f"{folder}/{name}.pem",
        "streamDriver.keyFile": f"{folder}/{name}.key",
    }


def tls_input(port: int, folder: Path, name: str) -> str:
    own = {
        "port": port, "streamdriver.name": "gtls", "streamdriver.mode": 1,
        "streamdriver.authmode": "x509/name", "permittedpeer": "client.example.org",
        **tls_paths(folder, name),
    }  # fmt: skip
    return " ".join(f'{key}="{value}"' for key, value in own.items())


@pytest.fixture
def certificates(tmp_path: Path) -> Iterator[Path]:
    with scratch(tmp_path) as below:
        folder = subfolder(below, "certificates")
        make_certificates(folder)
        give_to_daemons(folder)
        yield folder


@tls_of_inputs
def test_everything_arrives_over_tls(site: Place, tmp_path: Path, certificates: Path) -> None:
    port = free_port()
    own = tls_input(port, certificates, "server")
    with receiver(tmp_path, "imtcp", own, TcpPort(port)) as file:
        output = forward("omfwd", port, **TLS, **tls_paths(certificates, "client"))
        found = delivered(site, file, output)
    assert sorted(found) == sorted(ALL)


@pytest.mark.full
@tls_of_inputs
def test_nothing_is_sent_to_a_receiver_with_another_name(
    site: Place, tmp_path: Path, certificates: Path
) -> None:
    port = free_port()
    own = tls_input(port, certificates, "stranger")
    with receiver(tmp_path, "imtcp", own, TcpPort(port)) as file:
        output = forward("omfwd", port, **TLS, **tls_paths(certificates, "client"))
        output["queue"] = QUEUE | {"timeoutShutdown": 100}
        with site.running([output]):
            site.send(SENT)
            wait(lambda: bool(lines(file)), 2)
        assert lines(file) == []


@pytest.mark.parametrize(("name", "count"), [("server", EVENTS), ("stranger", 0)])
def test_relp_over_tls_goes_to_the_right_receiver_only(
    site: Place, tmp_path: Path, certificates: Path, name: str, count: int
) -> None:
    port = free_port()
    paths = {
        "tls.caCert": f"{certificates}/ca.pem",
        "tls.myCert": f"{certificates}/client.pem",
        "tls.myPrivKey": f"{certificates}/client.key",
    }
    own = (
        f'port="{port}" tls="on" tls.authmode="name" tls.permittedpeer="client.example.org" '
        f'tls.cacert="{certificates}/ca.pem" tls.mycert="{certificates}/{name}.pem" '
        f'tls.myprivkey="{certificates}/{name}.key"'
    )
    with receiver(tmp_path, "imrelp", own, TcpPort(port)) as file:
        peers = {"tls.authMode": "name", "tls.permittedPeer": ["server.example.org"]}
        output = forward("omrelp", port, tls=True, **peers, **paths)
        output["queue"] = QUEUE | {"timeoutShutdown": 100}
        with site.running([output]):
            site.send(SENT)
            wait(lambda: len(lines(file)) >= (count or 1), 3 if count == 0 else 20)
        assert sorted(lines(file)) == sorted(ALL[:count])
