"""host.sh on this machine, below folders of its own and with the real rsyslogd: what ends it, and
that what was there is back then."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tuner.deploy.inventory import InventoryHost, Paths, Service
from tuner.deploy.target import Candidate, RemoteHost, Undone
from tuner.errors import JobFailed
from tuner.lab.entrances import free_port

OLD = "# as it was\n*.* /dev/null\n"
NEW = 'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{port}")\n*.* /dev/null\n'
RESTART = """\
echo >> {folder}/restarts
[ -s {folder}/pid ] && kill $(cat {folder}/pid) && sleep 0.5
exec rsyslogd -f {folder}/rsyslog.conf -i {folder}/pid
"""


class Site:
    """A host below a folder, whose service a script restarts."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.conf = folder, folder / "rsyslog.conf"
        (folder / "rsyslog.d").mkdir()
        for name in ("rsyslog.conf", "old.conf"):
            (folder / name).write_text(OLD, encoding="utf-8")
        self.restarts_by(RESTART)
        paths = Paths(
            configuration=str(self.conf), fragments=f"{folder}/rsyslog.d", state=f"{folder}/state"
        )
        service = Service(restart=("sh", f"{folder}/restart"), pid_file=f"{folder}/pid")
        machine = InventoryHost("here", "local://", service=service, paths=paths)
        self.host = RemoteHost(machine, (str(self.conf),))

    def restarts_by(self, script: str) -> None:
        (self.folder / "restart").write_text(script.format(folder=self.folder), encoding="utf-8")

    def apply(self, text: str, *sockets: str) -> None:
        self.host.apply(Candidate(((str(self.conf), text),), "644", sockets), "r1", 0)

    def restore(self) -> Undone:
        return self.host.restore(lambda _line: None, "r1")

    @property
    def restarts(self) -> int:
        found = self.folder / "restarts"
        return len(found.read_text(encoding="utf-8").splitlines()) if found.exists() else 0


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr("tuner.deploy.target._PATIENCE_S", 2)
    site = Site(tmp_path)
    yield site
    with suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), signal.SIGTERM)


def test_what_rsyslogd_rejects_replaces_nothing(site: Site) -> None:
    with pytest.raises(JobFailed, match="its rsyslogd rejects the configuration"):
        site.apply('input(type="nothing")\n')
    assert (site.conf.read_text(encoding="utf-8"), site.restarts) == (OLD, 0)


@pytest.mark.parametrize(
    "restart",
    [
        "exit 0\n",
        "sleep 60 &\necho $! > {folder}/pid\n",
        RESTART.replace("rsyslog.conf", "old.conf"),
    ],
    ids=["nothing runs", "another process", "not these sockets"],
)
def test_what_does_not_run_then_is_no_success(restart: str, site: Site) -> None:
    site.restarts_by(restart)
    port = free_port()
    with pytest.raises(JobFailed, match=f"rsyslogd does not run, or does not listen on tcp:{port}"):
        site.apply(NEW.format(port=port), f"tcp:{port}")
    site.restarts_by(RESTART)
    assert site.restore() is Undone.RESTORED
    assert site.conf.read_text(encoding="utf-8") == OLD


def test_a_restart_that_fails_is_no_success(site: Site) -> None:
    site.restarts_by("echo no such unit\nexit 5\n")
    with pytest.raises(JobFailed, match="the service did not restart: no such unit"):
        site.apply(NEW.format(port=free_port()))


def test_what_runs_is_applied_and_stays_once_it_is_kept(site: Site) -> None:
    port = free_port()
    site.apply(NEW.format(port=port), f"tcp:{port}")
    site.host.keep("r1")
    assert site.restore() is not Undone.RESTORED
    assert site.conf.read_text(encoding="utf-8") == NEW.format(port=port)
    assert site.restarts == 1


def test_what_a_restart_costs_is_known(site: Site) -> None:
    """Half a second that the service is away, and datagrams that meanwhile find no socket."""
    port, over = free_port(), threading.Event()

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            while not over.wait(0.02):
                sender.sendto(b"<13>late", ("127.0.0.1", port))

    assert site.host.facts(()).restart is None
    site.apply(OLD)
    quiet = site.host.facts(()).restart
    thread = threading.Thread(target=send)
    thread.start()
    try:
        site.restore()
    finally:
        over.set()
        thread.join()
    busy = site.host.facts(()).restart
    assert quiet is not None
    assert busy is not None
    assert busy.away_ms >= 500
    assert busy.datagrams > 3
