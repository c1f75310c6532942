"""verify over a real ssh: what is as the profile says, and each thing that is not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.conftest import Done
from tests.live.hosts import NEEDS_HOSTS, hosts, inventory, passed
from tests.live.test_apply import Site
from tests.live.test_fragment import awaited
from tuner.lab.entrances import free_ports

pytestmark = [pytest.mark.live, NEEDS_HOSTS]


@pytest.fixture
def site(tmp_path: Path, nothing_left_behind: None) -> Iterator[Site]:
    with hosts(tmp_path / "hosts", "collector1") as (host,):
        yield Site(tmp_path, collector1=host)


_NO_FIGURES = "collector1: no figures of its queues: the profile has no impstats with log.file"


def verify(site: Site, *more: object) -> Done:
    return site.tune("verify", site.profile, "--inventory", site.inventory, *more)


def test_a_host_is_as_its_profile_says_until_somebody_changes_it(site: Site) -> None:
    assert verify(site).code == 2
    done = site.apply()
    assert (done.code, _NO_FIGURES in done.err) == (0, True), done.err
    same = verify(site)
    assert (same.code, same.out, _NO_FIGURES in same.err) == (0, "", True), same
    with site.host.conf.open("a", encoding="utf-8") as conf:
        conf.write('# by hand, pwd="hunter2"\n')
    os.utime(site.host.conf, (time.time() + 60, time.time() + 60))
    drift = verify(site)
    assert drift.code == 2
    assert "-# ***" in drift.out
    assert "started before" in drift.out
    assert "2 differences" in drift.err


def test_a_host_gets_its_own_values_from_a_saved_plan_too(site: Site) -> None:
    """The profile has a port for everybody; the host listens on that of the inventory."""
    port, plan = free_ports(1), site.folder / "plan.json"
    whole = json.loads(site.inventory.read_text(encoding="utf-8"))
    whole["hosts"]["collector1"]["changes"] = {"inputs[0].port": port, "name": "own"}
    site.inventory.write_text(json.dumps(whole), encoding="utf-8")
    assert site.apply("--plan-out", plan).code == 0
    done = site.tune("apply", plan, "--yes")
    assert done.code == 0, done.err
    text = site.host.conf.read_text(encoding="utf-8")
    assert f'port="{port}"' in text
    assert 'ruleset(name="own")' in text
    same = verify(site)
    assert (same.code, same.out) == (0, ""), same
    site.inventory = inventory(site.inventory, collector1=site.host)
    assert "rsyslogd does not listen on tcp:" in verify(site).out


@pytest.mark.full
@pytest.mark.parametrize("interval", [1, 60])
def test_the_figures_of_its_queues_are_said_and_are_no_drift(site: Site, interval: int) -> None:
    port, log = free_ports(1), "/var/log/figures"
    queue = {"type": "LinkedList", "size": 1000}
    output = {"name": "all", "type": "omfile", "file": f"{site.folder}/all.log", "queue": queue}
    impstats = {"interval": interval, "format": "legacy", "log.file": log}
    site.write({"inputs[0].port": port, "outputs": [output], "impstats": impstats})
    done = site.apply()
    assert done.code == 0, done.err
    if interval == 60:
        assert "collector1: its queues are counted every 60 s" in done.err
        assert f"collector1: no figures of its queues in {log}" in verify(site).err
        return
    assert "collector1: Nothing wrong in this one round" in done.err
    to = ("--server", "127.0.0.1", "--port", str(port), "--tcp")
    passed(site.host.run("logger", *to, "event"))
    counted = "all queue: origin=core.queue size=0 enqueued=1 "
    awaited(site.host.path(log), counted)
    same = verify(site)
    assert (same.code, same.out) == (0, ""), same
    said = " ".join(same.err.split())
    assert "collector1: Nothing wrong in this one round: the inputs counted 1 event, " in said


def test_everything_that_is_wrong_is_said_at_once(site: Site) -> None:
    secret = site.folder / "es.pwd"
    secret.write_text("hunter2")
    secret.chmod(0o644)
    profile: dict[str, object] = {
        "release.rsyslog": "8.2608",
        "lookup_tables": {"owners": {"file": f"{site.folder}/owners.json"}},
        "outputs": [
            {
                "name": "logs", "type": "omelasticsearch", "servers": ["https://es:9200"],
                "auth": {"uid": "shipper", "pwd": {"file": str(secret)}},
                "tls": {"cacert": f"{site.folder}/ca.pem"}, "index": {"name": "syslog"},
                "queue": {"type": "Direct"},
            }
        ],
    }  # fmt: skip
    site.write(profile)
    done = verify(site, "--skip-engine")
    assert done.code == 2, done.err
    for wrong in (
        "is older than the profile's release 8.2608",
        f"{secret} has mode 644: others can reach a secret",
        f"{site.folder}/ca.pem is missing",
        f"{site.folder}/owners.json is missing",
        "does not listen on tcp:",
        "rsyslog.conf differs",
    ):
        assert wrong in done.out, done.out
    assert "hunter2" not in done.out
