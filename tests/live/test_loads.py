"""A lab whose load comes from other processes than its own, at another address than loopback's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.test_loads import steered
from tests.live.test_paced import WRITTEN, paced, sink_lab
from tuner.lab.lab import Lab
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]


@contextmanager
def loaded_lab(folder: Path) -> Iterator[Lab]:
    with sink_lab(folder) as lab, steered() as (loads, _):
        yield replace(lab, address="127.0.0.2", loads=loads.alive)


def test_a_saturated_trial_accounts_for_the_events_of_both(tmp_path: Path) -> None:
    with loaded_lab(tmp_path) as lab:
        assert "127.0.0.2" in str(lab.bind(WRITTEN.profile, "x").substitutions)
        run = run_profile(lab, WRITTEN.profile, TrialPlan(1.0, 2.0), "t1", lambda _: None)
    assert isinstance(run, Measurement), run
    assert run.delivery.exact
    assert run.verdict is not None
    assert [one.name for one in run.verdict.stages.loads] == ["north", "south"]
    assert all(one.sender_cpu > 0 and one.machine_cpu > 0 for one in run.verdict.stages.loads)


def test_freshness_says_how_far_the_clocks_may_be_apart(tmp_path: Path) -> None:
    with loaded_lab(tmp_path) as lab:
        run = paced(lab, WRITTEN.profile, 5_000.0, 3.0)
    assert run.delivery.exact
    assert run.offered_per_second == pytest.approx(5_000, rel=0.05)
    assert run.freshness_s is not None
    assert 0 < run.freshness_s.p50 <= run.freshness_s.p99 < 5.0
    assert 0 < run.freshness_s.error_s < 1.0
