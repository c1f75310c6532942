"""How a trial is numbered, repeated, refused or blamed on its machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.measure.factory import failed, measured
from tests.search.simulated import (
    PROFILE,
    START_S,
    WORKERS,
    Rack,
    World,
    changed,
    rack,
    setup,
)
from tuner.errors import GuardrailBreached, JobFailed
from tuner.measure.measurement import Failure, FailureKind, Result, Spent, TrialPlan
from tuner.profile.model import Profile
from tuner.search.farm import Lost, Work
from tuner.search.runner import Runner
from tuner.search.study import BASELINE, HERE, Asked, Changes, Note, Phase, Trial

PLAN = TrialPlan(2.0, 4.0)
BEST: Changes = ((WORKERS, 4),)
# The engine restarts for it.
HEAP: Changes = (("node.heap", "2g"),)
STALLED = replace(failed("nothing came"), kind=FailureKind.STALLED)


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
    """One that knows these trials, so many seconds after the beginning."""
    world: World | Rack = World(at_s) if labs == 1 else replace(rack(labs), now_s=at_s)
    return Runner(changed(setup(world), trials=known, **more))


def test_of_two_sides_the_one_whose_node_settings_run_goes_first() -> None:
    def order(*known: Trial, machine: str = HERE) -> set[Changes]:
        of = runner(*known)
        return {of.pair_order(Phase.CONFIRM, BASELINE, HEAP, machine)[0] for _ in range(30)}

    ran = trial(1, Phase.CONFIRM, HEAP)
    assert order(ran) == {HEAP}
    assert order(replace(ran, changes=BEST)) == {BASELINE}
    assert order() == order(replace(ran, phase=Phase.FINAL)) == {BASELINE, HEAP}
    assert order(ran, machine="other") == {BASELINE, HEAP}


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

    of = runner(repairs=repairs, profile=candidate)
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
    of = Runner(changed(setup(world), ended=heard.append))
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


@pytest.mark.parametrize(("busy", "waits"), [(1, True), (2, True), (3, False)])
def test_as_soon_as_half_of_the_machines_are_done_the_others_get_as_long_again(
    busy: int, waits: bool
) -> None:
    """As the longest trial of those that are done took."""
    labs = rack(2 + busy, crashes=0.0)
    slow = [f"lab{number}" for number in range(3, 3 + busy)]
    for number, name in enumerate(labs.machines):
        labs.worlds[name].overhead_s = 900.0 if name in slow else 10.0 * number
    of = Runner(setup(labs))
    assert of.until_late_s(Phase.WARM_UP) == math.inf
    asked = Asked(0, Phase.WARM_UP, BASELINE, "", PLAN)
    left = [lambda _: of.trial(asked) for _ in labs.machines]
    steps = of.run(lambda _: left.pop() if left else None)
    first, last = next(steps), next(steps)
    assert isinstance(first, Trial)
    assert isinstance(last, Trial)
    assert {asked.machine for asked in of.machines.under_way} == {*slow}
    late_s = last.ended_s + (last.ended_s - last.at_s) if waits else math.inf
    assert of.until_late_s(Phase.WARM_UP) == late_s
    assert of.until_late_s(Phase.CALIBRATE) == math.inf
