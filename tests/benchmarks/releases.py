"""Which rsyslog is faster?  The releases of tests/live/rsyslogs.py with the same profile,
interleaved in one run: EPS, CPU per event and peak memory over those of Debian 12's, with 95 %
intervals.

    python -m tests.benchmarks.releases [--rounds 8] [--engine sink|node] [--queue NAME ...]

In each round every release runs once with every kind of queue, in random order.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.live.rsyslogs import SUITES, fetch, say
from tests.live.test_flood_kinds import TLS
from tests.shipped import ROOT
from tuner.engines.release import NEWEST_READ
from tuner.host.programs import CHOSEN_RSYSLOGD
from tuner.lab.lab import Lab, new_run_id, node_lab, sink_lab
from tuner.lab.scratch import scratch
from tuner.lint.load import LoadedProfile, load_profile, parse_profile
from tuner.measure.measurement import TrialPlan
from tuner.measure.place import run_profile
from tuner.measure.series import Run, average, comparison
from tuner.profile.edit import edit
from tuner.profile.metric import Metric
from tuner.profile.model import Profile
from tuner.report.figures import ratio_text

Changes = Mapping[str, object]
OLDEST = "8.2302"
RELEASES = [one.release for one in SUITES if one.release >= OLDEST]
_QUEUE = "outputs[logs].queue"
_ON_DISK = {
    "global": {"workDirectory": "/var/spool/rsyslog"},
    f"{_QUEUE}.filename": "logs",
    f"{_QUEUE}.maxDiskSpace": "20g",
}
# One worker, as a disk queue has.
_DISK = {
    **_ON_DISK,
    f"{_QUEUE}.type": "Disk",
    f"{_QUEUE}.workerThreads": 1,
    f"{_QUEUE}.workerThreadMinimumMessages": None,
}
# The backlog of a saturated trial is above the mark: events pass through the files all the time.
_SPILLS = {**_ON_DISK, f"{_QUEUE}.highWatermark": 6000, f"{_QUEUE}.lowWatermark": 2000}
_OLD, _SEGMENTED = ({f"{_QUEUE}.diskQueueType": one} for one in ("disk", "segmentedDisk"))


@dataclass(frozen=True)
class Kind:
    """What events pass through: changes to profiles/default.yaml, those of releases that know both
    layouts of queue files, and the first release that has it."""

    changes: Changes
    newer: Changes | None = None
    since: str = OLDEST

    def profile(self, written: LoadedProfile, release: str) -> Profile:
        """The profile for a release."""
        changes = {**self.changes, **((self.newer or {}) if release >= "8.2608" else {})}
        known = min(int(release.removeprefix("8.")), NEWEST_READ)
        versions = {"rsyslog": f"8.{known}", "elasticsearch": "8.19"}
        return parse_profile(edit(written.text, {**changes, "release": versions}), release).profile


KINDS = {
    "memory": Kind({}),
    "disk": Kind(_DISK),
    "disk, segmented": Kind({**_DISK, f"{_QUEUE}.type": "segmentedDisk"}, since="8.2608"),
    "disk-assisted": Kind(_SPILLS, _OLD),
    "disk-assisted, segmented": Kind({**_SPILLS, **_SEGMENTED}, since="8.2608"),
    "TLS": Kind({"inputs": [TLS]}),
}
METRICS = (Metric.EPS, Metric.SHIPPER_CPU, Metric.MEMORY)


def measure(lab: Lab, kind: str, release: str, round_: int, plan: TrialPlan) -> Run:
    """One trial with the rsyslogd of a release."""
    suite = next(one for one in SUITES if one.release == release)
    os.environ[CHOSEN_RSYSLOGD] = str(suite.rsyslogd)
    profile = KINDS[kind].profile(load_profile(ROOT / "profiles/default.yaml"), release)
    name = f"r{round_}-{list(KINDS).index(kind)}-{RELEASES.index(release)}"
    outcome = run_profile(replace(lab, rsyslog=release), profile, plan, name, lambda _: None)
    return Run(f"{kind} {release}", round_, outcome)


def table(runs: Sequence[Run], kinds: Sequence[str]) -> str:
    """A row for each kind and release: what it gave, and its ratio to the oldest; and the kinds of
    the newest to its memory queue."""
    lines = [
        "| queue | rsyslog | EPS | us CPU/event | MiB | EPS ratio | CPU ratio | memory ratio |"
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for kind in kinds:
        for release in RELEASES:
            arm = f"{kind} {release}"
            means = [average(runs, arm, metric) for metric in METRICS]
            if means[0] is None:
                continue
            eps, cpu, memory = (mean or 0.0 for mean in means)
            first = f"{kind} {OLDEST}" if KINDS[kind].since == OLDEST else f"memory {release}"
            ratios = [
                "1" if arm == first else ratio_text(comparison(runs, first, arm, metric))
                for metric in METRICS
            ]
            figures = (f"{eps:,.0f}", f"{cpu:.2f}", f"{memory / 2**20:.0f}")
            lines.append(f"| {' | '.join([kind, release, *figures, *ratios])} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--engine", choices=("sink", "node"), default="sink")
    parser.add_argument("--queue", nargs="*", choices=tuple(KINDS), default=list(KINDS))
    parser.add_argument("--window", type=float, default=4.0, help="seconds")
    options = parser.parse_args()
    for suite in SUITES:
        fetch(suite)
    chance = random.Random(1)
    runs: list[Run] = []
    arms = [
        (kind, release) for kind in options.queue for release in RELEASES
        if release >= KINDS[kind].since
    ]  # fmt: skip
    default = load_profile(ROOT / "profiles/default.yaml").profile
    plan = TrialPlan(2.0, options.window)
    with scratch(Path(tempfile.gettempdir())) as folder:
        run_id = new_run_id()
        node = options.engine == "node"
        with node_lab(default, folder, run_id) if node else sink_lab(folder, run_id) as lab:
            for round_ in range(1, options.rounds + 1):
                for kind, release in chance.sample(arms, len(arms)):
                    runs.append(measure(lab, kind, release, round_, plan))
                    sys.stderr.write(f"{round_} {runs[-1].arm}: {runs[-1].result}\n"[:200] + "\n")
    say(table(runs, options.queue))


if __name__ == "__main__":
    main()
