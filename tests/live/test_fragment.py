"""A fragment beside the configuration of a host: the host's own logs go on."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.lab.check import check_fragment
from tuner.lab.entrances import free_ports
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

# That of Debian 12, with its files and its socket below a folder of the test's.
HOST = """\
module(load="imuxsock" SysSock.Name="{folder}/log")
$WorkDirectory {folder}
$IncludeConfig {folder}/rsyslog.d/*.conf
*.*;auth,authpriv.none		-{folder}/syslog
auth,authpriv.*			{folder}/auth.log
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "rsyslog.d").mkdir()
    (tmp_path / "rsyslog.conf").write_text(HOST.format(folder=tmp_path), encoding="utf-8")
    return tmp_path


@contextmanager
def rsyslogd(host: Path) -> Iterator[None]:
    """A real one with the host's configuration, until its socket is gone again."""
    config, pid = host / "rsyslog.conf", host / "rsyslog.pid"
    with subprocess.Popen(["rsyslogd", "-n", "-f", str(config), "-i", str(pid)]) as daemon:
        try:
            awaited(host / "log")
            yield
        finally:
            daemon.terminate()


def awaited(path: Path, word: str = "") -> None:
    """Wait until a file is there, with a word in it."""
    deadline = time.monotonic() + 60
    while not path.exists() or (word and word not in path.read_text(encoding="utf-8")):
        assert time.monotonic() < deadline, f"no {word} in {path}"
        time.sleep(0.05)


def log(host: Path, priority: str, text: str) -> None:
    subprocess.run(["logger", "-u", str(host / "log"), "-p", priority, text], check=True)


def fragment(host: Path, port: int) -> str:
    changes: dict[str, object] = {
        "inputs[0].port": port,
        "outputs": [{"name": "remote", "type": "omfile", "file": f"{host}/remote.log"}],
    }
    profile = parse_profile(edit(SMALL, changes), "p").profile
    return rsyslog_conf(profile, form=Form(is_fragment=True, loaded=frozenset({"imuxsock"})))


def test_the_hosts_own_logs_go_on_beside_a_fragment(host: Path) -> None:
    with rsyslogd(host):
        log(host, "auth.info", "before")
        awaited(host / "auth.log", "before")
    port = free_ports(1)
    text = fragment(host, port)
    assert check_fragment("tuned.conf", text, host=host).complaints == ()
    (host / "rsyslog.d/tuned.conf").write_text(text, encoding="utf-8")
    with rsyslogd(host):
        log(host, "auth.info", "after")
        log(host, "user.info", "plain")
        remote = ["logger", "-T", "-n", "127.0.0.1", "-P", str(port), "-p", "auth.info", "far"]
        subprocess.run(remote, check=True)
        awaited(host / "auth.log", "after")
        awaited(host / "syslog", "plain")
        awaited(host / "remote.log", "far")
    own = (host / "auth.log").read_text(encoding="utf-8")
    assert "far" not in own, "what the fragment takes is not the host's"


def test_a_fragment_that_loads_what_the_host_loads_is_rejected(host: Path) -> None:
    text = 'module(load="imuxsock")\n'
    found = check_fragment("tuned.conf", text, host=host)
    assert not found.accepted
    assert any("already in this config" in line for line in found.complaints)


def test_what_local_programs_log_reaches_the_outputs(host: Path) -> None:
    changes: dict[str, object] = {
        "inputs": [{"type": "imuxsock", "sysSock.name": f"{host}/log"}],
        "outputs": [{"name": "all", "type": "omfile", "file": f"{host}/all.log"}],
    }
    text = rsyslog_conf(parse_profile(edit(SMALL, changes), "p").profile)
    (host / "rsyslog.conf").write_text(text, encoding="utf-8")
    with rsyslogd(host):
        log(host, "user.info", "local")
        awaited(host / "all.log", "local")
