"""What two searches ended with, side by side: nothing is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tuner.cli.compare_measured import gate_of
from tuner.measure.blocks import Run, comparison
from tuner.measure.measurement import Measurement
from tuner.measure.restarts import restarted
from tuner.profile.metric import Metric
from tuner.report.compare import A, B, Compared, Side
from tuner.report.figures import interval
from tuner.search.journal import read
from tuner.search.outcome import Outcome, outcome_of
from tuner.search.study import Study


def of_searches(a: Path, b: Path, fail_below: float | None) -> Compared:
    """Compare what the searches in two run directories confirmed."""
    studies = read(a), read(b)
    first, second = (outcome_of(one, str(path)) for one, path in zip(studies, (a, b), strict=True))
    runs = _runs(first.confirmed, second.confirmed)
    header = studies[1].header
    return Compared(
        a=_side(a, studies[0], first),
        b=_side(b, studies[1], second),
        engine=header.engine,
        machine=header.machine,
        runs=runs,
        seed=None,
        doubts=tuple(_doubts(studies, (first, second))),
        gate=gate_of(runs, fail_below),
    )


def _runs(a: Sequence[Measurement], b: Sequence[Measurement]) -> tuple[Run, ...]:
    """The runs of both in order, those just after a restart of the engine with such runs only."""
    pairs = [
        both
        for after in (False, True)
        for both in zip(
            [one for one in a if restarted(one) is after],
            [one for one in b if restarted(one) is after],
            strict=False,
        )
    ]
    return tuple(
        Run(arm, block, one)
        for block, both in enumerate(pairs, 1)
        for arm, one in zip((A, B), both, strict=True)
    )


def _side(path: Path, study: Study, outcome: Outcome) -> Side:
    what = "what it confirmed" if outcome.improved else "the profile as written: nothing better"
    return Side(f"{path} ({what})", study.header.substitutions, outcome.freshness)


def _doubts(studies: tuple[Study, Study], outcomes: tuple[Outcome, Outcome]) -> Iterator[str]:
    yield (
        "the runs of A and B did not take turns: pairs are by their order only, and a machine that "
        "was another at another time shows as a difference"
    )
    before, after = (study.header for study in studies)
    for one in before.fingerprint.differences(after.fingerprint):
        yield f"A and B were measured under other conditions: {one}"
    if (before.profile_text, before.profile_layers) != (after.profile_text, after.profile_layers):
        return
    drift = _runs(outcomes[0].written, outcomes[1].written)
    found = comparison(drift, A, B, Metric.EPS)
    if found is not None:
        yield (
            f"both searches began with the same profile, which was {interval(found)} in the pairs "
            "of B: so much is not the settings"
        )
