"""How soon a backlog of a million events on disk is indexed once the engine is back, with the
disk-assisted queue that rsyslog's manual shows and with what advice and searches turn.  Run by
hand, on a quiet machine, three quarters of an hour:

    python -m tests.benchmarks.drains [--pairs 6] [--rate 10000] [--outage 100]

Both sides get the same rate while the engine hangs and after it; the seconds are from when it goes
on until no more waits than before.  The ratio is by pairs, with its 95 % interval.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

from tests.shipped import ROOT
from tuner.cli.options import EngineChoice
from tuner.cli.place import LabSpec, pace_of
from tuner.cli.series import Course, measured
from tuner.lint.load import parse_profile
from tuner.measure.measurement import Measurement, Result, TrialPlan
from tuner.measure.paired import compare
from tuner.measure.series import Arm
from tuner.profile.edit import edit
from tuner.profile.objective import Objective
from tuner.report.figures import ratio_text
from tuner.space.table import REPLY_FILTER

_QUEUE = "outputs[logs].queue"
MANUAL: Mapping[str, object] = {
    _QUEUE: {
        "type": "LinkedList", "filename": "logs", "spoolDirectory": "/var/spool/rsyslog",
        "maxDiskSpace": "4g", "saveOnShutdown": True, "timeoutEnqueue": 86400000,
        "timeoutShutdown": 10000,
    },
    # A request that waits for longer is sent again, and its documents are stored twice.
    "outputs[logs].indexTimeout": 600000,
}  # fmt: skip
TURNED: Mapping[str, object] = {
    f"{_QUEUE}.size": 50000, f"{_QUEUE}.dequeueBatchSize": 5000, f"{_QUEUE}.workerThreads": 4,
    f"{_QUEUE}.workerThreadMinimumMessages": 5000,
    "outputs[logs].filter_path": [*REPLY_FILTER],
}  # fmt: skip


def arms() -> tuple[Arm, Arm]:
    """profiles/default.yaml with each queue."""
    text = edit((ROOT / "profiles/default.yaml").read_text("utf-8"), MANUAL)
    return (
        Arm("as in the manual", parse_profile(text, "manual.yaml").profile),
        Arm("turned", parse_profile(edit(text, TURNED), "turned.yaml").profile),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--rate", type=float, default=10000.0, help="events a second")
    parser.add_argument("--outage", type=float, default=100.0, help="seconds")
    options = parser.parse_args()
    sys.stdout.write(f"load before: {os.getloadavg()[0]:.1f}\n")
    both, pace = arms(), pace_of(EngineChoice.NODE)
    plan = TrialPlan(
        pace.warm_up_s, 10.0, objective=Objective.DRAIN, offered=options.rate,
        outage_s=options.outage,
    )  # fmt: skip
    course = Course(both, "pair", options.pairs, plan, pace, seed=1)
    series, _ = measured(LabSpec(EngineChoice.NODE, None), course, [arm.name for arm in both])
    took: dict[str, dict[int, float]] = {arm.name: {} for arm in both}
    for run in series.runs:
        sys.stdout.write(f"| {run.block} | {run.arm} | {told(run.result)} |\n")
        if isinstance(run.result, Measurement):
            took[run.arm][run.block] = run.result.figure_of(Objective.DRAIN) or 0.0
    first, second = (took[arm.name] for arm in both)
    whole = sorted(first.keys() & second.keys())
    if len(whole) > 1:
        ratio = compare([first[block] for block in whole], [second[block] for block in whole])
        sys.stdout.write(f"turned over as in the manual: {ratio_text(ratio)}\n")
    sys.stdout.write(f"{series.engine}, rsyslogd {series.rsyslog}\n")


def told(result: Result) -> str:
    """What a run came to."""
    if not isinstance(result, Measurement):
        return str(result)
    seconds = result.figure_of(Objective.DRAIN)
    return f"{seconds:.1f} s, {result.delivery.sent:,} sent, {result.doubts}"


if __name__ == "__main__":
    main()
