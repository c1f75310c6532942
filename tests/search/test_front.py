"""The front of two figures: which points get pairs of their own, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.search.simulated import (
    BUDGET_S,
    START_S,
    World,
    by_workers,
    changed,
    setup,
    workers_in,
)
from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.measurement import Measurement
from tuner.profile.objective import Objective
from tuner.report.result import analyse
from tuner.report.search_report import outcome_blocks, search_report
from tuner.report.sections import Plot, Table
from tuner.search.budget import MOST_BESIDE, aside_s
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.study import Asked, Ending, Note, Phase, Study, Trial
from tuner.search.verdict import _front, candidate_of, front_of


def adds_disk(asked: Asked, made: Measurement) -> Measurement:
    """Each worker takes as much disk again."""
    return replace(made, store_bytes=made.store_bytes * workers_in(dict(asked.changes)))


def study_of(front: Objective | None, budget_s: float = 2 * BUDGET_S) -> Study:
    world = World(START_S, rate=by_workers(0.3), adds=adds_disk)
    asked = changed(setup(world), front=front, budget_s=budget_s)
    steps = list(Search(Runner(asked)).run())
    return Study(
        asked.record.study.header,
        tuple(step for step in steps if isinstance(step, Trial)),
        Ending.FINISHED,
        tuple(step for step in steps if isinstance(step, Note)),
    )


@pytest.fixture(scope="module")
def study() -> Study:
    return study_of(Objective.DISK)


def test_points_that_trade_one_for_the_other_get_pairs_of_their_own_in_turns(study: Study) -> None:
    runs = [trial for trial in study.of(Phase.FRONT) if trial.changes]
    points = {trial.changes for trial in runs}
    assert 1 <= len(points) <= MOST_BESIDE
    assert candidate_of(study.trials) not in points
    assert len(runs) == FEWEST_PAIRS * len(points)
    assert [run.changes for run in runs[: len(points)]] == [
        run.changes for run in runs[-len(points) :]
    ]
    assert len({run.changes for run in runs[: len(points)]}) == len(points)


def test_none_of_them_is_better_in_both(study: Study) -> None:
    points = front_of(study)
    assert len(points) > 1
    gains = [point.gain.ratio for point in points]
    assert gains == sorted(gains, reverse=True)
    disks = [point.other.ratio for point in points]
    assert disks == sorted(disks, reverse=True)
    assert min(gains) > 1


def test_each_is_told_with_both_figures_and_what_it_changes(study: Study) -> None:
    result = analyse(study)
    told = "\n".join(str(block) for block in outcome_blocks(result))
    assert "Points none of which is better in both figures" in told
    assert "disk per event after merges" in told
    sections = search_report(result, Path("run")).sections
    (section,) = (section for section in sections if section.anchor == "front")
    plot, table = section.blocks
    assert isinstance(plot, Plot)
    assert isinstance(table, Table)
    assert len(plot.rows) + 1 == len(table.rows) == len(front_of(study)) + 1
    assert any("workerThreads" in row[3] for row in table.rows)


def test_its_time_is_kept_for_it(study: Study) -> None:
    (first, *_) = study.of(Phase.FRONT)
    budget_s = study.header.budget_s
    assert first.at_s <= budget_s - aside_s(budget_s, has_front=True) + 60
    assert study.trials[-1].ended_s <= budget_s + 15


def test_without_one_nothing_is_paired_beside_the_winner() -> None:
    assert study_of(None, BUDGET_S).of(Phase.FRONT) == ()


def test_a_point_that_is_better_by_less_than_noise_is_no_trade() -> None:
    """The second is as good as the first but for less of one figure, the fourth worse in both."""
    assert _front([(0.3, -0.2), (0.2, -0.195), (0.1, 0.0), (0.0, -0.1), (-0.1, 0.5)]) == [0, 2, 4]


def test_runs_that_become_slow_end_with_the_budget() -> None:
    world = World(START_S, rate=by_workers(0.3), adds=adds_disk)

    def slows(asked: Asked) -> None:
        world.now_s += 100.0 if asked.phase is Phase.FRONT else 0.0

    world.stop = slows
    asked = changed(setup(world), front=Objective.DISK, budget_s=2 * BUDGET_S)
    trials = [step for step in Search(Runner(asked)).run() if isinstance(step, Trial)]
    assert trials[-1].phase is Phase.FRONT
    longest_s = max(trial.ended_s - trial.at_s for trial in trials)
    assert trials[-1].ended_s <= 2 * BUDGET_S + 2 * longest_s
