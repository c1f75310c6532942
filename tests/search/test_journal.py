"""The journal: what is written is read back, and nothing that happens to it goes unseen."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from tests.measure.factory import SPEED, failed, measured
from tests.measure.paced import paced
from tuner.errors import JobFailed
from tuner.measure.measurement import TrialPlan
from tuner.search.journal import (
    ASIDE,
    NAME,
    Began,
    Damaged,
    Ended,
    Intent,
    Line,
    journal,
    read,
    record_of,
    recorded,
    reopened,
    set_aside,
)
from tuner.search.study import (
    SCHEMA,
    Asked,
    Axis,
    Ending,
    Fingerprint,
    Header,
    Limits,
    Note,
    Options,
    Phase,
    Session,
    Trial,
)

HEADER = Header(
    SCHEMA, "t", "now", "cmd", "p.yaml", "name: x", 60.0, 1, "sink", "8.2302", "m", ("a",),
    (("base.yaml", "node: {}"),),
    limits=Limits(45.0, 2**30),
    options=Options("sink"),
    fingerprint=Fingerprint("8.2302", "sink", "2 cores", "0123"),
    space=(Axis("outputs[logs].filter_path", (None, ("errors", "items.*.status")), None),),
)  # fmt: skip
PLAN = TrialPlan(1.0, 2.0, loses_below=900.1)
CHANGES = (
    ("inputs[0].processOnPoller", False),
    ("outputs[logs].filter_path", ("errors", "items.*.status")),
    ("outputs[logs].queue.size", 5000),
    ("outputs[logs].queue.type", None),
)
SESSION = Session("now", 12, "0a1b2c3d", 0, 1.25)
TRIALS = (
    Trial(0, Phase.SEARCH, (), "as written", PLAN, measured(1000.0), 1.25, ended_s=4.5),
    Trial(1, Phase.SEARCH, CHANGES, "a move", PLAN, failed(), 4.5, ended_s=9.0),
    Trial(
        2,
        Phase.CONFIRM,
        CHANGES,
        "best",
        PLAN,
        measured(1200.5, speed=SPEED),
        9.0,
        pair=1,
        ended_s=11.0,
    ),
    Trial(3, Phase.CHECK, (), "fixed", PLAN, paced(), 11.0, per_second=700.5, ended_s=12.1),
)
NOTE = Note("calibrated: something", 9.0)


def write(folder: Path) -> None:
    with journal(folder, HEADER) as record:
        record.write(SESSION)
        record.write(Began(Phase.SEARCH, 1.25))
        for trial in TRIALS:
            record.write(Intent(trial.asked, trial.at_s))
            record.write(trial)
        record.write(NOTE)
        record.write(Ended(Ending.FINISHED, 13.0))


def lines_of(folder: Path) -> list[bytes]:
    return (folder / NAME).read_bytes().splitlines(keepends=True)


def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    write(tmp_path)
    study = read(tmp_path)
    assert study.header == HEADER
    assert study.trials == TRIALS
    assert study.notes == (NOTE,)
    assert study.sessions == (SESSION,)
    assert study.ending is Ending.FINISHED


def test_the_seconds_used_are_those_of_the_last_line(tmp_path: Path) -> None:
    write(tmp_path)
    assert recorded(tmp_path).spent_s == 13.0
    (tmp_path / NAME).write_bytes(b"".join(lines_of(tmp_path)[:-2]))
    assert recorded(tmp_path).spent_s == 12.1


@pytest.mark.parametrize(
    ("sessions", "is_deadly"),
    [
        (("died",), False),
        (("died", "died"), True),
        (("died", "interrupted", "died"), True),
        (("interrupted", "interrupted"), False),
        (("died", "measured", "died"), False),
        (("two at once", "two at once"), False),
    ],
)
def test_a_point_is_deadly_once_two_sessions_died_at_it_and_none_measured_it_between(
    sessions: tuple[str, ...], is_deadly: bool
) -> None:
    """The profile as written never is: without it nothing can be compared."""
    for trial, deadly in ((TRIALS[1], is_deadly), (TRIALS[0], False)):
        lines: list[Line] = []
        for end in sessions:
            lines += [SESSION, Intent(trial.asked, 1.0)]
            if end == "measured":
                lines.append(trial)
            elif end == "interrupted":
                lines.append(Ended(Ending.INTERRUPTED, 2.0))
            elif end == "two at once":
                lines.append(Intent(replace(trial.asked, number=9), 1.0))
        found = record_of(HEADER, lines).deadly
        assert found == (frozenset({trial.changes}) if deadly else frozenset())


def test_programs_can_read_a_line_without_knowing_of_checks(tmp_path: Path) -> None:
    write(tmp_path)
    kinds = [max(json.loads(line)) for line in lines_of(tmp_path)]
    assert kinds == ["header", "session", "phase", *["intent", "trial"] * 4, "note", "ending"]


def test_a_line_cut_short_by_a_crash_loses_only_itself(tmp_path: Path) -> None:
    write(tmp_path)
    path, lines = tmp_path / NAME, lines_of(tmp_path)
    for cut in (1, 40, len(lines[6]) - 1):
        path.write_bytes(b"".join(lines[:6]) + lines[6][:cut])
        study = read(tmp_path)
        assert study.trials == TRIALS[:1]
        assert study.ending is Ending.INTERRUPTED


def test_a_last_line_of_which_a_power_cut_left_only_the_end_loses_only_itself(
    tmp_path: Path,
) -> None:
    write(tmp_path)
    lines = lines_of(tmp_path)
    lost = bytes(len(lines[6]) - 5) + lines[6][-5:]
    (tmp_path / NAME).write_bytes(b"".join(lines[:6]) + lost)
    assert read(tmp_path).trials == TRIALS[:1]


def test_writing_goes_on_after_the_last_whole_line(tmp_path: Path) -> None:
    write(tmp_path)
    whole = lines_of(tmp_path)
    (tmp_path / NAME).write_bytes(b"".join(whole[:6]) + whole[6][:30])
    with reopened(tmp_path) as record:
        record.write(TRIALS[1])
    assert read(tmp_path).trials == TRIALS[:2]
    assert lines_of(tmp_path)[:6] == whole[:6]


@pytest.mark.parametrize("written", [20, None])
def test_a_write_that_is_broken_off_leaves_a_journal_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int | None
) -> None:
    whole = os.pwrite

    def full_disk(file: int, data: bytes, at: int) -> int:
        if at == 0 or b'"trial"' not in data:
            return whole(file, data, at)
        whole(file, data[:written], at)
        raise OSError(errno.ENOSPC, "No space left on device")

    with journal(tmp_path, HEADER) as record:
        record.write(SESSION)
        with monkeypatch.context() as patched:
            patched.setattr(os, "pwrite", full_disk)
            with pytest.raises(JobFailed, match=r"cannot write the journal .*: No space left"):
                record.write(TRIALS[0])
        record.write(Ended(Ending.FAILED, 5.0, "no space"))
    study = read(tmp_path)
    assert study.sessions == (SESSION,)
    assert (study.ending, study.reason) == (Ending.FAILED, "no space")


@pytest.mark.parametrize("number", range(1, 9))
def test_a_changed_byte_anywhere_is_seen_and_its_line_named(tmp_path: Path, number: int) -> None:
    write(tmp_path)
    rng = random.Random(number)
    for _ in range(20):
        lines = [bytearray(line) for line in lines_of(tmp_path)]
        lines[number - 1][rng.randrange(len(lines[number - 1]))] ^= 1 << rng.randrange(8)
        other = tmp_path / "other"
        other.mkdir(exist_ok=True)
        (other / NAME).write_bytes(b"".join(lines))
        with pytest.raises(JobFailed, match=f":{number}: the journal is damaged|has schema"):
            read(other)


def test_a_line_that_another_was_begun_after_was_whole_once_and_is_not_left_out(
    tmp_path: Path,
) -> None:
    write(tmp_path)
    lines = lines_of(tmp_path)
    changed = bytearray(lines[5])
    changed[20] ^= 1
    (tmp_path / NAME).write_bytes(b"".join(lines[:5]) + changed + lines[6][:30])
    with pytest.raises(Damaged, match=rf"{NAME}:6: "):
        read(tmp_path)


@pytest.mark.parametrize("lost", range(2, 9))
def test_a_line_that_is_missing_or_twice_there_is_seen(tmp_path: Path, lost: int) -> None:
    write(tmp_path)
    lines = lines_of(tmp_path)
    for changed in (lines[: lost - 1] + lines[lost:], lines[:lost] + lines[lost - 1 :]):
        (tmp_path / NAME).write_bytes(b"".join(changed))
        with pytest.raises(Damaged, match=rf"{NAME}:{lost + (len(changed) > len(lines))}: "):
            read(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "not json\n", "[]\n", '{"trial": {}}\n', '{"header": {}}\n', '{"header": '],
)  # fmt: skip
def test_what_is_no_journal_is_named_not_guessed(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text, encoding="utf-8")
    with pytest.raises(JobFailed, match=NAME):
        read(tmp_path)


def test_a_journal_of_another_version_is_refused_as_that(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"header": {"schema": 2, "tool": "t"}}\n', encoding="utf-8")
    with pytest.raises(JobFailed, match=f"has schema 2, this version reads {SCHEMA}") as raised:
        read(tmp_path)
    assert not isinstance(raised.value, Damaged)


def test_a_line_that_is_whole_but_makes_no_sense_is_named(tmp_path: Path) -> None:
    with journal(tmp_path, HEADER):
        pass
    (first,) = lines_of(tmp_path)
    body = b'"session": {"started": "now", "pid": "none", "run_id": "x"}}'
    check = zlib.crc32(body, int(first[11:19], 16))
    (tmp_path / NAME).write_bytes(first + b'{"check": "%08x", %s\n' % (check, body))
    with pytest.raises(Damaged, match=":2: the journal is damaged at pid"):
        read(tmp_path)


def test_a_folder_without_a_journal_is_no_run_directory(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="not a run directory"):
        read(tmp_path)
    with pytest.raises(JobFailed, match="not a run directory"):
        read(tmp_path / "nowhere")


def test_a_journal_set_aside_is_kept_whole_beside_those_before_it(tmp_path: Path) -> None:
    for number, name in enumerate((ASIDE, f"{ASIDE}.2", f"{ASIDE}.3")):
        (tmp_path / NAME).write_text(f"damaged {number}", encoding="utf-8")
        assert set_aside(tmp_path) == tmp_path / name
    assert (tmp_path / ASIDE).read_text(encoding="utf-8") == "damaged 0"
    assert not (tmp_path / NAME).exists()


def test_two_trials_that_differ_in_the_reason_alone_are_the_same() -> None:
    one = TRIALS[1].asked
    assert replace(one, why="said otherwise") == one
    assert replace(one, changes=CHANGES[:1]) != one
    assert replace(one, plan=TrialPlan(1.0, 2.5)) != one
    assert replace(one, phase=Phase.FINAL) != one
    assert replace(one, pair=2) != one
    assert replace(one, per_second=5.0) != one
    assert isinstance(one, Asked)


def test_a_journal_whose_folder_was_deleted_or_moved_takes_no_line(tmp_path: Path) -> None:
    for leave in (shutil.rmtree, lambda folder: folder.rename(tmp_path / "elsewhere")):
        folder = tmp_path / "run"
        folder.mkdir()
        with journal(folder, HEADER) as record:
            record.write(NOTE)
            leave(folder)
            with pytest.raises(JobFailed, match=r"trials.jsonl is gone: its folder was deleted"):
                record.write(NOTE)
