"""A diagnosis of a host's counters, over a real ssh: it only reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.diagnose.logged import LOGS, text_of
from tests.live.conftest import tune
from tests.live.hosts import NEEDS_HOSTS, hosts, inventory

pytestmark = [
    pytest.mark.live,
    NEEDS_HOSTS,
    pytest.mark.usefixtures("nothing_left_behind"),
]

LOG = "/var/log/rsyslog/impstats.log"
SECRET = "not-to-be-printed"  # noqa: S105 - it is looked for in what is printed


@pytest.mark.full
def test_what_the_kernel_of_a_host_dropped_is_told(tmp_path: Path) -> None:
    """A rsyslogd that is stopped for a moment, and more datagrams than its buffer holds."""
    with hosts(tmp_path / "hosts", "collector") as (host,):
        host.write(
            "/etc/rsyslog.conf",
            f'module(load="impstats" interval="1" log.syslog="off" log.file="{LOG}")\n'
            'module(load="imudp")\ninput(type="imudp" port="514")\n*.* /var/log/messages\n',
        )
        host.run("sh", "-c", "mkdir -p /var/log/rsyslog && systemctl restart rsyslog")
        known = inventory(tmp_path / "hosts.yaml", collector=host)
        asked = ("diagnose", "--host", "collector", "--inventory", str(known), "--output", "json")
        overflow = (
            "kill -STOP $(cat /run/rsyslogd.pid); for n in $(seq 400); do "
            "head -c 1400 /dev/zero | tr '\\0' x >/dev/udp/127.0.0.1/514; done; "
            "kill -CONT $(cat /run/rsyslogd.pid); sleep 4"
        )
        host.run("bash", "-c", overflow)
        done = tune(*asked, folder=tmp_path)
        assert done.code == 2, done.err
        (found,) = json.loads(done.out)["hosts"][0]["findings"]
        assert (found["cause"], found["where"]) == ("udp_buffer", "UDP port 514")
        assert 100 < found["events"]["least"] <= 400
        calm = tune(*asked, "--for", "5s", folder=tmp_path)
        assert calm.code == 0, calm.out + calm.err


@pytest.mark.full
def test_the_files_that_its_configuration_names_are_read(tmp_path: Path) -> None:
    conf = (LOGS / "queue-full.conf").read_text("utf-8")
    conf = conf.replace("/var/spool/rsyslog/impstats.log", LOG)
    conf = conf.replace('bulkmode="on"', f'bulkmode="on" uid="shipper" pwd="{SECRET}"')
    with hosts(tmp_path / "hosts", "collector") as (host,):
        host.write("/etc/rsyslog.conf", conf)
        lines = text_of("queue-full").splitlines(keepends=True)
        host.write(f"{LOG}.1", "".join(lines[:60]))
        host.write(LOG, "".join(lines[60:]))
        known = inventory(tmp_path / "hosts.yaml", collector=host)
        asked = ("diagnose", "--host", "collector", "--inventory", str(known))
        done = tune(*asked, "--output", "json", folder=tmp_path)
        assert done.code == 2, done.err
        made = json.loads(done.out)
        assert made["files"] == [f"collector:{LOG}.1", f"collector:{LOG}"]
        first = made["hosts"][0]["findings"][0]
        assert first["events"] == {"least": 6165, "most": 6165}
        assert first["way_out"]["parameter"] == "action[es].queue.timeoutEnqueue"
        shown = tune(*asked, folder=tmp_path)
        assert SECRET not in done.out + done.err + shown.out + shown.err
        nothing_new = tune(*asked, "--for", "1s", folder=tmp_path)
        assert nothing_new.code == 1
        missing = tune(*asked, "/var/log/none", folder=tmp_path)
        assert missing.code == 1
        assert "/var/log/none: No such file or directory" in missing.err
