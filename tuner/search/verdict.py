"""What a study shows: the winner against the baseline, on fresh interleaved pairs only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tuner.errors import JobFailed
from tuner.measure.measurement import Failure, Measurement
from tuner.measure.paced_summary import PacedMeasurement
from tuner.measure.paired import Comparison, least
from tuner.search.guardrails import Limits
from tuner.search.pairs import compared, pairs_of
from tuner.search.shrink import Attempt, attempts_of, shrunk
from tuner.search.study import BASELINE, Changes, Ending, Phase, Study, Trial

MOST_PAIRS = 16


class Claim(Enum):
    """The sentence a study ends with."""

    IMPROVED = "improvement shown"
    NOT_SHOWN = "no improvement shown"
    INFEASIBLE = "nothing that was found keeps the guardrails: the profile stays as it is"
    UNFINISHED = "the search ended before the confirmation: nothing is claimed"


@dataclass(frozen=True)
class Verdict:
    """The claim, what it rests on, and what would change.

    `eps` compares the rates over the windows, `paid` those at which the work that was put off past
    the windows would be done as well.  Settings can push work past a window, so what is claimed is
    the smaller of the two.  `durable` compares the rates from the first event sent to everything
    refreshed and flushed, `merged` to the end of the merges: both are reported and not claimed,
    because what is done there alone takes longer than beside the traffic.  CPU, of which the
    engine's includes the work put off, and disk are winner over baseline, below 1 is less.

    The pairs were of `confirmed`; `changes` is what `attempts` left of it.
    """

    claim: Claim
    changes: Changes
    eps: Comparison | None = None
    paid: Comparison | None = None
    durable: Comparison | None = None
    shipper_cpu: Comparison | None = None
    engine_cpu: Comparison | None = None
    merged: Comparison | None = None
    disk: Comparison | None = None
    failure: str = ""
    confirmed: Changes = BASELINE
    attempts: tuple[Attempt, ...] = ()

    @property
    def claimed(self) -> Comparison | None:
        """What the claim says: the smaller of the two gains, with the smaller of their bounds."""
        comparisons = [one for one in (self.eps, self.paid) if one is not None]
        return least(comparisons) if comparisons else None


def judge(study: Study) -> Verdict:
    """What the study shows; only pairs measured after the choice count."""
    confirmed = [trial for trial in study.of(Phase.CONFIRM) if trial.changes != BASELINE]
    if not confirmed:
        return _unconfirmed(study)
    changes = confirmed[0].changes
    failed = _first_failure(confirmed, study.header.limits)
    pairs = pairs_of(study.trials)
    if failed is not None:
        why = f"The best found failed in the confirmation: {failed}."
        return Verdict(Claim.INFEASIBLE, BASELINE, failure=why)
    eps = compared(pairs, lambda run: run.eps)
    paid = compared(pairs, lambda run: run.eps_paid)
    if eps is None or paid is None or not eps.enough:
        return Verdict(Claim.UNFINISHED, BASELINE)
    shown = eps.shows_more and paid.shows_more
    attempts = attempts_of(study.trials)
    return Verdict(
        Claim.IMPROVED if shown else Claim.NOT_SHOWN,
        shrunk(changes, attempts) if shown else BASELINE,
        eps,
        paid,
        compared(pairs, lambda run: run.eps_durable),
        compared(pairs, lambda run: run.shipper_cpu_us),
        compared(pairs, lambda run: run.engine_cpu_paid_us),
        compared(pairs, lambda run: run.eps_merged),
        compared(pairs, lambda run: run.store_bytes_per_event, by_speed=False),
        confirmed=changes,
        attempts=attempts,
    )


def _unconfirmed(study: Study) -> Verdict:
    """The search ended too early, or found nothing that it could confirm."""
    checked = [trial for trial in study.of(Phase.CHECK) if trial.changes != BASELINE]
    tried = checked or [trial for trial in study.of(Phase.SEARCH) if trial.changes != BASELINE]
    reasons = [reason_of(trial, study.header.limits) for trial in tried]
    if study.ending is not Ending.FINISHED or not reasons or None in reasons:
        return Verdict(Claim.UNFINISHED, BASELINE)
    what = "at a fixed rate, " if checked else ""
    why = f"Of {len(tried)} points measured {what}none can be recommended; the last: {reasons[-1]}."
    return Verdict(Claim.INFEASIBLE, BASELINE, failure=why)


def _first_failure(trials: list[Trial], limits: Limits) -> str | None:
    """Why the first of the trials that failed or breached a guardrail did; None when none did."""
    reasons = (reason_of(trial, limits) for trial in trials)
    return next((reason for reason in reasons if reason is not None), None)


def reason_of(trial: Trial, limits: Limits) -> str | None:
    """Why what a trial measured cannot be recommended; None when it can."""
    match trial.outcome:
        case Failure() as failure:
            return str(failure)
        case PacedMeasurement() as paced:
            return limits.breach(paced)
        case Measurement():
            return None


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
    outcomes = [
        trial.outcome
        for trial in study.of(Phase.CHECK)
        if trial.changes == changes and isinstance(trial.outcome, PacedMeasurement)
    ]
    return outcomes[-1] if outcomes else None
