"""What the recipes of a search give on engines of several releases, beside single settings that a
bulk is made of.  Run by hand, on a quiet machine:

    python -m tests.benchmarks.recipes [--engines 8.19 9.2 9.5] [--blocks 5] [--window 10]

Each release runs once, with profiles/default.yaml: in each block every arm once, in random order.
Ratios are to the profile as shipped, by pairs of a block, with 95 % intervals.  What nodes start
with is left out of recipes, because the engine is not started again between runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping

from tests.shipped import ROOT
from tuner.cli.options import EngineChoice
from tuner.cli.place import LabSpec, pace_of
from tuner.cli.series import Course, measured
from tuner.errors import BadProfile
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, parse_profile
from tuner.measure.measurement import TrialPlan
from tuner.measure.series import Arm, Series, average, comparison
from tuner.profile.edit import edit
from tuner.profile.metric import Metric
from tuner.report.figures import ratio_text
from tuner.space.knob import Level
from tuner.space.knobs import knobs, without_node
from tuner.space.recipes import RECIPES, changes_of

SHIPPED = "as shipped"
_QUEUE = "outputs[logs].queue"
SINGLE: Mapping[str, Mapping[str, Level]] = {
    "batches of 500": {
        f"{_QUEUE}.dequeueBatchSize": 500, f"{_QUEUE}.workerThreadMinimumMessages": 500,
    },
    "batches of 5,000": {
        f"{_QUEUE}.dequeueBatchSize": 5000, f"{_QUEUE}.workerThreadMinimumMessages": 5000,
    },
    "one worker": {f"{_QUEUE}.workerThreads": 1},
    "four workers": {f"{_QUEUE}.workerThreads": 4},
}  # fmt: skip
METRICS = (Metric.EPS, Metric.SHIPPER_CPU, Metric.ENGINE_CPU)


def written_for(release: str) -> LoadedProfile:
    """profiles/default.yaml for a release of Elasticsearch; what stores less may be tried."""
    text = (ROOT / "profiles/default.yaml").read_text(encoding="utf-8")
    versions = {"rsyslog": "8.2302", "elasticsearch": release}
    return parse_profile(edit(text, {"release": versions}), release)


def arms_of(written: LoadedProfile) -> Iterator[Arm]:
    """The profile as shipped, with each recipe, and with each single setting."""
    yield Arm(SHIPPED, written.profile)
    turned = without_node(knobs(written.profile, ["settings.mode"]))
    points = {recipe.name: changes_of(recipe, turned) for recipe in RECIPES}
    points |= {name: tuple(changes.items()) for name, changes in SINGLE.items()}
    for name, changes in points.items():
        if changes:
            try:
                yield Arm(name, candidate(written, changes).profile)
            except BadProfile as error:
                sys.stderr.write(f"{name} is left out: {error}\n")


def table(series: Series) -> str:
    """A row for each arm: its rate, and its ratios to the profile as shipped."""
    lines = ["| settings | EPS | EPS ratio | rsyslogd CPU ratio | engine CPU ratio |"]
    lines.append("|---|---|---|---|---|")
    for name in series.names:
        eps = average(series.runs, name, Metric.EPS)
        ratios = ["1"] * len(METRICS) if name == SHIPPED else [
            ratio_text(comparison(series.runs, SHIPPED, name, metric)) for metric in METRICS
        ]  # fmt: skip
        lines.append(f"| {name} | {0 if eps is None else eps:,.0f} | {' | '.join(ratios)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", nargs="*", default=["8.19", "9.2", "9.5"])
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--window", type=float, default=10.0, help="seconds")
    options = parser.parse_args()
    for release in options.engines:
        sys.stdout.write(f"\nElasticsearch {release}, load before: {os.getloadavg()[0]:.1f}\n\n")
        arms, pace = tuple(arms_of(written_for(release))), pace_of(EngineChoice.NODE)
        plan = TrialPlan(pace.warm_up_s, options.window, awaits_counters=True)
        course = Course(arms, "block", options.blocks, plan, pace, seed=1)
        spec = LabSpec(EngineChoice.NODE, None)
        series, _ = measured(spec, course, [arm.name for arm in arms])
        sys.stdout.write(f"{table(series)}\n\n{series.engine}, rsyslogd {series.rsyslog}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
