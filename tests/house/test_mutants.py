"""The rooms that carry promises, and what is told of small changes to them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests import mutants

ROOT = Path(__file__).parents[2]

MADE = """\
def x_f__mutmut_orig(a):
    return a > 1

def x_f__mutmut_1(a):
    return a >= 1

def x_f__mutmut_2(a):
    return a > 2

def x_f__mutmut_3(a):
    return a < 1

def x_f__mutmut_4(a):
    return None

def x_f__mutmut_5(a):
    return a

def x_g__mutmut_orig():
    raise ValueError("it is not there")

def x_g__mutmut_1():
    raise ValueError("XXit is not thereXX")
"""
CODES = {"f__mutmut_1": 1, "f__mutmut_2": 0, "f__mutmut_3": 33, "f__mutmut_4": -24,
         "f__mutmut_5": None, "g__mutmut_1": 0}  # fmt: skip


@pytest.mark.parametrize("room", mutants.rooms())
def test_each_room_is_there(room: str) -> None:
    assert any(path.is_file() for path in ROOT.glob(room))


@pytest.mark.parametrize("room", mutants.rooms())
def test_the_tests_of_each_room_are_run(room: str) -> None:
    settings = tomllib.loads(mutants.PROJECT.read_text("utf-8"))["tool"]["mutmut"]
    tests = room.replace("tuner/", "tests/").rpartition("/")[0]
    # What belongs to no room is tested where it is used.
    assert tests == "tests" or tests in settings["pytest_add_cli_args_test_selection"]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "MADE", tmp_path)
    file = tmp_path / "tuner/measure/it.py"
    file.parent.mkdir(parents=True)
    file.write_text(MADE, encoding="utf-8")
    codes = {f"tuner.measure.it.x_{name}": code for name, code in CODES.items()}
    meta = json.dumps({"exit_code_by_key": codes})
    file.with_name("it.py.meta").write_text(meta, encoding="utf-8")


@pytest.mark.usefixtures("made")
def test_changes_are_told_apart_by_what_became_of_them() -> None:
    assert [kind for _, _, kind in mutants.found()] == [
        "noticed", "not noticed", "in no fast test", "timeout", "not tried", "words alone",
    ]  # fmt: skip


@pytest.mark.usefixtures("made")
def test_the_share_is_of_what_was_tried_and_came_to_an_end() -> None:
    (row,) = [one for one in mutants.table().splitlines() if one.startswith("| tuner/measure/")]
    assert row == "| tuner/measure/* | 1 | 1 | 1 | 1 | 1 | 1 | 67% | 21% to 94% |"


@pytest.mark.usefixtures("made")
def test_a_sample_is_always_the_same_and_never_of_words_alone() -> None:
    assert mutants.sample(3) == mutants.sample(3)
    assert len(set(mutants.sample(3))) == 3
    assert sorted(mutants.sample(99)) == [f"tuner.measure.it.x_f__mutmut_{n}" for n in range(1, 6)]
