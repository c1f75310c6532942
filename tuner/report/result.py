"""What a study of a search shows, analysed once; pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.lint.repairs import Repair, every_change, repairs
from tuner.measure.measurement import (
    COUNTED,
    DISTURBED,
    Consequence,
    DoubtKind,
    Measurement,
    PacedMeasurement,
    others_used,
)
from tuner.measure.paired import Comparison
from tuner.profile.schema import full_name, get, names_in
from tuner.report.figures import SUSTAINED, Rate, claimed_rate, setting
from tuner.schema.numerals import eps, significant
from tuner.search.effects import EffectRatio
from tuner.search.study import BASELINE, HERE, Changes, Phase, Study, Trial
from tuner.search.verdict import (
    Claim,
    FrontPoint,
    Loss,
    Pair,
    Verdict,
    disqualified,
    front_of,
    is_repaired,
    judge,
    losses,
    pairs_of,
)
from tuner.space.guarantees import Concession, Guarantee, concessions, opened
from tuner.space.knob import Knob, Level, level_text
from tuner.space.knobs import knobs

# A change that the pairs show, and yet nobody would call a cost.
_NOTABLE = 1.05
# At a fixed rate each side runs once, so that nothing shows its noise: a judgement.
_NOTABLE_ONCE = 1.2
_MIB = 1024.0**2
FRESHNESS, MEMORY = "freshness p99, one run each", "rsyslogd memory, peak"


@dataclass(frozen=True)
class PairFigure:
    """One figure of both sides: the `key` of its comparison in a verdict, its name and unit.  Where
    the lab is the sink, only what is `of_sink` says something.  A headline calls it `short`, and
    leaves out what has no such name.  `explain` says of the pairs why it got worse, where they show
    that."""

    key: str
    name: str
    unit: str
    is_rate: bool = False
    of_sink: bool = False
    scale: float = 1.0
    short: str = ""
    explain: Callable[[Sequence[Pair]], str] = lambda _: ""

    def averages(self, comparison: Comparison) -> tuple[float, float]:
        """Of both sides, in its unit."""
        before, after = comparison.averages
        return before / self.scale, after / self.scale

    def write(self, value: float) -> str:
        """A value with as many digits as its ratio is printed with."""
        number = eps(value) if self.is_rate else significant(value)
        return f"{number} {self.unit}".rstrip()

    def got_worse(self, comparison: Comparison) -> bool:
        """Whether the pairs show it, by more than what nobody would call a cost."""
        return _fell(comparison) if self.is_rate else _rose(comparison)

    def got_better(self, comparison: Comparison) -> bool:
        """Likewise."""
        return _rose(comparison) if self.is_rate else _fell(comparison)


def _rose(comparison: Comparison) -> bool:
    return comparison.shows_more and comparison.ratio >= _NOTABLE


def _fell(comparison: Comparison) -> bool:
    return comparison.shows_less and comparison.ratio <= 1 / _NOTABLE


def _fuller_requests(pairs: Sequence[Pair]) -> str:
    """That a bulk request of the best found holds more events, so that it takes longer; empty where
    it does not, or nobody counted."""
    used = [run.effective for pair in pairs for run in pair[:2]]
    held = [use.events_per_bulk for use in used if use is not None and use.events_per_bulk]
    if not held or len(held) < len(used):
        return ""
    before, after = statistics.median(held[::2]), statistics.median(held[1::2])
    holds_more = after >= _NOTABLE * before
    return f"a request holds {after:,.0f} events, was {before:,.0f}" if holds_more else ""


PAIR_FIGURES = (
    PairFigure("eps", "events per second, steady window", "", is_rate=True, of_sink=True),
    PairFigure("paid", "events per second, including deferred work", "", is_rate=True),
    PairFigure("durable", "events per second, first send to refreshed and flushed", "",
               is_rate=True),
    PairFigure("merged", "events per second, first send to merged as well", "", is_rate=True),
    PairFigure("shipper_cpu", "rsyslogd CPU per event", "µs", of_sink=True,
               short="rsyslogd CPU per event"),
    PairFigure("engine_cpu", "engine CPU per event, including deferred work", "µs",
               short="engine CPU per event"),
    PairFigure("memory", MEMORY, "MiB", of_sink=True, scale=_MIB, short="rsyslogd memory"),
    PairFigure("bulk", "bulk request, p50", "ms", short="time of a bulk request",
               explain=_fuller_requests),
    PairFigure("disk", "disk per event, after those merges", "bytes", short="disk per event"),
)  # fmt: skip


@dataclass(frozen=True)
class Price:
    """A figure that got worse from the profile as written to what is recommended, and why, where
    the pairs show that."""

    figure: str
    before: float
    after: float
    unit: str
    why: str = ""

    def __str__(self) -> str:
        before, after = significant(self.before), significant(self.after)
        why = f" ({self.why})" if self.why else ""
        return f"{self.figure}: {before} -> {after} {self.unit}".rstrip() + why


def _costs(result: StudyResult) -> Iterator[Price]:
    """What got worse: by the pairs and, where both sides ran at a fixed rate, by how fresh that
    was."""
    fresh = [result.fresh[side] for side in (AS_WRITTEN, BEST) if side in result.fresh]
    p99_s = [run.freshness_s.p99 for run in fresh if run.freshness_s is not None]
    if len(p99_s) == 2 and p99_s[1] >= _NOTABLE_ONCE * p99_s[0]:
        yield Price(FRESHNESS, p99_s[0], p99_s[1], "s")
    for figure, comparison in result.figures:
        if figure.got_worse(comparison):
            before, after = figure.averages(comparison)
            yield Price(figure.name, before, after, figure.unit, figure.explain(result.pairs))


# Fewer runs than this share are not worth a sentence: pairs have outliers.
_NOTABLE_SHARE = 0.25
_ORDER = tuple(Consequence)


@dataclass(frozen=True)
class Doubted:
    """A doubt that `count` of `runs` have, what it does to the comparison, and why."""

    kind: DoubtKind
    consequence: Consequence
    count: int
    runs: int
    why: str

    @property
    def is_notable(self) -> bool:
        """Whether it belongs beside the claim."""
        is_rare = self.count < _NOTABLE_SHARE * self.runs
        return self.consequence is not Consequence.INFORMS and not is_rare

    @property
    def puts_in_question(self) -> bool:
        """Whether the claim should not be believed for it."""
        return self.is_notable and self.consequence is Consequence.QUESTIONS

    def __str__(self) -> str:
        return f"{self.count} of {self.runs} runs {self.kind.value}: {self.why}"


def _doubted(pairs: Sequence[Pair]) -> Iterator[Doubted]:
    """The doubts about the runs of pairs."""
    runs = [run for pair in pairs for run in pair[:2]]
    for kind in DoubtKind:
        having = [run for run in runs if _has(kind, run)]
        if not having:
            continue
        consequence, why = kind.consequence, kind.meaning
        if kind is DoubtKind.SENDER_LIMITED and not any(_has(kind, pair.before) for pair in pairs):
            consequence, why = Consequence.INFORMS, "the best found may carry more than that"
        if kind is DoubtKind.DISTURBED and (most := others_used(having)) >= DISTURBED:
            why = f"others used up to {most * 100:.0f} % of the machine"
        yield Doubted(kind, consequence, len(having), len(runs), why)


def _has(kind: DoubtKind, run: Measurement) -> bool:
    return any(doubt.kind is kind for doubt in run.doubts)


AS_WRITTEN, BEST = "as written", "best found"


@dataclass(frozen=True)
class EffectGroup:
    """Changes with what they gave together, as a factor on the rate with the work paid for that was
    put off past the window; None where it was not measured.  What was `taken_back` is not part of
    what is recommended."""

    changes: Changes
    estimate: EffectRatio | None
    taken_back: bool = False


@dataclass(frozen=True)
class StudyResult:
    """A study with its verdict and all that explains it.

    `claimed_rate` is the rate that the claim rests on, the one that gained less.  `measured` are
    all valid saturating runs, `losses` the trials that lost or doubled events.  Of the repairs that
    the profile needs, `repaired` are part of what is recommended, and `unrepaired` are not.
    """

    study: Study
    verdict: Verdict
    written: LoadedProfile
    knobs: Mapping[str, Knob]
    opened: tuple[Guarantee, ...]
    pairs: tuple[Pair, ...]
    claimed_rate: Rate
    measured: tuple[Measurement, ...]
    losses: tuple[Loss, ...]
    repaired: tuple[Repair, ...]
    unrepaired: tuple[Repair, ...]

    def side(self, trial: Trial) -> str:
        """Which side a trial was of; what was not confirmed came before the best found."""
        if trial.changes == BASELINE:
            return AS_WRITTEN
        is_best = trial.changes == self.verdict.confirmed
        return BEST if is_best else "candidate, not confirmed"

    @property
    def last_runs(self) -> list[tuple[str, Measurement]]:
        """The last confirming runs, by side."""
        runs = {
            AS_WRITTEN if trial.changes == BASELINE else BEST: trial.measurement
            for trial in self.study.of(Phase.CONFIRM)
            if trial.measurement is not None
        }
        return sorted(runs.items())

    @property
    def fresh(self) -> dict[str, PacedMeasurement]:
        """The runs at a fixed rate of both sides, as far as they were measured; of the last
        candidate where nothing was confirmed."""
        sides = {BASELINE, self.verdict.confirmed}
        return {
            self.side(trial): trial.outcome
            for trial in self.study.of(Phase.CHECK)
            if isinstance(trial.outcome, PacedMeasurement)
            and (trial.changes in sides or self.verdict.confirmed == BASELINE)
        }

    @property
    def is_sink(self) -> bool:
        """Whether the study was made against the sink, which stores nothing."""
        return not self.study.header.stores

    @property
    def is_of_configuration(self) -> bool:
        """Whether it is of a configuration itself, with a profile that was made for it."""
        base = self.written.profile.base
        return base is not None and self.study.header.profile_path in base.kept.sources

    @property
    def is_on_cluster(self) -> bool:
        """Whether it measured on the machines of a cluster."""
        return any(session.machines != (HERE,) for session in self.study.sessions[-1:])

    @property
    def sent(self) -> int:
        """Events that were sent in all valid trials together."""
        return sum(run.delivery.sent for run in self.measured)

    @property
    def is_identified(self) -> bool:
        """Whether every event of the valid trials was found by its number, not counted alone."""
        return all(run.delivery.identified for run in self.measured)

    @property
    def delivered(self) -> str:
        """What is known of each event of the valid trials."""
        return "indexed exactly once" if self.is_identified else f"indexed ({COUNTED})"

    @property
    def baseline(self) -> str:
        """What the best found was compared with."""
        how = "with its repairs" if self.is_repaired else "as written"
        return f"the profile {how}"

    @property
    def is_repaired(self) -> bool:
        """Whether that is the profile with its repairs."""
        return is_repaired(self.study.trials)

    @property
    def current(self) -> dict[str, Level]:
        """The level of every searched setting in the profile as written."""
        return {axis.path: axis.current for axis in self.study.header.space}

    @cached_property
    def names(self) -> dict[str, str]:
        """What the report calls each searched setting, in short, by its path."""
        return names_in(self.written.profile, list(self.current))

    def name(self, path: str) -> str:
        """What the report calls a setting."""
        return full_name(self.written.profile, path)

    def changed(self, path: str, level: Level) -> str:
        """A change of the profile as written, for a terminal."""
        return f"{self.name(path)} {level_text(self.as_written(path))} -> {level_text(level)}"

    def changed_code(self, path: str, level: Level) -> str:
        """The same with what is code between backticks."""
        return f"`{self.name(path)}` {setting(self.as_written(path))} -> {setting(level)}"

    @cached_property
    def front(self) -> tuple[FrontPoint, ...]:
        """The points that trade one figure for another."""
        return front_of(self.study)

    def tuning(self, changes: Changes) -> Changes:
        """Those of the changes that are made for speed."""
        repairing = dict(every_change(self.repaired))
        return tuple(change for change in changes if change[0] not in repairing)

    def note(self, path: str) -> str:
        """What to know of a setting that was searched."""
        return self.knobs[path].note if path in self.knobs else ""

    @property
    def given_up(self) -> tuple[Concession, ...]:
        """What the recommended changes give up that no guarantee names."""
        profile, claimed = self.written.profile, self.verdict.claimed
        changed = candidate(self.written, self.verdict.changes).profile
        eps_gain = self.verdict.eps
        per_second = None if claimed is None or eps_gain is None else eps_gain.averages[1]
        return tuple(concessions(profile, changed, self.verdict.changes, self.knobs, per_second))

    @property
    def costs(self) -> tuple[Price, ...]:
        """What gets worse with the recommended changes."""
        if self.verdict.claim is not Claim.IMPROVED:
            return ()
        return tuple(_costs(self))

    @property
    def doubts(self) -> tuple[Doubted, ...]:
        """The doubts about the confirming pairs, the gravest first."""
        doubts = _doubted(self.pairs)
        return tuple(sorted(doubts, key=lambda d: (_ORDER.index(d.consequence), -d.count)))

    @property
    def figures(self) -> list[tuple[PairFigure, Comparison]]:
        """Every figure that the pairs show."""
        return [
            (figure, comparison)
            for figure in PAIR_FIGURES
            if figure.of_sink or not self.is_sink
            if (comparison := getattr(self.verdict, figure.key)) is not None
        ]

    @property
    def slower_rates(self) -> list[tuple[PairFigure, Comparison]]:
        """The rates that the pairs show to have fallen, by however little: they count what the
        claim leaves out.  None where both sides had the same rate."""
        if self.claimed_rate.facts.at_rate:
            return []
        return [
            (figure, comparison)
            for figure, comparison in self.figures
            if figure.is_rate and comparison.shows_less
        ]

    @property
    def is_slower_elsewhere(self) -> bool:
        """Whether a gain is claimed and a rate that counts more than the claim is shown to have
        fallen."""
        return self.verdict.claim is Claim.IMPROVED and bool(self.slower_rates)

    @property
    def is_questioned(self) -> bool:
        """Whether a claim should not be believed for the doubts about its pairs."""
        return any(doubt.puts_in_question for doubt in self.doubts)

    def as_written(self, path: str) -> Level:
        """The level of a setting in the profile as written; None where it writes none."""
        if path in self.knobs:
            return self.knobs[path].current
        level = get(self.written.data, path)
        return level if isinstance(level, bool | int | str) else None

    @property
    def scored(self) -> Rate:
        """What the search went by: of rates that with the work that was put off."""
        return SUSTAINED if self.claimed_rate.is_rate else self.claimed_rate

    @property
    def effect_groups(self) -> tuple[EffectGroup, ...]:
        """The changes that were made for speed by what they were measured together with, the larger
        effects first, what was taken back and what was not measured last; none where no improvement
        was shown."""
        verdict = self.verdict
        if verdict.claim is not Claim.IMPROVED:
            return ()
        if (effects := verdict.effects) is None:
            score = verdict.scores[-1]
            together = EffectRatio(score.ratio, score.low, score.high)
            tuned = self.tuning(verdict.changes)
            return (EffectGroup(tuned, together),) if tuned else ()
        confirmed = {*verdict.confirmed}
        groups = [
            EffectGroup(group, effects.of(at), not {*group} <= confirmed)
            for at, group in enumerate(effects.groups)
        ]
        measured = {change for group in effects.groups for change in group}
        unmeasured = tuple(
            change for change in self.tuning(verdict.chosen) if change not in measured
        )

        def place(group: EffectGroup) -> tuple[bool, float]:
            return group.taken_back, -group.estimate.ratio if group.estimate else 0.0

        last = (EffectGroup(unmeasured, None),) if unmeasured else ()
        return (*sorted(groups, key=place), *last)


def analyse(study: Study) -> StudyResult:
    """Everything that reports show of a study."""
    header = study.header
    text, path, layers = header.profile_text, header.profile_path, header.profile_layers
    written = parse_profile(text, path, layers, header.profile_base)
    shares, allow = dict(header.shares), header.options.allow
    profile = written.profile.tuning_by(shares)
    needed = repairs(profile)
    verdict = _repaired(judge(study), study, needed)
    recommended = frozenset(verdict.changes)
    return StudyResult(
        study=study,
        verdict=verdict,
        written=replace(written, profile=profile),
        knobs={knob.path: knob for knob in knobs(profile, allow, shares)},
        opened=opened(profile, (*profile.search.allow, *allow)),
        pairs=pairs_of(study.trials),
        claimed_rate=claimed_rate(study.trials, verdict.eps, verdict.paid),
        measured=tuple(
            trial.measurement for trial in study.trials if trial.measurement is not None
        ),
        losses=losses(study.trials, verdict.changes),
        repaired=tuple(repair for repair in needed if recommended.issuperset(repair.changes)),
        unrepaired=tuple(repair for repair in needed if not recommended.issuperset(repair.changes)),
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
