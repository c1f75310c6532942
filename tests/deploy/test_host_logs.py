"""The counters of a host, read on this machine by the way that others are: files as logrotate left
them, and what the kernel counts."""

from __future__ import annotations

import gzip
import os
import resource
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from tuner.deploy import host_files
from tuner.deploy.host_files import (
    HostLog,
    counters_logs,
    grown,
    lines_of_logs,
    udp_ports,
)
from tuner.deploy.inventory import InventoryHost, Service
from tuner.deploy.target import RemoteHost
from tuner.errors import JobFailed
from tuner.host.remote import Host, connect
from tuner.script.configuration import configuration
from tuner.script.objects import base_of


@pytest.fixture
def here() -> Host:
    return connect("collector1", "local://")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files of one log, and others beside them."""
    texts = {
        "stats.log": b"five\nsix",
        "stats.log.1": b"three\nfour\r\n",
        "stats.log.2.gz": gzip.compress(b"one\ntwo\n"),
        "stats.log.old.xz": b"\xfd7z",
        "other.log": b"no\n",
        "statsXlog": b"no\n",
    }
    for number, (name, data) in enumerate(texts.items()):
        path = tmp_path / name
        path.write_bytes(data)
        os.utime(path, (1e9 - number * 1000, 1e9 - number * 1000))
    return tmp_path


def words(here: Host, folder: Path, complaints: list[str]) -> list[str]:
    logs = counters_logs(here, folder / "stats.log", complaints.append)
    return [line for _, _, line in lines_of_logs(here, logs, complaints.append)]


def test_rotated_files_of_a_host_are_read_oldest_first(here: Host, folder: Path) -> None:
    complaints: list[str] = []
    assert words(here, folder, complaints) == ["one", "two", "three", "four", "five", "six"]
    assert complaints == [
        "collector1: not read, packed otherwise than by gzip: " + str(folder / "stats.log.old.xz")
    ]


def test_a_file_is_read_in_pieces_and_no_line_is_cut(
    here: Host, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer of a host may not be longer than 16 MiB."""
    monkeypatch.setattr(host_files, "_PIECE", 3)
    assert words(here, folder, []) == ["one", "two", "three", "four", "five", "six"]


def test_no_more_is_read_than_fits_and_what_is_left_out_is_said(
    here: Host, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_files, "_MOST_BYTES", 20)
    complaints: list[str] = []
    assert words(here, folder, complaints) == ["three", "four", "five", "six"]
    assert complaints[-1].startswith("collector1: 1 older files are not read, of 3")
    monkeypatch.setattr(host_files, "_MOST_BYTES", 5)
    assert words(here, folder, complaints) == ["e", "six"]
    assert "the last" in complaints[-1]


def test_a_gzip_file_is_read_as_far_as_it_goes(
    here: Host, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "stats.log.2.gz"
    whole = path.read_bytes()

    def write(data: bytes) -> None:
        path.write_bytes(data)
        os.utime(path, (1e8, 1e8))

    for data, said in ((whole[:-9], "ended before"), (whole[:12] + b"x" * 9, "damaged")):
        write(data)
        complaints: list[str] = []
        assert words(here, folder, complaints)[-4:] == ["three", "four", "five", "six"]
        assert said in complaints[-1]
    # What unpacks to more than is read.
    write(gzip.compress(b"line\n" * 10_000))
    monkeypatch.setattr(host_files, "_MOST_BYTES", 1000)
    complaints = []
    assert len(words(here, folder, complaints)) < 300
    assert "longer than what is read" in complaints[-1]


def test_a_file_that_is_not_there_is_refused(here: Host, folder: Path) -> None:
    for path in (folder / "none.log", folder / "none" / "stats.log"):
        with pytest.raises(JobFailed, match="No such file"):
            counters_logs(here, path, lambda _: None)
    log = HostLog(str(folder / "gone"), 7, 0.0)
    with pytest.raises(JobFailed, match="No such file"):
        list(lines_of_logs(here, [log], lambda _: None))


def test_only_what_is_written_meanwhile_is_read(
    here: Host, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "stats.log"

    def appends(_: float) -> None:
        with path.open("ab") as file:
            file.write(b"\nseven\n")

    def rotates(_: float) -> None:
        path.rename(folder / "stats.log.0")
        path.write_bytes(b"new\n")

    def begins(_: float) -> None:
        with path.open("ab") as file:
            file.write(b"eight\nni")

    changes = ((appends, ["", "seven"]), (begins, ["eight"]), (rotates, ["new"]))
    for meanwhile, expected in changes:
        # Of this module alone: commands of the host may sleep too until they have ended.
        monkeypatch.setattr(host_files, "time", SimpleNamespace(sleep=meanwhile))
        assert [line for _, _, line in grown(here, path, 1.0, print)] == expected


def test_the_ports_of_imudp_are_those_of_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "rsyslog.conf"
    path.write_text(
        'module(load="imudp")\ninput(type="imudp" port="514")\ninput(type="imtcp" port="601")\n'
        'input(type="imudp" port=["1514", "514"])\n$UDPServerRun 10514\n'
    )
    assert udp_ports(base_of(configuration(path))) == (514, 1514, 10514)


def test_the_kernel_says_what_it_dropped_and_the_limit(tmp_path: Path) -> None:
    """This process stands for rsyslogd, with a socket that nobody reads."""
    pid_file = tmp_path / "pid"
    pid_file.write_text(f"{os.getpid()}\n")
    service = Service(restart=("true",), pid_file=str(pid_file))
    there = RemoteHost(InventoryHost("collector1", "local://", service=service))
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
    ):
        full.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        full.bind(("127.0.0.1", 0))
        port = full.getsockname()[1]
        first = there.kernel_counts((port, 1))
        for _ in range(200):
            sender.sendto(b"x" * 500, ("127.0.0.1", port))
        last = there.kernel_counts((port, 1))
    assert first is not None
    assert last is not None
    assert first.udp_drops == {port: 0, 1: 0}
    assert 100 < last.udp_drops[port] <= 200
    assert last.since(first).udp_drops == last.udp_drops
    assert first.begin < first.end <= last.end
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert last.file_limit == (None if soft == resource.RLIM_INFINITY else soft)
    pid_file.write_text("\n")
    assert there.kernel_counts(()) is None


@pytest.mark.parametrize(
    "said",
    [
        "", "now soon\n", "now 7\nstarted never\n", "now 7\ndrops 514 -1\n", "now 7\ndrops 22 1\n",
        f"now {'9' * 30}\n",
    ],
)  # fmt: skip
def test_an_answer_of_another_form_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    out = f"rsyslog-tune begins\n{said}rsyslog-tune ends\n".encode()
    host = SimpleNamespace(run=lambda *_: SimpleNamespace(code=0, out=out, err=""))
    monkeypatch.setattr("tuner.deploy.target.connect", lambda *_: host)
    with pytest.raises(JobFailed, match="does not answer as our script does"):
        RemoteHost(InventoryHost("a", "ssh://a")).kernel_counts((514,))
