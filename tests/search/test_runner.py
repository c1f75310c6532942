"""What time trials take and leave, and how a trial is repeated, refused or blamed on its machine.

A trial of the search takes 2 s of warm-up, 4 s of window and 4 s beside, as the pace says; an
engine starts in 5 s and is warm in 10; 5 s are for the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import (
    BUDGET_S,
    PACE,
    PROFILE,
    START_S,
    WORKERS,
    World,
    rack,
    setup,
)
from tuner.errors import GuardrailBreached, JobFailed
from tuner.measure.measurement import Failure, FailureKind, Spent, TrialPlan
from tuner.measure.metrics import Result
from tuner.profile.model import Profile
from tuner.search.budget import FEWEST_SEARCH_TRIALS, spend
from tuner.search.farm import Lost, Work
from tuner.search.runner import Runner
from tuner.search.study import BASELINE, HERE, Asked, Changes, Note, Phase, Trial

PLAN = TrialPlan(2.0, 4.0)
BEST: Changes = ((WORKERS, 4),)
# The engine restarts for it.
HEAP: Changes = (("node.heap", "2g"),)
STALLED = replace(failed("nothing came"), kind=FailureKind.STALLED)
RESTART_S, TRIAL_S, END_S = 15.0, 10.0, 5.0


def trial(
    number: int,
    phase: Phase = Phase.SEARCH,
    changes: Changes = BEST,
    outcome: Result | None = None,
    *,
    beside_s: float = 4.0,
    restart_s: float = 0.0,
    machine: str = HERE,
    plan: TrialPlan = PLAN,
    pair: int | None = None,
) -> Trial:
    """One that took so much beside its warm-up and window, after a restart of the engine; ends
    when its number says."""
    if outcome is None:
        outcome = measured(50_000, total_s=plan.warm_up_s + plan.window_s + beside_s)
        outcome = replace(outcome, spent=Spent(restart_s=restart_s))
    return Trial(
        number, phase, changes, "", plan, outcome, 10.0 * number, pair, ended_s=10.0 * number + 10,
        machine=machine,
    )  # fmt: skip


def runner(*known: Trial, at_s: float = 100.0, labs: int = 1, **more: object) -> Runner:
    """What knows these trials, so many seconds after the beginning."""
    world: World | object = World(at_s) if labs == 1 else replace(rack(labs), now_s=at_s)
    return Runner(replace(setup(world), known=known, **more))  # type: ignore[arg-type]


def test_a_trial_takes_what_the_last_five_took() -> None:
    assert runner().takes_s(PLAN) == TRIAL_S
    lately = [trial(number, beside_s=number) for number in range(9)]
    assert runner(*lately).takes_s(PLAN) == pytest.approx(6.0 + 6.0)
    # What failed or was cut short tells nothing, and nothing takes less than its window.
    could_be_cut = replace(PLAN, loses_below=9.0)
    cut = trial(7, outcome=replace(measured(50_000, total_s=9.0), window_s=1.0), plan=could_be_cut)
    quick = trial(9, beside_s=-3.0, plan=could_be_cut)
    others = [trial(8, outcome=failed()), cut, quick]
    assert runner(trial(1, beside_s=2.0), *others).takes_s(PLAN) == pytest.approx(6.0 + 1.0)


def test_a_warm_up_tells_what_trials_take_until_there_are_others() -> None:
    """In it the engine is slow, and leaves more to settle."""
    slow = trial(-1, Phase.WARM_UP, BASELINE, beside_s=12.0)
    assert runner(slow).takes_s(PLAN) == 6.0 + 12.0
    calibrated = runner(slow, trial(0, Phase.CALIBRATE, BASELINE, beside_s=5.0))
    assert calibrated.takes_s(PLAN) == 6.0 + 5.0


def test_the_budget_is_divided_by_what_the_calibration_took() -> None:
    slow = trial(-1, Phase.WARM_UP, BASELINE, beside_s=20.0)
    quick = trial(0, Phase.CALIBRATE, BASELINE, beside_s=2.0)
    before, after = runner(slow), runner(slow, quick)
    for one in (before, after):
        one.fix_plans()
    assert after.plans.searching > before.plans.searching
    assert after.plans.search == before.plans.search


def test_a_restart_takes_what_restarts_took() -> None:
    assert runner().restart_s() == RESTART_S
    known = [
        trial(-1, Phase.WARM_UP, HEAP, restart_s=100.0),
        trial(0, changes=BASELINE, restart_s=20.0),
        # No restart, though it says so; and one that failed.
        trial(1, restart_s=500.0),
        trial(2, changes=HEAP, outcome=replace(failed(), spent=Spent(restart_s=700.0))),
        trial(3, changes=BASELINE, restart_s=30.0),
    ]
    assert runner(*known).restart_s() == 25.0


def test_the_next_trial_takes_a_restart_where_its_machine_ran_with_other_node_settings() -> None:
    heap = trial(0, changes=HEAP, machine="lab1", restart_s=RESTART_S)
    known = [heap, trial(1, machine="lab2")]
    two = runner(*known, labs=2)
    assert two.next_s(HEAP, PLAN, "lab1") == TRIAL_S
    assert two.next_s(BEST, PLAN, "lab1") == TRIAL_S + RESTART_S
    assert two.next_s((*BEST, *HEAP), PLAN, "lab1") == TRIAL_S
    assert two.next_s(BEST, PLAN, "lab2") == TRIAL_S
    assert two.next_s(HEAP, PLAN, "lab3") == TRIAL_S + RESTART_S


def test_what_is_left_is_of_the_budget_and_pairs_may_go_a_little_beyond_it() -> None:
    """By a twentieth of it."""
    late = runner(at_s=900.0)
    assert late.left_s() == 100.0
    assert late.has_time(145.0)
    assert not late.has_time(145.1)


@pytest.mark.parametrize(
    ("winner", "pairs", "pair_s"), [(BEST, 6, 2 * TRIAL_S), (HEAP, 8, 2 * TRIAL_S + RESTART_S)]
)
def test_the_fewest_pairs_take_the_shortest_windows(
    winner: Changes, pairs: int, pair_s: float
) -> None:
    assert runner().fewest_pairs(winner) == pairs
    assert runner().least_pairs_s(winner) == pairs * pair_s
    exact_s = BUDGET_S - pairs * pair_s - END_S
    for at_s, fits in ((exact_s, True), (exact_s + 1, False)):
        assert runner(at_s=at_s).leaves_pairs(0.0, winner) is fits
        assert runner(at_s=at_s - 30).leaves_pairs(30.0, winner) is fits
        assert runner(at_s=at_s + 50).fits(winner) is fits


def test_runs_of_a_pair_take_the_mean_of_what_both_sides_take() -> None:
    """However many runs of each there were."""
    known = [trial(0, changes=BASELINE, beside_s=8.0)]
    known += [trial(number, beside_s=2.0) for number in range(1, 7)]
    assert runner(*known).pair_s(PLAN, BEST) == 2 * (6.0 + 5.0)


def test_several_machines_share_pairs_and_where_the_engine_restarts_one_measures_them() -> None:
    three = runner(labs=3)
    assert three.pairing(BEST) == ("lab1", "lab2", "lab3")
    assert three.pairing(HEAP) == ("lab1",)
    assert three.least_pairs_s(BEST) == 2 * 2 * TRIAL_S
    assert three.least_pairs_s(HEAP) == 8 * (2 * TRIAL_S + RESTART_S)


WARM_UP = trial(-1, Phase.WARM_UP, BASELINE, beside_s=3.0)


def test_the_budget_is_divided_once_by_what_the_first_warm_up_took() -> None:
    """In whatever session that was, from its end on."""
    checks_s = 2 * (2 + 10 + 4) + 120
    later = trial(7, Phase.WARM_UP, BASELINE, beside_s=90.0)
    found = runner(WARM_UP, later, at_s=700.0)
    expected = spend(BUDGET_S - WARM_UP.ended_s, 3.0, PACE, found.plans.checks_s)
    assert found.plans == expected
    assert 0 < found.plans.checks_s < checks_s
    assert runner(at_s=700.0).plans == spend(300.0, 4.0, PACE, 0.0)
    found.fix_plans()
    found.trials.append(replace(WARM_UP, number=-2, ended_s=500.0))
    assert found.plans == expected
    two = runner(replace(WARM_UP, machine="lab1"), labs=2)
    assert two.plans == spend(BUDGET_S, 3.0, PACE, found.plans.checks_s, 2)


def spare_s(of: Runner) -> float:
    """What is left when pairs, with a tenth to spare, and runs at a fixed rate are set aside."""
    plans = of.plans
    pairs_s = 1.1 * plans.pairs * of.pair_s(plans.confirm, BEST)
    return of.left_s() - pairs_s - plans.checks_s - END_S


def test_what_follows_the_choice_is_set_aside() -> None:
    of = runner(WARM_UP)
    assert of.spare_s(BEST) == pytest.approx(spare_s(of))
    # Two restarts for the runs at a fixed rate, and one in each pair and before the first.
    restarts_s = (2 + 8 + 1) * RESTART_S
    assert of.plans.pairs == of.planned_pairs(BEST)
    assert of.planned_pairs(HEAP) == 8
    assert of.spare_s(HEAP) == pytest.approx(spare_s(of) - restarts_s)
    checked = runner(WARM_UP, trial(1, Phase.CHECK, beside_s=3.0))
    assert checked.spare_s(BEST) == pytest.approx(spare_s(checked) + checked.plans.checks_s)
    assert checked.spare_s(HEAP) == pytest.approx(checked.spare_s(BEST) - 9 * RESTART_S)
    # The engine must go back for the first run.
    turned = runner(WARM_UP, trial(1, changes=HEAP, beside_s=3.0, restart_s=RESTART_S))
    assert turned.spare_s(BEST) == pytest.approx(spare_s(turned) - RESTART_S)


def test_blocks_that_take_the_winner_apart_are_set_aside_until_they_are_done() -> None:
    of = runner(WARM_UP)
    assert of.plans.blocks == of.blocks_left() == 8
    assert of.blocks_s(8, BEST) == 16 * 9.0
    assert of.free_s(BEST) == pytest.approx(of.spare_s(BEST) - 16 * 9.0)
    tried = [trial(number, Phase.EFFECTS, pair=number) for number in range(4)]
    assert runner(WARM_UP, *tried[:-1]).blocks_left() == 7
    assert runner(WARM_UP, *tried).blocks_left() == 6
    assert runner(WARM_UP, *tried * 5).blocks_left() == 0
    assert runner(WARM_UP, effects=False).blocks_left() == 0
    several = runner(replace(WARM_UP, machine="lab1"), labs=3)
    assert several.blocks_s(8, BEST) == 2 * 3 * 9.0


def test_the_search_goes_on_until_what_follows_needs_the_time() -> None:
    """The finals too, once there are points enough to choose among; the first points may take
    time from the pairs, and the very first from the time beyond the budget."""
    tried = [trial(number, beside_s=3.0) for number in range(FEWEST_SEARCH_TRIALS)]

    def ends_at(at_s: float, *known: Trial) -> bool:
        """Whether there is room until then, and none after it."""
        has = [runner(WARM_UP, *known, at_s=at_s + more).has_room(BEST) for more in (-0.1, 0.1)]
        return has == [True, False]

    of = runner(WARM_UP, *tried, at_s=0.0)
    finals_s = of.plans.finals * of.takes_s(of.plans.final)
    assert ends_at(of.free_s(BEST) - finals_s - 9.0, *tried)
    latest_s = BUDGET_S - 9.0 - runner(WARM_UP).least_pairs_s(BEST) - END_S
    assert ends_at(latest_s, *tried[:3])
    assert ends_at(latest_s + 50)


def test_windows_of_the_pairs_get_shorter_where_time_ran_short() -> None:
    of = runner(WARM_UP)
    plan = of.plans.confirm
    assert of.confirm_plan(plan, BEST, 6) == plan
    late = runner(WARM_UP, at_s=800.0)
    windows = [late.confirm_plan(plan, winner, 8).window_s for winner in (BEST, HEAP)]
    assert windows[1] < windows[0] < plan.window_s
    # Eight pairs and the end fit exactly.
    shorter = late.confirm_plan(plan, BEST, 8)
    assert 8 * late.pair_s(shorter, BEST) + END_S == pytest.approx(200.0)
    two = runner(replace(WARM_UP, machine="lab1"), at_s=800.0, labs=2)
    assert two.confirm_plan(plan, BEST, 8).window_s > windows[0]


def test_of_two_sides_the_one_whose_node_settings_run_goes_first() -> None:
    def order(*known: Trial, machine: str = HERE) -> set[Changes]:
        of = runner(*known)
        return {of.pair_order(Phase.CONFIRM, BASELINE, HEAP, machine)[0] for _ in range(30)}

    ran = trial(1, Phase.CONFIRM, HEAP)
    assert order(ran) == {HEAP}
    assert order(replace(ran, changes=BEST)) == {BASELINE}
    assert order() == order(replace(ran, phase=Phase.FINAL)) == {BASELINE, HEAP}
    assert order(ran, machine="other") == {BASELINE, HEAP}


def test_about_how_many_trials_there_will_be() -> None:
    """By what is left for each part, and by the pairs that are certain."""
    of = runner(WARM_UP, trial(3, beside_s=3.0))
    plans = of.plans
    after = 2 * plans.blocks + 2 + 2 * plans.pairs
    final_s = of.takes_s(plans.final)
    searching = int((of.free_s(BEST) - plans.finals * final_s) / 9.0)
    assert searching > 9
    assert of.trials_expected(BEST) == 3 + searching + plans.finals + after
    final = runner(WARM_UP, trial(3, Phase.FINAL, beside_s=3.0))
    assert final.trials_expected(BEST) == 3 + int(final.free_s(BEST) / final_s) + after
    apart = runner(WARM_UP, trial(3, Phase.EFFECTS, beside_s=3.0))
    assert apart.trials_expected(BEST) == 3 + after
    checked = runner(WARM_UP, trial(3, Phase.CHECK, beside_s=3.0))
    assert checked.trials_expected(BEST) == 3 + 2 * plans.pairs


@pytest.mark.parametrize(
    ("runs", "at_s", "more"),
    [
        # Of six pairs two and a half were measured: seven runs are missing.
        (5, 950.0, 7),
        # Nothing but time says how many more follow, sixteen pairs at most.
        (12, 950.0, 4),
        (12, 100.0, 20),
        (12, 2000.0, 0),
    ],
)
def test_once_pairs_are_measured_time_says_how_many_follow(
    runs: int, at_s: float, more: int
) -> None:
    sides = [
        trial(number, Phase.CONFIRM, BEST if number % 2 else BASELINE, pair=1 + number // 2)
        for number in range(runs)
    ]
    # Whatever seems best by now.
    assert runner(*sides, at_s=at_s).trials_expected(HEAP) == runs - 1 + more


def test_numbers_go_on_where_an_earlier_session_ended() -> None:
    def numbers(of: Runner, count: int) -> list[int]:
        found = []
        for _ in range(count):
            step = next(of.trial(Asked(0, Phase.SEARCH, BEST, "", PLAN)))
            assert isinstance(step, Asked)
            found.append(step.number)
        return found

    # The first trial after the warm-up of each machine is 0.
    assert numbers(runner(), 2) == [-1, 0]
    assert numbers(runner(labs=3), 4) == [-3, -2, -1, 0]
    assert numbers(runner(trial(9), trial(4)), 2) == [10, 11]


def test_what_is_measured_are_the_changes_or_of_a_baseline_with_its_repairs_those() -> None:
    repairs: Changes = (("main_queue.size", 60_000),)
    made: list[Changes] = []

    def candidate(changes: Changes) -> Profile:
        made.append(changes)
        return PROFILE

    of = runner(repairs=repairs, candidate=candidate)
    asked = Asked(0, Phase.SEARCH, BEST, "", PLAN)
    for one in (asked, replace(asked, changes=BASELINE, repaired=True)):
        assert of.machines.candidate(one) is PROFILE
    assert made == [BEST, repairs]


def done(
    of: Runner, outcomes: Sequence[Result], ask: Callable[[], Asked]
) -> tuple[list[Asked], list[str], Trial]:
    """What is asked for where these are the outcomes, what is said, and the last trial."""
    work, left = of.persistently(ask), list(outcomes)
    made: list[Asked] = []
    said: list[str] = []
    step = next(work)
    while True:
        if isinstance(step, Note):
            said.append(step.text)
            step = next(work)
            continue
        made.append(step)
        ended = Trial.of(step, left.pop(0), 0.0, 10.0)
        of.trials.append(ended)
        try:
            step = work.send(ended)
        except StopIteration as stop:
            return made, said, stop.value


def ask() -> Asked:
    return Asked(0, Phase.CALIBRATE, BASELINE, "again", PLAN)


def test_a_trial_that_failed_in_passing_is_made_once_more() -> None:
    made, said, last = done(runner(), [STALLED, STALLED], ask)
    assert [one.why for one in made] == ["again", "again, repeated"]
    assert len(said) == 1
    assert last.outcome is STALLED
    made, said, last = done(runner(), [measured(1.0)], ask)
    assert (len(made), said) == (1, [])


def test_a_profile_that_loses_events_as_written_is_measured_with_its_repairs() -> None:
    repairs: Changes = (("main_queue.size", 60_000),)
    of = runner(repairs=repairs)
    assert (of.is_repaired, of.baseline) == (False, "the profile as written")
    made, said, last = done(of, [failed("1 lost"), measured(1.0)], ask)
    assert [one.repaired for one in made] == [False, True]
    assert len(said) == 1
    assert last.repaired
    assert (of.is_repaired, of.baseline) == (True, "the profile with its repairs")
    # Without repairs it stays as it is, and so does a point of the search.
    made, _, _ = done(runner(), [failed("1 lost")], ask)
    assert [one.repaired for one in made] == [False]
    other = replace(ask(), changes=BEST)
    made, _, _ = done(of, [measured(1.0)], lambda: other)
    assert [one.repaired for one in made] == [False]


def result_of(work: Work, outcome: Result) -> tuple[list[Note], Trial]:
    said, step = list[Note](), next(work)
    while True:
        if isinstance(step, Note):
            said.append(step)
        try:
            step = next(work) if isinstance(step, Note) else work.send(
                Trial.of(replace(step, machine="lab1"), outcome, 0.0, 10.0)
            )  # fmt: skip
        except StopIteration as stop:
            return said, stop.value


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (failed("1 lost"), JobFailed),
        (Failure(FailureKind.GUARDRAIL, "too much memory"), GuardrailBreached),
    ],
)
def test_without_a_baseline_there_is_nothing_to_search(
    outcome: Failure, error: type[Exception]
) -> None:
    with pytest.raises(error, match="the profile as written"):
        result_of(runner().required(Phase.WARM_UP, PLAN, HERE), outcome)
    made = next(runner().required(Phase.WARM_UP, PLAN, HERE))
    assert isinstance(made, Asked)
    assert (made.changes, made.why) == (BASELINE, "warm-up, not scored")
    scored = next(runner().required(Phase.CALIBRATE, PLAN, HERE))
    assert isinstance(scored, Asked)
    assert scored.why == "the profile as written"


def test_of_several_machines_the_one_that_cannot_measure_the_baseline_is_dropped() -> None:
    of = runner(labs=2)
    said, _ = result_of(of.required(Phase.WARM_UP, PLAN, "lab1"), failed("1 lost"))
    (note,) = said
    assert "lab1 is dropped: cannot measure the profile as written: delivery" in note.text
    assert of.machines.names == ("lab2",)


def test_a_point_that_took_two_machines_with_it_or_ended_the_search_twice_is_refused() -> None:
    def refusal(of: Runner, changes: Changes) -> str | None:
        found = of.machines.refusal(Asked(0, Phase.SEARCH, changes, "", PLAN))
        return None if found is None else found.reason

    assert refusal(runner(lost=(BEST,)), BEST) is None
    assert "two machines were lost" in str(refusal(runner(lost=(BEST, BEST)), BEST))
    assert refusal(runner(lost=(BEST, BEST)), HEAP) is None
    # The profile as written must be measured, and what was measured once costs no machine.
    assert refusal(runner(lost=(BASELINE, BASELINE)), BASELINE) is None
    assert refusal(runner(trial(1), lost=(BEST, BEST)), BEST) is None
    assert refusal(runner(trial(1, outcome=STALLED), lost=(BEST, BEST)), BEST) is not None
    assert "ended twice" in str(refusal(runner(trial(1), deadly=frozenset({BEST})), BEST))


def test_what_happens_is_kept_and_told() -> None:
    """A trial, one that was lost with its machine, and that this one is used no more."""
    labs = rack(2, crashes=0.0)
    fate = {-1: (1.0, Lost("it died", is_gone=True))}
    world = replace(labs, fate=lambda one: fate.pop(one.number, None), now_s=START_S)
    heard: list[object] = []
    of = Runner(replace(setup(world), ended=heard.append))
    asked = Asked(0, Phase.SEARCH, BEST, "", PLAN)
    left = [lambda _: of.trial(asked) for _ in range(2)]
    steps = list(of.run(lambda _: left.pop() if left else None))
    trials = [one for one in steps if isinstance(one, Trial)]
    texts = [one.text for one in steps if isinstance(one, Note)]
    assert [one.number for one in trials] == [-2, 0]
    assert of.trials == trials
    assert of.of(Phase.SEARCH) == trials
    assert of.of(Phase.FINAL) == []
    assert any("was lost on" in one for one in texts)
    assert any("is dropped: it died" in one for one in texts)
    assert len(heard) == 3
    assert of.under_way == ()
