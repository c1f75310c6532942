"""EPS by trial with the incumbent, and EPS against the CPU that an event costs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tuner.measure.measurement import Failure, Measurement
from tuner.report.drawing import ON_PAPER, Colour, Plot, svg
from tuner.report.figures import eps
from tuner.report.rates import STEADY
from tuner.report.search_course import is_sink
from tuner.search.calibration import calibrate
from tuner.search.finalists import shrunken
from tuner.search.space import Observation
from tuner.search.study import BASELINE, SCORED, Changes, Phase, Study, Trial

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
class Incumbent:
    """The settings that look best after the trial of that number, and their rate as it is then
    believed to be."""

    number: int
    changes: Changes
    rate: float


def incumbents(study: Study) -> tuple[Incumbent, ...]:
    """The incumbent after each scored trial, by means that are shrunken towards that of all
    settings: one lucky run makes no incumbent."""
    sigma = _noise(study)
    told: list[Observation] = []
    points: dict[Changes, int] = {}
    found = []
    scored = [trial for trial in study.trials if trial.phase in SCORED]
    step = math.ceil(len(scored) / _MOST_LOOKS)
    for number, trial in enumerate(scored):
        if trial.measurement is None:
            continue
        point = (points.setdefault(trial.changes, len(points)),)
        told.append(Observation(point, math.log(STEADY.of(trial.measurement)), sigma))
        if number % step and number < len(scored) - 1:
            continue
        best = shrunken(told, sigma)[0]
        found.append(Incumbent(trial.number, list(points)[best.point[0]], math.exp(best.mean)))
    return tuple(found)


def _noise(study: Study) -> float:
    """The standard deviation of a run's logarithm, from the runs of the profile as written."""
    runs = [trial for trial in study.of(Phase.CALIBRATE) if trial.measurement is not None]
    rates = [STEADY.of(trial.measurement) for trial in runs if trial.measurement is not None]
    if len(rates) < _FEWEST_RUNS:
        return _USUAL_NOISE
    return calibrate(rates, [trial.at_s for trial in runs]).sigma


def course(study: Study) -> Plot | None:
    """EPS by trial; None before anything was measured."""
    trials = [trial for trial in study.trials if trial.number >= 0 and trial.per_second is None]
    if not any(trial.measurement is not None for trial in trials):
        return None
    best = incumbents(study)
    failed = sum(isinstance(trial.outcome, Failure) for trial in trials)
    says = (
        f"Each of {len(trials)} trials by its rate over the steady window; the line is the "
        "incumbent, the settings that an average of the trials by then puts first"
    )
    says += f"; {failed} failed and have no rate." if failed else "."
    says += _left_out(trials)
    title = "The rate of every trial, in the order they ran"

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        _paint_trials(axes, _drawn(trials))
        if best:
            axes.step([one.number for one in best], [one.rate for one in best], where="post",
                      color=Colour.BEST.value, linewidth=1.4, label="incumbent")  # fmt: skip
        _paint_phases(axes, trials)
        axes.set_xlabel("trial")
        figure.legend(loc="outside lower center", ncols=4)

    rows = tuple(_phase_row(phase, trials) for phase in dict.fromkeys(t.phase for t in trials))
    header = ("phase", "trials", "failed", "lowest EPS", "median", "highest")
    return Plot("course", title, says, svg("course", title, says, 240, paint), header, rows)


def _step(trials: Sequence[Trial]) -> int:
    """Of how many trials of the search one is drawn."""
    return max(1, math.ceil(sum(one.phase is Phase.SEARCH for one in trials) / _MOST_DRAWN))


def _drawn(trials: Sequence[Trial]) -> list[Trial]:
    """All trials of short searches; of long ones fewer of those that only looked around."""
    step = _step(trials)
    return [one for one in trials if one.phase is not Phase.SEARCH or one.number % step == 0]


def _left_out(trials: Sequence[Trial]) -> str:
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


def cost(study: Study) -> Plot | None:
    """EPS against CPU per event; None before anything was measured."""
    runs = [
        (trial, trial.measurement)
        for trial in study.trials
        if trial.measurement is not None and trial.phase is not Phase.WARM_UP
    ]
    if not runs:
        return None
    sides = "rsyslogd" if is_sink(study) else "rsyslogd and the engine"
    title = "What an event costs, and how many are carried"
    says = (
        f"Each run by the CPU time of {sides} for one event: along a dotted line the same number "
        "of cores is busy, so what moves up such a line gains by making events cheaper, and what "
        "moves across the lines by using more of the machine."
        f"{_left_out([trial for trial, _ in runs])}"
    )
    points = [(_kind(trial), _cpu_us(run, study), STEADY.of(run)) for trial, run in runs]
    some = {trial.number for trial in _drawn([trial for trial, _ in runs])}
    drawn = [one for one, (trial, _) in zip(points, runs, strict=True) if trial.number in some]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for kind, look in _LOOKS.items():
            found = [(cpu_us, rate) for name, cpu_us, rate in drawn if name == kind]
            if found:
                axes.plot(*zip(*found, strict=True), "o", label=kind, **look)
        axes.set_xlim(0, 1.15 * max(cpu_us for _, cpu_us, _ in points))
        axes.set_ylim(0, 1.08 * max(rate for _, _, rate in points))
        _paint_cores(axes, max(cpu_us * rate for _, cpu_us, rate in points) / 1e6)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_title("events per second", color=Colour.MUTED.value)
        axes.set_xlabel(f"CPU microseconds per event, {sides}")
        figure.legend(loc="outside lower center", ncols=3)

    rows = tuple(_cost_row(kind, points) for kind in _LOOKS if any(p[0] == kind for p in points))
    header = ("runs", "how many", "CPU us per event, median", "EPS, median", "cores busy, median")
    return Plot("cost", title, says, svg("cost", title, says, 240, paint), header, rows)


_WRITTEN, _BEST, _OTHER = "as written, confirming", "best found, confirming", "other runs"
_LOOKS: dict[str, dict[str, Any]] = {
    _OTHER: {"color": Colour.MUTED.value, "markersize": 3, "markeredgewidth": 0, "alpha": 0.5},
    _WRITTEN: {"color": Colour.WRITTEN.value, "markersize": 5, "markerfacecolor": "none"},
    _BEST: {"color": Colour.BEST.value, "markersize": 5},
}


def _kind(trial: Trial) -> str:
    if trial.phase is not Phase.CONFIRM:
        return _OTHER
    return _WRITTEN if trial.changes == BASELINE else _BEST


def _cpu_us(run: Measurement, study: Study) -> float:
    """The sink's own CPU says nothing: it stands for an engine."""
    return run.shipper_cpu_us + (0.0 if is_sink(study) else run.engine_cpu_us)


def _paint_cores(axes: Axes, most: float) -> None:
    """Lines of one core busy, of two and so on, as many as were ever busy."""
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    for busy in range(1, math.ceil(most - 0.25) + 1):
        first_us = max(busy * 1e6 / top, right / 100)
        if first_us >= right:
            break
        at_us = [first_us + (right - first_us) * step / 40 for step in range(41)]
        axes.plot(at_us, [busy * 1e6 / one for one in at_us], ":", color=Colour.MUTED.value,
                  linewidth=0.8)  # fmt: skip
        name = "1 core busy" if busy == 1 else f"{busy} cores busy"
        axes.text(right, busy * 1e6 / right, name, ha="right", va="center", fontsize=8,
                  color=Colour.MUTED.value, bbox=ON_PAPER)  # fmt: skip


def _cost_row(kind: str, points: Sequence[tuple[str, float, float]]) -> tuple[str, ...]:
    found = [(cpu_us, rate) for name, cpu_us, rate in points if name == kind]
    cpu_us = statistics.median(one for one, _ in found)
    rate = statistics.median(one for _, one in found)
    busy = statistics.median(each_us * each for each_us, each in found) / 1e6
    return (kind, str(len(found)), f"{cpu_us:.1f}", eps(rate), f"{busy:.2f}")
