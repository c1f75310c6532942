"""Runs on an engine that restarts first where a profile wants other node settings."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tuner.lab.lab import Lab
from tuner.lab.node import NodeRefused
from tuner.measure.measurement import Failure, FailureKind, TrialPlan
from tuner.measure.metrics import Result
from tuner.measure.spent import Spent
from tuner.measure.trial import Tell, run_trial
from tuner.profile.model import Profile


def turned(lab: Lab, profile: Profile, warm_up: TrialPlan, name: str, tell: Tell) -> bool:
    """Restart the engine if `profile` has other node settings, and run `warm_up` under that name,
    because a JVM that has just started is slow; whether it had to.

    Raises NodeRefused when the engine does not start so.
    """
    if lab.engine.run_with(profile) == 0:
        return False
    run_trial(lab, profile, warm_up, name, tell)
    return True


def when_turned(
    lab: Lab, profile: Profile, warm_up: TrialPlan, name: str, run: Callable[[str, Tell], Result],
    tell: Tell,
) -> Result:  # fmt: skip
    """What `run` gives, by its name, on the engine as `profile` wants it, with the seconds of the
    restart; a Failure where the engine does not start so."""
    began_s = time.monotonic()
    try:
        has_turned = turned(lab, profile, warm_up, f"{name}w", tell)
    except NodeRefused as refused:
        failure = Failure(FailureKind.ENGINE_DOWN, str(refused))
        return _after_restart(failure, time.monotonic() - began_s)
    restart_s = time.monotonic() - began_s if has_turned else 0.0
    return _after_restart(run(name, tell), restart_s)


def _after_restart(result: Result, restart_s: float) -> Result:
    return replace(result, spent=replace(result.spent or Spent(), restart_s=restart_s))
