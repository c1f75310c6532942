"""A diagnosis of a real rsyslogd's counters agrees with what the sink saw, whatever format they are
in; the logs of all cases are in tests/diagnose."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnose.logged import diagnosed
from tests.engine.test_stats_index import documents
from tests.live.conftest import tune
from tests.live.production import CASES, Case, play
from tuner.diagnose.finding import Cause, ProductionFinding
from tuner.engine.client import EngineClient
from tuner.host.programs import rsyslog_version
from tuner.lab.scratch import scratch, subfolder

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

FORMATS = {"legacy": 0, "json": 0, "json-elasticsearch": 0, "cee": 0, "prometheus": 2506,
           "zabbix": 2512}  # fmt: skip


def in_format(case: Case, name: str) -> Case:
    return replace(case, stats=re.sub(r'format="[^"]*"', f'format="{name}"', case.stats))


def found(case: Case, folder: Path) -> tuple[dict[Cause, ProductionFinding], int]:
    with scratch(folder) as below:
        text, _, truth = play(case, subfolder(below, "case"))
    assert truth.lost is not None
    return {one.cause: one for one in diagnosed(text).findings}, truth.lost


@pytest.mark.each_rsyslogd("impstats")
@pytest.mark.parametrize(
    "name",
    [one if one == "json" else pytest.param(one, marks=pytest.mark.full) for one in FORMATS],
)
def test_lost_events_are_counted_as_the_sink_counts_them(name: str, tmp_path: Path) -> None:
    if FORMATS[name] > int(rsyslog_version().split(".")[1]):
        pytest.skip(f"rsyslog 8.{FORMATS[name]} brought {name}")
    case = replace(CASES["queue-full"], seconds=3.0, rest_s=5.0)
    findings, lost = found(in_format(case, name), tmp_path)
    events = findings[Cause.QUEUE_FULL].events
    assert lost > 0
    assert (events.least, events.most) == (lost, lost)


@pytest.mark.each_rsyslogd("impstats")
def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    findings, lost = found(replace(CASES["healthy"], seconds=5.0), tmp_path)
    assert lost == 0
    assert findings == {}


@pytest.mark.full
@pytest.mark.parametrize("shape", ["with-marks", "text"])
def test_an_index_of_an_engine_says_what_the_file_says(
    shape: str, elasticsearch: EngineClient, tmp_path: Path
) -> None:
    """The documents of a real log: fields as json-elasticsearch names them, or a text and a tag."""
    name = f"impstats-{shape}"
    try:
        for one in documents("queue-full", shape):
            elasticsearch.request("POST", f"/{name}/_doc", one)
        elasticsearch.request("POST", f"/{name}/_refresh")
        asked = ("--elasticsearch", elasticsearch.url, "--index", f"{name}*", "--output", "json")
        done = tune("diagnose", *asked, folder=tmp_path)
    finally:
        elasticsearch.request("DELETE", f"/{name}")
    assert done.code == 2, done.err
    assert json.loads(done.out)["hosts"][0]["findings"][0]["events"]["least"] == 6165
