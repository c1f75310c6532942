"""What a search makes better beside the rate: what is claimed and said, how trials are made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.measure.factory import measured
from tests.search.simulated import (
    ASKED,
    START_S,
    WORKERS,
    World,
    by_workers,
    changed,
    setup,
    workers_in,
)
from tests.search.test_judge import pair
from tuner.measure.measurement import Failure, Measurement, TrialPlan
from tuner.measure.trial import for_objective
from tuner.profile.objective import FigureBound, Objective
from tuner.report.first_screen import sentence
from tuner.report.result import analyse
from tuner.search.runner import Runner
from tuner.search.search import Search
from tuner.search.study import BASELINE, Asked, Ending, Phase, Study, Trial
from tuner.search.verdict import Claim, judge

BEST = ((WORKERS, 4),)
RATE = 20_000.0
FIGURES = {
    Objective.CPU: "shipper_cpu_us", Objective.DISK: "store_bytes",
    Objective.MEMORY: "shipper_rss_bytes", Objective.DRAIN: "window_s",
    Objective.FRESHNESS: "fresh_p99_s",
}  # fmt: skip
OUTAGE_S = 10.0


def run(objective: Objective, factor: float, number: int, eps: float = RATE) -> Measurement:
    """A run whose figure is that many times the usual one, give or take 1 %."""
    made = replace(measured(eps), objective=objective, engine_cpu_us=0.0, fresh_p99_s=5.0)
    varied = factor * (1 + 0.01 * ((7 * number) % 5 - 2) / 2)
    name = FIGURES[objective]
    return replace(made, **{name: type(getattr(made, name))(getattr(made, name) * 1000 * varied)})


def study_of(
    objective: Objective, factor: float, eps: float = RATE, *, steady: bool = False
) -> Study:
    """A search whose winner has that many times the figure; `steady` runs are all alike."""
    plan = TrialPlan(
        1.0, 4.0, objective=objective, offered=RATE if objective.facts.at_rate else None,
        outage_s=OUTAGE_S if objective is Objective.DRAIN else 0.0,
    )  # fmt: skip
    pairs = [
        pair(number, run(objective, 1.0, first), run(objective, factor, second, eps), BEST)
        for number in range(1, 9)
        for first, second in [(1, 1) if steady else (number, number + 1)]
    ]
    trials: list[Trial] = [replace(side, plan=plan) for both in pairs for side in both]
    options = replace(ASKED.options, objective=objective)
    header = replace(ASKED, options=options, engine="Elasticsearch 8.19.0")
    return Study(header, tuple(trials), Ending.FINISHED)


@pytest.mark.parametrize("objective", FIGURES)
def test_less_of_it_is_claimed_and_more_is_not(objective: Objective) -> None:
    less, more = judge(study_of(objective, 0.8)), judge(study_of(objective, 1.25))
    assert (less.claim, less.changes) == (Claim.IMPROVED, BEST)
    assert less.claimed is not None
    assert less.claimed.ratio == pytest.approx(1.25, rel=0.02)
    assert (more.claim, more.changes) == (Claim.NOT_SHOWN, BASELINE)


def test_a_rate_alone_is_no_gain_in_another_figure() -> None:
    assert judge(study_of(Objective.CPU, 1.0, eps=2 * RATE)).claim is Claim.NOT_SHOWN


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        (Objective.CPU, "-20 % CPU per event of rsyslogd and the engine at 20,000 events per sec"),
        (Objective.DISK, "-20 % disk per event after merges: "),
        (
            Objective.FRESHNESS,
            "-20 % time until 99 % of the events are searchable at 20,000 events",
        ),
        (Objective.MEMORY, "-20 % peak memory of rsyslogd at 20,000 events per second: "),
        (
            Objective.DRAIN,
            "-20 % time until what waited is indexed after an outage of 10 s at 20,000 events per",
        ),
    ],
)
def test_the_claim_names_what_it_is_of_in_its_own_unit(objective: Objective, said: str) -> None:
    told = sentence(analyse(study_of(objective, 0.8)))
    assert said in told
    assert "95 % sure of -2" in told
    assert "8 fresh pairs" in told


def test_what_got_worse_stands_in_the_headline() -> None:
    told = sentence(analyse(study_of(Objective.DISK, 0.5, eps=RATE / 2)))
    assert "-50 % disk per event" in told
    assert "It costs: events per second, steady window -50 %" in told


def test_a_gain_that_is_sure_and_too_small_to_be_worth_a_change_is_none() -> None:
    """Disk hardly differs from run to run: 0.2 % less is shown, and nothing to be claimed."""
    found, shown = (study_of(Objective.DISK, factor, steady=True) for factor in (0.998, 0.98))
    assert (judge(found).claim, judge(found).changes) == (Claim.NOT_SHOWN, BASELINE)
    told = sentence(analyse(found))
    assert "No improvement was shown: -0.2 % disk per event after merges (" in told
    assert "is less than 1 %, which is worth no change" in told
    assert judge(shown).claim is Claim.IMPROVED


def bounded(factor: float, change: float, eps: float = 2 * RATE) -> Study:
    """A search for events per second whose winner has that many times the disk."""
    pairs = [
        pair(
            number,
            replace(run(Objective.DISK, 1.0, number), objective=Objective.EPS),
            replace(run(Objective.DISK, factor, number + 1, eps), objective=Objective.EPS),
            BEST,
        )
        for number in range(1, 9)
    ]
    options = replace(ASKED.options, at_least=(FigureBound(Objective.DISK, change),))
    header = replace(ASKED, options=options, engine="Elasticsearch 8.19.0")
    return Study(header, tuple(side for both in pairs for side in both), Ending.FINISHED)


def test_a_gain_that_does_not_keep_another_figure_is_none() -> None:
    """The whole interval must keep it: 20 % less is not shown by -20 %, give or take 1 %."""
    kept, missed, close = (judge(bounded(factor, -0.2)) for factor in (0.7, 0.95, 0.8))
    assert (kept.claim, kept.missed) == (Claim.IMPROVED, ())
    assert (missed.claim, missed.changes) == (Claim.NOT_SHOWN, BASELINE)
    assert close.claim is Claim.NOT_SHOWN
    told = sentence(analyse(bounded(0.95, -0.2)))
    assert "No improvement was shown: disk per event after merges -4.9 % (95 % sure of" in told
    assert "--at-least asks for disk=-20%" in told


def test_a_loss_that_is_allowed_is_kept_and_one_beyond_it_is_not() -> None:
    allowed, beyond = judge(bounded(1.05, 0.1)), judge(bounded(1.2, 0.1))
    assert (allowed.claim, beyond.claim) == (Claim.IMPROVED, Claim.NOT_SHOWN)


def adds_disk(asked: Asked, made: Measurement) -> Measurement:
    many = workers_in(dict(asked.changes)) > 2
    return replace(made, store_bytes=made.store_bytes * (2 if many else 1))


@pytest.mark.parametrize("strategy", ["default", "random"])
@pytest.mark.parametrize(("at_least", "most"), [((), 16), ((FigureBound(Objective.DISK, 0.1),), 2)])
def test_a_climb_knows_which_points_keep_another_figure(
    at_least: tuple[FigureBound, ...], most: int, strategy: str
) -> None:
    """More workers are faster, and more than two take twice the disk."""
    world = World(START_S, rate=by_workers(0.3), adds=adds_disk)
    search = Search(Runner(changed(setup(world, name=strategy), at_least=at_least)))
    trials = [step for step in search.run() if isinstance(step, Trial)]
    (winner,) = {trial.changes for trial in trials if trial.phase is Phase.CONFIRM} - {BASELINE}
    assert 2 <= workers_in(dict(winner)) <= most
    assert at_least or workers_in(dict(winner)) > 2


def test_trials_are_made_for_it_at_a_rate_that_both_sides_have() -> None:
    """70 % of what the profile carried while it got warm; that and the checks have their own."""
    world = World(START_S, adds=lambda asked, run: replace(run, objective=asked.plan.objective))
    search = Search(Runner(changed(setup(world), objective=Objective.CPU)))
    trials = [step for step in search.run() if isinstance(step, Trial)]
    scored = [trial for trial in trials if trial.phase not in {Phase.WARM_UP, Phase.CHECK}]
    (warm,) = (trial.measurement for trial in trials if trial.phase is Phase.WARM_UP)
    assert warm is not None
    assert {trial.plan.objective for trial in scored} == {Objective.CPU}
    (at,) = {trial.plan.offered for trial in scored}
    assert at == pytest.approx(0.7 * warm.eps_paid)
    assert {trial.plan.loses_below for trial in scored} == {None}
    checked = [trial for trial in trials if trial.phase is Phase.CHECK]
    assert {trial.per_second for trial in checked} == {at}


def test_what_does_not_carry_the_rate_is_no_measurement() -> None:
    plan = TrialPlan(1.0, 4.0, objective=Objective.CPU, offered=RATE)
    carried = for_objective(measured(RATE), plan, 0.97 * RATE)
    assert isinstance(carried, Measurement)
    assert carried.objective is Objective.CPU
    behind = for_objective(measured(RATE), plan, 0.9 * RATE)
    assert isinstance(behind, Failure)
    assert "it carries 18,000 of 20,000 events per second" in str(behind)


def test_an_outage_is_in_every_trial_that_counts() -> None:
    world = World(START_S, adds=lambda asked, run: replace(run, objective=asked.plan.objective,
                                                           window_s=1e5 / run.eps))  # fmt: skip
    search = Search(Runner(changed(setup(world), objective=Objective.DRAIN, outage_s=7.0)))
    trials = [step for step in search.run() if isinstance(step, Trial)]
    quiet = {Phase.WARM_UP, Phase.CHECK}
    assert {trial.plan.outage_s for trial in trials if trial.phase not in quiet} == {7.0}
    assert {trial.plan.outage_s for trial in trials if trial.phase in quiet} == {0.0}
