"""`rsyslog-tune bench`: measure one profile."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import result, result_json, say, working
from tuner.cli.options import (
    EngineChoice,
    EngineOption,
    Output,
    OutputOption,
    ProfilePath,
    UrlOption,
    duration_s,
)
from tuner.cli.profiles import load
from tuner.cli.site import Wanted, open_lab, prepare
from tuner.errors import GuardrailBreached, JobFailed
from tuner.lab.lab import Lab
from tuner.measure.measurement import Failure, FailureKind, Outcome, TrialPlan
from tuner.measure.trial import run_trial
from tuner.profile.model import Profile
from tuner.report.bench import bench_json, bench_text
from tuner.report.figures import eps
from tuner.search.budget import NODE_PACE, SINK_PACE


def bench(
    profile: ProfilePath,
    repeat: Annotated[int, typer.Option(min=1, max=100, help="How many runs.")] = 1,
    window: Annotated[str, typer.Option(help="The steady window of a run.")] = "10s",
    engine: EngineOption = EngineChoice.NODE,
    elasticsearch: UrlOption = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Measure a profile: events per second, delivery, CPU per event.

    Exits with 6 when a run lost or doubled events, with 1 when a run failed otherwise.
    """
    loaded = load(profile)
    wanted = Wanted(engine, elasticsearch)
    prepare(wanted, loaded.profile, say)
    window_s = duration_s(window)
    parent = Path(tempfile.gettempdir())
    with open_lab(wanted, loaded.profile, parent, say) as lab:
        outcomes = _measure(lab, loaded.profile, repeat, window_s)
        substitutions = [str(one) for one in lab.bind(loaded.profile, "t").substitutions]
        name = lab.engine_name
    if output is Output.JSON:
        result_json(bench_json(loaded.profile.name, name, outcomes, substitutions))
    else:
        result(bench_text(loaded.profile.name, name, outcomes, substitutions))
    _judge(outcomes)


def _measure(lab: Lab, profile: Profile, repeat: int, window_s: float) -> list[Outcome]:
    """A run that gets the engine warm and is not kept, then `repeat` runs."""
    pace = SINK_PACE if lab.is_sink else NODE_PACE
    warm_up = TrialPlan(pace.warm_up_s, 2 * pace.engine_warm_up_s)
    plan = TrialPlan(pace.warm_up_s, window_s)
    outcomes: list[Outcome] = []
    with working("getting the engine warm") as tell:
        run_trial(lab, profile, warm_up, "t0", lambda _: None)
        for number in range(1, repeat + 1):
            tell(f"run {number} of {repeat}")
            outcome = run_trial(lab, profile, plan, f"t{number}", lambda _: None)
            outcomes.append(outcome)
            say(f"run {number} of {repeat}: {_what(outcome)}")
    return outcomes


def _what(outcome: Outcome) -> str:
    if isinstance(outcome, Failure):
        return f"failed: {outcome.reason}"
    return f"{eps(outcome.eps)} EPS"


def _judge(outcomes: list[Outcome]) -> None:
    failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
    if not failures:
        return
    message = f"{len(failures)} of {len(outcomes)} runs failed: {failures[0].reason}"
    breached = (FailureKind.DELIVERY, FailureKind.GUARDRAIL)
    if any(failure.kind in breached for failure in failures):
        raise GuardrailBreached(message)
    raise JobFailed(message)
