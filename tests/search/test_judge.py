"""The verdict on a study, by constructed pairs: what is claimed, and what is not."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from tests.measure.factory import SPEED, failed, measured
from tests.measure.paced import NOTHING, paced
from tests.search.simulated import ASKED, PROFILE
from tuner.engine.bulk_times import BulkLatency
from tuner.measure.measurement import (
    Delivery,
    Failure,
    FailureKind,
    Measurement,
    Outcome,
    Spent,
    TrialPlan,
)
from tuner.measure.paired import Comparison
from tuner.search.study import BASELINE, Axis, Changes, Ending, Phase, Study, Trial
from tuner.search.verdict import (
    Claim,
    Verdict,
    compared,
    earlier_points,
    gains_of,
    judge,
    losses,
    pairs_of,
)
from tuner.space.knobs import knobs

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


def study_of(
    made: Sequence[tuple[Trial, ...]], *before: Trial, ending: Ending = Ending.FINISHED
) -> Study:
    trials = (*before, *(trial for each in made for trial in each))
    return Study(ASKED, trials, ending, reason="no machine is left")


def verdict(made: Sequence[tuple[Trial, ...]], *before: Trial) -> Verdict:
    return judge(study_of(made, *before))


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
    """A search that came to its end says that none was shown, and how many pairs it had."""
    found = verdict(pairs(count, 2.0))
    assert (found.claim, found.changes, found.claimed) == (Claim.NOT_SHOWN, BASELINE, None)
    assert found.failure == f"the time was enough for {count} of the 6 pairs that can show one"


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
    assert (found.claim, found.changes) == (Claim.NOT_SHOWN, BASELINE)


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


@pytest.mark.parametrize("phase", [Phase.SEARCH, Phase.FINAL, Phase.EFFECTS, Phase.CONFIRM])
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


@pytest.mark.parametrize("count", [5, 6])
def test_with_fewer_pairs_than_can_show_anything_nothing_is_said_of_the_recipe(count: int) -> None:
    with_recipe = [
        tuple(replace(one, phase=Phase.RECIPE, changes=one.changes or OTHER) for one in trials)
        for trials in pairs(count, 1.2)
    ]
    found = verdict([*pairs(8, 1.5), *with_recipe])
    assert found.claim is Claim.IMPROVED
    assert (found.beyond_recipe is not None) is (count == 6)


def test_a_search_that_confirmed_nothing_claims_nothing() -> None:
    tried = Trial(0, Phase.SEARCH, BEST, "", PLAN, run(90_000, 1), 0.0, ended_s=10.0)
    assert verdict([], tried).claim is Claim.NOT_SHOWN
    lost = replace(tried, outcome=failed("1 lost"))
    found = verdict([], lost)
    assert found.claim is Claim.INFEASIBLE
    assert "Of 1 points measured none can be recommended" in found.failure


@pytest.mark.parametrize("ending", [Ending.INTERRUPTED, Ending.FAILED])
def test_a_search_that_did_not_end_by_itself_says_why_and_claims_nothing(ending: Ending) -> None:
    lost = Trial(0, Phase.SEARCH, BEST, "", PLAN, failed("1 lost"), 0.0, ended_s=10.0)
    for made in ([], pairs(3, 2.0)):
        found = judge(study_of(made, *([lost] if not made else []), ending=ending))
        assert (found.claim, found.failure) == (Claim.UNFINISHED, "no machine is left")


def test_what_failed_at_a_fixed_rate_is_told_rather_than_what_failed_in_the_search() -> None:
    """And not what the profile as written did."""
    stale = paced(p99_s=99.0)
    trials = [
        Trial(0, Phase.SEARCH, BEST, "", PLAN, run(9e4, 1), 0.0, ended_s=10.0),
        Trial(1, Phase.SEARCH, BASELINE, "", PLAN, run(5e4, 1), 10.0, ended_s=20.0),
        Trial(2, Phase.CHECK, OTHER, "", PLAN, failed("2 lost"), 20.0, ended_s=30.0),
        Trial(3, Phase.CHECK, BEST, "", PLAN, stale, 30.0, ended_s=40.0),
        Trial(4, Phase.CHECK, BASELINE, "", PLAN, paced(), 40.0, ended_s=50.0),
    ]
    found = verdict([], *trials)
    assert found.claim is Claim.INFEASIBLE
    assert found.failure == (
        "Of 2 points measured at a fixed rate, none can be recommended; the last: "
        "freshness: p99 99 s, freshness_p99_s allows 45 s."
    )
    fresh = replace(trials[3], outcome=paced())
    assert verdict([], *trials[:3], fresh, trials[4]).claim is Claim.NOT_SHOWN


def test_a_point_that_was_stale_at_a_fixed_rate_is_not_recommended() -> None:
    stale = Trial(0, Phase.CHECK, BEST, "", PLAN, paced(p99_s=99.0), 0.0, ended_s=10.0)
    found = verdict(pairs(8, 1.5), stale)
    assert (found.claim, found.changes) == (Claim.INFEASIBLE, BASELINE)
    assert found.failure.startswith("The best found failed in the confirmation: freshness: p99 99")


FIGURES: Mapping[str, Callable[[Measurement, float], Measurement]] = {
    "durable": lambda run, of: replace(run, eps_durable=of),
    "shipper_cpu": lambda run, of: replace(run, shipper_cpu_us=of),
    "engine_cpu": lambda run, of: replace(run, engine_cpu_us=of - 1.0, deferred_cpu_us=1.0),
    "merged": lambda run, of: replace(run, eps_merged=of),
    "disk": lambda run, of: replace(
        run, store_bytes=round(1000 * of), delivery=Delivery(1000, 1000, 1000, 0, 0)
    ),
    "memory": lambda run, of: replace(run, shipper_rss_bytes=round(of)),
    "bulk": lambda run, of: replace(
        run, effective=replace(NOTHING, bulk=BulkLatency(of, 90, 95, 99, 9, None, "histogram"))
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_beside_the_claim_is_that_of_winner_over_baseline(name: str) -> None:
    """Sizes do not depend on how fast the machine was; all else does."""
    made = [
        tuple(
            replace(
                one,
                outcome=FIGURES[name](
                    replace(one.outcome, speed=replace(SPEED, zlib_us=900.0 + 9 * one.number)),
                    10.0 if one.changes == BASELINE else 13.0,
                ),
            )
            for one in each
            if isinstance(one.outcome, Measurement)
        )
        for each in pairs(8, 1.2)
    ]
    found = getattr(verdict(made), name)
    assert isinstance(found, Comparison)
    assert found.averages == pytest.approx((10.0, 13.0))
    assert (found.by_speed is None) is (name in {"disk", "memory"})


def test_figures_that_a_run_does_not_show_are_not_compared() -> None:
    made = pairs(8, 1.2)
    found = verdict(made)
    assert (found.merged, found.bulk) == (None, None)
    pair = pairs_of(study_of(made).trials)[0]
    assert compared([pair], lambda one: one.eps) is None
    assert compared([pair] * 2, lambda one: one.eps) is not None
    shown = iter([1.0, 0.0, 1.0, 1.0])
    assert compared([pair] * 2, lambda _: next(shown)) is None


def test_pairs_after_a_restart_are_compared_as_such() -> None:
    made = [
        tuple(
            replace(one, outcome=replace(one.outcome, spent=Spent(restart_s=float(at))))
            for at, one in enumerate(each)
            if isinstance(one.outcome, Measurement)
        )
        for each in pairs(8, 1.2)
    ]
    found = verdict(made)
    assert found.eps is not None
    assert found.eps.restarting


def on_machines(gains: Mapping[str, float]) -> list[tuple[Trial, Trial]]:
    """Six pairs on each machine, with the same numbers."""
    return [
        (replace(first, machine=name), replace(second, machine=name))
        for name, gain in gains.items()
        for first, second in pairs(6, gain)
    ]


def test_pairs_of_several_machines_are_told_apart() -> None:
    made = on_machines({"north": 1.2, "south": 1.3})
    trials = study_of(made).trials
    assert [pair.machine for pair in pairs_of(trials)] == ["north", "south"] * 6
    gains = {machine: statistics.fmean(logs) for machine, logs in gains_of(trials).items()}
    assert gains == {
        "north": pytest.approx(math.log(1.2), abs=0.02),
        "south": pytest.approx(math.log(1.3), abs=0.02),
    }
    found = verdict(made)
    assert found.claim is Claim.IMPROVED
    assert found.eps is not None
    assert found.eps.pairs == 12
    # That they gain differently widens the interval.
    alike = verdict([pair for one in (1, 7) for pair in pairs(6, 1.25)]).eps
    assert found.eps.low < (alike.low if alike else 0.0)


def test_memory_is_compared_across_machines_too() -> None:
    def larger(trial: Trial, factor: float) -> Trial:
        assert trial.measurement is not None
        rss_bytes = int(factor * trial.measurement.shipper_rss_bytes)
        return replace(trial, outcome=replace(trial.measurement, shipper_rss_bytes=rss_bytes))

    made = [
        (first, larger(second, 1.1 if second.machine == "north" else 1.5))
        for first, second in on_machines({"north": 1.2, "south": 1.2})
    ]
    trials = study_of(made).trials
    together = [pair._replace(machine="") for pair in pairs_of(trials)]
    pooled = compared(together, lambda one: one.shipper_rss_bytes, by_speed=False)
    found = verdict(made).memory
    assert found is not None
    assert pooled is not None
    assert found.low < pooled.low


SIZES: Changes = (("main_queue.size", 50_000),)


def lossy(number: int, changes: Changes, account: Delivery | None, reason: str = "") -> Trial:
    failure = replace(failed(reason), delivery=account)
    return Trial(number, Phase.SEARCH, changes, "", PLAN, failure, 0.0, ended_s=10.0)


def test_every_loss_is_told_with_how_far_it_is_from_the_recommendation() -> None:
    recommended: Changes = (*SIZES, *BEST)
    trials = [
        lossy(1, OTHER, Delivery(9000, 8999, 8999, 1, 0)),
        lossy(2, recommended, Delivery(9000, 9001, 9001, 0, 1)),
        lossy(3, SIZES, Delivery(9000, 9000, 9000, 2, 2)),
        lossy(4, recommended, None, "torn"),
        Trial(5, Phase.SEARCH, BEST, "", PLAN, STALL, 0.0, ended_s=10.0),
        Trial(6, Phase.SEARCH, BEST, "", PLAN, run(5e4, 1), 0.0, ended_s=10.0),
    ]
    found = losses(trials, recommended)
    assert [(one.trial, one.shared, one.apart) for one in found] == [
        (2, ("main_queue.size", WORKERS), ()),
        (4, ("main_queue.size", WORKERS), ()),
        (3, ("main_queue.size",), (WORKERS,)),
        (1, (), ("main_queue.size", WORKERS)),
    ]
    assert [str(one) for one in found] == [
        "doubled 1 of 1,000 events", "lost 2 of 1,000 events",
        "lost 2 and doubled 2 of 1,000 events", "lost 1 of 1,000 events",
    ]  # fmt: skip
    assert (found[0].changes, found[1].reason) == (recommended, "torn")
    unaccounted = replace(trials[3], outcome=Failure(FailureKind.DELIVERY, "torn", 0, 0))
    assert str(losses([unaccounted], ())[0]) == "failed: torn"


def searched(*trials: Trial, made: Sequence[tuple[Trial, ...]] = ()) -> Study:
    """A search of the space of the profile at hand."""
    axes = tuple(Axis.of(knob) for knob in KNOBS)
    study = study_of(made, *trials)
    return replace(study, header=replace(study.header, space=axes))


KNOBS = knobs(PROFILE)


def test_what_a_search_hands_on_is_what_it_recommends_and_what_it_measured_again() -> None:
    """The best mean first, three at most; of what was measured once nothing is known."""
    points: list[Changes] = [((WORKERS, level),) for level in (2, 3, 6)]
    again = [
        Trial(10 * at + one, Phase.FINAL, point, "", PLAN, measured(rate, paid=paid), 0.0,
              ended_s=10.0)
        for at, (point, rate, paid) in enumerate(
            [(points[0], 9e4, 3e4), (points[1], 4e4, 5e4), (points[2], 4e4, 4e4)]
        )
        for one in range(2)
    ]  # fmt: skip
    unsure = (("main_queue.workerThreads", 2), *points[0])
    once = Trial(99, Phase.SEARCH, unsure, "", PLAN, measured(9e5), 0.0, ended_s=10.0)
    poor = replace(again[0], phase=Phase.SEARCH, outcome=measured(1e4, paid=9e5), changes=BASELINE)
    found = earlier_points("runs/a", searched(*again, once, poor, made=pairs(6, 1.2)), KNOBS)
    assert [one.changes for one in found] == [BEST, points[1], points[2]]
    assert {one.run for one in found} == {"runs/a"}
    shown = earlier_points("runs/a", searched(*again, made=pairs(6, 1.0)), KNOBS)
    assert shown == found


def test_what_was_not_changed_then_is_changed_back_where_the_profile_has_it_otherwise_now() -> None:
    batch = "outputs[logs].queue.dequeueBatchSize"
    today = tuple(replace(one, current=2000) if one.path == batch else one for one in KNOBS)
    then = next(one.current for one in KNOBS if one.path == batch)
    (first, *_) = earlier_points("runs/a", searched(made=pairs(6, 1.2)), today)
    assert first.changes == tuple(sorted(((batch, then), *BEST)))
