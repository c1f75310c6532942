"""Is learnt traffic as costly as the log that it was learnt of?  The texts of each log replayed,
what was learnt of them, and our own sentences of the same mean size, interleaved in one run: EPS,
CPU per event and disk per event over those of the replay, with 95 % intervals.

    python -m tests.benchmarks.traffic LOG ... [--rounds 8] [--engine sink|node] [--rate 20000]

In each round every log runs once in each way, in random order, the ways of a log one after the
other: what a noisy machine does meanwhile meets all of them.  At a fixed rate the CPU per event
varies far less from run to run than flat out, where everything waits for two cores.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.live.rsyslogs import say
from tests.shipped import ROOT
from tuner.lab.lab import new_run_id, node_lab, sink_lab
from tuner.lab.scratch import scratch
from tuner.lint.load import load_profile, parse_profile
from tuner.measure.measurement import TrialPlan
from tuner.measure.place import run_profile
from tuner.measure.series import Run, average, comparison
from tuner.profile.edit import edit
from tuner.profile.metric import Metric
from tuner.profile.model import Profile
from tuner.profile.sample import read_sample, sample_text
from tuner.report.figures import ratio_text
from tuner.traffic.records import records_of

WAYS = ("replay", "learnt", "sentences")
# The head of our own, and the number.
_HEAD_BYTES = 75
METRICS = (Metric.EPS, Metric.SHIPPER_CPU, Metric.ENGINE_CPU, Metric.STORE)


def profiles(log: Path, folder: Path, rate: int | None) -> Mapping[str, Profile]:
    """The default profile with the traffic of a log in each way."""
    folder = folder / log.stem
    folder.mkdir()
    folder.chmod(0o755)
    _, records = records_of(log)
    (folder / "texts").write_text("".join(f"{one.text}\n" for one in records), encoding="utf-8")
    text = sample_text(log)
    (folder / "sample.yaml").write_text(text, encoding="utf-8")
    mean = max(120, round(read_sample(text, str(log)).mean_bytes) + _HEAD_BYTES)
    workloads: Mapping[str, Mapping[str, object]] = {
        "replay": {"replay": str(folder / "texts")},
        "learnt": {"sample": str(folder / "sample.yaml")},
        "sentences": {"message_bytes": {"mean": mean}},
    }
    written = load_profile(ROOT / "profiles/default.yaml").text
    return {
        way: parse_profile(
            edit(written, {"workload": {**workloads[way], "rate": rate or "max"}}), f"{way}.yaml"
        ).profile
        for way in WAYS
    }


def table(runs: Sequence[Run], logs: Sequence[Path], ways: Sequence[str]) -> str:
    """A row for each log and way: what it gave, and its ratios to the replay."""
    lines = ["| log | traffic | EPS | EPS ratio | rsyslogd CPU | engine CPU | disk per event |"]
    lines.append("|---|---|---|---|---|---|---|")
    for log in logs:
        for way in ways:
            arm = f"{log.stem} {way}"
            ratios = [
                "1" if way == WAYS[0] else _ratio(runs, f"{log.stem} {WAYS[0]}", arm, metric)
                for metric in METRICS
            ]
            figures = (f"{average(runs, arm, Metric.EPS) or 0:,.0f}", *ratios)
            lines.append(f"| {' | '.join([log.stem, way, *figures])} |")
    return "\n".join(lines)


def _ratio(runs: Sequence[Run], first: str, arm: str, metric: Metric) -> str:
    found = comparison(runs, first, arm, metric)
    return "-" if found is None else ratio_text(found)


def _in_order(
    logs: Sequence[Path], ways: Sequence[str], chance: random.Random
) -> Iterator[tuple[Path, str]]:
    """Every log in each way, the ways of one together."""
    for log in chance.sample(logs, len(logs)):
        for way in chance.sample(ways, len(ways)):
            yield log, way


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--engine", choices=("sink", "node"), default="sink")
    parser.add_argument("--window", type=float, default=4.0, help="seconds")
    parser.add_argument("--rate", type=int, help="events per second; as fast as it goes without")
    parser.add_argument("--without-sentences", action="store_true")
    options = parser.parse_args()
    chance = random.Random(1)
    runs: list[Run] = []
    default = load_profile(ROOT / "profiles/default.yaml").profile
    plan = TrialPlan(2.0, options.window)
    ways = WAYS[:-1] if options.without_sentences else WAYS
    with scratch(Path(tempfile.gettempdir())) as folder:
        each = {log: profiles(log, folder, options.rate) for log in options.logs}
        run_id = new_run_id()
        node = options.engine == "node"
        with node_lab(default, folder, run_id) if node else sink_lab(folder, run_id) as lab:
            for round_ in range(1, options.rounds + 1):
                for log, way in _in_order(options.logs, ways, chance):
                    name = f"r{round_}-{options.logs.index(log)}-{WAYS.index(way)}"
                    outcome = run_profile(lab, each[log][way], plan, name, lambda _: None)
                    runs.append(Run(f"{log.stem} {way}", round_, outcome))
                    sys.stderr.write(f"{round_} {runs[-1].arm}: {outcome}\n"[:200] + "\n")
    say(table(runs, options.logs, ways))


if __name__ == "__main__":
    main()
