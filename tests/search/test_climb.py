"""What the machine's speed explains of trials is not what their settings are told to give."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from tests.measure.factory import failed, itemised, measured
from tests.search.simulated import ASKED, PROFILE, WORKERS, Levels, Machine, Probe, by_workers
from tuner.measure.measurement import FailureKind, Result, TrialPlan
from tuner.search.calibration import adjustment_of
from tuner.search.climb import Climb, Knobs, Noise
from tuner.search.space import Belief, Observation, Point, Proposal
from tuner.search.strategies.model import Guard
from tuner.search.study import Asked, Changes, Phase, Trial
from tuner.space.knobs import knobs

PLAN = TrialPlan(2.0, 10.0)
RATE = by_workers(0.05)
NOISE = 0.04
KNOBS = Knobs(knobs(PROFILE))
LEVELS = next(knob.levels for knob in KNOBS.knobs if knob.path == WORKERS)
REPEATS = 6
SPENT = itemised(PLAN, 14.0)


@dataclass
class Listener:
    """A strategy that only listens."""

    observations: list[Observation] = field(default_factory=list)
    proposal: Proposal | None = None

    def ask(self, under_way: Sequence[Point] = ()) -> Proposal | None:
        return self.proposal

    def tell(self, observation: Observation) -> None:
        self.observations.append(observation)

    def beliefs(self) -> list[Belief]:
        return []


def trial(number: int, phase: Phase, changes: Changes, machine: Machine) -> Trial:
    noise = random.Random(f"noise {machine.seed} {number}").gauss(0, NOISE)
    run = measured(RATE(dict(changes)) * math.exp(noise))
    asked = Asked(number, phase, changes, "", PLAN)
    return Trial.of(asked, machine(asked, run), 10.0 * number, 10.0 * number + 10)


def trials_on(machine: Machine) -> list[Trial]:
    """Six runs of the profile, and every level of the action's workers twice."""
    calibrated = [trial(number, Phase.CALIBRATE, (), machine) for number in range(REPEATS)]
    points: Sequence[Changes] = [((WORKERS, level),) for level in LEVELS] * 2
    return calibrated + [
        trial(number, Phase.SEARCH, changes, machine)
        for number, changes in enumerate(points, REPEATS)
    ]


def climbing(
    listener: Listener, recipes: Sequence[tuple[Changes, str]] = (), knobs: Knobs = KNOBS
) -> Climb:
    guard = Guard(knobs.space(lambda _: True, 10.0, {}), 0, 0.1)
    noise = Noise(0.13, PLAN.window_s, 0.05)
    return Climb(listener, knobs, noise, [*recipes], ASKED.limits, guard)


def climb_on(machine: Machine) -> tuple[list[Observation], list[Trial]]:
    trials, listener = trials_on(machine), Listener()
    climb = climbing(listener)
    climb.tell(*trials[:REPEATS])
    for one in trials[REPEATS:]:
        climb.tell(one)
    return listener.observations, trials


def error(
    probe: Probe, sigma: float = 0.12, moved: Callable[[Levels], float] = lambda _: 0.0
) -> float:
    """How far what the strategy is told lies from the truth, but for what all have in common: the
    root of the mean square over many climbs."""
    squares = []
    for seed in range(60):
        observations, trials = climb_on(Machine(sigma, probe, seed, moved))
        off = [
            one.log_value - math.log(RATE(dict(trial.changes)))
            for one, trial in zip(observations, trials, strict=True)
        ]
        squares.append(statistics.pvariance(off))
    return math.sqrt(statistics.fmean(squares))


RAW = error(Probe.NONE)


def test_a_probe_that_sees_the_machine_takes_much_of_the_noise_away() -> None:
    assert error(Probe.SEES) < 0.7 * RAW


def test_a_probe_that_sees_nothing_costs_little() -> None:
    assert error(Probe.BLIND) < 1.1 * RAW


@pytest.mark.parametrize("sigma", [0.03, 0.12])
@pytest.mark.parametrize("strength", [-0.4, 0.4])
def test_settings_that_move_the_probe_do_not_pass_for_faster_ones(
    sigma: float, strength: float
) -> None:
    """Where the probe follows the rate itself, on a machine that is quiet or not."""

    def follows(levels: Levels) -> float:
        return strength * math.log(RATE(levels) / RATE({}))

    assert error(Probe.SEES, sigma, follows) < 1.05 * error(Probe.NONE, sigma)


def test_an_adjusted_value_has_a_smaller_error() -> None:
    with_probe, _ = climb_on(Machine(0.12, Probe.SEES, 1))
    without, _ = climb_on(Machine(0.12, Probe.NONE, 1))
    assert {one.se for one in without} == {0.13}
    assert all(0.05 <= one.se < 0.13 for one in with_probe)


def test_runs_without_a_probe_count_as_they_are() -> None:
    observations, trials = climb_on(Machine(0.12, Probe.NONE, 2))
    for one, run in zip(observations, trials, strict=True):
        assert run.measurement is not None
        assert one.log_value == math.log(run.measurement.eps_paid)


def test_a_run_just_after_a_restart_tells_nothing_of_slopes() -> None:
    *warm, last = trials_on(Machine(0.12, Probe.SEES, 3))
    run = last.measurement
    assert run is not None
    cold = replace(run, eps_paid=0.5 * run.eps_paid, spent=replace(SPENT, restart_s=20.0))
    assert adjustment_of([*warm, replace(last, outcome=cold)]) == adjustment_of(warm)


@pytest.mark.parametrize(("gain", "left", "goes_on"), [
    (0.002, 6.0, True), (0.002, 4.0, False), (None, 1.0, True),
])  # fmt: skip
def test_the_climb_ends_where_what_is_left_of_it_is_not_worth_its_time(
    gain: float | None, left: float, goes_on: bool
) -> None:
    point = KNOBS.point(((WORKERS, LEVELS[-1]),))
    listener = Listener(proposal=Proposal(point, "promising", gain))
    recipe = ((WORKERS, LEVELS[-2]),)
    climb = climbing(listener, [(recipe, "recipe")])
    assert climb.ask(left) == (recipe, "recipe")
    assert (climb.ask(left) is not None) is goes_on


POINT: Changes = ((WORKERS, LEVELS[-1]),)
STALLED = replace(failed("nothing came"), kind=FailureKind.STALLED)
LOST, GOOD = failed("1 lost"), measured(50_000.0)


def runs(phase: Phase, *outcomes: tuple[Changes, Result]) -> list[Trial]:
    """Trials of a session before, one after the other."""
    return [
        Trial.of(Asked(number, phase, changes, "", PLAN), outcome, 0.0, 10.0)
        for number, (changes, outcome) in enumerate(outcomes)
    ]


@pytest.mark.parametrize(("outcomes", "is_left", "told"), [
    ([STALLED], True, []), ([STALLED, STALLED], False, [False, False]),
    ([STALLED, GOOD], False, [True]), ([LOST], False, [False]),
])  # fmt: skip
def test_a_recipe_that_stalled_once_is_still_to_be_tried_after_a_resume(
    outcomes: list[Result], is_left: bool, told: list[bool]
) -> None:
    listener = Listener()
    climb = climbing(listener, [(POINT, "recipe")])
    climb.take_over(runs(Phase.SEARCH, *((POINT, one) for one in outcomes)))
    assert bool(climb.recipes) is is_left
    assert [one.feasible for one in listener.observations] == told


@pytest.mark.parametrize(("outcomes", "is_kept"), [
    ([((), STALLED), ((), GOOD), (POINT, STALLED), (POINT, GOOD)], True),
    ([((), LOST)], True), ([(POINT, STALLED), (POINT, STALLED)], False), ([(POINT, LOST)], False),
])  # fmt: skip
@pytest.mark.parametrize("phase", [Phase.CONFIRM, Phase.RECIPE])
def test_after_a_resume_a_stall_in_the_pairs_does_not_disqualify(
    phase: Phase, outcomes: list[tuple[Changes, Result]], is_kept: bool
) -> None:
    climb = climbing(Listener())
    climb.take_over(runs(phase, *outcomes))
    points = [KNOBS.start, KNOBS.point(POINT)]
    assert [one > 0.5 for one in climb.checks.kept(points).values()] == [True, is_kept]


def test_where_every_candidate_failed_nothing_leads() -> None:
    """The repairs, which would be confirmed, were not measured."""
    climb = climbing(Listener(), knobs=Knobs(knobs(PROFILE), (("main_queue.timeoutEnqueue", 1),)))
    assert climb.leader(runs(Phase.CALIBRATE, ((), GOOD), ((), GOOD))) is None
