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
from tuner.report.figures import Levels, move, pair_text, steps_text
from tuner.report.result import STEADY, SUSTAINED, Rate, claimed_rate
from tuner.schema.numerals import eps, percent, seconds
from tuner.search.climb import Leader
from tuner.search.study import BASELINE, PAIRED, SCORED, Changes, Phase, Trial
from tuner.search.verdict import candidate_of, compared, lesser_gain, machines_of, pairs_of
from tuner.space.knob import Knob, level_text


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
    trials: tuple[Trial, ...] = ()
    leader: Leader | None = None
    running: Running | None = None

    def after(self, trial: Trial, leader: Leader | None) -> Progress:
        """What it is once a trial ended; `leader` is what leads by then."""
        return replace(self, trials=(*self.trials, trial), leader=leader)

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
    def best(self) -> Changes:
        """What is confirmed or would be; the profile as written before there is anything else."""
        leading = BASELINE if self.leader is None else self.leader.changes
        return candidate_of(self.trials) or leading

    def first(self, changes: Changes) -> int:
        """The number of the trial that measured a point first."""
        return next(trial.number for trial in self.trials if trial.changes == changes)

    def rates(self, changes: Changes | None = None) -> tuple[float, ...]:
        """The rates in trials that the search learns from, of one point or of all."""
        return tuple(
            trial.outcome.eps
            for trial in self.trials
            if changes in {None, trial.changes}
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


_MOVING = frozenset({Phase.SEARCH, Phase.FINAL, Phase.EFFECTS})


def trial_line(progress: Progress, trial: Trial, left_s: float) -> str:
    """A trial that ended after those of `progress`, in a line that is as long as it gets: which
    one, what came out, what is left, what it changed and why.  Nothing is cut."""
    name = "warm-up" if trial.phase is Phase.WARM_UP else f"trial {trial.number:>3}"
    name = f"{name:<9} {pair_text(trial.phase, trial.pair)}".rstrip()
    outcome = _outcome(progress, trial)
    return f"{name}  {outcome}  ({seconds(left_s)} left)  {_changed(progress, trial)}"


def stage_line(running: Running) -> str:
    """What is going on at this moment."""
    return f"{trial_name(running)}: {running.stage}"


def trial_name(running: Running) -> str:
    """Which trial it is."""
    return "warm-up" if running.phase is Phase.WARM_UP else f"trial {running.number}"


def detail_lines(progress: Progress, trial: Trial) -> Iterator[str]:
    """What a trial showed beside its rate, for those who want all of it."""
    moved = move(progress.best, trial.changes, progress.written)
    for step in moved.steps if trial.phase in _MOVING else ():
        name = full_name(progress.profile, step.path)
        yield f"    {name}: {level_text(step.before)} -> {level_text(step.after)}"
    outcome = trial.outcome
    if isinstance(outcome, Failure):
        return
    yield (
        f"    CPU per event: rsyslogd {outcome.shipper_cpu_us:.1f} µs, "
        f"engine {outcome.engine_cpu_us:.1f} µs"
    )
    if isinstance(outcome, Measurement):
        yield f"    window {outcome.window_s:.1f} s, drained in {outcome.drain_s:.1f} s"
        if outcome.verdict is not None:
            yield f"    bottleneck: {outcome.verdict.bottleneck.value}"
    for doubt in outcome.doubts:
        yield f"    doubt: {doubt}: {doubt.kind.advice}"


def _changed(progress: Progress, trial: Trial) -> str:
    """What a trial changed, and why it was made: `refresh_interval 5s -> 30s (at random)`; of a
    point that was measured before, its first trial."""
    moved = move(progress.best, trial.changes, progress.written)
    if trial.phase is Phase.FINAL:
        first = progress.first(trial.changes)
        is_best = not moved.steps and trial.changes != BASELINE
        return f"again, as trial {first}{', the best so far' * is_best}"
    if trial.phase not in _MOVING or trial.changes == BASELINE or not moved.steps:
        return trial.why
    best = "best with " if moved.from_best else ""
    return f"{best}{steps_text(moved.steps, progress.names)} ({trial.why})"


def _outcome(progress: Progress, trial: Trial) -> str:
    outcome = trial.outcome
    if isinstance(outcome, Failure):
        return f"failed: {' '.join(str(outcome).split())}"
    rate = f"{eps(outcome.eps):>9} EPS"
    if isinstance(outcome, PacedMeasurement):
        fresh = outcome.freshness_s
        return rate if fresh is None else f"{rate}, freshness p99 {fresh.p99:.1f} s"
    if trial.phase in PAIRED:
        return f"{rate}{_pair_ratios(progress, trial)}"
    known = progress.after(trial, progress.leader)
    written = known.rates(BASELINE)
    if trial.phase is Phase.WARM_UP or not written:
        return rate
    ratio = percent(outcome.eps / statistics.median(written))
    return f"{rate} {ratio:>8}, best seen {eps(max(known.rates()))}"


def _pair_ratios(progress: Progress, trial: Trial) -> str:
    """The best over the other side of a pair, as measured, by both rates: a claim is of the lower
    one.  Empty until both sides are known; runs of two sessions are no pair."""
    pair = (trial.phase, trial.pair, trial.machine, trial.at_s)
    before = [
        earlier
        for earlier in progress.trials
        if (earlier.phase, earlier.pair, earlier.machine, earlier.ended_s) == pair
    ]
    runs = {run.changes: run.measurement for run in (*before, trial)}
    best = candidate_of([*progress.trials, trial])
    ordered = [runs[changes] for changes in sorted(runs, key=lambda changes: changes == best)]
    measured = [run for run in ordered if run is not None]
    if len(measured) != 2:
        return ""
    steady, sustained = (
        percent(rate.of(measured[1]) / rate.of(measured[0])) for rate in (STEADY, SUSTAINED)
    )
    both = f"{steady} {STEADY.over}, {sustained} {SUSTAINED.over}"
    return f", this pair {steady if steady == sustained else both}"
