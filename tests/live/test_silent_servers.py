"""Servers that accept and never answer: rsyslogd may take long to start, and nothing of ours gives
up on it before."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.live.outputs import bulks_to, rendered_for_it
from tests.profile.examples import SMALL
from tests.shipped import release_at_hand
from tuner.cli.commands import app
from tuner.host.process import give_to_daemons
from tuner.lab.check import _TIMEOUT_S
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import START_TIMEOUT_S, Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.render.artefacts import rsyslog_conf

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.each_rsyslogd("faults"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]


@pytest.fixture
def silent() -> Iterator[list[str]]:
    """Three servers whose connections the kernel takes, and nobody else."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        yield [f"http://127.0.0.1:{one.getsockname()[1]}" for one in listening]


@pytest.fixture
def profile(silent: list[str], tmp_path: Path) -> str:
    """One action and that of its retries, which wait longer than is waited for anything else."""
    files: dict[str, object] = {"retryfailures": {"file": f"{tmp_path}/rejected.json"}}
    output = bulks_to("", **files) | {"servers": silent, "healthCheckTimeout": 4000}
    changes = {"inputs[0].port": free_port(), "outputs": [output], **rendered_for_it()}
    text = edit(SMALL, changes)
    assert parse_profile(text, "p.yaml").profile.start_checks_s > max(_TIMEOUT_S, START_TIMEOUT_S)
    return text


def test_validate_waits_for_them_and_says_why(profile: str, tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(profile, encoding="utf-8")
    shown = CliRunner().invoke(app, ["validate", str(file)])
    assert shown.exit_code == 0, shown.output
    asks = release_at_hand() >= 2510
    assert ("asks each server for its version" in shown.stderr) is asks


def test_a_lab_waits_for_them(profile: str, tmp_path: Path) -> None:
    bound = parse_profile(profile, "p.yaml").profile
    port = bound.model_dump()["inputs"][0]["port"]
    with scratch(tmp_path) as below:
        folder = subfolder(below, "rsyslogd")
        give_to_daemons(folder)
        running = Rsyslogd(
            rsyslog_conf(bound), folder, [TcpPort(port)], start_checks_s=bound.start_checks_s
        )
        assert running.ending() is None
        running.stop()
