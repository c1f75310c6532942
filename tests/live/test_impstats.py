"""rsyslog's own counters, as a real rsyslogd writes them for a profile that asks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.outputs import DEADLINE_S, Place, place

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 100


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def counters(path: Path) -> dict[str, dict[str, object]]:
    """The last object of each name in the file, what precedes the first brace left out."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    objects = [json.loads(line[line.index("{") :]) for line in lines]
    return {one["name"]: one for one in objects}


def test_counters_come_as_json_and_the_file_can_be_rotated(site: Place) -> None:
    path = site.folder / "impstats.log"
    output = {"name": "file", "type": "omfile", "file": f"{site.folder}/out"}
    wanted = {"impstats": {"interval": 1, "log.file": str(path)}}
    with site.running([output], wanted) as running:
        site.send([b"<13>Nov 21 06:30:00 web1 app: event"] * EVENTS)
        wait_for(lambda: counters(path).get("file", {}).get("processed") == EVENTS)
        assert counters(path)["main Q"]["enqueued"] == EVENTS
        assert "utime" in counters(path)["resource-usage"]
        assert path.stat().st_mode & 0o777 == 0o600
        owner = path.stat()
        path.rename(site.folder / "impstats.log.1")
        path.touch()
        path.chmod(0o640)
        os.chown(path, owner.st_uid, owner.st_gid)
        os.kill(running.pid, signal.SIGHUP)
        wait_for(lambda: "main Q" in counters(path))
        assert path.stat().st_mode & 0o777 == 0o640
    assert "rsyslogd-pstats" not in (site.folder / "out").read_text(encoding="utf-8")
