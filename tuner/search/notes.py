"""What a search says of itself on its way, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tuner.measure.measurement import Failure
from tuner.measure.paired import FEWEST_PAIRS, FEWEST_RESTARTING
from tuner.profile.model import Profile
from tuner.schema.path import short_names
from tuner.search.budget import Pace, affordable, engine_warm_up, spend, trial_seconds
from tuner.search.calibration import Calibration
from tuner.search.checks import checks_s
from tuner.space.knob import Cost, Knob

_NOISY = 0.15
_MINUTE_S = 60.0


def calibrated(calibration: Calibration) -> Iterator[str]:
    """What the repeated runs of the profile showed of the noise."""
    least_gain = calibration.detectable(FEWEST_PAIRS) or math.inf
    yield (
        f"baseline noise is {calibration.sigma:.1%} (standard deviation of "
        f"{calibration.runs} runs){_adjusted(calibration)}; {FEWEST_PAIRS} pairs can detect "
        f"gains of {least_gain:.1%} or more"
    )
    paired = calibration.self_comparison
    if calibration.claims_by_itself and paired is not None:
        yield (
            f"runs of the same profile differ by {paired.ratio - 1:+.1%} "
            f"[{paired.low - 1:+.1%}, {paired.high - 1:+.1%}]: something else changes the rate"
        )
    if calibration.drifts:
        yield (
            f"the rate drifted by {calibration.drift:+.1%} during these runs; comparisons are "
            "interleaved, so the drift cancels out"
        )
    if calibration.sigma > _NOISY:
        yield "this machine is noisy: a quieter one, or a longer budget, detects smaller gains"


def _adjusted(calibration: Calibration) -> str:
    """What is left of the noise without what the probe saw."""
    sigma = calibration.sigma_adjusted
    return "" if sigma is None else f", {sigma:.1%} adjusted for the machine's speed"


def repeating(number: int, failure: Failure) -> str:
    """A run that failed is made once more."""
    return f"trial {number} failed: {failure}; repeating it once"


def begun_anew(trials: int, reasons: Sequence[str]) -> str:
    """A search goes on, though not as the journal has it."""
    return (
        f"the search cannot repeat its decisions: {'; '.join(reasons)}; its {trials} trials are "
        "kept as observations, and it goes on with what is left of the budget"
    )


def shrinking(at_most_s: float) -> str:
    """What comes after the budget."""
    return (
        f"after the budget: removing changes that do not help, at most "
        f"{math.ceil(at_most_s / _MINUTE_S)} minutes (--no-shrink skips this)"
    )


def frozen(every: Sequence[Knob], kept: Sequence[Knob]) -> str:
    """Which settings the budget is too small for."""
    short = short_names([knob.path for knob in every])
    left = [knob for knob in every if knob not in kept]
    why = "; too short for engine restarts" if _restarts(left) and not _restarts(kept) else ""
    return (
        f"the budget is enough for {len(kept)} of {len(every)} settings{why}; not searched: "
        f"{', '.join(short[knob.path] for knob in left)}"
    )


def ranked(knobs: Sequence[Knob]) -> list[str]:
    """Their paths, the most promising first."""
    return [knob.path for knob in sorted(knobs, key=lambda knob: knob.rank)]


def bought(budget_s: float, pace: Pace, profile: Profile, knobs: Sequence[Knob]) -> Iterator[str]:
    """What a budget will about buy, before anything was measured."""
    warm_up = engine_warm_up(budget_s, pace)
    begun_s = pace.start_s + trial_seconds(warm_up, pace.overhead_s, pace)
    fixed_s = checks_s(profile, knobs, pace)
    plans = spend(budget_s - begun_s, pace.overhead_s, pace, fixed_s)
    turned = affordable(knobs, budget_s, pace)
    kept = plans.knobs_kept(len(turned))
    confirm_s = trial_seconds(plans.confirm, pace.overhead_s, pace)
    yield f"engine start and warm-up: about {begun_s:.0f} s"
    yield (
        f"baseline noise: {plans.calibrating} runs of the profile as written; search: about "
        f"{plans.searching} trials of {plans.search.window_s:.1f} s on {kept} of {len(knobs)} "
        f"settings; choice among the best: {plans.finals} trials of {plans.final.window_s:.1f} s"
    )
    yield (
        "freshness: the profile and the best candidate at a fixed rate, at most "
        f"{plans.checks_s:.0f} s"
        if plans.checks_s
        else "freshness: not measured; it needs a budget of about 12 minutes"
    )
    yield (
        f"confirmation: {FEWEST_PAIRS} fresh pairs of the profile and the best candidate, runs of "
        f"{plans.confirm.window_s:.1f} s, {2 * FEWEST_PAIRS * confirm_s / _MINUTE_S:.0f} minutes "
        "in all; more pairs if time is left"
    )
    if _restarts(turned):
        yield (
            f"if the best candidate changes node settings: {FEWEST_RESTARTING} shorter pairs "
            "instead, because the engine restarts within each pair"
        )
    yield "after the budget: removing changes that do not help (--no-shrink skips this)"


def _restarts(knobs: Sequence[Knob]) -> bool:
    """Whether the engine restarts for one of them."""
    return any(knob.cost is Cost.NODE_RESTART for knob in knobs)
