"""What becomes of a host when a trial is cut off at a random moment: its controller is killed, its
sshd, its cable is pulled, or two of these.  Run by hand, as root:

    python -m tests.benchmarks.trial_drills [--moments 40] [--at-once 5]

Each host is a network namespace with sshd, rsyslogd and impstats under traffic.  It must run its
own configuration again by itself, and soon after the deadline that the trial had set.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.live.conftest import COMMAND, tune
from tests.live.hosts import SshHost, hosts, inventory, passed
from tests.live.test_trial import BATCHES, CONF, PORT, traffic
from tuner.deploy.switchback import TrialDesign
from tuner.host.process import wait_until
from tuner.lab.sink import Sink
from tuner.profile.edit import edit

_BLOCK_S, _BURN_IN_S = 8, 3
_MARGIN_S = TrialDesign(0).margin_s
# After the deadline: the restart, and a load that five hosts make.
_LATE_S = 60.0
_PATIENCE_S = 240.0


@dataclass(frozen=True)
class Drilled:
    """What was done and how many seconds after B first ran there; how long it then took until the
    host ran A and nothing was pending, None where it never did."""

    fault: str
    after_s: float
    restored_s: float | None

    @property
    def is_kept(self) -> bool:
        """Whether A was there soon after the deadline of the block."""
        limit_s = _BLOCK_S + _MARGIN_S + _LATE_S
        return self.restored_s is not None and self.restored_s <= limit_s


Fault = Callable[[SshHost, subprocess.Popen[bytes]], object]


def _kill_both(host: SshHost, command: subprocess.Popen[bytes]) -> None:
    command.send_signal(signal.SIGKILL)
    host.run("pkill", "-KILL", "sshd")


FAULTS: Mapping[str, Fault] = {
    "controller killed": lambda _, command: command.kill(),
    "sshd killed": lambda host, _: host.run("pkill", "-KILL", "sshd"),
    "cable pulled": lambda host, _: host.cut(),
    "controller and sshd killed": _kill_both,
}


def drilled(host: SshHost, folder: Path, fault: str, after_s: float) -> Drilled:
    """One drill on a host that runs its own configuration."""
    before, state = host.tree(), folder / f"state-{host.name}"
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    words = ("--host", host.name, "--inventory", "hosts.yaml", "--block", f"{_BLOCK_S}s",
             "--burn-in", f"{_BURN_IN_S}s", "--for", "20m", "--yes",
             "--run-dir", f"trial-{host.name}")  # fmt: skip
    with subprocess.Popen(
        [*COMMAND, "trial", f"{host.name}.yaml", *words], cwd=folder, env=environment,
        stdout=subprocess.DEVNULL, stderr=(folder / f"{host.name}.log").open("wb"),
    ) as command:  # fmt: skip
        try:
            assert wait_until(host.is_pending, _PATIENCE_S, poll_s=0.2), "B never came"
            time.sleep(after_s)
            FAULTS[fault](host, command)
            began = time.monotonic()

            def stays_back() -> bool:
                """Whoever is cut off goes on for a moment: it counts once it stays."""
                for _ in range(2):
                    if host.is_pending() or host.tree() != before:
                        return False
                    time.sleep(2.0)
                return True

            is_restored = wait_until(stays_back, _PATIENCE_S, 0.5)
            restored_s = time.monotonic() - began
        finally:
            command.kill()
    return Drilled(fault, after_s, restored_s if is_restored else None)


def _round(names: Sequence[str], faults: Sequence[tuple[str, float]]) -> Iterator[Drilled]:
    """Drills on as many hosts at once."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="drills-") as text, ExitStack() as stack:
        folder = Path(text)
        sink = stack.enter_context(Sink())
        every = stack.enter_context(hosts(folder / "hosts", *names))
        inventory(folder / "hosts.yaml", **{host.name: host for host in every})
        for host in every:
            stack.enter_context(host.sees(sink.url))
            host.write("/etc/rsyslog.conf", CONF.format(port=PORT, url=sink.url))
            passed(host.run("systemctl", "restart", "rsyslog"))
            done = tune("import", "--host", host.name, "--inventory", "hosts.yaml",
                        "-o", f"{host.name}.yaml", folder=folder)  # fmt: skip
            assert done.code == 0, done.err
            profile = folder / f"{host.name}.yaml"
            changed = edit(profile.read_text(encoding="utf-8"), {"changes": dict(BATCHES)})
            profile.write_text(changed, encoding="utf-8")
            stack.enter_context(traffic(host, 500))
        with ThreadPoolExecutor(len(every)) as pool:
            jobs = [
                pool.submit(drilled, host, folder, fault, after_s)
                for host, (fault, after_s) in zip(every, faults, strict=False)
            ]
            yield from (job.result() for job in jobs)


def main() -> None:
    """Drill at random moments, and say what came of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=40)
    parser.add_argument("--at-once", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    kinds = list(FAULTS)
    # A block of B, the switch back, a block of A, and the next switch.
    planned = [
        (kinds[number % len(kinds)], dice.uniform(0.0, 2.5 * _BLOCK_S))
        for number in range(options.moments)
    ]
    found: list[Drilled] = []
    for begin in range(0, len(planned), options.at_once):
        part = planned[begin : begin + options.at_once]
        for one in _round([f"collector{number}" for number in range(len(part))], part):
            found.append(one)
            took = "never" if one.restored_s is None else f"{one.restored_s:.0f} s"
            _say(f"{one.fault}, {one.after_s:.1f} s after B came: A after {took}")
    kept = [one.restored_s for one in found if one.is_kept and one.restored_s is not None]
    _say(f"{len(kept)} of {len(found)} had A again, after {min(kept):.0f} to {max(kept):.0f} s")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
