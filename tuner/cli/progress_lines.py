"""A search in lines: one for each trial, more when asked for; pure."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.cli.progress import Progress, Running, TrialRow
from tuner.measure.measurement import Failure, Measurement
from tuner.measure.paced_summary import PacedMeasurement
from tuner.report.figures import eps, percent, seconds
from tuner.report.moves import steps_text
from tuner.search.study import BASELINE, Phase
from tuner.space.knob import level_text

_MOVING = frozenset({Phase.SEARCH, Phase.FINAL, Phase.SHRINK})


def trial_line(progress: Progress) -> str:
    """The last trial in a line that is as long as it gets: which one, what came out, what is left,
    what it changed and why.  Nothing is cut."""
    row = progress.rows[-1]
    return f"{_name(row)}  {_outcome(row)}  ({seconds(row.left_s)} left)  {what(row, progress)}"


def stage_line(running: Running) -> str:
    """What is going on at this moment."""
    return f"{trial_name(running)}: {running.stage}"


def trial_name(running: Running) -> str:
    """Which trial it is."""
    return "warm-up" if running.phase is Phase.WARM_UP else f"trial {running.number}"


def detail_lines(progress: Progress) -> Iterator[str]:
    """What the last trial showed beside its rate, for those who want all of it."""
    row = progress.rows[-1]
    for step in row.move.steps if row.trial.phase in _MOVING else ():
        yield f"    {step.path}: {level_text(step.before)} -> {level_text(step.after)}"
    outcome = row.trial.outcome
    if isinstance(outcome, Failure):
        return
    yield (
        f"    CPU per event: rsyslogd {outcome.shipper_cpu_us:.1f} us, "
        f"engine {outcome.engine_cpu_us:.1f} us"
    )
    if isinstance(outcome, Measurement):
        yield f"    window {outcome.window_s:.1f} s, drained in {outcome.drain_s:.1f} s"
        if outcome.verdict is not None:
            yield f"    bottleneck: {outcome.verdict.bottleneck.value}"
    for doubt in outcome.doubts:
        yield f"    doubt: {doubt}: {doubt.kind.advice}"


def what(row: TrialRow, progress: Progress, room: int | None = None) -> str:
    """What a trial changed, and why it was made where there is room for that:
    `refresh_interval 5s -> 30s (at random)`."""
    trial, steps = row.trial, row.move.steps
    if trial.phase is Phase.FINAL:
        return _again(row, progress)
    if trial.phase not in _MOVING or trial.changes == BASELINE or not steps:
        return trial.why
    best = "best with " if row.move.from_best and trial.phase is not Phase.SHRINK else ""
    changed = best + steps_text(steps, progress.names, None if room is None else room - len(best))
    whole = f"{changed} ({trial.why})"
    return whole if room is None or len(whole) <= room else changed


def _again(row: TrialRow, progress: Progress) -> str:
    """Which point was measured again: its first trial says what it is."""
    first = next(one.number for one in progress.trials if one.changes == row.trial.changes)
    best = "" if row.move.steps or row.trial.changes == BASELINE else ", the best so far"
    return f"again, as trial {first}{best}"


def freshness(outcome: PacedMeasurement) -> str:
    """How fresh events were at a fixed rate, where that can be seen; to follow something."""
    found = outcome.freshness_s
    return "" if found is None else f", freshness p99 {found.p99:.1f} s"


def _name(row: TrialRow) -> str:
    trial = row.trial
    if trial.phase is Phase.WARM_UP:
        return "warm-up      "
    name = f"trial {trial.number:>3}/~{row.expected:<3}"
    return name if trial.pair is None else f"{name} pair {trial.pair}"


def _outcome(row: TrialRow) -> str:
    outcome = row.trial.outcome
    if isinstance(outcome, Failure):
        return f"failed: {outcome}"
    rate = f"{eps(outcome.eps):>9} EPS"
    if isinstance(outcome, PacedMeasurement):
        return f"{rate}{freshness(outcome)}"
    if row.trial.pair is not None:
        return rate if row.ratio is None else f"{rate}, this pair {percent(row.ratio)}"
    if row.ratio is None or row.best_eps is None:
        return rate
    return f"{rate} {percent(row.ratio):>8}, best seen {eps(row.best_eps)}"
