"""Going on with a search that was ended anywhere: what was measured counts, and nothing twice."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.measure.factory import failed
from tests.measure.paced import paced
from tests.search.simulated import BUDGET_S, START_S, WORKERS, World, changed, search, setup
from tuner.errors import Interrupted, JobFailed
from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.measurement import Failure, Result, TrialPlan
from tuner.search.climb import Climb
from tuner.search.journal import NAME, read, recorded
from tuner.search.runner import Runner
from tuner.search.search import Ascent
from tuner.search.study import BASELINE, Asked, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import Claim, candidate_of, judge, pairs_of

POINT: Changes = ((WORKERS, 4),)


@pytest.fixture(autouse=True)
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of searches, which need not outlast a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def undisturbed(tmp_path: Path) -> Study:
    return search(tmp_path, World(START_S))


def lines_of(folder: Path) -> list[bytes]:
    return (folder / NAME).read_bytes().splitlines(keepends=True)


def folder_with(parent: Path, text: bytes) -> Path:
    """A run directory whose journal is `text`."""
    folder = parent / "again"
    folder.mkdir(exist_ok=True)
    (folder / NAME).write_bytes(text)
    return folder


def ended_anywhere(lines: list[bytes]) -> Iterator[bytes]:
    """What a journal holds when a search is killed: whole lines, and perhaps a part of one."""
    for whole in range(1, len(lines)):
        yield b"".join(lines[:whole])
        if whole % 4 == 0:
            yield b"".join(lines[:whole]) + lines[whole][: len(lines[whole]) // 2]


def require_sound(before: Study, after: Study) -> None:
    """All that was measured is there as it was, each trial has its number and its time, no point is
    tried for the first time twice, and the budget is kept."""
    assert after.trials[: len(before.trials)] == before.trials
    assert after.notes[: len(before.notes)] == before.notes
    assert [one.number for one in after.trials] == list(range(-1, len(after.trials) - 1))
    assert all(one.at_s <= one.ended_s for one in after.trials)
    assert after.trials[-1].ended_s <= 1.05 * BUDGET_S
    assert after.ending is Ending.FINISHED
    searched = [one.changes for one in after.of(Phase.SEARCH) if not one.is_transient]
    assert len(searched) == len(set(searched))
    verdict = judge(after)
    ended_twice = "the search ended twice while it was measured" in verdict.failure
    assert ended_twice or verdict.claim in {Claim.IMPROVED, Claim.NOT_SHOWN}


def test_the_search_that_is_ended_here_goes_through_every_phase(undisturbed: Study) -> None:
    # The winner is a recipe here.
    assert {trial.phase for trial in undisturbed.trials} == set(Phase) - {Phase.RECIPE, Phase.FRONT}
    assert judge(undisturbed).claim is Claim.IMPROVED
    assert undisturbed.notes


def resumed_at(folder: Path, text: bytes, now_s: float = START_S) -> tuple[Study, Study]:
    """A search whose journal ends so, and what it comes to."""
    there = folder_with(folder, text)
    before = recorded(there).study
    study = search(there, World(now_s))
    assert read(there) == study
    return before, study


EVERY = [pytest.param(1, marks=pytest.mark.full), 13]


@pytest.mark.parametrize("each", EVERY)
def test_ended_at_any_line_or_within_it_what_was_measured_counts(
    tmp_path: Path, undisturbed: Study, each: int
) -> None:
    for text in list(ended_anywhere(lines_of(tmp_path)))[::each]:
        require_sound(*resumed_at(tmp_path, text))


@pytest.mark.parametrize("seed", range(3))
def test_ended_again_and_again_it_still_comes_to_an_end(
    tmp_path: Path, undisturbed: Study, seed: int
) -> None:
    rng, folder, size = random.Random(seed), tmp_path, 1
    for _ in range(6):
        lines = lines_of(folder)
        size = rng.randint(size, len(lines) - 1)
        before, study = resumed_at(tmp_path, b"".join(lines[:size]))
        require_sound(before, study)
        folder = tmp_path / "again"
        assert len(study.of(Phase.WARM_UP)) <= len(study.sessions)


def first_line(lines: list[bytes], phase: Phase) -> int:
    """The line of the first trial of a phase."""
    text = f'"phase": "{phase.value}"'.encode()
    return next(at for at, one in enumerate(lines) if b'"trial": ' in one and text in one)


def test_a_phase_that_was_over_is_not_gone_through_again(
    tmp_path: Path, undisturbed: Study
) -> None:
    lines = lines_of(tmp_path)
    for phase, done in (
        (Phase.SEARCH, {Phase.CALIBRATE}),
        (Phase.CONFIRM, {Phase.CALIBRATE, Phase.SEARCH, Phase.FINAL, Phase.EFFECTS, Phase.CHECK}),
    ):
        before, study = resumed_at(tmp_path, b"".join(lines[: first_line(lines, phase) + 1]))
        fresh = study.trials[len(before.trials) :]
        assert fresh[0].phase is Phase.WARM_UP
        assert not {one.phase for one in fresh} & done


def test_the_pairs_go_on_with_the_same_point_and_those_from_before_count(
    tmp_path: Path, undisturbed: Study
) -> None:
    lines = lines_of(tmp_path)
    before, study = resumed_at(tmp_path, b"".join(lines[: first_line(lines, Phase.CONFIRM) + 8]))
    known = pairs_of(before.trials)
    assert len(known) >= 2
    assert candidate_of(study.trials) == candidate_of(undisturbed.trials)
    assert pairs_of(study.trials)[: len(known)] == known
    assert len(pairs_of(study.trials)) >= len(pairs_of(undisturbed.trials)) - 3
    assert judge(study).claim is Claim.IMPROVED


def test_a_point_is_fresh_by_its_own_run_at_a_fixed_rate_whatever_came_after_it() -> None:
    other: Changes = ((WORKERS, 6),)
    checked: list[tuple[Changes, Result]] = [
        (BASELINE, paced()), (POINT, paced()), (other, failed("1 lost")),
    ]  # fmt: skip
    known = tuple(
        Trial(number, Phase.CHECK, changes, "", TrialPlan(1.0, 4.0), outcome, 0.0,
              per_second=1000.0, ended_s=1.0)
        for number, (changes, outcome) in enumerate(checked)
    )  # fmt: skip
    runner = Runner(changed(setup(World(START_S)), trials=known))
    for changes, is_fresh in ((POINT, True), (other, False)):
        asking = Ascent(runner, cast(Climb, None)).is_fresh(changes)
        with pytest.raises(StopIteration) as ended:
            next(asking)
        assert ended.value.value is is_fresh


def test_each_session_gets_the_engine_warm_and_its_time_counts(
    tmp_path: Path, undisturbed: Study
) -> None:
    before, study = resumed_at(tmp_path, b"".join(lines_of(tmp_path)[:40]), 500.0)
    again = study.trials[len(before.trials)]
    assert (again.phase, again.at_s) == (Phase.WARM_UP, 500.0)
    assert study.trials[len(before.trials) + 1].at_s == again.ended_s
    assert study.sessions[-1].at_s == 500.0
    assert study.sessions[-1].taken_over == len(before.trials)


def test_an_interrupt_is_told_and_its_time_counts(tmp_path: Path) -> None:
    def interrupt(asked: Asked) -> None:
        if asked.number == 7:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        search(tmp_path, World(START_S, stop=interrupt))
    before = recorded(tmp_path)
    assert before.study.ending is Ending.INTERRUPTED
    assert [trial.number for trial in before.study.trials] == list(range(-1, 7))
    study = search(tmp_path, World(before.spent_s + 100))
    assert study.ending is Ending.FINISHED
    assert [session.taken_over for session in study.sessions] == [0, 8]
    assert study.sessions[1].at_s == before.spent_s + 100


def test_what_was_used_before_is_not_to_be_had_again(tmp_path: Path, undisturbed: Study) -> None:
    """A third of the trials, then a session that begins when it is time to confirm."""
    text = b"".join(lines_of(tmp_path)[:40])
    _, late = resumed_at(tmp_path, text, 0.56 * BUDGET_S)
    assert len(late.of(Phase.SEARCH)) < len(undisturbed.of(Phase.SEARCH))
    confirmed = [trial.ended_s for trial in late.of(Phase.CONFIRM)]
    assert len(confirmed) >= 12
    assert max(confirmed) <= 1.05 * BUDGET_S


def test_a_session_that_begins_late_makes_the_pairs_shorter_to_keep_the_budget(
    tmp_path: Path, undisturbed: Study
) -> None:
    folder = folder_with(tmp_path, b"".join(lines_of(tmp_path)[:40]))
    late = search(folder, World(0.8 * BUDGET_S))
    planned = undisturbed.of(Phase.CONFIRM)[0].plan.window_s
    confirmed = late.of(Phase.CONFIRM)
    assert len(confirmed) >= 12
    assert confirmed[0].plan.window_s < planned
    assert confirmed[-1].ended_s <= 1.05 * BUDGET_S


def test_a_pair_that_a_kill_splits_is_made_again(tmp_path: Path, undisturbed: Study) -> None:
    lines = lines_of(tmp_path)
    firsts = [
        number
        for number, line in enumerate(lines)
        if b'"trial": ' in line and b'"phase": "confirm"' in line
    ]
    folder = folder_with(tmp_path, b"".join(lines[: firsts[2] + 1]))
    spent_s = recorded(folder).spent_s
    split = search(folder, World(spent_s + 5.0))
    pairs = {trial.pair for trial in split.of(Phase.CONFIRM)}
    assert len(pairs) == len(pairs_of(split.trials)) + 1
    assert len(pairs_of(split.trials)) >= FEWEST_PAIRS


def test_a_pair_that_a_kill_splits_does_not_count_though_the_time_is_up(
    tmp_path: Path, undisturbed: Study
) -> None:
    lines = lines_of(tmp_path)
    text = f'"pair": {FEWEST_PAIRS},'.encode()
    whole = [b'"trial": ', b'"phase": "confirm"', text]
    (first, *_) = (at for at, line in enumerate(lines) if all(part in line for part in whole))
    folder = folder_with(tmp_path, b"".join(lines[: first + 1]))
    split = search(folder, World(BUDGET_S))
    assert len(pairs_of(split.trials)) == FEWEST_PAIRS
    assert split.trials[-1].ended_s <= 1.05 * BUDGET_S


def test_each_line_is_on_disk_before_what_it_announces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = [0]
    whole = os.fsync

    def fsync(file: int) -> None:
        whole(file)
        synced.append((tmp_path / NAME).stat().st_size)

    def look(asked: Asked) -> None:
        text = (tmp_path / NAME).read_bytes()
        assert synced[-1] == len(text)
        assert b'"intent"' in text.splitlines()[-1]
        assert f'"number": {asked.number},'.encode() in text.splitlines()[-1]

    monkeypatch.setattr(os, "fsync", fsync)
    search(tmp_path, World(START_S, stop=look))
    assert len(set(synced)) == len(lines_of(tmp_path)) + 1


@pytest.mark.parametrize("name", ["random", "default"])
def test_what_it_learnt_is_not_forgotten(tmp_path: Path, name: str) -> None:
    """There is no time left to search: what it recommends is from before."""
    whole = search(tmp_path, World(START_S), name=name)
    lines = lines_of(tmp_path)
    there = folder_with(tmp_path, b"".join(lines[: first_line(lines, Phase.FINAL)]))
    before = recorded(there).study
    study = search(there, World(0.6 * BUDGET_S), name=name)
    assert study.of(Phase.SEARCH) == before.of(Phase.SEARCH)
    assert {one.changes for one in study.of(Phase.CONFIRM)} - {()}
    assert judge(study).claim is judge(whole).claim is Claim.IMPROVED


class PowerFailure(Exception):
    """Ends the process without a word."""


def after_ends(folder: Path, is_it: Callable[[Asked], bool], *how: BaseException) -> Study:
    """A search that ended so in a trial, was resumed each time, and goes on to its end."""
    ends = list(how)

    def stop(asked: Asked) -> None:
        if is_it(asked) and ends:
            raise ends.pop(0)

    for each in how:
        with pytest.raises(type(each)):
            search(folder, World(START_S, stop=stop))
        if isinstance(each, PowerFailure):
            (folder / NAME).write_bytes(b"".join(lines_of(folder)[:-1]))
    return search(folder, World(START_S, stop=stop))


@pytest.mark.parametrize(
    "how",
    [
        (PowerFailure(), PowerFailure()),
        (JobFailed("the engine died"), JobFailed("the engine died")),
        (PowerFailure(), Interrupted(2), JobFailed("the engine died")),
    ],
)
def test_a_point_that_ended_the_search_twice_has_failed(
    tmp_path: Path, how: tuple[BaseException, ...]
) -> None:
    """What experts would try comes first, in every session."""
    begun: list[Asked] = []
    search(tmp_path, World(START_S, stop=begun.append))
    first = next(one for one in begun if one.phase is Phase.SEARCH)
    (tmp_path / "ended").mkdir()
    study = after_ends(tmp_path / "ended", lambda one: one.changes == first.changes, *how)
    (trial,) = [one for one in study.trials if one.changes == first.changes]
    assert isinstance(trial.outcome, Failure)
    assert "engine down: the search ended twice while it was measured" in str(trial.outcome)
    assert judge(study).claim is Claim.IMPROVED


@pytest.mark.parametrize(
    ("phase", "how"),
    [
        (Phase.SEARCH, (PowerFailure(),)),
        (Phase.SEARCH, (Interrupted(2), Interrupted(15), Interrupted(2))),
        (Phase.CALIBRATE, (PowerFailure(), PowerFailure(), PowerFailure())),
    ],
)
def test_one_end_interrupts_and_the_profile_as_written_do_not_count(
    tmp_path: Path, phase: Phase, how: tuple[BaseException, ...]
) -> None:
    study = after_ends(tmp_path, lambda one: one.phase is phase, *how)
    assert not any("ended twice" in str(one.outcome) for one in study.trials)
    assert judge(study).claim is Claim.IMPROVED
