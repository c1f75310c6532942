"""What a live view does on terminals of any width: it folds, and cuts nothing."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from tests.cli.test_search_progress import NOTHING_YET, SIZE, after, trial
from tests.measure.factory import limited_by, measured
from tuner.cli.search_screen import Progress, Running, view
from tuner.search.climb import Leader
from tuner.search.effects import EffectRatio
from tuner.search.study import Changes, Phase
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


def text_of(part: RenderableType, width: int) -> list[str]:
    """Its lines on a terminal of that width."""
    console = Console(width=width, height=50, file=io.StringIO(), highlight=False)
    console.print(part)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    return [line.rstrip() for line in lines]


def shown(progress: Progress, width: int) -> list[str]:
    return text_of(view(progress, 100.0), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_settings_of_the_best_stand_there_with_their_whole_values(width: int) -> None:
    best = trial(measured(60_000.0), MANY, number=7)
    progress = after(best, leader=Leader(MANY, EffectRatio(1.3, 1.2, 1.4)))
    text = " ".join(" ".join(shown(progress, width)).split())
    assert text.endswith(", 1 more")
    for value in (f"-> {VALUE}", "-> 4,", "-> 8000,"):
        assert value in text


@pytest.mark.parametrize(
    ("phase", "pair", "stage"),
    [(Phase.EFFECTS, 12, "waiting for merges"), (Phase.CHECK, None, "window"),
     (Phase.FINAL, None, "starting"), (Phase.CONFIRM, 10, "window")],
)  # fmt: skip
@pytest.mark.parametrize("width", WIDTHS)
def test_the_status_has_its_numbers_whole_in_every_phase(
    phase: Phase, pair: int | None, stage: str, width: int
) -> None:
    progress = replace(
        after(trial(measured(1.0))), running=Running(113, phase, pair, stage, since_s=58.0),
        budget_s=1800.0,
    )  # fmt: skip
    _, first, *others = shown(progress, width)
    assert first.endswith("  28 min 20 s left")
    text = " ".join([first.removesuffix("28 min 20 s left").strip(), *others])
    assert "trial 113, " in text
    assert f"{stage} 42 s" in text
    what = "block" if phase is Phase.EFFECTS else "pair"
    assert pair is None or f"{what} {pair}" in text


def test_what_limits_both_sides_stands_there_whole() -> None:
    run = replace(measured(1.0), verdict=limited_by(Bottleneck.ACTION_WAITING))
    other = replace(measured(2.0), verdict=limited_by(Bottleneck.ACTION_CPU))
    progress = after(
        trial(run), trial(other, MANY), leader=Leader(MANY, EffectRatio(1.3, 1.2, 1.4))
    )
    text = " ".join(" ".join(shown(progress, 80)).split())
    limits = "limited by action workers' own CPU; as written: action workers waiting on the engine"
    assert limits in text


def test_large_gains_keep_their_interval_whole() -> None:
    found = EffectRatio(12.345, 10.123, 14.567)
    progress = after(trial(measured(1.0)), trial(measured(9.0), MANY), leader=Leader(MANY, found))
    (gain,) = (line for line in shown(progress, 80) if line.startswith("gain"))
    assert gain.startswith("gain        +1134.5 % [+912.3 %, +1356.7 %] including")


def test_nothing_is_shown_of_a_search_that_has_not_begun() -> None:
    title, status, bar = shown(NOTHING_YET, 80)
    assert title.startswith("small ─")
    assert status == "starting"
    assert set(bar) <= {"━", "╺", "╸"}
