"""Which actions of a configuration get the traffic, as a real rsyslogd says, and a search of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.conftest import tune
from tuner.search.journal import read
from tuner.search.study import BASELINE

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

_ENGINE = 'type="omelasticsearch" server="127.0.0.1" searchType="" bulkmode="on"'
# The first action is for rsyslogd's own statistics.
STATISTICS = f"""\
module(load="imtcp")
module(load="impstats" format="cee" interval="10")
module(load="mmjsonparse")
module(load="omelasticsearch")
input(type="imtcp" port="10514")
template(name="all" type="list") {{ property(name="$!all-json") }}
template(name="doc" type="list") {{
  constant(value="{{\\"message\\":\\"") property(name="msg" format="json") constant(value="\\"}}")
}}
if $syslogtag contains 'rsyslogd-pstats' then {{
  action(type="mmjsonparse")
  action(name="stats" {_ENGINE} template="all" searchIndex="stats" queue.type="LinkedList"
         queue.dequeueBatchSize="4096")
  stop
}}
action(name="logs" {_ENGINE} template="doc" searchIndex="logs" queue.type="LinkedList"
       queue.size="5000" queue.dequeueBatchSize="16")
"""
COLLECTOR = STATISTICS.replace("$syslogtag contains 'rsyslogd-pstats'", "$programname == 'json'")


def planned(folder: Path, *named: object) -> dict[str, object]:
    done = tune("search", *named, "--engine", "sink", "--budget", "3m", "--dry-run",
                "--output", "json", folder=folder)  # fmt: skip
    assert done.code == 0, done.err
    plan: dict[str, object] = json.loads(done.out)
    return plan


def test_an_action_for_statistics_is_not_what_is_tuned(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(STATISTICS, "utf-8")
    plan = planned(tmp_path, "--conf", "rsyslog.conf")
    assert plan["shares"] == {"stats": 0.0, "logs": 1.0}
    assert plan["tuned"] == ["logs"]
    assert "not tuned, as less than 5 % goes there: action[stats] 0.0 %" in str(plan["plan"])


def test_a_flood_follows_the_parts_that_production_has(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(COLLECTOR, "utf-8")
    (tmp_path / "p.yaml").write_text(
        "name: p\nbase: {rsyslog: rsyslog.conf}\n"
        "workload: {shares: {'action[stats]': 0.2, 'action[logs]': 0.8}}\n",
        "utf-8",
    )
    plan = planned(tmp_path, "p.yaml")
    assert plan["shares"] == pytest.approx({"stats": 0.2, "logs": 0.8}, abs=0.01)
    assert plan["tuned"] == ["logs", "stats"]


@pytest.mark.full
def test_a_search_turns_the_action_that_has_the_traffic(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_text(STATISTICS, "utf-8")
    done = tune("search", "--conf", "rsyslog.conf", "--engine", "sink", "--budget", "3m",
                "--no-effects", "--run-dir", "run", folder=tmp_path)  # fmt: skip
    assert done.code == 0, done.err
    trials = [trial for trial in read(tmp_path / "run").trials if trial.changes != BASELINE]
    assert trials
    turned = {path for trial in trials for path, _ in trial.changes}
    assert "outputs[logs].queue.dequeueBatchSize" in turned
    # A repair loses no event of it either.
    assert not any(path.startswith("outputs[stats].queue.dequeue") for path in turned)
    assert "What was tuned" in done.out or "tuned, by their parts" in done.out
