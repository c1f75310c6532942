"""The part of a search's report that lists its trials."""

from __future__ import annotations

from tuner.measure.measurement import DoubtKind, Failure, Measurement
from tuner.measure.paced_summary import PacedMeasurement
from tuner.report.figures import eps, setting, table
from tuner.search.study import BASELINE, Changes, Study, Trial
from tuner.space.knobs import Knob

TRIALS_HEADER = ("trial", "settings", "EPS", "sent", "indexed", "rsyslogd us/event",
                 "engine us/event", "doubts")  # fmt: skip
SETTINGS_HEADER = ("trial", "what differs from the profile as written")


def every_trial(study: Study, known: dict[str, Knob]) -> list[str]:
    """A row for each trial, what its doubts mean, and the settings that were tried."""
    legend = [f"- {line}" for line in doubts_meant(study)]
    rows = trial_rows(study)
    parts = ["## Trials", table(TRIALS_HEADER, rows), *(["\n".join(legend)] if legend else [])]
    points = settings_rows(study, known)
    if points:
        parts += ["### Settings in full", table(SETTINGS_HEADER, points)]
    return parts


def trial_rows(study: Study) -> list[tuple[str, ...]]:
    """A row for each trial, under `TRIALS_HEADER`."""
    return [_trial_row(trial, _settings(trial, study)) for trial in study.trials]


def doubts_meant(study: Study) -> list[str]:
    """What each kind of doubt that occurred means, and what to do about it."""
    seen = [
        trial.outcome.doubts for trial in study.trials if isinstance(trial.outcome, Measurement)
    ]
    kinds = {doubt.kind for doubts in seen for doubt in doubts}
    return [f"{kind.value}: {kind.advice}" for kind in DoubtKind if kind in kinds]


def settings_rows(study: Study, known: dict[str, Knob]) -> list[tuple[str, ...]]:
    """Every point of the search in full, by the trial that measured it first."""
    points: dict[Changes, int] = {}
    for trial in study.trials:
        if trial.changes != BASELINE:
            points.setdefault(trial.changes, trial.number)
    return [(str(number), _in_full(point, known)) for point, number in points.items()]


def _in_full(point: Changes, known: dict[str, Knob]) -> str:
    return ", ".join(
        f"`{path}` {setting(known[path].current)} -> {setting(level)}" for path, level in point
    )


def _settings(trial: Trial, study: Study) -> str:
    """What a trial measured: the move that made it, or the trial that measured the same first."""
    if trial.changes == BASELINE:
        return "as written"
    first = next(other for other in study.trials if other.changes == trial.changes)
    return trial.why if first is trial else f"as trial {first.number}"


def _trial_row(trial: Trial, settings: str) -> tuple[str, ...]:
    name = trial.phase.value if trial.number < 0 else str(trial.number)
    name = name if trial.pair is None else f"{name}, pair {trial.pair}"
    outcome = trial.outcome
    if isinstance(outcome, Failure):
        reason = f"failed: {outcome}"
        return (name, settings, "-", f"{outcome.sent:,}", f"{outcome.indexed:,}", "-", "-", reason)
    if isinstance(outcome, PacedMeasurement):
        sent, indexed = f"{outcome.delivery.sent:,}", f"{outcome.delivery.indexed:,}"
        cpu = (f"{outcome.shipper_cpu_us:.1f}", f"{outcome.engine_cpu_us:.1f}")
        doubts = "; ".join(map(str, outcome.doubts))
        return (name, settings, f"fixed {eps(outcome.eps)}", sent, indexed, *cpu, doubts)
    return (
        name,
        settings,
        f"{eps(outcome.eps)} ± {eps(outcome.eps_se)}",
        f"{outcome.delivery.sent:,}",
        f"{outcome.delivery.indexed:,}",
        f"{outcome.shipper_cpu_us:.1f}",
        f"{outcome.engine_cpu_us:.1f}",
        "; ".join(map(str, outcome.doubts)),
    )
