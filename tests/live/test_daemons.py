"""A real rsyslogd that root starts as nobody: what nobody can make root do, and what the shell can
make rsyslogd do."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.host.process import own_environment
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lint.load import load_profile
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.render.artefacts import rsyslog_conf

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root starts daemons as another user")


def nobody(*command: str | Path) -> bool:
    """Whether nobody can do that."""
    done = subprocess.run(command, user="nobody", extra_groups=[], capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a daemon that has not started yet."""
    with scratch(tmp_path) as below:
        yield subfolder(below, "rsyslogd")


def started(folder: Path) -> Rsyslogd:
    port = free_port()
    config = rsyslog_conf(small({"inputs[0].port": port}))
    return Rsyslogd(config, folder, [TcpPort(port)])


@as_root
def test_no_link_leads_root_out_of_a_daemons_folder(folder: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("root's", "utf-8")
    for name in ("rsyslog.conf", "rsyslogd.log"):
        nobody("ln", "-s", precious, folder / name)
    nobody("mv", folder, folder.with_name("away"))
    rsyslogd = started(folder)
    try:
        assert not nobody("mv", folder, folder.with_name("away"))
        assert not nobody("touch", folder.with_name("more"))
    finally:
        rsyslogd.stop()
    assert precious.read_text("utf-8") == "root's"
    assert precious.stat().st_uid == 0


@as_root
def test_no_link_in_the_place_of_a_log_is_read(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("omelasticsearch: for root's eyes\n", "utf-8")
    rsyslogd = started(folder)
    try:
        assert nobody("ln", "-sf", secret, folder / "rsyslogd.log")
        assert rsyslogd.finish(5) is None
    finally:
        rsyslogd.stop()


@pytest.mark.full
def test_a_proxy_of_the_shell_gets_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what every program of ours gets of the environment tests/host/test_process.py tells."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    profile = load_profile(DEFAULT).profile
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        outcome = run_profile(lab, profile, TrialPlan(0.5, 1.0), "proxy", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact


def test_a_secret_in_the_environment_reaches_rsyslogd(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ES_PWD", "a-secret")
    with socket.create_server(("127.0.0.1", 0)) as engine:
        engine.settimeout(20)
        port = free_port()
        profile = small(
            {
                "inputs[0].port": port,
                "outputs[logs].servers": [f"http://127.0.0.1:{engine.getsockname()[1]}"],
                "outputs[logs].auth": {"uid": "shipper", "pwd": {"env": "ES_PWD"}},
            }
        )
        entrances = [TcpPort(port)]
        environment = own_environment(*profile.secret_variables)
        rsyslogd = Rsyslogd(rsyslog_conf(profile), folder, entrances, environment)
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as sender:
                sender.sendall(b"<13>Nov 21 06:30:00 web1 app: event\n")
                connection, _ = engine.accept()
            with connection:
                request = connection.recv(65536)
        finally:
            rsyslogd.stop()
    assert base64.b64encode(b"shipper:a-secret") in request
