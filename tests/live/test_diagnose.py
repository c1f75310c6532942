"""A diagnosis of a real rsyslogd's counters agrees with what the sink saw, whatever format they are
in; the logs of all cases are in tests/diagnose."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.diagnose.logged import diagnosed
from tests.live.production import CASES, Case, play
from tuner.diagnose.finding import Cause, ProductionFinding
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
@pytest.mark.parametrize("name", FORMATS)
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
