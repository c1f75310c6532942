"""What the sink costs beside the rsyslogd that feeds it, in one run.  Run by hand:

python -m tests.benchmarks.sink_share [--seconds 5]

A sink that used more than half of what rsyslogd uses would measure itself on a small machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tuner.lab.lab import new_run_id, sink_lab
from tuner.lab.scratch import scratch
from tuner.lint.load import load_profile
from tuner.measure.measurement import Measurement, TrialPlan
from tuner.measure.place import run_profile

DEFAULT = Path(__file__).parents[2] / "profiles" / "default.yaml"
MOST = 0.5


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    plan = TrialPlan(1.0, parser.parse_args().seconds)
    profile = load_profile(DEFAULT).profile
    with (
        tempfile.TemporaryDirectory() as folder,
        scratch(Path(folder)) as inner,
        sink_lab(inner, new_run_id()) as lab,
    ):
        found = run_profile(lab, profile, plan, "share", lambda _: None)
    if not isinstance(found, Measurement):
        sys.exit(f"no measurement: {found}")
    ratio = found.engine_cpu_us / found.shipper_cpu_us
    say(
        f"{found.eps:,.0f} events per second; CPU per event: "
        f"rsyslogd {found.shipper_cpu_us:.2f} us, sink {found.engine_cpu_us:.2f} us, "
        f"sender {found.flood_cpu_us:.2f} us"
    )
    say(f"the sink used {ratio:.2f} of what rsyslogd used, at most {MOST:.2f} is wanted")
    for doubt in found.doubts:
        say(f"doubt: {doubt}")
    if ratio > MOST:
        sys.exit("the sink is too dear: profile tuner/lab/sink_bulk.py and sink_store.py")


if __name__ == "__main__":
    main()
