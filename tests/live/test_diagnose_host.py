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


def test_the_file_that_its_configuration_names_is_read(tmp_path: Path) -> None:
    conf = (LOGS / "queue-full.conf").read_text("utf-8")
    conf = conf.replace("/var/spool/rsyslog/impstats.log", LOG)
    conf = conf.replace('bulkmode="on"', f'bulkmode="on" uid="shipper" pwd="{SECRET}"')
    with hosts(tmp_path / "hosts", "collector") as (host,):
        host.write("/etc/rsyslog.conf", conf)
        host.write(LOG, text_of("queue-full"))
        known = inventory(tmp_path / "hosts.yaml", collector=host)
        asked = ("diagnose", "--host", "collector", "--inventory", str(known))
        done = tune(*asked, "--output", "json", folder=tmp_path)
        assert done.code == 2, done.err
        made = json.loads(done.out)
        assert made["files"] == [f"collector:{LOG}"]
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
