"""The profiles that we ship, on the real rsyslogd: accepted, and measured where a lab can."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.scratch import scratch
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.trial import run_trial
from tuner.profile.load import load_profile
from tuner.render.artefacts import rsyslog_conf
from tuner.validate.rsyslogd import check

pytestmark = pytest.mark.live

PROFILES = Path(__file__).parents[2] / "profiles"
ACCEPTED = ["default", "ecs-datastream", "edge-udp", "elma", "opensearch", "production"]
"""All but `durable`, whose certificates and password are not on this machine."""
MEASURED = ["elma", "opensearch", "production"]
"""Those that take plain TCP first and write to indices, beside the default profile."""


@pytest.mark.parametrize("name", ACCEPTED)
def test_rsyslogd_accepts_it(name: str) -> None:
    verdict = check(rsyslog_conf(load_profile(PROFILES / f"{name}.yaml").profile))
    assert verdict.accepted, verdict.complaints


@pytest.mark.parametrize("name", MEASURED)
def test_a_trial_of_it_accounts_for_every_event(tmp_path: Path, name: str) -> None:
    profile = load_profile(PROFILES / f"{name}.yaml").profile
    with scratch(tmp_path) as folder, sink_lab(folder, new_run_id()) as lab:
        outcome = run_trial(lab, profile, TrialPlan(0.5, 1.0), "shipped", lambda _: None)
    assert isinstance(outcome, Measurement), outcome
    assert outcome.delivery.exact
