"""Trials that lost or doubled events, and how near their settings are to what is recommended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.measure.measurement import Failure, FailureKind
from tuner.search.study import Changes, Trial


@dataclass(frozen=True)
class Loss:
    """A trial of `sent` events that were not all delivered once; `reason` is its account.

    Its settings make the `shared` changes as the recommendation does, and differ from it in those
    of `apart`.
    """

    trial: int
    sent: int
    lost: int
    duplicated: int
    reason: str
    changes: Changes
    shared: tuple[str, ...]
    apart: tuple[str, ...]

    def __str__(self) -> str:
        """What happened: `lost 1 of 369,730 events`."""
        faults = (("lost", self.lost), ("doubled", self.duplicated))
        told = " and ".join(f"{verb} {count:,}" for verb, count in faults if count)
        return f"{told} of {self.sent:,} events" if told else f"failed: {self.reason}"


def losses(trials: Sequence[Trial], recommended: Changes) -> tuple[Loss, ...]:
    """Every trial that did not deliver each event once, the nearest to the recommendation first."""
    return tuple(sorted(_losses(trials, recommended), key=lambda one: (len(one.apart), one.trial)))


def _losses(trials: Sequence[Trial], recommended: Changes) -> Iterator[Loss]:
    for trial in trials:
        failure = trial.outcome
        if not isinstance(failure, Failure) or failure.kind is not FailureKind.DELIVERY:
            continue
        delivery = failure.delivery
        missing = max(0, failure.sent - failure.indexed)
        made, apart = set(trial.changes), set(trial.changes) ^ set(recommended)
        yield Loss(
            trial=trial.number,
            sent=failure.sent,
            lost=missing if delivery is None else delivery.lost,
            duplicated=0 if delivery is None else delivery.duplicated,
            reason=failure.reason,
            changes=trial.changes,
            shared=tuple(path for path, level in recommended if (path, level) in made),
            apart=tuple(sorted({path for path, _ in apart})),
        )
