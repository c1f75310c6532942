"""What a study shows: the winner against the baseline, on fresh interleaved pairs only; what lost
events; and what it hands on to comparisons and later searches; pure."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from tuner.measure.enough import FEWEST_PAIRS
from tuner.measure.machines import compare_across
from tuner.measure.measurement import Failure, FailureKind, Measurement, PacedMeasurement
from tuner.measure.paired import Comparison, least
from tuner.measure.series import restarts, speeds
from tuner.profile.objective import FigureBound, Objective
from tuner.search.budget import MOST_BESIDE
from tuner.search.calibration import over_baseline
from tuner.search.effects import TOLERATED, Effects, effects_of, winners
from tuner.search.study import (
    BASELINE,
    HERE,
    RECIPE,
    SCORED,
    Changes,
    Earlier,
    Ending,
    Limits,
    Phase,
    Study,
    Trial,
)
from tuner.space.knob import Knob, Level


class Pair(NamedTuple):
    """Two neighbouring runs of two points, and the machine that they ran on."""

    before: Measurement
    after: Measurement
    machine: str = HERE


def candidate_of(trials: Sequence[Trial]) -> Changes | None:
    """The point that the pairs of the confirmation are of, None before the first: the last one,
    where others had to give way to it."""
    sides = [trial.changes for trial in trials if trial.phase is Phase.CONFIRM]
    return next((changes for changes in reversed(sides) if changes != BASELINE), None)


def pairs_of(trials: Sequence[Trial]) -> tuple[Pair, ...]:
    """The complete pairs of the point that was confirmed last, baseline first: with the profile as
    written or, where that lost events before they were enough, with its repairs.

    Two runs on two machines, or that another session lies between, are no neighbours, and no pair.
    """
    return _measured_by(confirming(trials))


def gains_of(trials: Sequence[Trial]) -> dict[str, list[float]]:
    """The gains of the pairs on each machine, as logarithms."""
    logs: dict[str, list[float]] = {}
    for before, after, machine in pairs_of(trials):
        logs.setdefault(machine, []).append(math.log(after.score / before.score))
    return logs


def recipe_of(trials: Sequence[Trial], winner: Changes) -> Trial | None:
    """The run of the best recipe, where a winner goes beyond it; None where it is that one, or some
    of its changes."""
    searched = (trial for trial in trials if trial.phase is Phase.SEARCH)
    tried = [trial for trial in searched if trial.why.startswith(RECIPE)]
    gains = over_baseline(tried, trials)
    best, _ = max(gains, key=lambda trial_and_log: trial_and_log[1], default=(None, 0.0))
    return None if best is None or {*winner} <= {*best.changes} else best


def confirming(trials: Sequence[Trial]) -> list[tuple[Trial, Trial]]:
    """The trials of those pairs."""
    runs = [trial for trial in trials if trial.phase is Phase.CONFIRM]
    pairs = list(neighbours(runs, BASELINE, candidate_of(trials)))
    written = [pair for pair in pairs if not pair[0].repaired]
    if not any(run.repaired for run in runs) or are_enough(_measured_by(written)):
        return written
    return [pair for pair in pairs if pair[0].repaired]


def are_enough(pairs: Sequence[Pair]) -> bool:
    """Whether pairs can show anything."""
    comparison = compared(pairs, lambda run: run.eps)
    return comparison is not None and comparison.enough


def is_repaired(trials: Sequence[Trial]) -> bool:
    """Whether the baseline is the profile with its repairs, as it lost events as written: by the
    pairs, where there are any."""
    paired = [before for before, _ in confirming(trials)]
    return any(trial.repaired for trial in paired or trials)


def neighbours(
    runs: Sequence[Trial], before: Changes | None, after: Changes | None
) -> Iterator[tuple[Trial, Trial]]:
    """The complete pairs of two points."""
    for first, second in pairwise(sorted(runs, key=lambda run: (run.pair or 0, run.machine))):
        together = (first.pair, first.machine) == (second.pair, second.machine)
        adjacent = together and first.ended_s == second.at_s
        both = {first.changes, second.changes} == {before, after}
        if adjacent and both and first.measurement and second.measurement:
            yield (first, second) if first.changes == before else (second, first)


def _measured_by(pairs: Iterable[tuple[Trial, Trial]]) -> tuple[Pair, ...]:
    """What both trials of each pair measured."""
    return tuple(
        Pair(before.measurement, after.measurement, after.machine)
        for before, after in pairs
        if before.measurement and after.measurement
    )


def lesser_gain(pairs: Sequence[Pair]) -> Comparison | None:
    """The gain that is claimed of pairs: of rates the smaller one of those over the windows and of
    those with the work put off paid for; None with less than two."""
    scores = scored(pairs)
    return least(scores) if scores else None


def scored(pairs: Sequence[Pair]) -> tuple[Comparison, ...]:
    """The second side of the pairs over the first by what they were measured for, the higher the
    better, of which the lesser one counts; none with less than two pairs."""
    objective = pairs[0].before.objective if pairs else Objective.EPS
    figures: list[Callable[[Measurement], float]] = [lambda run: run.score]
    if objective is Objective.EPS:
        figures.insert(0, lambda run: run.eps)
    by_speed = objective.facts.by_speed
    gains = (compared(pairs, figure, by_speed=by_speed) for figure in figures)
    return tuple(gain for gain in gains if gain is not None)


def compared(
    pairs: Sequence[Pair],
    figure: Callable[[Measurement], float | None],
    *,
    by_speed: bool = True,
) -> Comparison | None:
    """The second side of the pairs over the first by one figure, adjusted `by_speed` where the runs
    have a probe beside them, and across machines where several measured them; None with less than
    two pairs, or where a run does not show the figure: CPU is counted in ticks of 10 ms, so that a
    short run can show none, and our sink has nothing on disk."""
    before, after = [pair.before for pair in pairs], [pair.after for pair in pairs]
    first, second = ([value for value in map(figure, side) if value] for side in (before, after))
    if len(pairs) < 2 or not len(first) == len(second) == len(pairs):
        return None
    machines = [pair.machine for pair in pairs]
    of_machine = speeds(before, after) if by_speed else None
    return compare_across(first, second, machines, restarts(before, after), of_machine)


def _figure_compared(pairs: Sequence[Pair], objective: Objective) -> Comparison | None:
    """The second side of the pairs over the first by what an objective counts, as `compared`."""
    figure = partial(Measurement.figure_of, objective=objective)
    return compared(pairs, figure, by_speed=objective.facts.by_speed)


class Claim(Enum):
    """The sentence a study ends with."""

    IMPROVED = "improvement shown"
    NOT_SHOWN = "no improvement shown"
    INFEASIBLE = "nothing that was found keeps the guardrails"
    UNFINISHED = "the search ended before its confirmation was complete: nothing is claimed"


@dataclass(frozen=True)
class Verdict:
    """The claim, what it rests on, and what would change.

    `scores` compare by what was to be better, the more the better, and the least counts: of rates
    those over the windows, and those at which the work that was put off past the windows would be
    done as well, as settings can push work past a window.  `eps` and `paid` are these two whatever
    was to be better.  `durable` compares the rates from the first event sent to everything
    refreshed and flushed, `merged` to the end of the merges: both are reported and not claimed,
    because what is done there alone takes longer than beside the traffic.  The others are winner
    over baseline, below 1 is less: CPU, the engine's with its deferred merges, disk, the
    peak memory of rsyslogd, and `bulk`, the median of how long the engine took for a bulk request.

    `missed` is what `--at-least` asks for and the pairs do not show.
    `beyond_recipe` is the smaller of both gains over the recipe that the climb went beyond, by
    pairs of their own.  The other pairs were of `confirmed`, which is left of what `effects` took
    apart; `changes` is what is recommended.
    """

    claim: Claim
    changes: Changes
    scores: tuple[Comparison, ...] = ()
    eps: Comparison | None = None
    paid: Comparison | None = None
    durable: Comparison | None = None
    shipper_cpu: Comparison | None = None
    engine_cpu: Comparison | None = None
    merged: Comparison | None = None
    disk: Comparison | None = None
    memory: Comparison | None = None
    bulk: Comparison | None = None
    failure: str = ""
    confirmed: Changes = BASELINE
    effects: Effects | None = None
    beyond_recipe: Comparison | None = None
    missed: tuple[tuple[FigureBound, Comparison | None], ...] = ()

    @property
    def chosen(self) -> Changes:
        """What had been found before changes of it were taken back."""
        return self.confirmed if self.effects is None else self.effects.chosen

    @property
    def claimed(self) -> Comparison | None:
        """What the claim says: the smallest of the gains, with the smallest of their bounds."""
        return least(self.scores) if self.scores else None


def experiments(trials: Sequence[Trial]) -> Iterator[Effects]:
    """What was found of each winner that was taken apart, the last first."""
    pairs, candidate = confirming(trials), {*(candidate_of(trials) or BASELINE)}
    for winner in winners(trials):
        effects = effects_of(trials, winner, pairs if candidate <= {*winner} else ())
        if effects is not None:
            yield effects


def judge(study: Study) -> Verdict:
    """What the study shows; only pairs measured after the choice count."""
    candidate = candidate_of(study.trials)
    if candidate is None:
        return _unconfirmed(study)
    failure = disqualified(study.trials, candidate, study.header.limits)
    if failure is not None:
        why = f"The best found failed in the confirmation: {failure}."
        return Verdict(Claim.INFEASIBLE, BASELINE, failure=why)
    pairs = pairs_of(study.trials)
    scores = scored(pairs)
    if not scores or not scores[0].enough:
        return _not_shown(study, len(pairs), candidate)
    missed = tuple(_missed(study.header.options.at_least, pairs))
    shown = not missed and all(g.shows_more and g.ratio >= 1 + TOLERATED for g in scores)
    return Verdict(
        Claim.IMPROVED if shown else Claim.NOT_SHOWN,
        candidate if shown else BASELINE,
        scores,
        compared(pairs, lambda run: run.eps),
        compared(pairs, lambda run: run.eps_paid),
        compared(pairs, lambda run: run.eps_durable),
        compared(pairs, lambda run: run.shipper_cpu_us),
        compared(pairs, lambda run: run.engine_cpu_paid_us),
        compared(pairs, lambda run: run.eps_merged),
        compared(pairs, lambda run: run.store_bytes_per_event, by_speed=False),
        compared(pairs, lambda run: run.shipper_rss_bytes, by_speed=False),
        compared(pairs, _bulk_p50_ms),
        confirmed=candidate,
        effects=next(
            (effects for effects in experiments(study.trials) if effects.holds(candidate)), None
        ),
        beyond_recipe=_beyond_recipe(study.trials),
        missed=missed,
    )


def _missed(
    at_least: Sequence[FigureBound], pairs: Sequence[Pair]
) -> Iterator[tuple[FigureBound, Comparison | None]]:
    """The bounds that the whole interval of a figure does not keep."""
    for bound in at_least:
        moved = _figure_compared(pairs, bound.objective)
        worst = moved and (moved.low if bound.objective.facts.more_is_better else moved.high)
        if not worst or bound.margin(worst) < 0:
            yield bound, moved


def _beyond_recipe(trials: Sequence[Trial]) -> Comparison | None:
    """The gain over the recipe that the point which was confirmed last goes beyond."""
    winner = candidate_of(trials)
    runs = [trial for trial in trials if trial.phase is Phase.RECIPE]
    recipe = next((run.changes for run in reversed(runs) if run.changes != winner), None)
    gain = lesser_gain(_measured_by(neighbours(runs, recipe, winner)))
    return gain if gain is not None and gain.enough else None


def _bulk_p50_ms(run: Measurement) -> float | None:
    used = run.effective
    return None if used is None or used.bulk is None else used.bulk.p50_ms


def _unconfirmed(study: Study) -> Verdict:
    """The search ended too early, or found nothing that it could confirm."""
    checked = [trial for trial in study.of(Phase.CHECK) if trial.changes != BASELINE]
    tried = checked or [trial for trial in study.of(Phase.SEARCH) if trial.changes != BASELINE]
    reasons = [reason_of(trial, study.header.limits) for trial in tried]
    if study.ending is not Ending.FINISHED or not reasons or None in reasons:
        return _not_shown(study, 0, BASELINE)
    when = "at a fixed rate, " if checked else ""
    why = f"Of {len(tried)} points measured {when}none can be recommended; the last: {reasons[-1]}."
    return Verdict(Claim.INFEASIBLE, BASELINE, failure=why)


def _not_shown(study: Study, pairs: int, candidate: Changes) -> Verdict:
    """With too few pairs nothing can be shown; a search that did not come to its end says so."""
    if study.ending is not Ending.FINISHED:
        return Verdict(Claim.UNFINISHED, BASELINE, failure=study.reason)
    why = f"the time was enough for {pairs} of the {FEWEST_PAIRS} pairs that can show one"
    return Verdict(Claim.NOT_SHOWN, BASELINE, failure=why, confirmed=candidate)


def disqualified(trials: Sequence[Trial], changes: Changes, limits: Limits) -> str | None:
    """Why a point cannot be recommended, by any of its runs in whatever phase; None when it can.

    A transient failure, such as a stall, counts only where the next run of the point had one too.
    """
    was_transient = False
    for trial in trials:
        if trial.changes != changes:
            continue
        reason = reason_of(trial, limits)
        if reason is not None and (was_transient or not trial.is_transient):
            return reason
        was_transient = trial.is_transient
    return None


def reason_of(trial: Trial, limits: Limits) -> str | None:
    """Why what a trial measured cannot be recommended; None when it can."""
    match trial.outcome:
        case Failure() as failure:
            return str(failure)
        case PacedMeasurement() as paced:
            return limits.breach(paced)
        case Measurement():
            return None


def to_pair(trials: Sequence[Trial], other: Objective, limits: Limits) -> tuple[Changes, ...]:
    """Up to four points beside the winner, by the trials of the search: the front of what it makes
    better and another figure, spread over it."""
    logs: dict[Changes, list[tuple[float, float]]] = {}
    scored_trials = [trial for trial in trials if trial.phase in SCORED]
    for trial, gain in over_baseline(scored_trials, trials):
        if trial.measurement is not None and (figure := trial.measurement.figure_of(other)) > 0:
            logs.setdefault(trial.changes, []).append((gain, other.facts.log_score(figure)))
    means = {
        changes: tuple(map(statistics.fmean, zip(*runs, strict=True)))
        for changes, runs in logs.items()
        if changes == BASELINE or disqualified(trials, changes, limits) is None
    }
    points = list(means)
    front = (points[number] for number in _front(list(means.values())))
    beside = [changes for changes in front if changes not in (candidate_of(trials), BASELINE)]
    every = max(1.0, len(beside) / MOST_BESIDE)
    return tuple(beside[int(every * at)] for at in range(min(MOST_BESIDE, len(beside))))


_ALIKE = 0.01  # Figures this close, as logarithms, are the same.


def _front(scores: Sequence[Sequence[float]]) -> list[int]:
    """Which points, the highest first score first, are above all before them in the second, by
    logarithms."""
    front, highest = list[int](), -math.inf
    for number in sorted(range(len(scores)), key=lambda number: -scores[number][0]):
        if scores[number][1] > highest + _ALIKE:
            front, highest = [*front, number], scores[number][1]
    return front


@dataclass(frozen=True)
class FrontPoint:
    """A point with its gain of what the search makes better, and how the figure of the other
    `objective` moved, by pairs of its own."""

    changes: Changes
    objective: Objective
    gain: Comparison
    other: Comparison

    @property
    def scores(self) -> tuple[float, float]:
        """Both as logarithms, of which more is better."""
        return math.log(self.gain.ratio), self.objective.facts.log_score(self.other.ratio)


def front_of(study: Study) -> tuple[FrontPoint, ...]:
    """The points that pairs show, without those that are worse in both figures than another one or
    the profile as written; the largest gain first."""
    points = [*_front_points(study)]
    front = _front([(0.0, 0.0), *(point.scores for point in points)])
    return tuple(points[number - 1] for number in front if number)


def _front_points(study: Study) -> Iterator[FrontPoint]:
    other, runs = study.header.options.front, study.of(Phase.FRONT)
    if other is None:
        return
    paired = {run.changes: neighbours(runs, BASELINE, run.changes) for run in runs if run.changes}
    winner = candidate_of(study.trials)
    if winner is not None:
        paired[winner] = iter(confirming(study.trials))
    for changes, trials in paired.items():
        pairs = _measured_by(trials)
        gain, moved = lesser_gain(pairs), _figure_compared(pairs, other)
        if gain is not None and moved is not None and gain.enough:
            yield FrontPoint(changes, other, gain, moved)


_MOST_POINTS = 3


def earlier_points(run: str, study: Study, knobs: Sequence[Knob]) -> tuple[Earlier, ...]:
    """Up to three points that a study ended with, as changes of what is searched now: what it
    recommended, what it confirmed, and the best that it measured more than once."""
    verdict = judge(study)
    candidates = [verdict.changes, verdict.confirmed, *_repeated(study)]
    points = dict.fromkeys(_here(changes, study, knobs) for changes in candidates if changes)
    points.pop(BASELINE, None)
    return tuple(Earlier(run, changes) for changes in list(points)[:_MOST_POINTS])


def _repeated(study: Study) -> list[Changes]:
    """Points that were measured again, to choose among them: the best mean first."""
    again = {trial.changes for trial in study.of(Phase.FINAL)} - {BASELINE}
    runs = [trial for trial in study.trials if trial.changes in again]
    logs: dict[Changes, list[float]] = defaultdict(list)
    for trial, log in over_baseline(runs, study.trials):
        logs[trial.changes].append(log)
    return sorted(logs, key=lambda changes: -statistics.fmean(logs[changes]))


def _here(changes: Changes, study: Study, knobs: Sequence[Knob]) -> Changes:
    """The same settings as changes of the profile that is searched now, as far as its knobs have
    these levels."""
    then: dict[str, Level] = {axis.path: axis.current for axis in study.header.space}
    then |= dict(changes)
    levels = {
        knob.path: then[knob.path]
        for knob in knobs
        if knob.path in then and then[knob.path] in knob.levels
    }
    current = {knob.path: knob.current for knob in knobs}
    return tuple(sorted((path, level) for path, level in levels.items() if level != current[path]))


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
        faulty = " and ".join(f"{verb} {count:,}" for verb, count in faults if count)
        return f"{faulty} of {self.sent:,} events" if faulty else f"failed: {self.reason}"


def losses(trials: Sequence[Trial], recommended: Changes) -> tuple[Loss, ...]:
    """Every trial that did not deliver each event once, the nearest to the recommendation first."""
    lossy = []
    for trial in trials:
        failure = trial.outcome
        if not isinstance(failure, Failure) or failure.kind is not FailureKind.DELIVERY:
            continue
        delivery = failure.delivery
        missing = max(0, failure.sent - failure.indexed)
        made, apart = set(trial.changes), set(trial.changes) ^ set(recommended)
        loss = Loss(
            trial=trial.number,
            sent=failure.sent,
            lost=missing if delivery is None else delivery.lost,
            duplicated=0 if delivery is None else delivery.duplicated,
            reason=failure.reason,
            changes=trial.changes,
            shared=tuple(path for path, level in recommended if (path, level) in made),
            apart=tuple(sorted({path for path, _ in apart})),
        )
        lossy.append(loss)
    return tuple(sorted(lossy, key=lambda loss: (len(loss.apart), loss.trial)))
