"""What a search says of itself on its way: who leads, and how many trials there will be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.search.simulated import START_S, Rack, World, rack, search, waves
from tuner.search.climb import Leader
from tuner.search.search import Search
from tuner.search.study import BASELINE, Phase, Step, Study, Trial
from tuner.search.verdict import judge


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


Said = list[tuple[Trial, int, Leader | None]]


def heard(
    folder: Path, name: str = "random", world: World | Rack | None = None
) -> tuple[Study, Said]:
    """A search, and what it said after each trial."""
    said: Said = []

    def hear(searching: Search, step: Step) -> None:
        if isinstance(step, Trial):
            leader = searching.leader()
            best = BASELINE if leader is None else leader.changes
            said.append((step, searching.runner.trials_expected(best), leader))

    return search(folder, world or World(START_S), name=name, hear=hear), said


def test_about_as_many_trials_are_expected_as_there_will_be(tmp_path: Path) -> None:
    study, said = heard(tmp_path)
    last = study.of(Phase.CONFIRM)[-1].number
    for trial, expected, _ in said:
        if trial.phase in (Phase.SEARCH, Phase.FINAL):
            assert abs(expected - last) <= 0.1 * last
        if trial.phase is Phase.CONFIRM:
            assert trial.number <= expected
            assert abs(expected - last) <= 4
    assert [expected for _, expected, _ in said if expected == last][-1] == last


@pytest.mark.parametrize("name", ["random", "default"])
def test_who_leads_is_chosen_and_the_estimate_covers_what_it_gives(
    tmp_path: Path, name: str
) -> None:
    study, said = heard(tmp_path, name)
    before = [leader for trial, _, leader in said if trial.phase is Phase.FINAL]
    leader = before[-1]
    assert leader is not None
    assert leader.changes == judge(study).chosen
    assert leader.believed.low < leader.believed.ratio < leader.believed.high
    true_ratio = waves(dict(leader.changes)) / waves({})
    assert leader.believed.low < true_ratio < leader.believed.high
    assert all(leader is None for trial, _, leader in said if trial.phase is Phase.CALIBRATE)


def test_to_ask_who_leads_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    study, _ = heard(tmp_path / "a")
    assert study.trials == search(tmp_path / "b", World(START_S)).trials


def test_several_machines_are_expected_to_make_as_many_trials_as_they_do(tmp_path: Path) -> None:
    study, said = heard(tmp_path, world=rack(3))
    last = max(one.number for one in study.trials)
    for trial, expected, _ in said:
        if trial.phase in (Phase.SEARCH, Phase.FINAL):
            assert abs(expected - last) <= 0.15 * last
        if trial.phase is Phase.CONFIRM:
            assert abs(expected - last) <= 8
