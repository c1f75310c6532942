"""`rsyslog-tune sink` as a user calls it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.test_sink import bulk_body

COMMAND = str(Path(sys.executable).with_name("rsyslog-tune"))


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "sink", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    found = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
    assert found is not None
    return found.group()


def post(url: str, numbers: range) -> None:
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
    connection.request("POST", "/_bulk", bulk_body("x", numbers))
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_runs_until_a_signal_and_then_gives_its_account(
    number: signal.Signals, code: int
) -> None:
    with start("--fault", "drop-event=3", "--fault", "double-event=5", "--output", "json") as sink:
        url = url_of(sink)
        post(url, range(10))
        sink.send_signal(number)
        out, err = sink.communicate(timeout=60)
    assert sink.returncode == code, err
    report = json.loads(out)
    assert (report["schema"], report["kind"], report["url"]) == (1, "sink", url)
    (index,) = report["indices"]
    (run,) = index["runs"]
    assert (index["index"], index["documents"], run["events"]) == ("x", 10, 9)
    assert run["account"] == {
        "lost": 1, "duplicated": 1, "missing": [3], "doubled": [5], "identified": True,
    }  # fmt: skip
    assert {(one["fault"], one["stored"]) for one in report["faults"]} == {
        ("drop-event=3,times=1", 0), ("double-event=5,times=1", 2)
    }  # fmt: skip


def test_as_text_the_url_comes_first() -> None:
    with start() as sink:
        url = url_of(sink)
        post(url, range(4))
        sink.send_signal(signal.SIGINT)
        out, _ = sink.communicate(timeout=60)
    lines = out.splitlines()
    assert lines[0] == url
    assert lines[1:] == [
        "x: 4 documents", "  run 0a1b2c3d: 4 events, 0 missing, 0 duplicates"
    ]  # fmt: skip


def test_a_fault_that_is_none_is_a_usage_error() -> None:
    with start("--fault", "status=200") as sink:
        _, err = sink.communicate(timeout=60)
    assert sink.returncode == 64
    assert "status wants a whole number from 400 to 599" in err
