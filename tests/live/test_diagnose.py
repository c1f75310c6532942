"""A diagnosis of a real rsyslogd's counters agrees with what its engine saw, in every format of
counters; tests/drill has more scenarios."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnose.logged import diagnosed
from tests.drill.rows import ROWS
from tests.drill.scenario import Scenario, play
from tests.engine.test_stats_index import documents
from tests.live.conftest import tune
from tuner.diagnose.finding import Cause, ProductionFinding
from tuner.engine.client import EngineClient
from tuner.host.programs import rsyslog_version

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

FORMATS = {"legacy": 0, "json": 0, "json-elasticsearch": 0, "cee": 0, "prometheus": 2506,
           "zabbix": 2512}  # fmt: skip


def found(row: Scenario, folder: Path) -> tuple[dict[Cause, ProductionFinding], int]:
    folder.chmod(0o755)
    truth = play(row, folder)
    made = diagnosed((folder / "impstats.log").read_text("utf-8"))
    return {one.cause: one for one in made.findings}, truth.outputs["es"].lost


@pytest.mark.each_rsyslogd("impstats")
@pytest.mark.parametrize(
    "name",
    [one if one == "json" else pytest.param(one, marks=pytest.mark.full) for one in FORMATS],
)
def test_lost_events_are_counted_as_the_receiver_counts_them(name: str, tmp_path: Path) -> None:
    if FORMATS[name] > int(rsyslog_version().split(".")[1]):
        pytest.skip(f"rsyslog 8.{FORMATS[name]} brought {name}")
    row = ROWS["full-at-once"]
    stats = row.stats.replace('format="json"', f'format="{name}"')
    findings, lost = found(replace(row, stats=stats), tmp_path)
    events = findings[Cause.QUEUE_FULL].events
    assert lost > 0
    assert (events.least, events.most) == (lost, lost)


@pytest.mark.full
@pytest.mark.each_rsyslogd("impstats")
def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    findings, lost = found(ROWS["healthy-es"], tmp_path)
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
