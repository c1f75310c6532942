"""How far a search is, a value that each of its steps makes a new one of, and that in lines."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tuner.measure.bottleneck import Diagnosis
from tuner.measure.measurement import DoubtKind, Failure, Measurement, PacedMeasurement
from tuner.measure.paired import Comparison
from tuner.profile.model import Profile
from tuner.profile.paths import full_name, names_in
from tuner.report.figures import Levels, Move, move, pair_text, steps_text
from tuner.report.result import STEADY, SUSTAINED, Rate, claimed_rate
from tuner.schema.numerals import eps, percent, seconds
from tuner.search.climb import Leader
from tuner.search.study import BASELINE, PAIRED, SCORED, Changes, Phase, Trial
from tuner.search.verdict import candidate_of, compared, lesser_gain, machines_of, pairs_of
from tuner.space.knob import Knob, level_text


@dataclass(frozen=True)
class PairRatios:
    """The best over the other side of one pair, as measured: over the steady window, and including
    deferred work.  A claim is of the lower of the two."""

    steady: float
    sustained: float

    @property
    def lesser(self) -> float:
        """The lower of the two."""
        return min(self.steady, self.sustained)

    def __str__(self) -> str:
        steady, sustained = percent(self.steady), percent(self.sustained)
        if steady == sustained:
            return steady
        return f"{steady} {STEADY.over}, {sustained} {SUSTAINED.over}"


@dataclass(frozen=True)
class TrialRow:
    """A trial as it is told of.

    `ratio` is its rate over the steady window over the median of the profile as written so far.
    Once both runs of a pair are known, `pair` has the best over the other side, by both rates that
    a claim may be of.  `best_eps` is the best seen, `expected` about the number of the last trial,
    `left_s` what is left of the budget.
    """

    trial: Trial
    move: Move
    ratio: float | None
    pair: PairRatios | None
    best_eps: float | None
    expected: int
    left_s: float


@dataclass(frozen=True)
class Running:
    """The trial that is under way and its stage, which began at `since_s` of the search's clock."""

    number: int
    phase: Phase
    pair: int | None
    stage: str
    since_s: float


@dataclass(frozen=True)
class Progress:
    """A search so far: what it is of, its trials, what leads and what is under way."""

    title: str
    budget_s: float
    profile: Profile
    knobs: tuple[Knob, ...]
    rows: tuple[TrialRow, ...] = ()
    leader: Leader | None = None
    running: Running | None = None

    def after(self, trial: Trial, leader: Leader | None, expected: int, left_s: float) -> Progress:
        """What it is once a trial ended; `leader` is what leads by then."""
        changed = move(self.best, trial.changes, self.written)
        ratio, pair = self._ratio(trial), self._pair_ratios(trial)
        row = TrialRow(trial, changed, ratio, pair, self._best_seen(trial), expected, left_s)
        return replace(self, rows=(*self.rows, row), leader=leader)

    def at(self, running: Running) -> Progress:
        """What it is once another stage began."""
        return replace(self, running=running)

    @cached_property
    def names(self) -> dict[str, str]:
        """Short names of the settings by their paths."""
        return names_in(self.profile, [knob.path for knob in self.knobs])

    @cached_property
    def written(self) -> Levels:
        """The levels of the profile as written, the most promising settings first."""
        return {knob.path: knob.current for knob in sorted(self.knobs, key=lambda knob: knob.rank)}

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The trials that ended."""
        return tuple(row.trial for row in self.rows)

    @property
    def best(self) -> Changes:
        """What is confirmed or would be; the profile as written before there is anything else."""
        leading = BASELINE if self.leader is None else self.leader.changes
        return candidate_of(self.trials) or leading

    def rates(self, changes: Changes) -> tuple[float, ...]:
        """The rates that a point showed in trials that the search learns from."""
        return tuple(
            trial.outcome.eps
            for trial in self.trials
            if trial.changes == changes
            and trial.phase in SCORED
            and isinstance(trial.outcome, Measurement)
        )

    @property
    def paired(self) -> Comparison | None:
        """The best against the profile by fresh pairs, by the lesser of both rates, as a claim will
        be; None with less than two."""
        return lesser_gain(pairs_of(self.trials), machines_of(self.trials))

    @property
    def paired_rate(self) -> Rate:
        """The rate that this comparison is of."""
        pairs, machines = pairs_of(self.trials), machines_of(self.trials)
        return claimed_rate(*(compared(pairs, rate.of, machines) for rate in (STEADY, SUSTAINED)))

    def verdict(self, changes: Changes) -> Diagnosis | None:
        """What limited a point when it was measured last."""
        measured = (trial.measurement for trial in self.trials if trial.changes == changes)
        verdicts = [run.verdict for run in measured if run is not None]
        return next((verdict for verdict in reversed(verdicts) if verdict is not None), None)

    @property
    def doubts(self) -> Counter[DoubtKind]:
        """In how many trials there was each doubt."""
        measured = [trial.measurement for trial in self.trials]
        return Counter(doubt.kind for run in measured if run is not None for doubt in run.doubts)

    def _ratio(self, trial: Trial) -> float | None:
        unscored = {Phase.WARM_UP, *PAIRED}
        if trial.measurement is None or trial.phase in unscored:
            return None
        written = self.rates(BASELINE)
        if trial.changes == BASELINE:
            written = (*written, trial.measurement.eps)
        return trial.measurement.eps / statistics.median(written) if written else None

    def _pair_ratios(self, trial: Trial) -> PairRatios | None:
        """Once both sides are known; runs of two sessions are no pair."""
        if trial.phase not in PAIRED:
            return None
        pair = (trial.phase, trial.pair, trial.machine, trial.at_s)
        before = [
            earlier
            for earlier in self.trials
            if (earlier.phase, earlier.pair, earlier.machine, earlier.ended_s) == pair
        ]
        runs = {run.changes: run.measurement for run in (*before, trial)}
        if len(runs) != 2:
            return None
        best = candidate_of([*self.trials, trial])
        a, b = (runs[changes] for changes in sorted(runs, key=lambda changes: changes == best))
        return (
            None if a is None or b is None else PairRatios(b.eps / a.eps, b.eps_paid / a.eps_paid)
        )

    def _best_seen(self, trial: Trial) -> float | None:
        rates = [row.best_eps for row in self.rows[-1:] if row.best_eps is not None]
        if trial.phase in SCORED and isinstance(trial.outcome, Measurement):
            rates.append(trial.outcome.eps)
        return max(rates, default=None)


_MOVING = frozenset({Phase.SEARCH, Phase.FINAL, Phase.EFFECTS})


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
        name = full_name(progress.profile, step.path)
        yield f"    {name}: {level_text(step.before)} -> {level_text(step.after)}"
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


def what(row: TrialRow, progress: Progress) -> str:
    """What a trial changed, and why it was made: `refresh_interval 5s -> 30s (at random)`."""
    trial, steps = row.trial, row.move.steps
    if trial.phase is Phase.FINAL:
        return _again(row, progress)
    if trial.phase not in _MOVING or trial.changes == BASELINE or not steps:
        return trial.why
    best = "best with " if row.move.from_best else ""
    return f"{best}{steps_text(steps, progress.names)} ({trial.why})"


def _again(row: TrialRow, progress: Progress) -> str:
    """Which point was measured again: its first trial says what it is."""
    changes = row.trial.changes
    first = next(trial.number for trial in progress.trials if trial.changes == changes)
    best = "" if row.move.steps or changes == BASELINE else ", the best so far"
    return f"again, as trial {first}{best}"


def freshness(outcome: PacedMeasurement) -> str:
    """How fresh events were at a fixed rate, where that can be seen; to follow something."""
    seen_s = outcome.freshness_s
    return "" if seen_s is None else f", freshness p99 {seen_s.p99:.1f} s"


def _name(row: TrialRow) -> str:
    trial = row.trial
    if trial.phase is Phase.WARM_UP:
        return "warm-up      "
    name = f"trial {trial.number:>3}/~{row.expected:<3}"
    return f"{name} {pair_text(trial.phase, trial.pair)}".rstrip()


def _outcome(row: TrialRow) -> str:
    outcome = row.trial.outcome
    if isinstance(outcome, Failure):
        return f"failed: {outcome}"
    rate = f"{eps(outcome.eps):>9} EPS"
    if isinstance(outcome, PacedMeasurement):
        return f"{rate}{freshness(outcome)}"
    if row.trial.phase in PAIRED:
        return rate if row.pair is None else f"{rate}, this pair {row.pair}"
    if row.ratio is None or row.best_eps is None:
        return rate
    return f"{rate} {percent(row.ratio):>8}, best seen {eps(row.best_eps)}"
