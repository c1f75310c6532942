"""Warnings for people: what loses events first, those of one rule together, advice folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tuner.errors import Problem
from tuner.lint.lint import RULES
from tuner.rule import Rank

_RANKS = {rule.about.code: rule.about.rank for rule in RULES}


def summary(problems: Sequence[Problem], with_advice: bool = False) -> list[str]:
    """The lines to print; without advice they end with how much of it there is."""
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in sorted(problems, key=_rank):
        groups.setdefault((problem.file, problem.code), []).append(problem)
    folded = [
        code
        for (_, code), (first, *_) in groups.items()
        if _rank(first) is Rank.ADVICE and not with_advice
    ]
    shown = [_told(ones) for (_, code), ones in groups.items() if code not in folded]
    return [*shown, *_folded(list(dict.fromkeys(folded)))]


def _rank(problem: Problem) -> Rank:
    return _RANKS.get(problem.code, Rank.OTHER)


def _told(ones: list[Problem]) -> str:
    """The first of one rule, and where else that is so."""
    first, *others = ones
    if not others:
        return str(first)
    return f"{first} also at {', '.join(f'{one.line}:{one.column}' for one in others)}"


def _folded(codes: list[str]) -> Iterator[str]:
    if codes:
        count = "1 piece" if len(codes) == 1 else f"{len(codes)} pieces"
        yield (
            f"{count} of advice: {', '.join(codes)}; rsyslog-tune validate --verbose shows it, "
            f"rsyslog-tune explain {codes[0]} says why"
        )
