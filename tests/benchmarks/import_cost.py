"""What a command costs beside importing its libraries, in one run.  Run by hand:

python -m tests.benchmarks.import_cost [--rounds 15]

`--help` and `render` of a shipped profile run interleaved with interpreters that only import what
the command imports of others: typer, with the part that prints help through rich; typer, PyYAML,
Jinja and pydantic, which loads half of itself when the first class is made with it.  Of each the
median processor time counts, with byte code written beforehand, as an installed package has it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 2.0

HELP_LIBRARIES = "import typer, typer.rich_utils"
RENDER_LIBRARIES = """
import jinja2, typer, yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
class Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern="^[a-z]+$")
"""
COMMAND = "from tuner.cli.main import main; main()"
PROFILE = str(ROOT / "profiles" / "default.yaml")

RUNS = {
    "help, libraries": ["-c", HELP_LIBRARIES],
    "help": ["-c", COMMAND, "--help"],
    "render, libraries": ["-c", RENDER_LIBRARIES],
    "render": ["-c", COMMAND, "render", PROFILE],
}


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


def measure(rounds: int) -> dict[str, float]:
    """The median processor seconds of each run, all runs in turn."""
    found: dict[str, list[float]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder, "PYTHONPATH": str(ROOT)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for arguments in RUNS.values():
            cost_s(arguments, environment)
        for _ in range(rounds):
            for name, arguments in RUNS.items():
                found[name].append(cost_s(arguments, environment))
    return {name: statistics.median(times) for name, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    found = measure(parser.parse_args().rounds)
    dear = []
    for name in ("help", "render"):
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
