"""Profiles side by side on one engine, in pairs of neighbouring runs.  Run by hand:

python -m tests.benchmarks.versus FIRST.yaml OTHER.yaml ... [--pairs 8] [--window 10] [--ceiling]

Each other profile is compared with the first one.  With --ceiling the engine's own ceiling for the
first profile's documents is measured in the same run, and the CPU bound is told: cores over the
CPU seconds that rsyslogd and the engine spend on an event.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tuner.cli.options import EngineChoice
from tuner.cli.site import Wanted, open_lab, prepare
from tuner.host.usage import cores
from tuner.lab.lab import Lab
from tuner.measure.ceiling import CeilingPlan, ceiling
from tuner.measure.measurement import Failure, Measurement, TrialPlan
from tuner.measure.paired import compare
from tuner.measure.trial import run_trial
from tuner.profile.load import LoadedProfile, load_profile

_WARM_UP = TrialPlan(2.0, 30.0)
_AFTER_RESTART = TrialPlan(2.0, 10.0)
_MOST_TRIES = 3


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def quiet(_stage: str) -> None:
    """Nobody needs every stage of a run here."""


@dataclass
class Bench:
    """Runs profiles in one lab, one after the other, each under a name of its own."""

    lab: Lab
    plan: TrialPlan
    count: int = 0
    seen: dict[str, list[Measurement]] = field(default_factory=dict)

    def run(self, loaded: LoadedProfile, plan: TrialPlan) -> Measurement | Failure:
        self.count += 1
        if self.lab.run_with(loaded.profile) > 0:
            run_trial(self.lab, loaded.profile, _AFTER_RESTART, f"v{self.count}w", quiet)
        return run_trial(self.lab, loaded.profile, plan, f"v{self.count}", quiet)

    def measured(self, loaded: LoadedProfile) -> Measurement:
        """One run, tried again where it failed, which is told."""
        for _ in range(_MOST_TRIES):
            outcome = self.run(loaded, self.plan)
            if isinstance(outcome, Measurement):
                doubts = ", ".join(doubt.kind.value for doubt in outcome.doubts)
                say(f"  {loaded.path.name}: {outcome.eps:,.0f} EPS  {doubts}")
                self.seen.setdefault(loaded.path.name, []).append(outcome)
                return outcome
            say(f"  {loaded.path.name}: {outcome}")
        sys.exit(1)

    def versus(self, first: LoadedProfile, other: LoadedProfile, pairs: int) -> None:
        """Pairs in random order; ratios are of the other to the first."""
        both: list[tuple[Measurement, Measurement]] = []
        for _ in range(pairs):
            order = [first, other]
            random.shuffle(order)
            runs = {loaded.path: self.measured(loaded) for loaded in order}
            both.append((runs[first.path], runs[other.path]))
        for name, rate in RATES.items():
            found = compare([rate(a) for a, _ in both], [rate(b) for _, b in both])
            say(
                f"{other.path.name} / {first.path.name}, {name}: {found.ratio:.3f} "
                f"[{found.low:.3f}, {found.high:.3f}], {pairs} pairs, sign-flip p {found.p:.3f}"
            )


RATES: dict[str, Callable[[Measurement], float]] = {
    "steady window": lambda one: one.eps,
    "with the work put off paid for": lambda one: one.eps_paid,
    "first send to refreshed and flushed": lambda one: one.eps_durable,
    "rsyslogd CPU per event": lambda one: one.shipper_cpu_us,
    "engine CPU per event": lambda one: one.engine_cpu_us + one.deferred_cpu_us,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage="see above")
    parser.add_argument("profiles", nargs="+", type=Path)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--window", type=float, default=10.0)
    parser.add_argument("--ceiling", action="store_true")
    options = parser.parse_args()
    first, *others = [load_profile(path) for path in options.profiles]
    wanted = Wanted(EngineChoice.NODE, None)
    prepare(wanted, first.profile, say)
    plan = TrialPlan(2.0, options.window)
    with (
        tempfile.TemporaryDirectory(prefix="rsyslog-tune-versus-") as folder,
        open_lab(wanted, first.profile, Path(folder), say) as lab,
    ):
        bench = Bench(lab, plan)
        bench.run(first, _WARM_UP)
        for other in others:
            bench.versus(first, other, options.pairs)
        if options.ceiling:
            _tell_ceiling(bench, first)


def _tell_ceiling(bench: Bench, first: LoadedProfile) -> None:
    bench.lab.run_with(first.profile)
    top = ceiling(bench.lab, first.profile, quiet, CeilingPlan(engine_warm_up_s=10.0))
    best = top.eps
    say(f"the engine's own ceiling: {best:,.0f} EPS ({top.best})")
    for name, runs in bench.seen.items():
        rate = statistics.median(one.eps for one in runs)
        cpu_us = statistics.median(one.shipper_cpu_us + one.engine_cpu_us for one in runs)
        bound = cores() * 1e6 / cpu_us
        say(
            f"{name}: median {rate:,.0f} EPS of {len(runs)} runs, {rate / best:.2f} of the "
            f"ceiling; {cpu_us:.1f} us of CPU an event, so at most {bound:,.0f} EPS: "
            f"{rate / bound:.2f} of that"
        )


if __name__ == "__main__":
    main()
