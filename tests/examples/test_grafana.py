"""The dashboard for a pipeline that runs: Grafana can place it, and every metric exists."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.measure.factory import failed, measured
from tests.report.test_metrics import BEGUN, trial
from tuner.report.metrics import metrics_text, of_trials
from tuner.search.study import Phase

GRAFANA = Path(__file__).parents[2] / "examples" / "grafana"
DASHBOARD: dict[str, Any] = json.loads((GRAFANA / "pipeline.json").read_text(encoding="utf-8"))
EXPORTERS: list[dict[str, Any]] = yaml.safe_load(
    (GRAFANA / "metrics.yml").read_text(encoding="utf-8")
)
METRIC = re.compile(r"\b(?:rsyslog|elasticsearch|node)_[a-z0-9_]+")
COLUMNS = 24
SYSTEMD = shutil.which("systemd-analyze")


def queries() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"]


def test_every_metric_has_a_source_and_every_source_is_used() -> None:
    shown = {name for query in queries() for name in METRIC.findall(query)}
    known = [name for one in EXPORTERS for name in one["metrics"]]
    assert shown == set(known)
    assert len(known) == len(set(known))
    assert all(one["source"] and all(one["metrics"].values()) for one in EXPORTERS)


def test_metrics_of_our_own_are_those_that_a_search_writes() -> None:
    trials = [trial(0, Phase.SEARCH, failed()), trial(1, Phase.SEARCH, measured(40_000.0))]
    written = metrics_text(of_trials(BEGUN, trials, 9, 60.0))
    ours = next(one for one in EXPORTERS if one["source"].startswith("tuner/"))
    for name in ours["metrics"]:
        assert f"\n# TYPE {name} " in written


def test_panels_lie_in_the_grid_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS
        cells = {
            (place["x"] + column, place["y"] + line)
            for column in range(place["w"])
            for line in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(numbers) == len(set(numbers))


def test_every_panel_says_what_it_shows_and_asks_the_chosen_prometheus() -> None:
    for panel in DASHBOARD["panels"]:
        if panel["type"] == "row":
            continue
        assert panel["description"].endswith("."), panel["title"]
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert {one["uid"] for one in sources} == {"${datasource}"}


def test_queries_are_balanced_and_use_only_variables_that_are_there() -> None:
    names = {one["name"] for one in DASHBOARD["templating"]["list"]}
    for query in queries():
        assert query.count("(") == query.count(")")
        assert query.count("{") == query.count("}")
        assert set(re.findall(r"\$(\w+)", query)) <= names | {"__rate_interval", "__range"}


def test_the_exporter_gets_lines_of_four_words_from_the_file_of_impstats() -> None:
    """rsyslog_exporter's exporter.go: SplitN(line, " ", 4), the last of which is JSON."""
    unit = (GRAFANA / "rsyslog-exporter.service").read_text(encoding="utf-8")
    command = shlex.split(re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)[0])
    assert command[:2] == ["/bin/sh", "-c"]
    _, edit, exporter = command[2].split(" | ")
    assert "rsyslog_exporter" in exporter
    written = [
        'Fri Nov  6 23:57:42 2026: { "name": "es queue", "origin": "core.queue", "size": 0 }',
        'Fri Nov 20 23:57:42 2026: { "name": "a {b}", "origin": "core.action", "failed": 0 }',
    ]
    done = subprocess.run(
        shlex.split(edit), input="\n".join(written), capture_output=True, text=True, check=True
    )
    for line, before in zip(done.stdout.splitlines(), written, strict=True):
        words = line.split(" ", 3)
        assert json.loads(words[3]) == json.loads(before[before.index("{") :])


@pytest.mark.full
@pytest.mark.skipif(SYSTEMD is None, reason="make managers")
def test_systemd_has_nothing_to_say_against_the_exporters_unit() -> None:
    command = [str(SYSTEMD), "verify", str(GRAFANA / "rsyslog-exporter.service")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""


def test_grafana_and_prometheus_can_read_their_files() -> None:
    provider = yaml.safe_load((GRAFANA / "dashboards.yml").read_text(encoding="utf-8"))
    assert provider["providers"][0]["type"] == "file"
    scraped = yaml.safe_load((GRAFANA / "prometheus.yml").read_text(encoding="utf-8"))
    targets = {
        job["job_name"]: job["static_configs"][0]["targets"] for job in scraped["scrape_configs"]
    }
    ports = {name: {one.rpartition(":")[2] for one in those} for name, those in targets.items()}
    assert ports == {"rsyslog": {"9104"}, "elasticsearch": {"9114"}, "node": {"9100"}}
    assert len(ports) == len(EXPORTERS)
