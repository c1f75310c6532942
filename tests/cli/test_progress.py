"""The lines of a search as it runs."""

from __future__ import annotations

from tests.measure.factory import measured
from tuner.cli.progress import Progress
from tuner.measure.measurement import TrialPlan
from tuner.search.study import BASELINE, Changes, Phase, Trial

PLAN = TrialPlan(1.0, 2.0)
CHANGED: Changes = (("outputs[logs].queue.size", 5000),)


def line(progress: Progress, rate: float, changes: Changes = BASELINE) -> str:
    trial = Trial(3, Phase.SEARCH, changes, "why", PLAN, measured(rate), 0.0)
    return progress.line(trial, 10, 60.0)


def test_a_slow_first_run_of_a_cold_engine_does_not_make_everything_look_fast() -> None:
    progress = Progress()
    for rate in (28_000.0, 41_000.0, 40_000.0):
        line(progress, rate)
    assert "60,000 EPS  +50.0 %, best seen 60,000" in line(progress, 60_000.0, CHANGED)


def test_the_best_stays_the_best() -> None:
    progress = Progress()
    line(progress, 40_000.0)
    line(progress, 60_000.0, CHANGED)
    assert "best seen 60,000" in line(progress, 50_000.0, CHANGED)
