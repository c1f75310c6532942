"""Lanes and several outputs in a real rsyslogd: every event arrives once, through every lane."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.scratch import scratch
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile
from tuner.profile.model import Profile

pytestmark = [pytest.mark.live, pytest.mark.each_rsyslogd("queues"), pytest.mark.full]

DISK = {"type": "Disk", "filename": "lane", "spoolDirectory": "/var/spool/rsyslog",
        "size": 100_000, "dequeueBatchSize": 2000, "timeoutEnqueue": 86_400_000}  # fmt: skip
MEMORY = {"size": 50_000, "dequeueBatchSize": 2000, "timeoutEnqueue": 86_400_000}
SPREADS: dict[str, dict[str, object]] = {
    "ports": {"count": 3, "queue": MEMORY},
    "hash": {"count": 3, "spread": "hash", "property": "hostname", "queue": MEMORY},
    "random": {"count": 3, "spread": "random", "queue": MEMORY},
    "disk queues": {"count": 2, "queue": DISK},
}


def measured(tmp_path: Path, profile: Profile) -> Measurement:
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        outcome = run_profile(lab, profile, TrialPlan(0.5, 1.5), "lanes", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    return outcome


@pytest.mark.parametrize("spread", SPREADS)
def test_every_event_goes_through_one_lane_once(tmp_path: Path, spread: str) -> None:
    lanes = SPREADS[spread]
    profile = small({"lanes": lanes, "outputs[logs].queue": None})
    outcome = measured(tmp_path, profile)
    assert outcome.delivery.exact
    assert outcome.effective is not None
    held = {queue.name: queue.most_held for queue in outcome.effective.queues}
    names = [name for name in held if name.startswith("lane-")]
    assert names == [f"lane-{number}.small" for number in range(int(str(lanes["count"])))]
    assert all((held[name] or 0) > 0 for name in names), held


def test_each_output_gets_every_event_once(tmp_path: Path) -> None:
    fields = [{"property": "hostname", "name": "host"}, {"property": "msg", "name": "message"}]
    output = {
        "name": "audit", "type": "omelasticsearch", "servers": ["http://127.0.0.1:9200"],
        "document": fields, "indexTimeout": 60_000, "index": {"name": "syslog-audit"},
        "queue": {"type": "LinkedList", "size": 20_000, "dequeueBatchSize": 1000,
                  "timeoutEnqueue": 86_400_000, "timeoutShutdown": 10_000},
    }  # fmt: skip
    archive = {"name": "archive", "type": "omfile", "file": "/var/log/archive.log"}
    logs = small().measured.model_dump(mode="json", by_alias=True, exclude_none=True)
    outcome = measured(tmp_path, small({"outputs": [logs, output, archive]}))
    assert outcome.delivery.exact
    assert not [doubt for doubt in outcome.doubts if "omelasticsearch" in doubt.figure]
