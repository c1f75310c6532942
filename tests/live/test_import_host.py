"""Importing what a host runs, over a real ssh."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.conftest import tune
from tests.live.hosts import NEEDS_HOSTS, hosts, inventory

pytestmark = [
    pytest.mark.live,
    NEEDS_HOSTS,
    pytest.mark.usefixtures("nothing_left_behind"),
]

INPUT = 'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{port}")\n'


def test_what_a_host_runs_and_includes_is_kept_beside_the_profile(tmp_path: Path) -> None:
    with hosts(tmp_path / "hosts", "collector") as (host,):
        drop_in = "/etc/rsyslog.d/10-input.conf"
        host.write(drop_in, INPUT.format(port=1514))
        host.write("/etc/rsyslog.d/20-off.conf.disabled", "no { syntax")
        known = inventory(tmp_path / "hosts.yaml", collector=host)
        asked = ("import", "--host", "collector", "--inventory", str(known), "-o", "p.yaml")
        missing = tune(*asked, "/etc/no-such.conf", folder=tmp_path)
        assert missing.code == 78
        assert "/etc/no-such.conf cannot be read: No such file or directory" in missing.err
        done = tune(*asked, folder=tmp_path)
        assert done.code == 0, done.err
        assert "collector:/etc/rsyslog.conf stays as it is." in done.err
        kept = tmp_path / "p.files"
        assert (kept / drop_in[1:]).read_text(encoding="utf-8") == INPUT.format(port=1514)
        assert not list(kept.rglob("*.disabled"))
