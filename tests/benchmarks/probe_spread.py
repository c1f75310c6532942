"""How much of the spread of equal runs the probe explains, on a real engine.  Run by hand:

python -m tests.benchmarks.probe_spread [--runs 40] [--seconds 4] [--warm-up 60] spread.csv

Runs are added to the file, so that several times of a day come together; `--runs 0` only tells what
is in it.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from tuner.lab.lab import new_run_id, node_lab
from tuner.lab.scratch import scratch
from tuner.lint.load import load_profile
from tuner.measure.contrast import BySpeed, Estimate
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.paired import compare
from tuner.measure.place import run_profile
from tuner.measure.speed import PRIOR, ProbedRun, Slopes, slopes_of, usual
from tuner.profile.model import Profile

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"
_PAIRS = 6
_COMPARISONS = 2000


@dataclass(frozen=True)
class Row:
    """One run, a line of the file."""

    at: float
    eps: float
    eps_paid: float
    shipper_cpu_us: float
    engine_cpu_us: float
    zlib_us: float
    socket_us: float

    @property
    def probed(self) -> ProbedRun:
        return ProbedRun(math.log(self.eps), (math.log(self.zlib_us), math.log(self.socket_us)))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def measure(profile: Profile, runs: int, warm_up_s: float, plan: TrialPlan, path: Path) -> None:
    """Add runs to the file, each as soon as it is known."""
    with (
        tempfile.TemporaryDirectory() as folder,
        scratch(Path(folder)) as inner,
        node_lab(profile, inner, new_run_id()) as lab,
        path.open("a", encoding="utf-8", newline="") as file,
    ):
        lines = csv.DictWriter(file, [one.name for one in fields(Row)])
        if path.stat().st_size == 0:
            lines.writeheader()
        warm_up = replace(plan, warm_up_s=warm_up_s)
        run_profile(lab, profile, warm_up, "warm-up", lambda _: None)
        for number in range(runs):
            outcome = run_profile(lab, profile, plan, f"r{number}", lambda _: None)
            if not isinstance(outcome, Measurement):
                say(f"run {number}: {outcome}")
                continue
            row = row_of(outcome)
            lines.writerow({one.name: getattr(row, one.name) for one in fields(Row)})
            file.flush()
            say(f"run {number}: {row.eps:,.0f} EPS, zlib {row.zlib_us:.0f} us")


def row_of(run: Measurement) -> Row:
    speed = run.speed
    if speed is None:
        raise AssertionError("a lab on this machine has a probe")
    return Row(
        time.time(), run.eps, run.eps_paid, run.shipper_cpu_us, run.engine_cpu_us,
        speed.zlib_us, speed.socket_us,
    )  # fmt: skip


def read(path: Path) -> list[Row]:
    lines = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return [Row(**{name: float(value) for name, value in line.items()}) for line in lines]


def spread(rows: Sequence[Row]) -> None:
    """The standard deviation of log(EPS) raw and adjusted, and what goes along with it."""
    logs = [math.log(row.eps) for row in rows]
    for name in ("zlib_us", "socket_us", "engine_cpu_us"):
        each = [math.log(getattr(row, name)) for row in rows]
        say(f"correlation of log EPS with log {name}: {statistics.correlation(logs, each):+.2f}")
    slopes = slopes_of([[row.probed for row in rows]])
    rest = adjusted(rows, slopes)
    raw, left = statistics.stdev(logs), statistics.stdev(rest)
    steps = [(after - before) ** 2 / 2 for before, after in itertools.pairwise(logs)]
    near = math.sqrt(statistics.fmean(steps))
    say(f"slopes with the prior: zlib {slopes.zlib:+.2f}, socket {slopes.socket:+.2f}")
    say(
        f"standard deviation of log EPS: raw {raw:.3f}, adjusted {left:.3f} ({left**2 / raw**2:.0%}"
        f" of the variance); of neighbours, raw {near:.3f}"
    )


def adjusted(rows: Sequence[Row], slopes: Slopes) -> list[float]:
    runs = [row.probed for row in rows]
    middle = usual([run.logs for run in runs])
    return [run.log_rate - slopes.explained(run.logs, middle) for run in runs]


def against_itself(rows: Sequence[Row]) -> None:
    """A/A comparisons: six of the pairs of neighbours, each in an order by lot."""
    rng = random.Random(1)
    found: list[BySpeed] = []
    counted = 0
    for _ in range(_COMPARISONS):
        first = rng.randrange(2)
        pairs = [rows[at : at + 2] for at in range(first, len(rows) - 1, 2)]
        sides = tuple(
            zip(*(rng.sample(list(pair), 2) for pair in rng.sample(pairs, _PAIRS)), strict=True)
        )
        a, b = ([row.eps for row in side] for side in sides)
        of_a, of_b = ([PRIOR.explained(row.probed.logs, (0, 0)) for row in side] for side in sides)
        one = compare(a, b, (), (of_a, of_b))
        if one.by_speed is not None:
            found.append(one.by_speed)
            counted += one.shows_more or one.shows_less
    for name in ("raw", "adjusted"):
        each: list[Estimate] = [getattr(one, name) for one in found]
        covered = statistics.fmean(one.low <= 1 <= one.high for one in each)
        claims = statistics.fmean(not one.low <= 1 <= one.high and one.p < 0.05 for one in each)
        width = statistics.fmean(math.log(one.high / one.low) for one in each)
        say(f"{name}: coverage {covered:.1%}, false claims {claims:.1%}, width {width:.3f}")
    kinds = Counter(one.counts.name.lower() for one in found)
    say(
        f"{_COMPARISONS} A/A comparisons of {_PAIRS} pairs drawn from {len(rows) // 2}: false "
        f"claims by what counts {counted / _COMPARISONS:.1%}; what counted: {dict(kinds)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--warm-up", type=float, default=60.0, help="of the engine, in seconds")
    parser.add_argument("--profile", type=Path, default=DEFAULT)
    parser.add_argument("path", type=Path)
    chosen = parser.parse_args()
    if chosen.runs > 0:
        profile = load_profile(chosen.profile).profile
        plan = TrialPlan(1.0, chosen.seconds)
        measure(profile, chosen.runs, chosen.warm_up, plan, chosen.path)
    rows = read(chosen.path)
    spread(rows)
    if len(rows) >= 2 * _PAIRS + 1:
        against_itself(rows)


if __name__ == "__main__":
    main()
