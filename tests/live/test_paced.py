"""Open-loop trials on a real rsyslogd in front of the sink: freshness, falling behind, overload."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuner.flood.pace import fixed
from tuner.lab.engine import SinkEngine
from tuner.lab.lab import Lab, lab_of, new_run_id
from tuner.lab.scratch import scratch
from tuner.lab.sink import Sink, parse_fault
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, load_profile
from tuner.measure.measurement import (
    DoubtKind,
    Failure,
    FailureKind,
    Measurement,
    PacedMeasurement,
    TrialPlan,
)
from tuner.measure.paced import Pacing, run_paced
from tuner.measure.place import run_profile
from tuner.measure.prepared import prepare
from tuner.measure.sustain import OverloadPlan, overload_of, why_not
from tuner.profile.model import Profile
from tuner.profile.objective import Objective

pytestmark = [pytest.mark.live, pytest.mark.full, pytest.mark.usefixtures("nothing_left_behind")]

WRITTEN = load_profile(Path(__file__).parents[2] / "profiles" / "default.yaml")
SLOW = "delay=0.1,after=1,times=1000000"
"""Two workers with bulks of 2,000 then carry no more than 40,000 events per second."""


@contextmanager
def sink_lab(folder: Path, *faults: str) -> Iterator[Lab]:
    with Sink(faults=[parse_fault(fault) for fault in faults]) as sink, scratch(folder) as inner:
        lab = lab_of(SinkEngine(sink), inner, new_run_id())
        yield lab
        lab.client.close()


def paced(lab: Lab, profile: Profile, rate: float, seconds: float) -> PacedMeasurement:
    pacing = Pacing(fixed(rate), 1 + seconds, 1.0, 1 + seconds)
    outcome = run_paced(prepare(lab, profile, "paced"), pacing, lambda _: None)
    assert isinstance(outcome, PacedMeasurement), outcome
    return outcome


def test_a_pace_that_is_carried_is_fresh_and_does_not_pile_up(tmp_path: Path) -> None:
    with sink_lab(tmp_path) as lab:
        run = paced(lab, WRITTEN.profile, 5_000.0, 3.0)
    assert run.delivery.exact
    assert run.offered_per_second == pytest.approx(5_000, rel=0.05)
    assert run.freshness_s is not None
    assert 0 < run.freshness_s.p50 <= run.freshness_s.p99 < 2.0
    assert abs(run.growth_per_second) < 500
    assert not run.uses_disk
    assert run.spent is not None
    assert run.spent.total_s == pytest.approx(run.total_s)
    assert run.spent.warm_up_s >= 1.0
    assert run.spent.window_s >= 3.0
    assert min(run.spent.start_s, run.spent.drain_s, run.spent.settle_s, run.spent.stop_s) > 0


def test_a_slow_engine_shows_as_freshness(tmp_path: Path) -> None:
    """Every bulk takes half a second and nothing is lost: events are found half a second late."""
    with sink_lab(tmp_path, "delay=0.5,after=1,times=1000000") as lab:
        run = paced(lab, WRITTEN.profile, 2_000.0, 3.0)
    assert run.freshness_s is not None
    assert run.freshness_s.p50 >= 0.45


@pytest.mark.parametrize("faults", [(), ("delay=0.5,after=1,times=1000000",)])
def test_a_trial_for_freshness_tells_when_events_are_found(
    tmp_path: Path, faults: tuple[str, ...]
) -> None:
    plan = TrialPlan(1.0, 3.0, objective=Objective.FRESHNESS, offered=2_000.0)
    with sink_lab(tmp_path, *faults) as lab:
        run = run_profile(lab, WRITTEN.profile, plan, "fresh", lambda _: None)
    assert isinstance(run, Measurement), run
    assert run.delivery.exact
    assert run.fresh_p99_s is not None
    assert (run.fresh_p99_s >= 0.45) is bool(faults)


def test_more_than_the_pipeline_carries_is_not_called_sustainable(tmp_path: Path) -> None:
    with sink_lab(tmp_path, SLOW) as lab:
        run = paced(lab, WRITTEN.profile, 60_000.0, 3.0)
    reason = why_not(run, WRITTEN.profile)
    assert reason is not None
    assert "fell behind" in reason or "late" in reason
    assert run.delivery.exact


def test_a_fixed_rate_is_offered_whatever_the_pipeline_does(tmp_path: Path) -> None:
    """Such a workload has no backlog to steer: that it could not be kept is a doubt."""
    workload = WRITTEN.profile.workload.model_copy(update={"rate": 150_000})
    profile = WRITTEN.profile.model_copy(update={"workload": workload})
    with sink_lab(tmp_path, SLOW) as lab:
        run = run_profile(lab, profile, TrialPlan(1.0, 3.0), "fixed", lambda _: None)
    assert isinstance(run, Measurement), run
    assert DoubtKind.PACE_MISSED in {doubt.kind for doubt in run.doubts}
    assert run.eps < 60_000


def disk_assisted() -> LoadedProfile:
    queue = "outputs[logs].queue"
    changes = (
        (f"{queue}.filename", "logs"),
        (f"{queue}.maxDiskSpace", "2g"),
        (f"{queue}.spoolDirectory", "/var/spool/rsyslog"),
    )
    return candidate(WRITTEN, changes)


def overload(lab: Lab, profile: Profile) -> PacedMeasurement:
    plan = OverloadPlan(10_000.0, 80_000.0, 3.0)
    outcome = run_paced(prepare(lab, profile, "over"), plan.pacing, lambda _: None)
    assert isinstance(outcome, PacedMeasurement), outcome
    assert overload_of(plan, outcome).most_behind > 50_000
    return outcome


def test_what_is_too_much_for_memory_goes_to_disk_where_there_is_one(tmp_path: Path) -> None:
    with sink_lab(tmp_path, SLOW) as lab:
        memory = overload(lab, WRITTEN.profile)
    with sink_lab(tmp_path, SLOW) as lab:
        disk = overload(lab, disk_assisted().profile)
    assert memory.delivery.exact
    assert disk.delivery.exact
    assert (memory.uses_disk, memory.spool_bytes) == (False, 0)
    assert disk.uses_disk
    assert disk.spool_bytes > 1_000_000
    assert why_not(disk, WRITTEN.profile) is not None


def test_a_window_in_which_nothing_arrives_has_no_rate(tmp_path: Path) -> None:
    with sink_lab(tmp_path, "delay=4,after=1,times=1000000") as lab:
        run = run_profile(lab, WRITTEN.profile, TrialPlan(0.3, 0.6), "t1", lambda _: None)
    assert isinstance(run, Failure), run
    assert run.kind is FailureKind.STALLED
    assert run.is_transient
    assert "nothing was indexed in the window" in run.reason
