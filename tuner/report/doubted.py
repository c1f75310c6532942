"""The doubts about the runs of pairs, by what they do to the comparison; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.measure.doubts import DISTURBED
from tuner.measure.measurement import Consequence, DoubtKind, Measurement, others_used
from tuner.search.pairs import Pair

# Fewer runs than this share are not worth a sentence: pairs have outliers.
_NOTABLE = 0.25
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
        is_rare = self.count < _NOTABLE * self.runs
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
