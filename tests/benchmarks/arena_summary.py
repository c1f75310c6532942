"""What the results of an arena come to: a line for each strategy, and for each rival beside it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tests.benchmarks.arena_search import Result

OURS, BASE = "default", "random"


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """The figures of every strategy; over surfaces each surface counts the same."""
    by: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        by[one.strategy][one.surface].append(one)
    return {
        "schema": 1,
        "strategies": {name: _figures(found, by.get(BASE, {})) for name, found in by.items()},
        "default_minus_rival": {
            name: _paired(by[OURS], found)
            for name, found in by.items()
            if OURS in by and name != OURS
        },
    }


def printed(found: dict[str, Any]) -> str:
    """The summary as text."""
    lines = ["regret = 1 - true value of the recommended / best; relative to random's in brackets"]
    for name, of in found["strategies"].items():
        lines += ["", *_lines(name, of)]
    lines += [
        f"\ndefault - {name}: regret {of['difference']:+.4f} [{of['low']:+.4f}, "
        f"{of['high']:+.4f}] over {of['pairs']} paired searches, "
        f"{_text(of['times'])} times as much"
        for name, of in found["default_minus_rival"].items()
    ]
    return "\n".join(lines)


def _lines(name: str, of: dict[str, Any]) -> list[str]:
    coverage = "-" if of["coverage"] is None else f"{of['coverage']:.1%}"
    lines = [
        f"{name}: every configuration is equal"
        if of["ratio"] is None
        else f"{name}: ratio {of['ratio']:.4f} [{of['ratio_interval'][0]:.4f}, "
        f"{of['ratio_interval'][1]:.4f}], regret {of['regret']:.4f} ({_text(of['relative'])}; "
        f"geometric mean {_text(of['relative_geometric'])})",
        f"  gains claimed in {of['claims']:.1%} of searches, falsely in {of['false_claims']:.1%}; "
        f"bias of the estimate {of['claim_bias']:+.2%}, of those claimed "
        f"{of['claims_only_bias']:+.2%}; intervals cover {coverage}",
        f"  the best measurement overstates by {of['best_overstates']:+.1%}; "
        f"own computing {of['own_s']:.2f} s a search",
    ]
    return lines + [
        f"    {surface:40} regret {one['regret']:.4f} +- {one['half']:.4f}"
        f" ({_text(one['relative'])}), {one['searches']} searches"
        for surface, one in of["surfaces"].items()
    ]


def _figures(found: dict[str, list[Result]], base: dict[str, list[Result]]) -> dict[str, Any]:
    everything = [one for results in found.values() for one in results]
    surfaces = {name: _surface(of, base.get(name, [])) for name, of in found.items()}
    searched = [one for one in surfaces.values() if not one.equal]
    return {
        **_regrets(searched),
        **_claims(everything),
        "best_overstates": float(np.nanmean([math.expm1(one.overstated) for one in everything])),
        "own_s": float(np.mean([one.own_s for one in everything])),
        "surfaces": {name: asdict(one) for name, one in surfaces.items()},
    }


@dataclass(frozen=True)
class _Surface:
    """One strategy on one surface; `relative` is to random's regret at the same seeds."""

    searches: int
    regret: float
    half: float
    against: float | None
    relative: float | None
    equal: bool


def _surface(results: list[Result], base: list[Result]) -> _Surface:
    seeds = {one.seed for one in results}
    beside = [one for one in base if one.seed in seeds]
    regret = _regret(results)
    against = _regret(beside) if len(beside) == len(results) else None
    relative = regret / against if against else None
    equal = all(one.ratio == 1 and one.true_gain == 0 for one in results)
    half = _half([one.ratio for one in results])
    return _Surface(len(results), regret, half, against, relative, equal)


def _regrets(searched: list[_Surface]) -> dict[str, Any]:
    """Over surfaces; they are what they are, so the interval is over seeds."""
    if not searched:
        return {"ratio": None, "ratio_interval": None, "regret": None} | _relative([])
    mean = float(np.mean([one.regret for one in searched]))
    half = math.sqrt(sum(one.half**2 for one in searched)) / len(searched)
    interval = [1 - mean - half, 1 - mean + half]
    return {"ratio": 1 - mean, "ratio_interval": interval, "regret": mean} | _relative(searched)


def _relative(searched: list[_Surface]) -> dict[str, float | None]:
    both = [(one.regret, one.against) for one in searched if one.against]
    if not both or len(both) < len(searched):
        return {"relative": None, "relative_geometric": None}
    ours, random = (float(np.mean(side)) for side in zip(*both, strict=True))
    # A regret of nothing at all would make the geometric mean nothing too.
    logs = [math.log(max(regret / against, 0.01)) for regret, against in both]
    return {"relative": ours / random, "relative_geometric": math.exp(float(np.mean(logs)))}


def _claims(everything: list[Result]) -> dict[str, float | None]:
    """What is claimed of the winner against the start, from pairs measured after the choice."""
    confirmed = [one for one in everything if not math.isnan(one.estimated_gain)]
    claims = [one for one in everything if one.claimed]
    false = [one for one in claims if one.true_gain <= 0]
    covered = [one.low <= one.true_gain <= one.high for one in confirmed]
    return {
        "claims": len(claims) / len(everything),
        "false_claims": len(false) / len(everything),
        "claim_bias": _bias(confirmed),
        "claims_only_bias": _bias(claims),
        "coverage": float(np.mean(covered)) if covered else None,
    }


def _paired(
    ours: dict[str, list[Result]], rival: dict[str, list[Result]]
) -> dict[str, float | None]:
    """Our regret less the rival's at the same seeds, with a 95 % interval over seeds, and how many
    times the rival's it is."""
    means, halves, regrets, pairs = [], [], [], 0
    for surface in ours.keys() & rival.keys():
        theirs = {one.seed: one.ratio for one in rival[surface]}
        both = [
            (1 - one.ratio, 1 - theirs[one.seed]) for one in ours[surface] if one.seed in theirs
        ]
        if both and any(one.ratio < 1 for one in (*ours[surface], *rival[surface])):
            gaps = [our_regret - regret for our_regret, regret in both]
            means.append(float(np.mean(gaps)))
            halves.append(_half(gaps))
            regrets.append(float(np.mean([regret for _, regret in both])))
            pairs += len(gaps)
    mean = float(np.mean(means)) if means else math.nan
    half = math.sqrt(sum(half**2 for half in halves)) / max(len(halves), 1)
    times = 1 + sum(means) / sum(regrets) if sum(regrets) > 0 else None
    interval = {"difference": mean, "low": mean - half, "high": mean + half}
    return {**interval, "times": times, "pairs": pairs}


def _regret(results: list[Result]) -> float:
    return float(np.mean([1 - one.ratio for one in results])) if results else 0.0


def _half(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    return 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))


def _bias(results: list[Result]) -> float:
    if not results:
        return 0.0
    return math.expm1(float(np.mean([one.estimated_gain - one.true_gain for one in results])))


def _text(relative: float | None) -> str:
    return "-" if relative is None else f"{relative:.2f}"
