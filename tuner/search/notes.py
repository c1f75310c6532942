"""What a search says of itself on its way, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tuner.lab.text import LEFT_OUT
from tuner.measure.contrast import MOST_PAIRS, pairs_to_detect
from tuner.measure.enough import FEWEST_PAIRS, FEWEST_RESTARTING
from tuner.measure.machines import Outlier
from tuner.measure.measurement import DISTURBED
from tuner.profile.model import Profile
from tuner.profile.schema import full_name, names_in
from tuner.schema.numerals import seconds
from tuner.search.budget import (
    MOST_BESIDE,
    Pace,
    affordable,
    checks_s,
    engine_warm_up,
    spend,
    trial_seconds,
)
from tuner.search.calibration import Calibration
from tuner.search.farm import DroppedMachine, LostTrial
from tuner.search.study import Changes, Trial
from tuner.space.knob import Cost, Knob, level_text
from tuner.space.knobs import most_promising
from tuner.space.recipes import in_recipes
from tuner.space.table import without_uses

# A noisy machine, a quiet one, and the gain that tells them apart in pairs.
_NOISY, _QUIET, _GAIN = 0.1, 0.05, 0.1
_MOST_NAMES = 6
_GONE = f" -> {LEFT_OUT}"


def in_lab(changed: Sequence[str], *, in_full: bool) -> Iterator[str]:
    """What a lab changes of a profile, as it says that itself: each, or how much of it."""
    if in_full or not changed:
        yield from (f"changed for the lab: {text}" for text in changed)
        return
    gone = [text.removesuffix(_GONE) for text in changed if text.endswith(_GONE)]
    values = len(changed) - len(gone)
    parts = "" if not gone else f"; left out there: {_listed(gone)}"
    count = "1 value" if values == 1 else f"{values} values"
    yield f"changed for the lab: {count}, which the report lists, and --verbose here{parts}"


def calibrated(calibration: Calibration, others_cpu: float = 0.0) -> Iterator[str]:
    """What the repeated runs of the profile showed of the noise; others used up to `others_cpu` of
    the machine beside them."""
    least_gain = calibration.detectable(FEWEST_PAIRS)
    if least_gain is None:
        yield "baseline noise is not known: there was time for one run of the profile"
        return
    yield (
        f"baseline noise is {calibration.sigma:.1%} (standard deviation of a run, by "
        f"{calibration.runs} runs){_adjusted(calibration)}; {FEWEST_PAIRS} pairs detect a gain of "
        f"{least_gain:.1%} in four searches of five"
    )
    if calibration.sigma > _NOISY:
        used = f" (others used up to {others_cpu:.0%} of it)" if others_cpu >= DISTURBED else ""
        yield (
            f"this machine is noisy{used}: to detect a gain of {_GAIN:.0%} takes "
            f"{_pairs_here(calibration)} pairs here, {_pairs(_QUIET)} where noise is "
            f"{_QUIET:.0%}"
        )


def too_noisy(calibration: Calibration, allowed: float) -> str:
    """Why a search is refused on such a machine."""
    return (
        f"baseline noise is {calibration.sigma:.1%}, --refuse-noise allows {allowed:.1%}: to "
        f"detect a gain of {_GAIN:.0%} would take {_pairs_here(calibration)} pairs here; "
        "use a quieter machine, or allow more"
    )


def _pairs_here(calibration: Calibration) -> str:
    return _pairs(calibration.sigma_counted, calibration.known_by)


def _pairs(sigma: float, known_by: float = math.inf) -> str:
    pairs = pairs_to_detect(_GAIN, sigma, FEWEST_PAIRS, known_by=known_by)
    return f"more than {MOST_PAIRS}" if pairs is None else str(pairs)


def _adjusted(calibration: Calibration) -> str:
    """What is left of the noise without what the probe saw."""
    sigma = calibration.sigma_adjusted
    return "" if sigma is None else f", {sigma:.1%} adjusted for the machine's speed"


def repeating(failed: Trial, again: str = "it") -> str:
    """A run that failed is made once more, or the pair that it was in."""
    return f"{_called(failed.number)} failed: {failed.outcome}; repeating {again} once"


def repaired(lost: Trial) -> str:
    """Without a number of the profile as written, candidates are compared with it repaired."""
    return (
        f"{_called(lost.number)} failed: {lost.outcome}; without a rate of the profile as written, "
        "from here on the baseline is the profile with its repairs"
    )


def lost(event: LostTrial) -> str:
    """A trial ended with its machine or its engine."""
    called, machine = _called(event.asked.number), event.asked.machine
    return f"{called} was lost on {machine}: {event.reason}; it does not count"


def _called(number: int) -> str:
    """What a trial is called; those of the warm-up have numbers below 0."""
    return "the warm-up" if number < 0 else f"trial {number}"


def dropped(event: DroppedMachine, count: int) -> str:
    """A machine is not used any more."""
    remaining = "1 machine is left" if count == 1 else f"{count} machines are left"
    return f"{event.machine} is dropped: {event.reason}; {remaining}"


def standing_out(outlying: Sequence[Outlier], figure: str) -> Iterator[str]:
    """Machines that differ from the others: in a `figure`, as `the rate of the baseline`."""
    for outlier in outlying:
        apart = f"{figure} is {outlier.ratio - 1:+.0%} beside the other machines"
        yield f"{outlier.machine} stands out: {apart}"


def too_short() -> str:
    """Why a search shows nothing; what to run next names a budget that is enough."""
    return (
        f"no time is left for the {FEWEST_PAIRS} pairs that could show a gain: trials take longer "
        "here than planned"
    )


def shorter_front(fit: int, points: int) -> str:
    """How many points of a front there is time for."""
    return f"there is time for the pairs of {fit} of {points} more points of the front"


def frozen(profile: Profile, knobs: Sequence[Knob], turned: Sequence[Knob]) -> str:
    """Which settings the budget is too small for."""
    paths = {knob.path for knob in turned}
    others = [knob for knob in knobs if knob.path not in paths]
    no_restarts = _restarts(others) and not _restarts(turned)
    why = "; too short for engine restarts" if no_restarts else ""
    return (
        f"the budget is enough for {len(turned)} of {len(knobs)} settings{why}; not searched: "
        f"{_some(profile, others, knobs)}"
    )


def _some(profile: Profile, knobs: Sequence[Knob], named: Sequence[Knob]) -> str:
    """The short names of the most promising of them, and how many more there are."""
    names = names_in(profile, [knob.path for knob in named])
    return _listed([names[knob.path] for knob in _ranked(knobs)])


def _listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:-more])} and {more} more"


def ranked(profile: Profile, knobs: Sequence[Knob]) -> list[str]:
    """The names of the settings, the most promising first."""
    return [full_name(profile, knob.path) for knob in _ranked(knobs)]


def repairs_made(profile: Profile, repairs: Changes) -> str:
    """Which settings the search sets in every candidate."""
    made = ", ".join(f"{full_name(profile, path)} {level_text(level)}" for path, level in repairs)
    return f"repairs, not for speed, in every candidate: {made}"


def _ranked(knobs: Sequence[Knob]) -> list[Knob]:
    return sorted(knobs, key=lambda knob: knob.rank)


def bought(
    budget_s: float,
    pace: Pace,
    profile: Profile,
    knobs: Sequence[Knob],
    machines: int = 1,
    aside_s: float = 0.0,
) -> Iterator[str]:
    """What a budget will about buy on so many machines, before anything was measured: settings,
    trials, pairs, and, in the seconds set `aside_s` for that, points of a front; time."""
    warm_up = engine_warm_up(budget_s, pace)
    begun_s = pace.start_s + trial_seconds(warm_up, pace.overhead_s, pace)
    fixed_s = checks_s(profile, knobs, pace)
    plans = spend(budget_s - aside_s - begun_s, pace.overhead_s, pace, fixed_s, machines)
    paid = affordable(knobs, budget_s, pace)
    turned = most_promising(paid, plans.knobs_kept(len(paid)), in_recipes(paid))
    enough_for_all = f"the budget is enough for all {len(knobs)} settings"
    yield frozen(profile, knobs, turned) if len(turned) < len(knobs) else enough_for_all
    yield from _mapping(profile, knobs)
    on_each = "" if machines == 1 else f" on each of {machines} machines"
    yield (
        f"trials: {plans.calibrating} of the profile as written{on_each}, about "
        f"{plans.searching} to search ({plans.search.window_s:.1f} s each), {plans.finals} to "
        f"choose among the best ({plans.final.window_s:.1f} s each), {2 * plans.blocks or 'none'} "
        "to see what each change gives"
    )
    restarting = (
        f"; {FEWEST_RESTARTING} shorter ones with engine restarts if it changes the node"
        if _restarts(turned)
        else ""
    )
    fresh = "" if plans.checks_s else "; freshness is not measured in less than about 12 minutes"
    yield (
        f"pairs: {plans.pairs} of the profile as written and the best found "
        f"({plans.confirm.window_s:.1f} s each run){restarting}{fresh}"
    )
    if aside_s:
        yield (
            f"front: up to {MOST_BESIDE} more points by {FEWEST_PAIRS} pairs each, for which "
            f"{seconds(aside_s)} are set aside"
        )
    yield (
        f"time: {seconds(budget_s)} in all, of which {begun_s:.0f} s start the "
        "engine and warm it up"
    )


def _mapping(profile: Profile, knobs: Sequence[Knob]) -> Iterator[str]:
    """Why the mapping is not searched where other settings of the index are."""
    turns_index = any(".index." in knob.path for knob in knobs)
    if turns_index and profile.base is not None and profile.base.kept.uses is None:
        yield (
            "template.mapping is not searched: nothing says what each field must serve; with "
            "base.uses an explicit mapping is tried as well, the largest gain that there is for an "
            "engine: rsyslog-tune import --uses"
        )
    silent = without_uses(profile) if turns_index and profile.base is None else ()
    if silent:
        names = ", ".join(silent[:_MOST_NAMES]) + (", ..." if len(silent) > _MOST_NAMES else "")
        yield (
            f"index.mapping is not searched: the profile does not say what each field must serve "
            f"({names}); with `uses` for all of them an explicit mapping is tried as well: "
            "rsyslog-tune explain uses"
        )


def _restarts(knobs: Sequence[Knob]) -> bool:
    """Whether the engine restarts for one of them."""
    return any(knob.cost is Cost.NODE_RESTART for knob in knobs)
