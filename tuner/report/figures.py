"""Numbers, and changes of settings, as readers write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tuner.measure.contrast import Counts, Estimate
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.paired import Comparison
from tuner.profile.metric import Metric
from tuner.profile.objective import Objective, ObjectiveFacts
from tuner.schema.numerals import eps, mebibytes, percent, significant
from tuner.search.effects import EffectRatio
from tuner.search.study import BASELINE, Changes, Phase, Trial
from tuner.space.knob import Level, level_text


def on(machine: str) -> str:
    """Names a machine that has a name: ` on lab1`."""
    return f" on {machine}" if machine else ""


def figure(metric: Metric, value: float | None) -> str:
    """A figure with as many digits as it deserves: `71,234`, `6.12`, `93 MiB`; `-` for none."""
    if value is None:
        return "-"
    if metric is Metric.MEMORY:
        return mebibytes(round(value))
    return eps(value) if value >= 999.5 else f"{value:.4g}"


def ratio_text(comparison: Comparison | None) -> str:
    """A ratio with its 95 % interval: `1.171 [1.120, 1.224]`; `-` for none."""
    if comparison is None:
        return "-"
    return f"{comparison.ratio:.3f} [{comparison.low:.3f}, {comparison.high:.3f}]"


def pair_text(phase: Phase, pair: int | None) -> str:
    """The pair of a trial, or the block of those that take the winner apart: `pair 3`; empty for a
    trial of none."""
    noun = "block" if phase is Phase.EFFECTS else "pair"
    return "" if pair is None else f"{noun} {pair}"


def interval(comparison: Comparison | Estimate | EffectRatio) -> str:
    """A comparison as change and 95 % interval: `+37.0 % [+31.2 %, +43.1 %]`."""
    low, high = percent(comparison.low), percent(comparison.high)
    return f"{percent(comparison.ratio)} [{low}, {high}]"


def raw_and_adjusted(comparison: Comparison) -> str:
    """A comparison with and without what the machine's speed explains, and which counts;
    empty where there was no probe."""
    both = comparison.by_speed
    if both is None:
        return ""
    wider = _widened(comparison)
    return (
        f"{interval(both.raw)} raw, {interval(both.adjusted)} adjusted for the machine's "
        f"speed; {both.counts.value}{wider and f'; the interval is {wider}'}"
    )


_WIDENED = {
    Counts.ADJUSTED: "widened to the raw direction",
    Counts.BOTH: "widened to hold both",
}


def _widened(comparison: Comparison) -> str:
    """Why the interval of a comparison is neither the raw nor the adjusted one; empty where it is
    one of them."""
    both = comparison.by_speed
    if both is None or (comparison.low, comparison.high) in {
        (estimate.low, estimate.high) for estimate in (both.raw, both.adjusted)
    }:
        return ""
    return _WIDENED.get(both.counts, "")


def restart_text(comparison: Comparison) -> str:
    """What restarts of the engine between the sides cost; empty where the pairs do not tell."""
    if comparison.restarted is None:
        return ""
    first, second = map(percent, comparison.restarted)
    return (
        "the engine restarted between the sides of the pairs: a run just after a restart differs "
        f"from the others by {first} on the first side and {second} on the second, so the ratios "
        "leave such runs out"
    )


def freshness_kept(p99_s: float, limit_s: float) -> str:
    """Whether a guardrail is kept: `p99 is within freshness_p99_s, 45 s`."""
    kept = "within" if p99_s <= limit_s else "ABOVE"
    return f"p99 is {kept} freshness_p99_s, {limit_s:g} s"


def setting(level: Level) -> str:
    """The value of a setting as code, so that its `*` and `_` stay what they are."""
    return level_text(level) if level is None else f"`{level_text(level)}`"


_MOST = 3

Levels = Mapping[str, Level]
"""The settings of a search with their levels as written, in the order in which they are named."""


@dataclass(frozen=True)
class SettingChange:
    """A setting with its level before and after."""

    path: str
    before: Level
    after: Level


@dataclass(frozen=True)
class Move:
    """What takes the best point so far, or else the profile as written, to another point."""

    from_best: bool
    steps: tuple[SettingChange, ...]


def move(best: Changes, changes: Changes, written: Levels) -> Move:
    """The shorter way to a point: from the best so far, or from the profile as written."""
    ways = (
        Move(False, steps(BASELINE, changes, written)),
        Move(True, steps(best, changes, written)),
    )
    return min(ways if best != BASELINE else ways[:1], key=lambda way: len(way.steps))


def steps(before: Changes, after: Changes, written: Levels) -> tuple[SettingChange, ...]:
    """What differs between two points."""
    old, new = dict(before), dict(after)
    moved = (
        SettingChange(path, old.get(path, level), new.get(path, level))
        for path, level in written.items()
    )
    return tuple(step for step in moved if step.before != step.after)


def steps_text(
    changed: Sequence[SettingChange], names: Mapping[str, str], most: int = _MOST
) -> str:
    """At most so many steps, and how many more there are:
    `workerThreads 2 -> 4, refresh_interval 5s -> 30s, 4 more`."""
    texts = [
        f"{names[step.path]} {level_text(step.before)} -> {level_text(step.after)}"
        for step in changed[:most]
    ]
    more = len(changed) - most
    return ", ".join([*texts, f"{more} more"] if more > 0 else texts)


@dataclass(frozen=True)
class Rate:
    """What runs are compared by, over which stretch of a run in words, and how it is written."""

    over: str
    of: Callable[[Measurement], float]
    facts: ObjectiveFacts = Objective.EPS.facts

    @property
    def is_rate(self) -> bool:
        """Whether it is in events per second, of which there are several."""
        return self.facts is Objective.EPS.facts

    @property
    def label(self) -> str:
        """What it is called, with the stretch."""
        return f"{self.facts.label} {self.over}".rstrip()

    def write(self, value: float) -> str:
        """A value of it; rates without their unit."""
        if self.is_rate:
            return eps(value)
        return f"{significant(value / self.facts.scale)} {self.facts.unit}"

    def text(self, value: float) -> str:
        """The same with the unit."""
        return f"{eps(value)} EPS" if self.is_rate else self.write(value)

    def averages(self, gain: Comparison) -> tuple[str, str]:
        """Of both sides, by a gain of the score."""
        before, after = gain.averages
        return self.write(self.facts.turned(before)), self.write(self.facts.turned(after))

    def change(self, gain: Estimate | EffectRatio) -> EffectRatio:
        """How it changes where the score gains so much."""
        low, high = sorted(map(self.facts.turned, (gain.low, gain.high)))
        return EffectRatio(self.facts.turned(gain.ratio), low, high)


def rate_for(plan: TrialPlan) -> Rate:
    """What runs for the objective of a plan are compared by, with the rate at which they were."""
    over = "" if plan.offered is None else f"at {plan.offered:,.0f} events per second"
    if plan.outage_s:
        over = f"after an outage of {plan.outage_s:g} s {over}"
    return Rate(over, lambda run: run.figure, plan.objective.facts)


STEADY = Rate("over the steady window", lambda run: run.eps)
SUSTAINED = Rate("including deferred work", lambda run: run.eps_paid)


def claimed_rate(
    runs: Sequence[Trial], steady: Comparison | None, sustained: Comparison | None
) -> Rate:
    """What a claim is of: of two rates that which gained less."""
    aimed = (trial.plan for trial in runs if trial.plan.objective is not Objective.EPS)
    plan = next(aimed, None)
    if plan is not None:
        return rate_for(plan)
    return SUSTAINED if steady and sustained and sustained.ratio < steady.ratio else STEADY
