"""`python -m tests.drill FOLDER [NAME...]` plays scenarios, each in a folder of its name, and
prints the table; with `--judge` it diagnoses again what is there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.drill.drilled import TRUTH, diagnosed, drilling
from tests.drill.judge import table
from tests.drill.rows import ROWS


def main(arguments: Sequence[str]) -> None:
    """Play or judge, and print the table."""
    is_new = "--judge" not in arguments
    folder, *named = [one for one in arguments if one != "--judge"]
    into = Path(folder).resolve()
    names = [one for one in named or ROWS if is_new or (into / one / TRUTH).exists()]
    if is_new:
        with drilling(names, into) as every:
            verdicts = [one.result() for one in every.values()]
    else:
        verdicts = [diagnosed(name, into / name) for name in names]
    sys.stdout.write("\n".join(table(verdicts)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
