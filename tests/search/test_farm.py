"""A search on several machines: what it measures where, and what becomes of it when they fail."""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.measure.factory import failed
from tests.search import simulated
from tests.search.simulated import BUDGET_S, START_S, Levels, Rack, World, by_workers, rack, search
from tuner.errors import Unreachable
from tuner.measure.measurement import FailureKind
from tuner.search.effects import complete
from tuner.search.farm import Lost
from tuner.search.journal import NAME, recorded
from tuner.search.study import Asked, Ending, Phase, Study
from tuner.search.verdict import Claim, judge, pairs_of

LABS = 3


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def said(study: Study, text: str) -> list[str]:
    return [note.text for note in study.notes if text in note.text]


def counted_once(study: Study) -> bool:
    return len({trial.number for trial in study.trials}) == len(study.trials)


def test_several_machines_measure_at_once_what_fits_and_keep_the_budget(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    alone = search(tmp_path / "one", World(START_S))
    study = search(tmp_path, rack(LABS))
    tried = [len(one.of(Phase.SEARCH)) for one in (alone, study)]
    assert tried[1] > 0.85 * LABS * tried[0]
    assert study.trials[-1].ended_s <= BUDGET_S
    assert counted_once(study)
    for phase in (Phase.WARM_UP, Phase.CALIBRATE):
        assert set(Counter(one.machine for one in study.of(phase))) == {"lab1", "lab2", "lab3"}
    first = min(study.of(Phase.CALIBRATE), key=lambda one: one.number)
    assert first.number == 0
    assert judge(study).claim is Claim.IMPROVED


def test_a_machine_has_one_trial_at_a_time_and_a_pair_has_one_machine(tmp_path: Path) -> None:
    study = search(tmp_path, rack(LABS))
    for machine in ("lab1", "lab2", "lab3"):
        own = [one for one in study.trials if one.machine == machine]
        assert all(a.ended_s <= b.at_s for a, b in pairwise(own))
    pairs = pairs_of(study.trials)
    assert len(pairs) >= 6
    assert {pair.machine for pair in pairs} == {"lab1", "lab2", "lab3"}
    for phase in (Phase.EFFECTS, Phase.CONFIRM):
        runs = Counter((one.pair, one.machine) for one in study.of(phase))
        assert set(runs.values()) == {2}


@pytest.mark.full
def test_no_point_is_proposed_while_it_is_under_way(tmp_path: Path) -> None:
    study = search(tmp_path, rack(8), name="random")
    points = [one.changes for one in study.of(Phase.SEARCH)]
    assert len(points) == len(set(points))


def lost_once(number: int, *, is_gone: bool = False) -> Rack:
    labs, lost = rack(LABS, crashes=0.0), [number]

    def fate(asked: Asked) -> tuple[float, Lost] | None:
        if asked.number in lost:
            lost.remove(asked.number)
            return 2.0, Lost("the worker died", is_gone)
        return None

    return replace(labs, fate=fate)


def test_a_trial_that_is_lost_with_its_machine_is_measured_elsewhere(tmp_path: Path) -> None:
    labs = lost_once(30, is_gone=True)
    study = search(tmp_path, labs)
    (asked,) = [one for one in labs.begun if one.number == 30]
    again = [
        one for one in study.trials if one.changes == asked.changes and one.phase is asked.phase
    ]
    assert [one.number for one in again] != [30]
    assert again[0].machine != asked.machine
    assert 30 not in {one.number for one in study.trials}
    assert not [one for one in labs.begun if one.machine == asked.machine and one.number > 33]
    assert said(study, f"trial 30 was lost on {asked.machine}: the worker died")
    assert said(study, f"{asked.machine} is dropped: the worker died; 2 machines are left")
    assert labs.dropped == [asked.machine]
    assert judge(study).claim is Claim.IMPROVED


def test_a_pair_whose_machine_is_lost_does_not_count(tmp_path: Path) -> None:
    whole = search(tmp_path, rack(LABS, crashes=0.0))
    second = [one.number for one in whole.of(Phase.CONFIRM)][LABS]
    (tmp_path / "lost").mkdir()
    study = search(tmp_path / "lost", lost_once(second))
    assert said(study, f"trial {second} was lost")
    assert len(study.of(Phase.CONFIRM)) == 2 * len(pairs_of(study.trials)) + 1
    numbers = {one.pair for one in study.of(Phase.CONFIRM)}
    assert len(pairs_of(study.trials)) == len(numbers) - 1


@pytest.mark.parametrize("phase", [Phase.CALIBRATE, Phase.SEARCH, Phase.EFFECTS, Phase.CONFIRM])
def test_a_machine_that_hangs_is_dropped_in_time_for_the_others_to_keep_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: Phase
) -> None:
    def fate(asked: Asked) -> tuple[float, Lost] | None:
        return (1e9, Lost("never")) if (asked.phase, asked.machine) == (phase, "lab3") else None

    labs = replace(rack(LABS), fate=fate)
    monkeypatch.setattr(simulated, "ASKED", replace(simulated.ASKED, budget_s=600.0))
    study = search(tmp_path, labs)
    (text,) = said(study, "was lost on lab3")
    assert re.search(r"no answer for \d+ s", text)
    assert said(study, "lab3 is dropped")
    assert judge(study).claim is Claim.IMPROVED
    assert labs.now_s <= 630.0


def test_a_block_that_is_lost_with_its_machine_is_measured_again(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    whole = search(tmp_path / "whole", rack(LABS, crashes=0.0))
    lost = [one.number for one in whole.of(Phase.EFFECTS)][LABS]
    study = search(tmp_path, lost_once(lost))
    assert said(study, f"trial {lost} was lost")
    blocks = [len(complete(one.trials, judge(one).chosen)) for one in (whole, study)]
    assert blocks[0] == blocks[1] >= 8


def test_a_machine_that_fails_again_and_again_is_dropped_and_said(tmp_path: Path) -> None:
    labs = rack(LABS)
    stalled = replace(failed("no events for 10 s"), kind=FailureKind.STALLED)
    broken = labs.worlds["lab2"]
    broken.transient_failures = lambda asked: asked.number > 20
    study = search(tmp_path, labs)
    own = [one for one in study.trials if one.machine == "lab2" and one.number > 20]
    assert [one.outcome.kind for one in own] == [stalled.kind] * 3  # type: ignore[union-attr]
    assert said(study, "lab2 is dropped: it failed 3 times in a row; 2 machines are left")
    assert judge(study).claim is Claim.IMPROVED


def test_without_a_machine_the_search_fails_and_names_the_reason(tmp_path: Path) -> None:
    def fate(asked: Asked) -> tuple[float, Lost] | None:
        return (1.0, Lost("cut off", is_gone=True)) if asked.number > 9 else None

    with pytest.raises(Unreachable, match=r"no machine is left to measure on: lab\d: cut off"):
        search(tmp_path, replace(rack(2), fate=fate))
    resumed = search(tmp_path, rack(2))
    assert resumed.ending is Ending.FINISHED
    assert counted_once(resumed)


@pytest.mark.parametrize(
    "share", [0.35, 0.95, *(pytest.param(one, marks=pytest.mark.full) for one in (0.1, 0.6, 0.8))]
)
def test_what_was_under_way_in_a_crash_is_asked_again_and_nothing_counts_twice(
    tmp_path: Path, share: float
) -> None:
    search(tmp_path, rack(LABS))
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / NAME).write_bytes(b"".join(lines[: int(share * len(lines))]))
    before = recorded(folder)
    labs = rack(LABS)
    study = search(folder, labs)
    assert study.trials[: len(before.study.trials)] == before.study.trials
    assert counted_once(study)
    assert not {one.number for one in labs.begun} & {one.number for one in before.study.trials}
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    (folder / NAME).write_bytes(b"".join(lines[:-3]))
    third = search(folder, rack(LABS))
    assert third.trials[: len(study.trials) - 3] == study.trials[: len(study.trials) - 3]


def test_it_resumes_on_other_machines(tmp_path: Path) -> None:
    search(tmp_path, rack(LABS))
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / NAME).write_bytes(b"".join(lines[: len(lines) // 2]))
    known = len(recorded(folder).study.trials)
    labs = rack(LABS)
    other = replace(labs, worlds={"lab3": labs.worlds["lab3"], "new": World(START_S, seed="new ")})
    study = search(folder, other)
    assert counted_once(study)
    fresh = study.trials[known:]
    assert {one.machine for one in fresh} == {"lab3", "new"}
    phases = [one.phase for one in fresh if one.machine == "new"]
    assert phases[:2] == [Phase.WARM_UP, Phase.CALIBRATE]
    assert judge(study).claim is Claim.IMPROVED


def test_it_resumes_during_the_pairs_on_a_machine_that_calibrated_nothing(tmp_path: Path) -> None:
    search(tmp_path, rack(LABS))
    lines = (tmp_path / NAME).read_bytes().splitlines(keepends=True)
    # The first run of what is confirmed; until then it is not known.
    first = next(
        at for at, line in enumerate(lines)
        if b'"trial": {' in line and b'"confirm"' in line and b'"changes": []' not in line
    )  # fmt: skip
    folder = tmp_path / "again"
    folder.mkdir()
    (folder / NAME).write_bytes(b"".join(lines[: first + 1]))
    study = search(folder, Rack({"new": World(START_S, seed="new ")}))
    assert {one.phase for one in study.trials if one.machine == "new"} <= {
        Phase.WARM_UP, Phase.CONFIRM, Phase.RECIPE,
    }  # fmt: skip
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert verdict.effects is not None


def test_a_point_that_takes_two_machines_with_it_has_failed(tmp_path: Path) -> None:
    bad = {"outputs[logs].queue.workerThreads"}

    def fate(asked: Asked) -> tuple[float, Lost] | None:
        is_bad = asked.phase is Phase.SEARCH and bad & {path for path, _ in asked.changes}
        return (1.0, Lost("out of memory")) if is_bad and asked.number < 60 else None

    labs = replace(rack(8), fate=fate)
    study = search(tmp_path, labs)
    dead = [one for one in study.trials if "two machines were lost" in str(one.outcome)]
    assert dead
    begun = Counter(one.changes for one in labs.begun)
    assert all(begun[one.changes] == 2 for one in dead)


def test_the_best_point_is_not_to_blame_for_the_machines_that_were_lost_when_it_was_confirmed(
    tmp_path: Path,
) -> None:
    (tmp_path / "whole").mkdir()
    whole = search(tmp_path / "whole", rack(LABS, crashes=0.0))
    best = whole.of(Phase.CONFIRM)[-1].changes or whole.of(Phase.CONFIRM)[-2].changes
    lost: list[int] = []

    def fate(asked: Asked) -> tuple[float, Lost] | None:
        if asked.phase is Phase.CONFIRM and asked.changes == best and len(lost) < LABS:
            lost.append(asked.number)
            return 2.0, Lost("the scheduler died")
        return None

    study = search(tmp_path, replace(rack(LABS, crashes=0.0), fate=fate))
    assert len(lost) == LABS
    verdict = judge(study)
    assert (verdict.claim, study.of(Phase.CONFIRM)[-1].phase) == (Claim.IMPROVED, Phase.CONFIRM)
    assert best in {one.changes for one in study.of(Phase.CONFIRM)}
    assert not [one for one in study.trials if "machines were lost" in str(one.outcome)]


FACTORS = (1.0, 1.02, 0.98, 1.01, 0.99, 0.6)


def slower(factor: float, levels: Levels) -> float:
    return factor * by_workers(0.1)(levels)


def test_machines_that_differ_do_not_mislead_and_one_that_stands_out_is_named(
    tmp_path: Path,
) -> None:
    labs = rack(6, rate=by_workers(0.1), crashes=0.0)
    for world, factor in zip(labs.worlds.values(), FACTORS, strict=True):
        world.rate = partial(slower, factor)
    study = search(tmp_path, labs, name="random")
    (text,) = said(study, "stands out: the rate")
    assert re.match("lab6 stands out: the rate of the profile as written is -[34]", text)
    verdict = judge(study)
    assert verdict.claim is Claim.IMPROVED
    assert verdict.claimed is not None
    workers = int(str(dict(verdict.changes)["outputs[logs].queue.workerThreads"]))
    true_gain = 1 + 0.1 * (workers - 1)
    assert verdict.claimed.low <= true_gain <= verdict.claimed.high


def test_a_machine_at_a_fifth_of_the_speed_holds_up_nobody_and_is_left_out(tmp_path: Path) -> None:
    labs = rack(LABS, rate=by_workers(0.1), crashes=0.0)
    slow = labs.worlds["lab3"]
    slow.rate, slow.overhead_s = partial(slower, 0.2), 200.0
    study = search(tmp_path, labs)
    assert [one.phase for one in study.trials if one.machine == "lab3"] == [Phase.WARM_UP]
    assert said(study, "lab3 is dropped: it carries ")
    first = min(one.at_s for one in study.of(Phase.SEARCH))
    (ended,) = (one.ended_s for one in study.trials if one.machine == "lab3")
    assert first < ended, "the others search meanwhile"
    assert judge(study).claim is Claim.IMPROVED


def test_a_machine_at_half_the_speed_takes_part(tmp_path: Path) -> None:
    labs = rack(LABS, rate=by_workers(0.1), crashes=0.0)
    labs.worlds["lab3"].rate = partial(slower, 0.5)
    study = search(tmp_path, labs)
    assert {one.machine for one in study.of(Phase.SEARCH)} == {*labs.machines}
