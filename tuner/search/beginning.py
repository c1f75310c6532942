"""What a climb begins with: its knobs, and what is known of them and tried first."""

from __future__ import annotations

from tuner.search.budget import affordable
from tuner.search.calibration import Calibration
from tuner.search.climb import Climb, Noise
from tuner.search.points import Knobs
from tuner.search.runner import Runner
from tuner.search.strategies.model import Guard
from tuner.search.study import Phase
from tuner.space.knob import Cost, Knob
from tuner.space.knobs import most_promising
from tuner.space.recipes import RECIPES, changes_of, in_recipes


def kept_knobs(runner: Runner) -> tuple[Knob, ...]:
    """The knobs that the budget suffices for, the most promising ones, and those that recipes,
    earlier searches or trials changed, in their order."""
    setup = runner.setup
    every = affordable(setup.knobs, setup.budget_s, setup.pace)
    count = runner.plans.knobs_kept(len(every))
    changed = [one.changes for one in setup.earlier] + [one.changes for one in setup.prior]
    known = {path for changes in changed for path, _ in changes}
    return most_promising(every, count, known | in_recipes(every))


def begun(runner: Runner, kept: tuple[Knob, ...], calibration: Calibration) -> Climb:
    """The climb, with what the calibration showed and what experts would try first."""
    setup = runner.setup
    knobs = Knobs(kept, setup.repairs)
    trial_s = runner.takes_s(runner.plans.search)
    space = knobs.space(setup.is_valid, trial_s, {Cost.NODE_RESTART: runner.restart_s()})
    strategy = setup.strategy(space, calibration.sigma)
    recipes = [
        *((one.changes, f"found by {one.run}") for one in setup.earlier),
        *((changes_of(one, setup.knobs), f"recipe: {one.name}") for one in RECIPES),
    ]
    known = {setup.repairs: "repairs, not for speed"}
    for changes, why in recipes:
        known.setdefault(knobs.known(changes), why)
    usable = [one for one in known.items() if one[0] and setup.is_valid(one[0])]
    checks = Guard(space, 0, calibration.sigma)
    window_s = runner.plans.search.window_s
    noise = Noise(calibration.sigma, window_s, calibration.sigma_adjusted)
    climb = Climb(strategy, knobs, noise, usable, setup.limits, checks)
    calibrated = [one for one in runner.trials if one.phase is Phase.CALIBRATE]
    climb.tell(*(trial for trial in calibrated if trial.measurement is not None))
    climb.take_over(setup.prior)
    return climb
