"""What a command costs beside importing its libraries, in one run.  Run by hand:

python -m tests.benchmarks.import_cost [--rounds 15]

`--help` and `render` of a shipped profile run interleaved with interpreters that only import the
modules that the command was seen to import of others, in its order.  Of each the median processor
time counts, with byte code written beforehand, as an installed package has it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 2.0

COMMAND = "from tuner.cli.main import main; main()"
PROFILE = str(ROOT / "profiles" / "default.yaml")

COMMANDS = {"help": ["--help"], "render": ["render", PROFILE]}

# Standard error is where neither command prints.
IMPORTED = """
import atexit, sys
names = lambda: [one for one in sys.modules if one.partition(".")[0] not in ("tuner", "__main__")]
atexit.register(lambda: print(names(), file=sys.stderr))
"""
LIBRARIES = """
for name in {names}:
    try:
        __import__(name)
    except ImportError:  # what a compiled library enters by a name that is no file's
        pass
"""


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def cost_s(arguments: list[str], environment: dict[str, str]) -> float:
    """The processor time of one interpreter, which other work on the machine hardly changes."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    command = [sys.executable, *arguments]
    number = os.posix_spawn(sys.executable, command, environment, file_actions=quiet)
    _, status, usage = os.wait4(number, 0)
    if status != 0:
        sys.exit(f"{' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def libraries(arguments: list[str]) -> str:
    """A script that imports what a command imports of others."""
    command = [sys.executable, "-c", IMPORTED + COMMAND, *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return LIBRARIES.format(names=done.stderr.strip())


def measure(rounds: int) -> dict[str, float]:
    """The median processor seconds of each run, all runs in turn."""
    runs: dict[str, list[str]] = {}
    for name, arguments in COMMANDS.items():
        runs[name] = ["-c", COMMAND, *arguments]
        runs[f"{name}, libraries"] = ["-c", libraries(arguments)]
    found: dict[str, list[float]] = {name: [] for name in runs}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder, "PYTHONPATH": str(ROOT)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for arguments in runs.values():
            cost_s(arguments, environment)
        for _ in range(rounds):
            for name, arguments in runs.items():
                found[name].append(cost_s(arguments, environment))
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    found = measure(parser.parse_args().rounds)
    dear = []
    for name in COMMANDS:
        ratio = found[name] / found[f"{name}, libraries"]
        say(
            f"{name:<7} {found[name] * 1000:4.0f} ms, its libraries alone "
            f"{found[f'{name}, libraries'] * 1000:4.0f} ms: {ratio:.2f} times as long, at most "
            f"{MOST:.2f} is allowed"
        )
        if ratio > MOST:
            dear.append(name)
    if dear:
        sys.exit(f"{' and '.join(dear)}: look at python -X importtime, import later or less")


if __name__ == "__main__":
    main()
