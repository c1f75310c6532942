"""What the pairs of a confirmation compare, what of it got worse, and what to doubt of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tuner.measure.doubts import DISTURBED
from tuner.measure.measurement import (
    Consequence,
    DoubtKind,
    Measurement,
    PacedMeasurement,
    others_used,
)
from tuner.measure.paired import Comparison
from tuner.report.figures import eps, significant
from tuner.search.pairs import Pair
from tuner.search.verdict import Verdict

# A change that the pairs show, and yet nobody would call a cost.
_NOTABLE = 1.05
# At a fixed rate each side runs once, so that nothing shows its noise: a judgement.
_NOTABLE_ONCE = 1.2
_MIB = 1024.0**2
FRESHNESS, MEMORY = "freshness p99, one run each", "rsyslogd memory, peak"


@dataclass(frozen=True)
class PairFigure:
    """One figure of both sides: its name and unit, and its comparison.  Where the lab is the sink,
    only what is `of_sink` says something."""

    name: str
    unit: str
    of: Callable[[Verdict], Comparison | None]
    is_rate: bool = False
    of_sink: bool = False
    scale: float = 1.0

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
        if self.is_rate:
            return comparison.shows_less and comparison.ratio <= 1 / _NOTABLE
        return comparison.shows_more and comparison.ratio >= _NOTABLE


PAIR_FIGURES = (
    PairFigure("events per second, steady window", "", lambda one: one.eps,
               is_rate=True, of_sink=True),
    PairFigure("events per second, including deferred work", "", lambda one: one.paid,
               is_rate=True),
    PairFigure("events per second, first send to refreshed and flushed", "",
               lambda one: one.durable, is_rate=True),
    PairFigure("events per second, first send to merged as well", "", lambda one: one.merged,
               is_rate=True),
    PairFigure("rsyslogd CPU per event", "us", lambda one: one.shipper_cpu, of_sink=True),
    PairFigure("engine CPU per event, including deferred work", "us", lambda one: one.engine_cpu),
    PairFigure(MEMORY, "MiB", lambda one: one.memory, of_sink=True, scale=_MIB),
    PairFigure("bulk request, p50", "ms", lambda one: one.bulk),
    PairFigure("disk per event, after those merges", "bytes", lambda one: one.disk),
)  # fmt: skip


@dataclass(frozen=True)
class Price:
    """A figure that got worse from the profile as written to what is recommended."""

    figure: str
    before: float
    after: float
    unit: str

    def __str__(self) -> str:
        before, after = significant(self.before), significant(self.after)
        return f"{self.figure}: {before} -> {after} {self.unit}".rstrip()


def compared_figures(verdict: Verdict, *, is_sink: bool) -> Iterator[tuple[PairFigure, Comparison]]:
    """Every figure that the pairs show."""
    for figure in PAIR_FIGURES:
        comparison = figure.of(verdict)
        if comparison is not None and (figure.of_sink or not is_sink):
            yield figure, comparison


def costs(verdict: Verdict, fresh: Sequence[PacedMeasurement], *, is_sink: bool) -> Iterator[Price]:
    """What got worse: by the pairs and, where both sides ran at a fixed rate, the profile first, by
    how `fresh` that was."""
    p99_s = [run.freshness_s.p99 for run in fresh if run.freshness_s is not None]
    if len(p99_s) == 2 and p99_s[1] >= _NOTABLE_ONCE * p99_s[0]:
        yield Price(FRESHNESS, p99_s[0], p99_s[1], "s")
    for figure, comparison in compared_figures(verdict, is_sink=is_sink):
        if figure.got_worse(comparison):
            before, after = figure.averages(comparison)
            yield Price(figure.name, before, after, figure.unit)


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


def doubted(pairs: Sequence[Pair]) -> tuple[Doubted, ...]:
    """The doubts about the runs of pairs, the gravest first and those of most runs."""
    found = _doubted(pairs)
    return tuple(sorted(found, key=lambda one: (_ORDER.index(one.consequence), -one.count)))


def _doubted(pairs: Sequence[Pair]) -> Iterator[Doubted]:
    before, after = ([pair[side] for pair in pairs] for side in (0, 1))
    runs = [*before, *after]
    for kind in DoubtKind:
        having = [run for run in runs if _has(kind, run)]
        if not having:
            continue
        consequence, why = kind.consequence, kind.meaning
        if kind is DoubtKind.SENDER_LIMITED and not any(_has(kind, run) for run in before):
            consequence, why = Consequence.INFORMS, "the best found may carry more than that"
        if kind is DoubtKind.DISTURBED and (most := others_used(having)) >= DISTURBED:
            why = f"others used up to {most * 100:.0f} % of the machine"
        yield Doubted(kind, consequence, len(having), len(runs), why)


def _has(kind: DoubtKind, run: Measurement) -> bool:
    return any(doubt.kind is kind for doubt in run.doubts)
