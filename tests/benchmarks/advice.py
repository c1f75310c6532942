"""How good is `advise`?  Each shipped and published profile, and given configurations, beside its
advice in interleaved pairs, as `compare` measures them: events per second and CPU per event of
rsyslogd over those of the profile, with 95 % intervals.  Run by hand:

    python -m tests.benchmarks.advice [--pairs 8] [--window 5s] [--engine sink|node] [FILE ...]

FILEs are profiles and configurations of rsyslog; without any, those of profiles/ and examples/.
The table goes to stdout; it exits with 1 where advice is shown to make one more than 3 % slower.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.shipped import EXAMPLES, PROFILES, ROOT
from tuner.cli.bench import measured_pair
from tuner.cli.options import EngineChoice
from tuner.cli.profiles import read_profile
from tuner.cli.usage.measuring import CompareArguments
from tuner.errors import TuneError
from tuner.host.usage import cores, memory_bytes
from tuner.lint.advice import advise
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile
from tuner.measure.measurement import Measurement
from tuner.measure.paired import Comparison
from tuner.measure.series import comparison
from tuner.profile.edit import edit, moved
from tuner.profile.metric import Metric
from tuner.profile.source import read
from tuner.report.compare import A, B
from tuner.report.figures import ratio_text

COLLECTOR = ROOT / "examples" / "collector" / "rsyslog.conf"
# What no advice may do to a profile.
SLOWEST = 0.97


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass(frozen=True)
class Row:
    """What the advice changes in a profile, and what it gave; `reason` where nothing was measured.

    `failed` runs lost or doubled events, or ended otherwise.
    """

    name: str
    changes: int
    rate: Comparison | None = None
    cpu: Comparison | None = None
    failed: int = 0
    reason: str = ""

    def __str__(self) -> str:
        if self.rate is None:
            why = self.reason or "no pairs"
            return f"| {self.name} | {self.changes} | {why} | | | | {self.failed} |"
        before, after = (f"{one:,.0f}" for one in self.rate.averages)
        ratios = f"{ratio_text(self.rate)} | {ratio_text(self.cpu)}"
        return f"| {self.name} | {self.changes} | {before} | {after} | {ratios} | {self.failed} |"


def name_of(path: Path) -> str:
    """What stands in the table: many configurations are called rsyslog.conf."""
    return path.parent.name if path.suffix == ".conf" else path.stem


def at_full_rate(loaded: LoadedProfile, file: Path) -> Path:
    """The profile in a file, flooded as fast as it takes events."""
    text = moved(read(loaded.text, str(loaded.path)), file.parent)
    is_paced = loaded.profile.workload.rate != "max"
    file.write_text(edit(text, {"workload.rate": "max"}) if is_paced else text, encoding="utf-8")
    return file


def row(path: Path, given: argparse.Namespace, folder: Path) -> Row:
    """Measure a profile beside its advice."""
    loaded, name = read_profile(path), name_of(path)
    advice = advise(loaded, cores(), memory_bytes())
    count = len(advice.settings)
    if not count:
        return Row(name, 0, reason="nothing to change")
    changed = candidate(loaded, advice.settings)
    options = CompareArguments(
        a=at_full_rate(loaded, folder / f"{name}-as-written.yaml"),
        b=at_full_rate(changed, folder / f"{name}-advised.yaml"),
        pairs=given.pairs,
        window=given.window,
        seed=given.seed,
        engine=EngineChoice(given.engine),
        freshness=False,
    )
    series, lost = measured_pair(options)
    runs = series.runs
    rate, cpu = (comparison(runs, A, B, one) for one in (Metric.EPS, Metric.SHIPPER_CPU))
    failed = sum(not isinstance(one.result, Measurement) for one in runs)
    return Row(name, count, rate, cpu, failed, reason=str(lost or ""))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--window", default="5s")
    parser.add_argument("--engine", choices=("sink", "node"), default="sink")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="*", type=Path, default=[*PROFILES, *EXAMPLES, COLLECTOR])
    given = parser.parse_args()
    rows: list[Row] = []
    say("| profile | changes | EPS as written | EPS advised | EPS ratio | CPU ratio | failed |")
    say("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in given.files:
            try:
                rows.append(row(path, given, Path(folder)))
            except TuneError as error:
                rows.append(Row(name_of(path), 0, reason=f"not measured: {error}"))
            say(str(rows[-1]))
    rates = {one.name: one.rate for one in rows if one.rate is not None}
    slower = [name for name, rate in rates.items() if rate.high < SLOWEST]
    doubtful = [name for name, rate in rates.items() if rate.low < SLOWEST <= rate.high]
    say(f"\nmore than 3 % slower: {', '.join(slower) or 'none'}")
    say(f"the pairs cannot tell: {', '.join(doubtful) or 'none'}")
    if slower:
        sys.exit(1)


if __name__ == "__main__":
    main()
