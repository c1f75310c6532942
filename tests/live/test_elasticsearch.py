"""Trials and commands on a real Elasticsearch 8.19."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.conftest import QUICK, tune
from tests.live.quick import NODE_PACE
from tests.live.test_search_on_the_sink import assert_finished
from tuner.cli.profiles import read_profile
from tuner.engine import owned
from tuner.engine.client import EngineClient, EngineRefused
from tuner.errors import Refused
from tuner.lab.lab import Lab, attached_lab, new_run_id
from tuner.lab.scratch import scratch
from tuner.lint.candidate import candidate
from tuner.lint.load import load_profile
from tuner.measure.measurement import Failure, FailureKind, Measurement, Result, TrialPlan
from tuner.measure.place import run_profile
from tuner.search.budget import smallest_budget_s

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

ROOT = Path(__file__).parents[2]
SHORT = TrialPlan(1.5, 3.0)
PROFILES = [
    "examples/collector/rsyslog.conf",
    "examples/by-hand.yaml",
    "examples/published/stock.yaml",
    "examples/published/p1-production.yaml",
]


@pytest.fixture
def lab(elasticsearch: EngineClient, tmp_path: Path) -> Iterator[Lab]:
    client = EngineClient(elasticsearch.url)
    with (
        scratch(tmp_path) as folder,
        attached_lab(client, folder, new_run_id(), "1g") as found,
    ):
        yield found


def require_each_event_once(outcome: Result) -> None:
    """Fail unless a trial has a number and every event."""
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact
    assert outcome.eps > 0
    assert outcome.shipper_cpu_us > 0
    assert outcome.engine_cpu_us > 0


@pytest.mark.full
@pytest.mark.parametrize("path", PROFILES)
def test_every_shipped_profile_delivers_each_event_once(
    lab: Lab, elasticsearch: EngineClient, path: str
) -> None:
    profile = read_profile(ROOT / path).profile
    require_each_event_once(run_profile(lab, profile, SHORT, "t1", lambda _: None))
    assert owned.indices(elasticsearch, owned.PREFIX) == ()


@pytest.mark.full
def test_a_window_ends_with_a_refresh_even_when_the_engine_refreshes_seldom(lab: Lab) -> None:
    profile = load_profile(ROOT / "examples" / "by-hand.yaml").profile
    assert profile.measured.index.settings.refresh_interval == "30s"
    outcome = run_profile(lab, profile, SHORT, "t1", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.effective is not None
    assert outcome.effective.refreshes >= 1


def test_a_document_the_engine_rejects_makes_the_trial_invalid(lab: Lab) -> None:
    """No room in the mapping: every item of a bulk fails, the request itself succeeds."""
    written = load_profile(ROOT / "examples" / "published" / "stock.yaml")
    limit = "outputs[logs].index.settings.mapping.total_fields.limit"
    profile = candidate(written, [(limit, 1)]).profile
    outcome = run_profile(lab, profile, SHORT, "t1", lambda _: None)
    assert isinstance(outcome, Failure)
    assert outcome.kind in {FailureKind.STALLED, FailureKind.DELIVERY}


def test_an_index_setting_that_the_engine_refuses_is_a_failed_trial(lab: Lab) -> None:
    written = load_profile(ROOT / "profiles" / "default.yaml")
    limit = "outputs[logs].index.settings.mapping.total_fields.limit"
    profile = candidate(written, [(limit, 1)]).profile
    outcome = run_profile(lab, profile, SHORT, "t1", lambda _: None)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ENGINE
    assert "Limit of total fields [1]" in outcome.reason


def test_a_trial_delivers_each_event_once_and_leaves_what_is_not_ours(
    lab: Lab, elasticsearch: EngineClient
) -> None:
    """Neither an index of the user's, nor one that looks like ours but does not say so."""
    theirs = ("syslog", f"{lab.owner.prefix}theirs")
    try:
        for name in theirs:
            elasticsearch.request("PUT", f"/{name}")
        profile = load_profile(ROOT / "profiles" / "default.yaml").profile
        require_each_event_once(run_profile(lab, profile, SHORT, "t1", lambda _: None))
        assert owned.indices(elasticsearch, owned.PREFIX) == (theirs[1],)
        owned.remove(elasticsearch, lab.owner, lab.owner.prefix)
        for name in theirs:
            elasticsearch.get(f"/{name}/_mapping")
        with pytest.raises(Refused, match="not ours"):
            owned.create_index(elasticsearch, lab.owner, "syslog-2")
        with pytest.raises(EngineRefused):
            elasticsearch.get("/syslog-2/_mapping")
    finally:
        for name in theirs:
            elasticsearch.request("DELETE", f"/{name}")


@pytest.mark.full
def test_bench_measures_on_a_cluster_that_runs_already(
    elasticsearch: EngineClient, tmp_path: Path
) -> None:
    done = tune("bench", ROOT / "profiles" / "default.yaml", "--elasticsearch", elasticsearch.url,
                "--repeat", 1, "--window", "3s", "--no-freshness", "--output", "json",
                folder=tmp_path)  # fmt: skip
    assert done.code == 0, done.err
    report = json.loads(done.out)
    (run,) = report["runs"]
    delivery = run["result"]["delivery"]
    assert delivery["sent"] == delivery["indexed"] == delivery["found"] > 0
    assert owned.indices(elasticsearch, owned.PREFIX) == ()
    assert list(tmp_path.iterdir()) == []


def test_a_search_goes_to_its_end(elasticsearch: EngineClient, tmp_path: Path) -> None:
    profile, budget = ROOT / "profiles" / "default.yaml", f"{smallest_budget_s(NODE_PACE)}s"
    done = tune("search", profile, "--elasticsearch", elasticsearch.url, "--budget", budget,
                "--no-effects", "--run-dir", "run", folder=tmp_path, command=QUICK)  # fmt: skip
    assert done.code == 0, done.err
    assert_finished(tmp_path / "run", is_itemised=False)
    assert owned.indices(elasticsearch, owned.PREFIX) == ()
