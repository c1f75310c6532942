"""The verdict on a study, by constructed pairs: what is claimed, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import ASKED
from tuner.measure.measurement import Failure, FailureKind, Measurement, Outcome, TrialPlan
from tuner.search.study import BASELINE, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import Claim, Verdict, judge

WORKERS = "outputs[logs].queue.workerThreads"
BEST: Changes = ((WORKERS, 4),)
OTHER: Changes = ((WORKERS, 6),)
PLAN = TrialPlan(1.0, 4.0)
STALL = Failure(FailureKind.STALLED, "nothing was indexed for 10 s", sent=1000, indexed=10)


def run(rate: float, number: int, paid: float | None = None) -> Measurement:
    """A rate that varies by up to 1 % from run to run."""
    varied = 1 + 0.01 * ((7 * number) % 5 - 2) / 2
    return measured(rate * varied, paid=None if paid is None else paid * varied)


def pair(
    number: int, before: Outcome, after: Outcome, best: Changes = BEST, *, apart_s: float = 0.0
) -> tuple[Trial, Trial]:
    """One pair, in either order by its number, whose runs lie `apart_s` seconds apart."""
    sides = [(BASELINE, before), (best, after)][:: 1 if number % 2 else -1]
    at_s = 100.0 * number
    return (
        Trial(2 * number, Phase.CONFIRM, sides[0][0], "", PLAN, sides[0][1], at_s, number,
              ended_s=at_s + 10),
        Trial(2 * number + 1, Phase.CONFIRM, sides[1][0], "", PLAN, sides[1][1],
              at_s + 10 + apart_s, number, ended_s=at_s + 20 + apart_s),
    )  # fmt: skip


def pairs(
    count: int, gain: float, paid: float | None = None, best: Changes = BEST
) -> list[tuple[Trial, Trial]]:
    """Pairs of a gain in the rate over the window, and of another one in what is paid."""
    base = 50_000.0
    return [
        pair(
            number,
            run(base, number, base),
            run(base * gain, number + 1, base * (gain if paid is None else paid)),
            best,
        )
        for number in range(1, count + 1)
    ]


def verdict(made: Sequence[tuple[Trial, ...]], *before: Trial) -> Verdict:
    trials = (*before, *(trial for each in made for trial in each))
    return judge(Study(ASKED, trials, Ending.FINISHED))


def test_six_clear_pairs_show_a_gain_and_hand_over_what_was_confirmed() -> None:
    found = verdict(pairs(6, 1.2))
    assert (found.claim, found.changes, found.confirmed) == (Claim.IMPROVED, BEST, BEST)
    assert found.eps is not None
    assert found.eps.pairs == 6
    assert found.eps.ratio == pytest.approx(1.2, rel=0.02)
    assert found.eps.averages[0] == pytest.approx(50_000, rel=0.02)


@pytest.mark.parametrize(
    ("gain", "paid"), [(1.2, 1.0), (1.0, 1.2), (1.2, 0.8), (0.8, 1.2), (1.0, 1.0), (0.8, 0.8)]
)
def test_both_rates_must_show_it(gain: float, paid: float) -> None:
    """What is done after the window counts, and so does what is done in it."""
    found = verdict(pairs(8, gain, paid))
    assert (found.claim, found.changes, found.confirmed) == (Claim.NOT_SHOWN, BASELINE, BEST)


def test_the_smaller_of_the_two_is_claimed() -> None:
    claimed = verdict(pairs(8, 1.3, 1.2)).claimed
    assert claimed is not None
    assert claimed.ratio == pytest.approx(1.2, rel=0.02)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_with_fewer_pairs_than_can_show_anything_nothing_is_claimed(count: int) -> None:
    found = verdict(pairs(count, 2.0))
    assert (found.claim, found.changes) == (Claim.UNFINISHED, BASELINE)


def torn(trials: tuple[Trial, Trial], how: str) -> tuple[Trial, ...]:
    """A pair that is none."""
    first, second = trials
    return {
        "another session between": (first, replace(second, at_s=second.at_s + 60)),
        "on two machines": (first, replace(second, machine="b")),
        "only one side": (first,),
        "one side twice": (first, replace(second, changes=first.changes)),
        "one failed in passing": (first, replace(second, outcome=STALL)),
        "of the search": tuple(replace(one, phase=Phase.FINAL) for one in trials),
    }[how]


@pytest.mark.parametrize(
    "how",
    ["another session between", "on two machines", "only one side", "one side twice",
     "one failed in passing", "of the search"],
)  # fmt: skip
def test_what_is_no_pair_does_not_count(how: str) -> None:
    made = pairs(6, 1.2)
    assert verdict(made).claim is Claim.IMPROVED
    found = verdict([torn(made[0], how), *made[1:]])
    assert (found.claim, found.changes) == (Claim.UNFINISHED, BASELINE)


def test_pairs_of_a_point_that_had_to_give_way_do_not_count() -> None:
    found = verdict([*pairs(8, 3.0, best=OTHER), *pairs(6, 1.2)])
    assert (found.claim, found.changes) == (Claim.IMPROVED, BEST)
    assert found.eps is not None
    assert found.eps.pairs == 6
    assert found.eps.ratio == pytest.approx(1.2, rel=0.02)


def test_pairs_before_the_repairs_do_not_count() -> None:
    """The profile as written lost events, and the pairs began again with its repairs."""
    repaired = [
        tuple(replace(one, repaired=one.changes == BASELINE) for one in each)
        for each in pairs(6, 1.1)
    ]
    found = verdict([*pairs(5, 3.0), *repaired])
    assert found.eps is not None
    assert (found.eps.pairs, found.claim) == (6, Claim.IMPROVED)
    assert found.eps.ratio == pytest.approx(1.1, rel=0.02)


@pytest.mark.parametrize("phase", [Phase.SEARCH, Phase.FINAL, Phase.SHRINK, Phase.CONFIRM])
def test_a_point_that_lost_an_event_in_any_phase_is_not_recommended(phase: Phase) -> None:
    lost = Trial(0, phase, BEST, "", PLAN, failed("1 lost"), 0.0, ended_s=10.0)
    found = verdict(pairs(8, 1.5), lost)
    assert (found.claim, found.changes) == (Claim.INFEASIBLE, BASELINE)
    assert "1 lost" in found.failure


def test_one_transient_failure_of_the_best_is_forgiven_and_two_in_a_row_are_not() -> None:
    stalled = [
        Trial(number, Phase.FINAL, BEST, "", PLAN, STALL, 10.0 * number, ended_s=10.0 * number + 9)
        for number in range(2)
    ]
    fine = replace(stalled[0], outcome=run(50_000, 1))
    assert verdict(pairs(8, 1.5), stalled[0]).claim is Claim.IMPROVED
    assert verdict(pairs(8, 1.5), stalled[0], fine, stalled[1]).claim is Claim.IMPROVED
    found = verdict(pairs(8, 1.5), *stalled)
    assert (found.claim, found.changes) == (Claim.INFEASIBLE, BASELINE)


def test_what_another_point_lost_does_not_matter() -> None:
    lost = Trial(0, Phase.SEARCH, OTHER, "", PLAN, failed(), 0.0, ended_s=10.0)
    assert verdict(pairs(6, 1.2), lost).claim is Claim.IMPROVED


def test_a_search_that_confirmed_nothing_claims_nothing() -> None:
    tried = Trial(0, Phase.SEARCH, BEST, "", PLAN, run(90_000, 1), 0.0, ended_s=10.0)
    assert verdict([], tried).claim is Claim.UNFINISHED
    lost = replace(tried, outcome=failed("1 lost"))
    found = verdict([], lost)
    assert found.claim is Claim.INFEASIBLE
    assert "Of 1 points measured none can be recommended" in found.failure
