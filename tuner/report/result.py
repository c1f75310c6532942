"""What a study of a search shows, analysed once; pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.lint.repairs import Repair, every_change, repairs
from tuner.measure.measurement import Failure, Measurement, PacedMeasurement
from tuner.profile.paths import get
from tuner.report.pairs import Doubted, Price, costs, doubted
from tuner.search.effects import Effect, Explained, explain
from tuner.search.pairs import Pair, pairs_of
from tuner.search.study import BASELINE, Changes, Phase, Study, Trial
from tuner.search.times import Times, times
from tuner.search.verdict import Claim, Loss, Verdict, disqualified, judge, losses
from tuner.space.guarantees import Guarantee, concessions, opened
from tuner.space.knob import Knob, Level
from tuner.space.knobs import knobs

AS_WRITTEN, BEST = "as written", "best found"

EffectGroup = tuple[Effect, ...]
"""Changes with one effect: one that was measured alone, or several that were measured together."""


@dataclass(frozen=True)
class Rate:
    """Events per second over one stretch of a run, and that stretch in words."""

    over: str
    of: Callable[[Measurement], float]


STEADY = Rate("over the steady window", lambda run: run.eps)
SUSTAINED = Rate("including deferred work", lambda run: run.eps_paid)


@dataclass(frozen=True)
class FixedRateRun:
    """A run at a fixed rate, and which side of the confirmation it was of."""

    side: str
    trial: Trial


@dataclass(frozen=True)
class StudyResult:
    """A study with its verdict and all that explains it.

    `claimed_rate` is the rate that the claim rests on, the one that gained less.  `last_runs` are
    the last confirming runs by side, `fixed_rate` all runs at a fixed rate and `fresh` those of
    them that stand for a side.  `measured` are all valid saturating runs, `losses` the trials that
    lost or doubled events.  Of the repairs that the profile needs, `repaired` are part of what is
    recommended, and `unrepaired` are not.
    """

    study: Study
    verdict: Verdict
    explained: Explained
    times: Times
    written: LoadedProfile
    knobs: Mapping[str, Knob]
    opened: tuple[Guarantee, ...]
    pairs: tuple[Pair, ...]
    claimed_rate: Rate
    last_runs: tuple[tuple[str, Measurement], ...]
    fixed_rate: tuple[FixedRateRun, ...]
    fresh: Mapping[str, PacedMeasurement]
    measured: tuple[Measurement, ...]
    failures: tuple[Failure, ...]
    losses: tuple[Loss, ...]
    repaired: tuple[Repair, ...]
    unrepaired: tuple[Repair, ...]

    @property
    def is_sink(self) -> bool:
        """Whether the study was made against the sink, which stores nothing."""
        return not self.study.header.stores

    @property
    def baseline(self) -> str:
        """What the best found was compared with."""
        how = "with its repairs" if self.study.is_repaired else "as written"
        return f"the profile {how}"

    @property
    def current(self) -> dict[str, Level]:
        """The level of every searched setting in the profile as written."""
        return {axis.path: axis.current for axis in self.study.header.space}

    def tuning(self, changes: Changes) -> Changes:
        """Those of the changes that are made for speed."""
        repairing = dict(every_change(self.repaired))
        return tuple(one for one in changes if one[0] not in repairing)

    def note(self, path: str) -> str:
        """What to know of a setting that was searched."""
        return self.knobs[path].note if path in self.knobs else ""

    @property
    def given_up(self) -> tuple[str, ...]:
        """What the recommended changes give up that no guarantee names, a line for each."""
        profile = self.written.profile
        changed = candidate(self.written, self.verdict.changes).profile
        return tuple(concessions(profile, changed, self.verdict.changes, self.knobs))

    @property
    def costs(self) -> tuple[Price, ...]:
        """What gets worse with the recommended changes."""
        if self.verdict.claim is not Claim.IMPROVED:
            return ()
        sides = [self.fresh[side] for side in (AS_WRITTEN, BEST) if side in self.fresh]
        return tuple(costs(self.verdict, sides, is_sink=self.is_sink))

    @property
    def doubts(self) -> tuple[Doubted, ...]:
        """The doubts about the confirming pairs, the gravest first."""
        return doubted(self.pairs)

    def as_written(self, path: str) -> Level:
        """The level of a setting in the profile as written; None where it writes none."""
        if path in self.knobs:
            return self.knobs[path].current
        level = get(self.written.data, path)
        return level if isinstance(level, bool | int | str) else None

    @property
    def effect_groups(self) -> tuple[EffectGroup, ...]:
        """The changes by what they were measured together with: what fresh pairs show first, what
        is estimated last, the larger effects first."""
        groups: dict[frozenset[str], list[Effect]] = {}
        for one in self.explained.effects:
            groups.setdefault(frozenset({one.path, *one.together}), []).append(one)

        def place(group: EffectGroup) -> tuple[bool, bool, float]:
            first = group[0]
            return (not first.is_shown, first.pairs == 0, -first.estimate.ratio)

        return tuple(sorted(map(tuple, groups.values()), key=place))


def analyse(study: Study) -> StudyResult:
    """Everything that reports show of a study."""
    header = study.header
    text, path, layers = header.profile_text, header.profile_path, header.profile_layers
    written = parse_profile(text, path, layers, header.profile_base)
    profile, allow = written.profile, header.options.allow
    needed = repairs(profile)
    verdict = _repaired(judge(study), study, needed)
    recommended = frozenset(verdict.changes)
    fixed_rate = tuple(
        FixedRateRun(_side(trial, verdict), trial) for trial in study.of(Phase.CHECK)
    )
    return StudyResult(
        study=study,
        verdict=verdict,
        explained=explain(study, verdict),
        times=times(study),
        written=written,
        knobs={knob.path: knob for knob in knobs(profile, allow)},
        opened=opened(profile, (*profile.search.allow, *allow)),
        pairs=pairs_of(study.trials),
        claimed_rate=_claimed_rate(verdict),
        last_runs=_last_runs(study),
        fixed_rate=fixed_rate,
        fresh=_fresh(fixed_rate, verdict),
        measured=tuple(one.measurement for one in study.trials if one.measurement is not None),
        failures=tuple(one.outcome for one in study.trials if isinstance(one.outcome, Failure)),
        losses=losses(study.trials, verdict.changes),
        repaired=tuple(one for one in needed if recommended.issuperset(one.changes)),
        unrepaired=tuple(one for one in needed if not recommended.issuperset(one.changes)),
    )


def _repaired(verdict: Verdict, study: Study, needed: tuple[Repair, ...]) -> Verdict:
    """The verdict of a search that came to one, which recommends the repairs whatever it says of
    speed, unless they are not wanted or a trial with them alone showed that they cannot be."""
    changes, header = every_change(needed), study.header
    without_gain = verdict.claim in {Claim.NOT_SHOWN, Claim.INFEASIBLE}
    if not without_gain or not header.options.repairs:
        return verdict
    fails = disqualified(study.trials, changes, header.limits)
    return verdict if fails else replace(verdict, changes=changes)


def _claimed_rate(verdict: Verdict) -> Rate:
    """The rate that gained less."""
    eps, paid = verdict.eps, verdict.paid
    return SUSTAINED if eps is not None and paid is not None and paid.ratio < eps.ratio else STEADY


def _side(trial: Trial, verdict: Verdict) -> str:
    """A candidate that was not confirmed came before the best found."""
    if trial.changes == BASELINE:
        return AS_WRITTEN
    return BEST if trial.changes == verdict.confirmed else "candidate, not confirmed"


def _fresh(runs: tuple[FixedRateRun, ...], verdict: Verdict) -> dict[str, PacedMeasurement]:
    """Of both sides, as far as they were measured; of the last candidate where nothing was
    confirmed."""
    sides = {BASELINE, verdict.confirmed}
    return {
        run.side: run.trial.outcome
        for run in runs
        if isinstance(run.trial.outcome, PacedMeasurement)
        and (run.trial.changes in sides or verdict.confirmed == BASELINE)
    }


def _last_runs(study: Study) -> tuple[tuple[str, Measurement], ...]:
    runs = {
        AS_WRITTEN if trial.changes == BASELINE else BEST: trial.measurement
        for trial in study.of(Phase.CONFIRM)
        if trial.measurement is not None
    }
    return tuple(sorted(runs.items()))
