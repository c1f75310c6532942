"""The gate: fails where a loss is shown, passes where none is, and says when it cannot tell."""

from __future__ import annotations

import numpy as np

from tuner.measure.machines import Decision, gate
from tuner.measure.paired import Pairs

BAR = 0.95


def decisions(ratio: float, noise: float, count: int, pairs: int = 8) -> list[Decision]:
    """Gates on simulated pairs whose true ratio and noise of a run are known."""
    drawn = np.random.default_rng(3).normal(0.0, noise, (2, count, pairs))
    a, b = np.exp(drawn)
    both = zip(a.tolist(), (ratio * b).tolist(), strict=True)
    return [gate([Pairs(*pair)], BAR).decision for pair in both]


def share(found: list[Decision], wanted: Decision) -> float:
    return found.count(wanted) / len(found)


def test_noise_alone_seldom_fails_it_even_at_the_bar() -> None:
    assert share(decisions(BAR, 0.1, 500), Decision.BELOW) < 0.04
    assert share(decisions(1.0, 0.1, 500), Decision.BELOW) < 0.01


def test_ignorance_does_not_pass_it() -> None:
    assert share(decisions(BAR - 0.02, 0.1, 500), Decision.KEPT) < 0.03
    assert share(decisions(1.0, 0.3, 200), Decision.INCONCLUSIVE) > 0.8


def test_what_is_clear_is_decided() -> None:
    assert share(decisions(0.8, 0.03, 200), Decision.BELOW) > 0.99
    assert share(decisions(1.05, 0.03, 200), Decision.KEPT) > 0.99


def test_one_rate_below_is_below_and_one_that_is_open_is_open() -> None:
    rates = [100.0, 101.0, 99.0, 102.0, 98.0, 100.5]
    same = Pairs(rates, [1.01 * one for one in reversed(rates)])
    slow = Pairs(rates, [0.7 * one for one in reversed(rates)])
    noisy = Pairs(rates, [80.0, 120.0, 90.0, 110.0, 85.0, 118.0])
    assert gate([same, same], BAR).decision is Decision.KEPT
    assert gate([same, slow], BAR).decision is Decision.BELOW
    assert gate([noisy, slow], BAR).decision is Decision.BELOW
    assert gate([same, noisy], BAR).decision is Decision.INCONCLUSIVE


def test_what_is_open_says_how_many_pairs_would_decide() -> None:
    rng = np.random.default_rng(5)
    a, b = np.exp(rng.normal(0.0, 0.1, (2, 200, 6)))
    for before, after in zip(a.tolist(), b.tolist(), strict=True):
        found = gate([Pairs(before, after)], BAR)
        if found.decision is Decision.INCONCLUSIVE:
            assert found.pairs_wanted is None or found.pairs_wanted > 6
        else:
            assert found.pairs_wanted is None
