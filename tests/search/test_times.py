"""Where the time of a search went: nothing is forgotten, and nothing counts twice."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import failed, itemised, measured
from tests.search.simulated import ASKED, BUDGET_S, START_S, World, rack, search
from tuner.measure.measurement import TrialPlan
from tuner.search.study import Ending, Phase, Session, Study, Trial
from tuner.search.times import times

PLAN = TrialPlan(2.0, 6.0)


@pytest.fixture
def studied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return search(tmp_path, World(START_S, computes_s=0.25, restart_s=5.0))


def trial(at_s: float, total_s: float, *, phase: Phase = Phase.SEARCH, **spent: float) -> Trial:
    """A trial that was measured, its parts as `itemised` has them but for `spent`."""
    parts = replace(itemised(PLAN, total_s), **spent)
    outcome = replace(measured(1000.0), total_s=total_s, spent=parts)
    ended_s = at_s + parts.restart_s + total_s
    return Trial(0, phase, (), "", PLAN, outcome, at_s, ended_s=ended_s)


def study_of(*trials: Trial, sessions: Sequence[Session] = (Session("", 1, ""),)) -> Study:
    return Study(replace(ASKED, budget_s=100.0), trials, Ending.FINISHED, sessions=tuple(sessions))


def test_the_parts_add_up_to_the_time_taken(studied: Study) -> None:
    found = times(studied)
    assert {one.phase for one in found.phases} == {one.phase for one in studied.trials}
    assert sum(one.trials for one in found.phases) == len(studied.trials)
    whole_s = sum(one.seconds for one in found.phases) + found.starts_s + found.restarts_s
    assert whole_s + found.between_s == pytest.approx(found.total_s)
    assert found.total_s == studied.trials[-1].ended_s


def test_what_the_search_computes_is_told_apart_from_its_trials(studied: Study) -> None:
    found = times(studied)
    assert found.starts_s == pytest.approx(START_S)
    assert found.between_s == pytest.approx(0.25 * len(studied.trials))
    assert found.restarts > 0
    assert found.restarts_s == pytest.approx(5.0 * found.restarts)


def test_windows_count_where_they_gave_a_rate_within_the_budget(studied: Study) -> None:
    found = times(studied)
    windows_s = {one.phase: one.windows_s for one in found.phases}
    assert windows_s.pop(Phase.WARM_UP) == 0.0
    assert min(windows_s.values()) > 0.0
    assert found.measuring == pytest.approx(sum(windows_s.values()) / BUDGET_S)


def test_the_window_of_a_trial_that_failed_measured_nothing() -> None:
    broken = replace(trial(9.0, 9.0), outcome=replace(failed(), spent=itemised(PLAN, 9.0)))
    (search_time,) = times(study_of(trial(0.0, 9.0), broken)).phases
    assert search_time.trials == 2
    assert search_time.windows_s == 6.0


def test_the_overhead_is_that_of_trials_without_a_restart() -> None:
    slow = trial(40.0, 20.0, restart_s=30.0)
    broken = replace(slow, outcome=replace(failed(), spent=itemised(PLAN, 60.0)))
    found = times(
        study_of(trial(0.0, 9.0), trial(9.0, 10.0), trial(19.0, 15.0), slow, broken)
    ).overhead
    assert found is not None
    assert found.trials == 3
    assert found.median_s == pytest.approx(4.0)
    assert found.parts.warm_up_s == 2.0
    assert found.parts.drain_s == pytest.approx(1.0)


def test_without_trials_of_the_search_there_is_no_overhead_to_tell() -> None:
    found = times(study_of(trial(5.0, 9.0, phase=Phase.CALIBRATE)))
    assert found.overhead is None
    assert found.starts_s == 5.0


def test_what_a_session_needs_to_be_ready_again_is_a_start() -> None:
    found = times(study_of(trial(5.0, 9.0), trial(34.0, 9.0)))
    assert found.starts_s == pytest.approx(5.0 + 20.0)
    assert found.between_s == pytest.approx(0.0)


def test_a_search_that_measured_nothing_took_no_time_that_is_known() -> None:
    assert times(study_of()).total_s == 0.0


def test_the_times_of_several_machines_add_up_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    study = search(tmp_path, rack(3))
    found = times(study)
    assert found.machines == 3
    assert found.total_s == pytest.approx(3 * max(one.ended_s for one in study.trials))
    assert found.starts_s == pytest.approx(3 * START_S)
    in_trials_s = sum(one.seconds for one in found.phases) + found.restarts_s
    assert found.total_s == pytest.approx(found.starts_s + in_trials_s + found.between_s)
    assert 0.0 <= found.between_s < 0.2 * found.total_s
    assert 0.0 < found.measuring < 1.0


def test_a_session_on_other_machines_counts_with_those_that_it_had() -> None:
    sessions = [
        Session("", 1, "", machines=("lab1", "lab2")),
        Session("", 2, "", at_s=50.0, machines=("lab3", "lab4", "lab5")),
    ]
    trials = [
        replace(trial(at_s, 9.0), machine=name)
        for at_s, own in ((5.0, sessions[0].machines), (52.0, sessions[1].machines))
        for name in own
    ]
    found = times(study_of(*trials, sessions=sessions))
    assert found.machines == 5
    assert found.total_s == pytest.approx(2 * 14.0 + 3 * 47.0)
    assert found.starts_s == pytest.approx(2 * 5.0 + 3 * 38.0)
    assert found.between_s == pytest.approx(0.0)
    # As much of the budget as all had of it.
    assert found.measuring == pytest.approx(5 * 6.0 / (100.0 * found.total_s / 61.0))
