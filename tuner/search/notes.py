"""What a search says of itself as it goes on, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tuner.measure.paired import FEWEST_PAIRS, FEWEST_RESTARTING
from tuner.profile.model import Profile
from tuner.search.budget import Pace, affordable, engine_warm_up, spend, trial_seconds
from tuner.search.calibration import Calibration
from tuner.search.checks import checks_s
from tuner.space.knob import Cost, Knob

_NOISY = 0.15
_MINUTE_S = 60.0


def calibrated(found: Calibration) -> Iterator[str]:
    """What the repeated runs of the profile showed of the noise."""
    yield (
        f"calibrated: {found.runs} runs of the profile as written differ by "
        f"{found.sigma:.1%} (standard deviation); {FEWEST_PAIRS} pairs of such runs show a gain "
        f"of {found.detectable(FEWEST_PAIRS):.1%}, smaller ones likely stay unseen"
    )
    paired = found.self_comparison
    if found.claims_by_itself and paired is not None:
        yield (
            f"the profile differs from itself by {paired.ratio - 1:+.1%} "
            f"[{paired.low - 1:+.1%}, {paired.high - 1:+.1%}]: something else changes the rate"
        )
    if found.drifts:
        yield (
            f"the rate changed by {found.drift:+.1%} while these runs were made: comparisons are "
            "made side by side"
        )
    if found.sigma > _NOISY:
        yield "this machine is noisy: a quieter one, or a longer budget, shows smaller gains"


def shrinking(at_most_s: float) -> str:
    """What comes after the budget."""
    return (
        f"beyond the budget: undoing changes that seem not to matter, at most "
        f"{math.ceil(at_most_s / _MINUTE_S)} minutes (--no-shrink skips it)"
    )


def frozen(every: Sequence[Knob], kept: Sequence[Knob]) -> str:
    """Which knobs the budget does not suffice for."""
    left = [knob for knob in every if knob not in kept]
    which = "the least promising"
    if _restarts(left) and not _restarts(kept):
        which += " and those that the engine restarts for"
    return (
        f"the budget suffices for {len(kept)} of {len(every)} knobs; as written stay {which}: "
        f"{', '.join(knob.path for knob in left)}"
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
    yield f"about {begun_s:.0f} s: the engine starts and gets warm"
    yield (
        f"{plans.calibrating} runs of the profile as written tell the noise; then about "
        f"{plans.searching} trials on {kept} of {len(knobs)} knobs, each of "
        f"{plans.search.window_s:.1f} s, and {plans.finals} of {plans.final.window_s:.1f} s to "
        "choose among the best"
    )
    yield (
        f"the best found and the profile at a fixed rate, for their freshness: at most "
        f"{plans.checks_s:.0f} s"
        if plans.checks_s
        else "no runs at a fixed rate: they need a budget of about 12 minutes"
    )
    yield (
        f"set aside: {FEWEST_PAIRS} fresh pairs of the profile and the best found, runs of "
        f"{plans.confirm.window_s:.1f} s, {2 * FEWEST_PAIRS * confirm_s / _MINUTE_S:.0f} minutes "
        "together; more pairs if time is left"
    )
    if _restarts(turned):
        yield (
            f"{FEWEST_RESTARTING} shorter pairs instead if the best found differs in settings of "
            "the node, because the engine then restarts between the sides"
        )
    yield "beyond the budget: undoing changes that seem not to matter (--no-shrink skips it)"


def _restarts(knobs: Sequence[Knob]) -> bool:
    """Whether the engine restarts for one of them."""
    return any(knob.cost is Cost.NODE_RESTART for knob in knobs)
