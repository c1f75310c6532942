from __future__ import annotations

from pathlib import Path

import pytest

from tests.measure.factory import failed, measured
from tuner.errors import JobFailed
from tuner.measure.measurement import TrialPlan
from tuner.search.journal import NAME, journal, read
from tuner.search.study import SCHEMA, Ending, Header, Phase, Trial

HEADER = Header(
    SCHEMA, "t", "now", "cmd", "p.yaml", "name: x", 60.0, 1, "sink", "8.2302", "m", ("a",),
    (("base.yaml", "node: {}"),),
)  # fmt: skip
PLAN = TrialPlan(1.0, 2.0)
CHANGES = (
    ("inputs[0].processOnPoller", False),
    ("outputs[logs].filter_path", ("errors", "items.*.status")),
    ("outputs[logs].queue.size", 5000),
    ("outputs[logs].queue.type", None),
)
TRIALS = (
    Trial(0, Phase.SEARCH, (), "as written", PLAN, measured(1000.0), 1.5),
    Trial(1, Phase.SEARCH, CHANGES, "a move", PLAN, failed(), 4.5),
    Trial(2, Phase.CONFIRM, CHANGES, "best", PLAN, measured(1200.5), 9.0, pair=1),
)


def write(folder: Path) -> None:
    with journal(folder, HEADER) as record:
        for trial in TRIALS:
            record.trial(trial)
        record.end(Ending.FINISHED)


def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    write(tmp_path)
    study = read(tmp_path)
    assert study.header == HEADER
    assert study.trials == TRIALS
    assert study.ending is Ending.FINISHED


def test_a_line_cut_short_by_a_crash_loses_only_itself(tmp_path: Path) -> None:
    write(tmp_path)
    path = tmp_path / NAME
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:3]) + lines[3][:40], encoding="utf-8")
    study = read(tmp_path)
    assert study.trials == TRIALS[:2]
    assert study.ending is Ending.INTERRUPTED


@pytest.mark.parametrize("text", ["", "not json\n", "[]\n", '{"trial": {}}\n', '{"header": {}}\n'])
def test_a_damaged_journal_is_named_not_guessed(tmp_path: Path, text: str) -> None:
    (tmp_path / NAME).write_text(text, encoding="utf-8")
    with pytest.raises(JobFailed, match=NAME):
        read(tmp_path)


def test_a_folder_without_a_journal_is_no_run_directory(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="not a run directory"):
        read(tmp_path)
    with pytest.raises(JobFailed, match="not a run directory"):
        read(tmp_path / "nowhere")
