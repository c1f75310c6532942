"""What a search shows while it runs: a line for every trial."""

from __future__ import annotations

import shutil
import statistics
import sys

from tuner.measure.measurement import Failure, Measurement
from tuner.measure.paced_summary import PacedMeasurement
from tuner.report.figures import eps, percent, seconds
from tuner.search.study import BASELINE, Phase, Trial


class Progress:
    """Turns trials into lines; remembers the best seen and the runs of the profile as written, of
    which the median is what others are compared with."""

    def __init__(self) -> None:
        self._baseline: list[float] = []
        self._best: float | None = None
        self._halves: dict[int | None, float] = {}

    def line(self, trial: Trial, trials_left: int, left_s: float) -> str:
        """One line: which trial, what it changed, what came out, the best, what is left."""
        outcome = trial.outcome
        if isinstance(outcome, Failure):
            shown = f"failed: {outcome}"
        elif isinstance(outcome, PacedMeasurement):
            shown = f"{eps(outcome.eps):>9} EPS{_freshness(outcome)}"
        else:
            shown = self._rate(trial, outcome)
        name = self._name(trial, trials_left)
        return f"{name}  {shown}  ({seconds(left_s)} left)  {trial.why}"

    def status(self, number: int, stage: str, left_s: float) -> str:
        """What is going on at this moment, for a terminal."""
        trial = "warm-up trial" if number < 0 else f"trial {number}"
        best = "" if self._best is None else f", best seen {eps(self._best)} EPS"
        return f"{trial}: {stage}{best}, {seconds(left_s)} left"

    def _rate(self, trial: Trial, outcome: Measurement) -> str:
        if trial.phase is Phase.WARM_UP:
            return f"{eps(outcome.eps):>9} EPS"
        if trial.phase is Phase.CONFIRM:
            return f"{eps(outcome.eps):>9} EPS{self._pair(trial, outcome)}"
        self._best = max(self._best or 0.0, outcome.eps)
        if trial.changes == BASELINE:
            self._baseline.append(outcome.eps)
        change = percent(outcome.eps / statistics.median(self._baseline))
        return f"{eps(outcome.eps):>9} EPS {change:>8}, best seen {eps(self._best)}"

    def _pair(self, trial: Trial, outcome: Measurement) -> str:
        """What a pair shows once both its runs are known."""
        before = self._halves.pop(trial.pair, None)
        if before is None:
            self._halves[trial.pair] = outcome.eps
            return ""
        ratio = before / outcome.eps if trial.changes == BASELINE else outcome.eps / before
        return f", this pair {percent(ratio)}"

    def _name(self, trial: Trial, trials_left: int) -> str:
        if trial.phase is Phase.WARM_UP:
            return "warm-up      "
        if trial.phase is Phase.CONFIRM:
            return f"trial {trial.number:>3} pair {trial.pair}"
        return f"trial {trial.number:>3}/~{trial.number + trials_left:<3}"


def _freshness(outcome: PacedMeasurement) -> str:
    found = outcome.freshness_s
    return "" if found is None else f", freshness p99 {found.p99:.1f} s"


def fitted(line: str) -> str:
    """`line` cut to the width of the terminal; whole where there is none."""
    if not sys.stderr.isatty():
        return line
    width = shutil.get_terminal_size().columns
    return line if len(line) <= width else line[: width - 3] + "..."
