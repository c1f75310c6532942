"""The course of a search: EPS by trial with the best so far, and where the time went."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from tuner.measure.measurement import Failure
from tuner.report.drawing import Colour
from tuner.report.result import STEADY, StudyResult
from tuner.report.sections import Plot
from tuner.schema.numerals import eps, seconds
from tuner.search.calibration import calibrate, repeats_of
from tuner.search.finalists import shrunken
from tuner.search.space import Observation
from tuner.search.study import BASELINE, SCORED, Changes, Phase, Study, Trial
from tuner.search.times import Overhead, Times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A phase with fewer trials than this share of all has no room for its name.
_ROOM = 0.05
_USUAL_NOISE = 0.05
# What keeps the page of a search of days small, and quick to make.
_MOST_DRAWN = 500
_MOST_LOOKS = 200
_FEWEST_RUNS = 2


@dataclass(frozen=True)
class BestSoFar:
    """The settings that look best after the trial of that number, and their rate as it is then
    believed to be."""

    number: int
    changes: Changes
    rate: float


def best_so_far(study: Study) -> tuple[BestSoFar, ...]:
    """The best after each scored trial, by means that are shrunken towards that of all
    settings: one lucky run does not make it."""
    sigma = _noise(study)
    observed: list[Observation] = []
    points: dict[Changes, int] = {}
    several: list[BestSoFar] = []
    scored = [trial for trial in study.trials if trial.phase in SCORED]
    step = math.ceil(len(scored) / _MOST_LOOKS)
    for number, trial in enumerate(scored):
        if trial.measurement is None:
            continue
        point = (points.setdefault(trial.changes, len(points)),)
        observed.append(Observation(point, math.log(STEADY.of(trial.measurement)), sigma))
        if number % step and number < len(scored) - 1:
            continue
        best = shrunken(observed, sigma)[0]
        several.append(BestSoFar(trial.number, list(points)[best.point[0]], math.exp(best.mean)))
    return tuple(several)


def _noise(study: Study) -> float:
    """The standard deviation of a run's logarithm, from the runs of the profile as written."""
    repeats = repeats_of(study.trials, STEADY.of)
    if sum(len(one.rates) for one in repeats) < _FEWEST_RUNS:
        return _USUAL_NOISE
    return calibrate(*repeats).sigma


def course_plot(result: StudyResult) -> Plot | None:
    """EPS by trial; None before anything was measured."""
    study = result.study
    trials = [trial for trial in study.trials if trial.number >= 0 and trial.per_second is None]
    if not any(trial.measurement is not None for trial in trials):
        return None
    best = best_so_far(study)
    failed = sum(isinstance(trial.outcome, Failure) for trial in trials)
    says = (
        f"Each of {len(trials)} trials by its rate over the steady window; the line is the "
        "best so far, the settings that the average of the trials up to then ranks first"
    )
    says += f"; {failed} failed and have no rate." if failed else "."
    says += left_out(trials)
    title = "The rate of every trial, in the order they ran"

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        _paint_trials(axes, thinned(trials))
        if best:
            axes.step([one.number for one in best], [one.rate for one in best], where="post",
                      color=Colour.BEST.value, linewidth=1.4, label="best so far")  # fmt: skip
        _paint_phases(axes, trials)
        axes.set_xlabel("trial")
        figure.legend(loc="outside lower center", ncols=4)

    rows = tuple(_phase_row(phase, trials) for phase in dict.fromkeys(t.phase for t in trials))
    header = ("phase", "trials", "failed", "lowest EPS", "median", "highest")
    return Plot("course", title, says, 240, paint, header, rows)


def _step(trials: Sequence[Trial]) -> int:
    """Of how many trials of the search one is drawn."""
    return max(1, math.ceil(sum(one.phase is Phase.SEARCH for one in trials) / _MOST_DRAWN))


def thinned(trials: Sequence[Trial]) -> list[Trial]:
    """All trials of short searches; of long ones fewer of those that only looked around."""
    step = _step(trials)
    return [one for one in trials if one.phase is not Phase.SEARCH or one.number % step == 0]


def left_out(trials: Sequence[Trial]) -> str:
    """A sentence on what `thinned` left out; empty where it left out nothing."""
    step = _step(trials)
    return "" if step == 1 else f" Of the phase search one trial in {step} is drawn."


def _paint_trials(axes: Axes, trials: Sequence[Trial]) -> None:
    written: list[tuple[int, float]] = []
    changed: list[tuple[int, float]] = []
    failed = []
    for trial in trials:
        if trial.measurement is None:
            failed.append(trial.number)
        else:
            side = written if trial.changes == BASELINE else changed
            side.append((trial.number, STEADY.of(trial.measurement)))
    if changed:
        axes.plot(*zip(*changed, strict=True), "o", color=Colour.BEST.value, markersize=3,
                  markeredgewidth=0, alpha=0.6, label="changed settings")  # fmt: skip
    if written:
        axes.plot(*zip(*written, strict=True), "o", color=Colour.WRITTEN.value, markersize=4,
                  markerfacecolor="none", label="as written")  # fmt: skip
    axes.set_ylim(0, 1.08 * max((rate for _, rate in (*written, *changed)), default=1.0))
    if failed:
        axes.plot(failed, [0] * len(failed), "x", color=Colour.BAD.value, markersize=5,
                  clip_on=False, label="failed")  # fmt: skip
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title("events per second", color=Colour.MUTED.value)


def _paint_phases(axes: Axes, trials: Sequence[Trial]) -> None:
    """A line where a phase begins, and its name where there is room."""
    top = axes.get_xaxis_transform()
    starts = [trial.number for trial in trials[:1]]
    starts += [new.number for old, new in pairwise(trials) if new.phase is not old.phase]
    for at, end in pairwise([*starts, trials[-1].number + 1]):
        axes.axvline(at - 0.5, color=Colour.MUTED.value, linewidth=0.5, linestyle=":")
        if end - at >= _ROOM * len(trials):
            phase = next(trial.phase for trial in trials if trial.number == at)
            axes.text(at - 0.2, 0.03, phase.value, transform=top, rotation=90, fontsize=8,
                      color=Colour.MUTED.value)  # fmt: skip


def _phase_row(phase: Phase, trials: Sequence[Trial]) -> tuple[str, ...]:
    ran = [trial for trial in trials if trial.phase is phase]
    rates = [STEADY.of(trial.measurement) for trial in ran if trial.measurement is not None]
    failed = sum(isinstance(trial.outcome, Failure) for trial in ran)
    spread = (eps(min(rates)), eps(statistics.median(rates)), eps(max(rates))) if rates else ()
    return (phase.value, str(len(ran)), str(failed), *(spread or ("-", "-", "-")))


_WHAT_FOR = {
    Phase.WARM_UP: "warm-up: warms the engine up, not scored",
    Phase.CALIBRATE: "calibrate: the profile as written, for the noise",
    Phase.SEARCH: "search",
    Phase.FINAL: "final: good ones again, to choose among them",
    Phase.CONFIRM: "confirm: fresh pairs",
    Phase.RECIPE: "recipe: fresh pairs with the recipe that the climb went beyond",
    Phase.CHECK: "check: at a fixed rate",
    Phase.EFFECTS: "effects: what each change gives",
}


def time_plot(result: StudyResult) -> Plot | None:
    """The phases and, where the search measured something, the parts of its trials; None for a
    search without trials."""
    times = result.times
    if times.total_s <= 0:
        return None
    title = "Where the time went"
    on = f" on {times.machines} machines" if times.machines > 1 else ""
    says = (
        f"Of {seconds(times.total_s)}{on} the solid part was spent in windows whose rates count: "
        f"{times.measuring * 100:.0f} % of the budget."
    )
    if times.overhead is not None:
        says += " Below, the parts of one trial of the search, each a median."
    panels = 1 if times.overhead is None else 2

    def paint(figure: Figure) -> None:
        above, *below = figure.subplots(panels, 1, squeeze=False, height_ratios=(8, 6)[:panels])[
            :, 0
        ]
        _paint_times(above, times)
        if times.overhead is not None:
            _paint_parts(below[0], times.overhead)

    header = ("", "trials", "time", "share", "in windows")
    rows = tuple(_time_rows(times))
    return Plot("time", title, says, 110 + 140 * panels, paint, header, rows, is_listed=True)


def _time_rows(times: Times) -> Iterator[tuple[str, ...]]:
    """From the start of the command to the end of the last trial, on all machines: shares add up to
    100 %."""

    def row(name: str, count: str, taken_s: float, windows: str = "-") -> tuple[str, ...]:
        return (name, count, _exactly(taken_s), f"{taken_s / times.total_s * 100:.1f} %", windows)

    yield row("start: the command and the engine", "-", times.starts_s)
    for one in times.phases:
        windows = "-" if one.phase is Phase.WARM_UP else _exactly(one.windows_s)
        yield row(_WHAT_FOR[one.phase], str(one.trials), one.seconds, windows)
    if times.restarts:
        name = "restarts of the engine with other node settings, which then warms up"
        yield row(f"{name} ({times.restarts})", "-", times.restarts_s)
    waiting = ", and waiting for other machines" if times.machines > 1 else ""
    yield row(f"between trials: the search's own computing{waiting}", "-", times.between_s)
    trials = sum(one.trials for one in times.phases)
    windows_s = sum(one.windows_s for one in times.phases)
    yield row("all", str(trials), times.total_s, _exactly(windows_s))


def _exactly(taken_s: float) -> str:
    return f"{taken_s:.1f} s" if taken_s < 60 else seconds(taken_s)


def _paint_times(axes: Axes, times: Times) -> None:
    rows = [("start", times.starts_s, 0.0)]
    rows += [
        (one.phase.value, one.seconds, 0.0 if one.phase is Phase.WARM_UP else one.windows_s)
        for one in times.phases
    ]
    rows += [("engine restarts", times.restarts_s, 0.0), ("between trials", times.between_s, 0.0)]
    shown = [row for row in rows if row[1] > 0]
    names = [name for name, _, _ in shown]
    bars = axes.barh(names, [all_s for _, all_s, _ in shown], color=Colour.BEST.value, alpha=0.35)
    axes.barh(names, [windows_s for _, _, windows_s in shown], color=Colour.BEST.value)
    axes.bar_label(bars, [seconds(all_s) for _, all_s, _ in shown], padding=3, fontsize=9)
    axes.set_title("by phase, seconds", color=Colour.MUTED.value)
    _finish(axes)


def _paint_parts(axes: Axes, overhead: Overhead) -> None:
    parts = overhead.parts.by_name
    bars = axes.barh(list(parts), list(parts.values()), color=Colour.BEST.value, alpha=0.35)
    axes.barh(("window",), (parts["window"],), color=Colour.BEST.value)
    axes.bar_label(bars, fmt="%.1f s", padding=3, fontsize=9)
    axes.set_title("one trial of the search, seconds", color=Colour.MUTED.value)
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.margins(x=0.16)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
