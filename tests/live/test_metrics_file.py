"""`bench --metrics-file` with a real rsyslogd, indexing into the sink."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.live.conftest import tune

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"


def samples(path: Path) -> dict[tuple[str, ...], float]:
    """The value of each sample by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(path.read_text(encoding="utf-8"))
        for sample in family.samples
    }


def test_a_bench_leaves_what_it_measured(tmp_path: Path) -> None:
    done = tune("bench", DEFAULT, "--engine", "sink", "--window", "2s", "--repeat", "2",
                "--metrics-file", "bench.prom", folder=tmp_path)  # fmt: skip
    assert done.code == 0, done.err
    found = samples(tmp_path / "bench.prom")
    assert found["rsyslog_tune_running",] == 0
    assert found["rsyslog_tune_phase", "freshness"] == 1
    assert found["rsyslog_tune_trial_number",] == found["rsyslog_tune_trials_planned",] == 2
    assert found["rsyslog_tune_trials_total",] == 3
    assert found["rsyslog_tune_last_trial_events_per_second",] > 100
    assert 0 < found["rsyslog_tune_cpu_seconds_per_event", "rsyslogd"] < 1e-3
