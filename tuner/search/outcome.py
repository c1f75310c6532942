"""What a search ended with, to be compared with what another ended with; pure."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.errors import JobFailed
from tuner.measure.measurement import Measurement
from tuner.measure.paced_summary import PacedMeasurement
from tuner.search.pairs import pairs_of
from tuner.search.study import BASELINE, Changes, Phase, Study
from tuner.search.verdict import Claim, judge


@dataclass(frozen=True)
class Outcome:
    """The runs of its confirmation: of the profile as written, and of what was confirmed, which is
    the profile as written where no improvement was shown.  `freshness` is the run of that at a
    fixed rate, None where there was none."""

    written: tuple[Measurement, ...]
    confirmed: tuple[Measurement, ...]
    improved: bool
    freshness: PacedMeasurement | None


def outcome_of(study: Study, name: str) -> Outcome:
    """What the search in `name` ended with; raises JobFailed when it confirmed nothing."""
    verdict = judge(study)
    if verdict.claim not in {Claim.IMPROVED, Claim.NOT_SHOWN}:
        raise JobFailed(f"{name} holds no confirmed pairs to compare: {verdict.claim.value}")
    pairs = pairs_of(study.trials)
    written = tuple(before for before, _ in pairs)
    improved = verdict.claim is Claim.IMPROVED
    return Outcome(
        written=written,
        confirmed=tuple(after for _, after in pairs) if improved else written,
        improved=improved,
        freshness=_freshness(study, verdict.confirmed if improved else BASELINE),
    )


def _freshness(study: Study, changes: Changes) -> PacedMeasurement | None:
    found = [
        trial.outcome
        for trial in study.of(Phase.CHECK)
        if trial.changes == changes and isinstance(trial.outcome, PacedMeasurement)
    ]
    return found[-1] if found else None
