"""Going on with a search that was ended anywhere: the same decisions, the same end."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.search.simulated import BUDGET_S, START_S, World, search
from tuner.errors import Interrupted, JobFailed
from tuner.measure.measurement import Failure
from tuner.measure.paired import FEWEST_PAIRS
from tuner.search.journal import NAME, read, recorded
from tuner.search.pairs import pairs_of
from tuner.search.study import Asked, Ending, Phase, Study
from tuner.search.verdict import Claim, judge


@pytest.fixture
def no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of searches, which need not outlast a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def undisturbed(tmp_path: Path, no_disk: None) -> Study:
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


def begun_in(text: bytes) -> int | None:
    """The trial that is under way where a journal ends, by its number."""
    *lines, _ = text.split(b"\n")
    if not lines or b'"intent": ' not in lines[-1]:
        return None
    return int(lines[-1].partition(b'"number": ')[2].partition(b",")[0])


def test_the_search_that_is_ended_here_goes_through_every_phase(undisturbed: Study) -> None:
    assert {trial.phase for trial in undisturbed.trials} == set(Phase) - {Phase.EARLIER}
    assert judge(undisturbed).claim is Claim.IMPROVED
    assert undisturbed.notes


@pytest.mark.full
def test_ended_at_any_line_or_within_it_goes_on_to_the_same_end(
    tmp_path: Path, undisturbed: Study
) -> None:
    lines = lines_of(tmp_path)
    for text in ended_anywhere(lines):
        folder = folder_with(tmp_path, text)
        study = search(folder, World(START_S))
        assert study.trials == undisturbed.trials
        assert study.notes == undisturbed.notes
        assert read(folder) == study


@pytest.mark.parametrize("seed", range(6))
def test_ended_again_and_again_it_still_comes_to_the_same_end(
    tmp_path: Path, undisturbed: Study, seed: int
) -> None:
    rng, size, folder = random.Random(seed), 0, tmp_path
    text, ended_in = (tmp_path / NAME).read_bytes(), set[int | None]()
    for _ in range(8):
        size = rng.randint(size, len(text))
        # Never twice in one trial, which would then have failed.
        while (trial := begun_in(text[:size])) in ended_in:
            size = rng.randint(size, len(text))
        ended_in |= {trial} - {None}
        folder = folder_with(tmp_path, text[: max(size, text.index(b"\n") + 1)])
        study = search(folder, World(START_S))
        assert study.trials == undisturbed.trials
        text = (folder / NAME).read_bytes()
    assert read(folder).notes == undisturbed.notes


def test_what_was_said_before_is_not_written_again(tmp_path: Path, undisturbed: Study) -> None:
    lines = lines_of(tmp_path)
    folder = folder_with(tmp_path, b"".join(lines[:-1]))
    search(folder, World(START_S))
    said = [line for line in lines_of(folder) if b'"note": ' in line]
    assert len(said) == len(undisturbed.notes)


def test_the_default_strategy_goes_on_as_well(tmp_path: Path, no_disk: None) -> None:
    whole = search(tmp_path, World(START_S), name="default")
    lines = lines_of(tmp_path)
    for share in (0.3, 0.6):
        folder = folder_with(tmp_path, b"".join(lines[: int(share * len(lines))]))
        assert search(folder, World(START_S), name="default").trials == whole.trials


def test_at_most_the_trial_in_flight_is_measured_again(tmp_path: Path, undisturbed: Study) -> None:
    lines = lines_of(tmp_path)
    numbers = [trial.number for trial in undisturbed.trials]
    for kept in range(1, len(lines), 7):
        measured: list[Asked] = []
        folder = folder_with(tmp_path, b"".join(lines[:kept]))
        known = len(recorded(folder).trials)
        search(folder, World(START_S, stop=measured.append))
        assert [asked.number for asked in measured] == numbers[known:]


def test_an_interrupt_is_told_and_its_time_counts(tmp_path: Path, no_disk: None) -> None:
    def interrupt(asked: Asked) -> None:
        if asked.number == 7:
            raise Interrupted(2)

    with pytest.raises(Interrupted):
        search(tmp_path, World(START_S, stop=interrupt))
    before = recorded(tmp_path)
    assert before.study.ending is not Ending.FINISHED
    assert [trial.number for trial in before.study.trials] == list(range(-1, 7))
    study = search(tmp_path, World(before.spent_s + 100))
    assert study.ending is Ending.FINISHED
    assert [session.taken_over for session in study.sessions] == [0, 8]
    assert study.sessions[1].at_s == before.spent_s + 100


def test_what_was_used_before_is_not_to_be_had_again(tmp_path: Path, undisturbed: Study) -> None:
    """A third of the trials, then a session that begins when it is time to confirm."""
    lines = lines_of(tmp_path)
    folder = folder_with(tmp_path, b"".join(lines[:40]))
    late = search(folder, World(0.56 * BUDGET_S))
    assert len(late.of(Phase.SEARCH)) < len(undisturbed.of(Phase.SEARCH))
    confirmed = [trial.ended_s for trial in late.of(Phase.CONFIRM)]
    assert len(confirmed) >= 12
    assert late.of(Phase.SEARCH) == undisturbed.of(Phase.SEARCH)[: len(late.of(Phase.SEARCH))]
    assert max(confirmed) <= 1.05 * BUDGET_S
    for text in list(ended_anywhere(lines_of(folder)))[55::9]:
        assert search(folder_with(tmp_path, text), World(START_S)).trials == late.trials


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


def test_a_resumed_session_gets_the_engine_warm_and_decides_by_the_time_that_took(
    tmp_path: Path, undisturbed: Study
) -> None:
    lines = lines_of(tmp_path)
    folder = folder_with(tmp_path, b"".join(lines[:40]))
    known = len(recorded(folder).trials)
    study = search(folder, World(START_S), warms=True)
    assert study.trials[:known] == undisturbed.trials[:known]
    again = study.trials[known]
    assert (again.number, again.phase) == (-1, Phase.WARM_UP)
    assert study.trials[known + 1].at_s == again.ended_s
    assert recorded(folder).steps[known - 1].seen_s == again.ended_s
    assert len(study.of(Phase.WARM_UP)) == 2
    for text in list(ended_anywhere(lines_of(folder)))[60::7]:
        assert search(folder_with(tmp_path, text), World(START_S)).trials == study.trials


def begun_anew(tmp_path: Path, kept: int, measured: list[Asked]) -> Study:
    """A search that, after so many lines of its journal, decides as another one does: as it would
    with another release of numpy."""
    folder = folder_with(tmp_path, b"".join(lines_of(tmp_path)[:kept]))
    return search(folder, World(START_S, stop=measured.append), seed=2, name="default")


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8])
def test_a_search_that_decides_otherwise_goes_on_with_the_trials_as_observations(
    tmp_path: Path, no_disk: None, share: float
) -> None:
    whole = search(tmp_path, World(START_S), name="default")
    measured: list[Asked] = []
    study = begun_anew(tmp_path, int(share * len(lines_of(tmp_path))), measured)
    before = [one for one in whole.trials if one.ended_s <= study.sessions[-1].at_s]
    taken, fresh = study.trials[: len(before)], study.trials[len(before) :]
    assert [one.outcome for one in taken] == [one.outcome for one in before]
    assert not {one.phase for one in taken} - {Phase.EARLIER, Phase.WARM_UP, Phase.CHECK}
    assert [one.number for one in study.trials] == list(range(-1, len(study.trials) - 1))
    assert [one.number for one in fresh] == [asked.number for asked in measured]
    tried = {one.changes for one in before}
    assert not tried & {one.changes for one in fresh if one.phase is Phase.SEARCH}
    assert study.sessions[-1].anew
    assert judge(study).claim is Claim.IMPROVED
    assert read(tmp_path / "again") == study


def test_after_it_began_anew_it_resumes_like_any_other(tmp_path: Path, no_disk: None) -> None:
    search(tmp_path, World(START_S), name="default")
    study = begun_anew(tmp_path, 60, [])
    lines = lines_of(tmp_path / "again")
    for share in (0.6, 0.9):
        folder = folder_with(tmp_path, b"".join(lines[: int(share * len(lines))]))
        assert search(folder, World(START_S), seed=2, name="default").trials == study.trials


def test_what_it_learnt_before_it_began_anew_is_not_forgotten(
    tmp_path: Path, no_disk: None
) -> None:
    """There is no time left to search: what it recommends is from before."""
    whole = search(tmp_path, World(START_S), name="default")
    searched = [one.ended_s for one in whole.of(Phase.SEARCH)]
    kept = sum(b'"phase": "confirm"' not in line for line in lines_of(tmp_path)[:-1]) - 1
    study = begun_anew(tmp_path, kept, [])
    assert study.sessions[-1].at_s > searched[-1]
    assert not study.of(Phase.SEARCH)
    confirmed = {one.changes for one in study.of(Phase.CONFIRM)} - {()}
    assert confirmed <= {one.changes for one in whole.trials}
    assert judge(study).claim is Claim.IMPROVED


def test_a_profile_that_failed_fails_again_without_being_measured(
    tmp_path: Path, no_disk: None
) -> None:
    asked: list[Asked] = []
    for _ in range(2):
        with pytest.raises(JobFailed, match=r"as written cannot be measured.*lost two events"):
            search(tmp_path, World(START_S, stop=asked.append, loses=lambda _: True))
        assert len(asked) == 1


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


def test_a_hiccup_of_the_calibration_is_taken_over_like_any_other_trial(
    tmp_path: Path, no_disk: None
) -> None:
    def hiccups(asked: Asked) -> bool:
        return asked.number in (-1, 2)

    whole = search(tmp_path, World(START_S, hiccups=hiccups))
    assert len(whole.of(Phase.WARM_UP)) == 2
    lines = lines_of(tmp_path)
    for text in list(ended_anywhere(lines))[:24:3]:
        study = search(folder_with(tmp_path, text), World(START_S, hiccups=hiccups))
        assert study.trials == whole.trials
        assert study.notes == whole.notes


class PowerFailure(Exception):
    """Ends the process without a word."""


def ending_in(number: int, how: BaseException) -> Callable[[Asked], None]:
    """Raises where the trial with this number runs."""

    def stop(asked: Asked) -> None:
        if asked.number == number:
            raise how

    return stop


def after_ends_in(folder: Path, number: int, *how: BaseException) -> Study:
    """A search that ended so in a trial, was resumed each time, and goes on to its end."""
    for each in how:
        with pytest.raises(type(each)):
            search(folder, World(START_S, stop=ending_in(number, each)))
        if isinstance(each, PowerFailure):
            lines = lines_of(folder)
            (folder / NAME).write_bytes(b"".join(lines[:-1]))
    return search(folder, World(START_S))


@pytest.mark.parametrize(
    "how",
    [
        (PowerFailure(), PowerFailure()),
        (JobFailed("the engine died"), JobFailed("the engine died")),
        (PowerFailure(), Interrupted(2), JobFailed("the engine died")),
    ],
)
def test_a_candidate_that_ended_the_search_twice_has_failed(
    tmp_path: Path, no_disk: None, how: tuple[BaseException, ...]
) -> None:
    study = after_ends_in(tmp_path, 9, *how)
    (trial,) = [one for one in study.trials if one.number == 9]
    assert trial.phase is Phase.SEARCH
    assert isinstance(trial.outcome, Failure)
    assert "engine down: the search ended twice while it was measured" in str(trial.outcome)
    assert [one.number for one in study.trials if one.changes == trial.changes] == [9]
    assert judge(study).claim is Claim.IMPROVED
    lines = lines_of(tmp_path)
    for share in (0.5, 0.9):
        folder = folder_with(tmp_path, b"".join(lines[: int(share * len(lines))]))
        assert search(folder, World(START_S)).trials == study.trials


@pytest.mark.parametrize(
    ("number", "how"),
    [
        (9, (PowerFailure(),)),
        (9, (Interrupted(2), Interrupted(15), Interrupted(2))),
        (1, (PowerFailure(), PowerFailure(), PowerFailure())),
    ],
)
def test_one_end_interrupts_and_the_profile_as_written_do_not_count(
    tmp_path: Path, undisturbed: Study, number: int, how: tuple[BaseException, ...]
) -> None:
    (tmp_path / "ended").mkdir()
    assert after_ends_in(tmp_path / "ended", number, *how).trials == undisturbed.trials
