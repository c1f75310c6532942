"""verify over a real ssh: what is as the profile says, and each thing that is not."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.conftest import Done
from tests.live.hosts import NEEDS_HOSTS, hosts
from tests.live.test_apply import Site

pytestmark = [pytest.mark.live, NEEDS_HOSTS]


@pytest.fixture
def site(tmp_path: Path, nothing_left_behind: None) -> Iterator[Site]:
    with hosts(tmp_path / "hosts", "collector1") as (host,):
        yield Site(tmp_path, collector1=host)


def verify(site: Site, *more: object) -> Done:
    return site.tune("verify", site.profile, "--inventory", site.inventory, *more)


def test_a_host_is_as_its_profile_says_until_somebody_changes_it(site: Site) -> None:
    assert verify(site).code == 2
    assert site.apply().code == 0
    same = verify(site)
    assert (same.code, same.out) == (0, ""), same
    with site.host.conf.open("a", encoding="utf-8") as conf:
        conf.write('# by hand, pwd="hunter2"\n')
    os.utime(site.host.conf, (time.time() + 60, time.time() + 60))
    drift = verify(site)
    assert drift.code == 2
    assert '-# by hand, pwd="***"' in drift.out
    assert "started before" in drift.out
    assert "2 differences" in drift.err


def test_everything_that_is_wrong_is_said_at_once(site: Site) -> None:
    secret = site.folder / "es.pwd"
    secret.write_text("hunter2")
    secret.chmod(0o644)
    profile: dict[str, object] = {
        "release.rsyslog": "8.2608",
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
        "does not listen on tcp:",
        "rsyslog.conf differs",
    ):
        assert wrong in done.out, done.out
    assert "hunter2" not in done.out
