"""What a regression over the trials makes of each knob, where the truth is known."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from tests.measure.factory import failed, measured
from tuner.measure.measurement import Outcome, Spent, TrialPlan
from tuner.search.effects import effects_of, guess
from tuner.search.study import BASELINE, Axis, Changes, Phase, Trial
from tuner.space.knob import Level

SIGMA = 0.03
AXES = (
    Axis("big", (1, 2, 4, 8), 1),
    Axis("hump", (64, 512, 4096), 64),
    *(Axis(f"idle{number}", (1, 2, 4), 2) for number in range(6)),
    Axis("untried", (False, True), False),
)
TRUTH: dict[tuple[str, Level], float] = {
    ("big", 2): 0.1, ("big", 4): 0.2, ("big", 8): 0.3, ("hump", 512): 0.2, ("hump", 4096): 0.0,
}  # fmt: skip


def trial(changes: Changes, outcome: Outcome, phase: Phase = Phase.SEARCH) -> Trial:
    return Trial(0, phase, changes, "", TrialPlan(1.0, 2.0), outcome, 0.0)


def trials(seed: int, count: int = 60, sigma: float = SIGMA) -> list[Trial]:
    """Repeated runs of the profile as written, then settings at random."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        changes = BASELINE if number < 5 else drawn(rng)
        value = sum(TRUTH.get(one, 0.0) for one in changes) + rng.gauss(0, sigma)
        phase = Phase.CALIBRATE if number < 5 else Phase.SEARCH
        found.append(trial(changes, measured(1000.0 * math.exp(value)), phase))
    return found


def drawn(rng: random.Random) -> Changes:
    levels = ((axis, rng.choice(axis.levels)) for axis in AXES if axis.path != "untried")
    return tuple(sorted((axis.path, level) for axis, level in levels if level != axis.current))


def test_what_gives_something_is_found_and_ranked() -> None:
    changes: Changes = (("big", 8), ("hump", 512), ("idle1", 4))
    effects = effects_of(trials(1), AXES, changes)
    assert effects["big"] > effects["hump"] > 3 * abs(effects["idle1"])
    assert effects["big"] == pytest.approx(0.3, abs=0.04)


def test_a_level_in_the_middle_is_not_taken_for_its_neighbours() -> None:
    found = guess(trials(2), AXES)
    assert found.of("hump", 512).low > 1.0
    assert found.of("hump", 4096).high < found.of("hump", 512).low


def test_its_intervals_cover_the_truth_as_often_as_they_say() -> None:
    levels = [(a.path, level) for a in AXES for level in a.levels if level != a.current]
    hits = []
    for seed in range(30):
        found = guess(trials(100 + seed), AXES)
        for path, level in levels:
            estimate, true = found.of(path, level), math.exp(TRUTH.get((path, level), 0.0))
            hits.append(estimate.low <= true <= estimate.high)
    assert sum(hits) / len(hits) > 0.93


def test_what_a_restart_of_the_engine_costs_is_not_taken_for_the_settings_behind_it() -> None:
    """A heap that gives nothing, tried in runs that each follow a restart and are a sixth slower,
    and in a few that do not."""
    rng, axes = random.Random(7), (Axis("heap", (1, 2), 1), Axis("big", (1, 2), 1))
    found = []
    for number in range(60):
        changes: Changes = (("heap", 2),) if number % 2 else BASELINE
        after_restart = number % 8 != 1 and number > 3
        value = rng.gauss(0, SIGMA) - (math.log(1.2) if after_restart else 0.0)
        run = replace(
            measured(1000.0 * math.exp(value)), spent=Spent(restart_s=9.0 * after_restart)
        )
        # The profile as written runs on, without a restart, more often.
        if number % 2 or number % 4:
            found.append(trial(changes, run))
        else:
            found.append(trial(changes, measured(1000.0 * math.exp(rng.gauss(0, SIGMA)))))
    assert guess(found, axes).of("heap", 2).ratio == pytest.approx(1.0, abs=0.03)


def test_what_was_never_tried_may_be_anything() -> None:
    estimate = guess(trials(3), AXES).of("untried", True)
    assert estimate.low < 1 - SIGMA
    assert estimate.high > 1 + SIGMA


def test_a_few_trials_that_are_all_alike_prove_nothing() -> None:
    few = [*trials(4, 5), *(trial((("idle0", 4),), measured(1000.0)) for _ in range(2))]
    estimate = guess(few, AXES).of("idle0", 4)
    assert estimate.high - estimate.low > SIGMA


def test_failed_trials_and_those_after_the_choice_are_not_looked_at() -> None:
    known = trials(5)
    changes: Changes = (("big", 8),)
    others = [trial(changes, failed()), trial(changes, measured(9.0), Phase.CONFIRM)]
    before, after = guess(known, AXES), guess([*known, *others], AXES)
    assert after.of("big", 8) == before.of("big", 8)
    assert after.tried == before.tried


def test_levels_are_counted_the_one_as_written_too() -> None:
    found = guess([*trials(6, 5), trial((("big", 8),), measured(900.0))], AXES)
    assert found.tried["big", 1] == 5
    assert found.tried["big", 8] == 1
    assert found.tried["untried", False] == 6
