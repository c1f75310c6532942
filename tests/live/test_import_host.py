"""Importing what a host runs, over a real ssh."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import tune
from tests.live.hosts import SSHD, inventory, ssh_host

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not SSHD, reason="sshd is not installed"),
    pytest.mark.usefixtures("nothing_left_behind"),
]

INPUT = 'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{port}")\n'


def test_what_a_host_runs_and_includes_becomes_a_profile(tmp_path: Path) -> None:
    with ssh_host(tmp_path / "host") as host:
        drop_in = host.folder / "etc/rsyslog.d/10-input.conf"
        drop_in.write_text(INPUT.format(port=1514), encoding="utf-8")
        (host.folder / "etc/rsyslog.d/20-off.conf.disabled").write_text("no { syntax")
        hosts = inventory(tmp_path / "hosts.yaml", collector=host)
        asked = ("import", "--host", "collector", "--inventory", str(hosts))
        done = tune(*asked, "-o", "p.yaml", folder=tmp_path)
        text = (tmp_path / "p.yaml").read_text(encoding="utf-8")
        assert done.code == 0, done.err
        assert f"# {drop_in}:2\n" in text
        assert f"collector:{host.conf}" in text
        assert "port: 1514" in text
        assert "disabled" not in text
        missing = tune(*asked, "/etc/no-such.conf", folder=tmp_path)
        assert missing.code == 64
        assert "/etc/no-such.conf cannot be read: No such file or directory" in missing.err
