"""What a live view does where there is little room: names are shortened, values are not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.text import Text

from tests.cli.test_search_progress import NOTHING_YET, SIZE, after, trial
from tests.measure.factory import failed, limited_by, measured
from tuner.cli.layout import Size
from tuner.cli.search_progress import Progress, Running
from tuner.cli.search_screen import row_lines, view_lines
from tuner.search.climb import Leader
from tuner.search.effects import EffectRatio
from tuner.search.study import BASELINE, Changes, Phase
from tuner.space.knob import Bottleneck
from tuner.space.table import REPLY_FILTER

FILTER = "outputs[logs].filter_path"
MINIMUM = "outputs[logs].queue.workerThreadMinimumMessages"
MANY: Changes = (
    ("main_queue.dequeueBatchSize", 4096),
    (FILTER, REPLY_FILTER),
    ("outputs[logs].index.settings.refresh_interval", "30s"),
    ("outputs[logs].queue.dequeueBatchSize", 8000),
    (SIZE, 200_000),
    (MINIMUM, 10_000),
    ("outputs[logs].queue.workerThreads", 4),
)
VALUE = "errors,items.*.status,items.*.error"
WIDTHS = (60, 80, 120, 200)


def shown(progress: Progress, width: int, height: int = 50) -> list[str]:
    """The view as lines of text, without those that are no text."""
    lines = view_lines(progress, 100.0, Size(width, height))
    return [line.plain for line in lines if isinstance(line, Text)]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_setting_of_the_best_stands_there_with_its_whole_value(width: int) -> None:
    best = trial(measured(60_000.0), MANY, number=7)
    progress = after(best, leader=Leader(MANY, EffectRatio(1.3, 1.2, 1.4)))
    lines = shown(progress, width)
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert "..." not in text
    assert sum(line.endswith(" more") for line in lines) == (width < 200)
    for value in (f"-> {VALUE}", "-> 4", "-> 8000"):
        assert value in text


@pytest.mark.parametrize("width", WIDTHS)
def test_a_trial_shows_the_whole_value_that_it_changed(width: int) -> None:
    progress = after(trial(measured(60_000.0), ((FILTER, REPLY_FILTER),)))
    lines = [line.plain for line in row_lines(progress.rows[-1], progress, width)]
    assert all(len(line) <= width for line in lines)
    assert VALUE in " ".join(lines)
    assert not any(line.endswith("...") for line in lines)


@pytest.mark.parametrize("width", [24, 40, 80])
def test_the_reason_of_a_failure_goes_on_in_the_next_line(width: int) -> None:
    reason = "369,729 of 369,730 events were indexed, 1 lost, 0 doubled"
    progress = after(trial(failed(reason), MANY))
    lines = [line.plain for line in row_lines(progress.rows[-1], progress, width)]
    assert all(len(line) <= width for line in lines)
    if width >= 40:
        assert reason in " ".join(" ".join(lines).split())
    endless = after(trial(failed("word " * 500), MANY))
    assert len(row_lines(endless.rows[-1], endless, width)) <= 12


@pytest.mark.parametrize(
    ("phase", "pair", "stage"),
    [(Phase.SHRINK, 12, "waiting for merges"), (Phase.CHECK, None, "window"),
     (Phase.FINAL, None, "starting"), (Phase.CONFIRM, 10, "window")],
)  # fmt: skip
def test_the_status_has_its_numbers_whole_in_every_phase(
    phase: Phase, pair: int | None, stage: str
) -> None:
    progress = replace(
        after(trial(measured(1.0))), running=Running(113, phase, pair, stage, since_s=58.0),
        budget_s=1800.0,
    )  # fmt: skip
    status = next(line for line in shown(progress, 80) if "trial 113" in line)
    assert len(status) <= 80
    assert "..." not in status
    assert "about 40" in status
    assert status.endswith("28 min 20 s left")
    assert pair is None or f"pair {pair}" in status


def test_what_limits_both_sides_stands_in_two_lines_where_one_is_too_short() -> None:
    run = replace(measured(1.0), verdict=limited_by(Bottleneck.ACTION_WAITING))
    other = replace(measured(2.0), verdict=limited_by(Bottleneck.ACTION_CPU))
    progress = after(
        trial(run), trial(other, MANY), leader=Leader(MANY, EffectRatio(1.3, 1.2, 1.4))
    )
    lines = shown(progress, 80)
    at = lines.index("limited by  action workers' own CPU")
    assert lines[at + 1] == "            as written: action workers waiting on the engine"
    assert any("as written: action workers waiting" in line for line in shown(progress, 120))


def test_large_gains_keep_their_interval_whole() -> None:
    found = EffectRatio(12.345, 10.123, 14.567)
    progress = after(trial(measured(1.0)), trial(measured(9.0), MANY), leader=Leader(MANY, found))
    (gain,) = (line for line in shown(progress, 80) if line.startswith("gain"))
    assert gain.startswith("gain        +1134.5 % [+912.3 %, +1356.7 %] estimated")
    assert "..." not in gain


def test_nothing_is_shown_of_a_search_that_has_not_begun() -> None:
    assert shown(NOTHING_YET, 80) == ["starting"]
    assert shown(after(trial(measured(1.0), BASELINE)), 80)
