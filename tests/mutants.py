"""What the fast tests notice of small changes to the modules that carry promises: mutation testing
with mutmut, whose settings are in pyproject.toml.

    python -m tests.mutants [PATTERN ...]   makes and tries those that were not tried yet
    python -m tests.mutants --sample N      tries N of each room, always the same ones
    python -m tests.mutants --table         prints what was found so far

A room is what a line of `only_mutate` names. A change of a text of words alone, such as of a
message, is counted by itself: tests ask for a few words of each. So is one whose tests did not end
in time: on a busy machine that says nothing.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import json
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from scipy.stats import binomtest

from tests.live.rsyslogs import say

MADE = Path("mutants")
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_SURVIVED, _NEVER_RUN, _TIMEOUT = 0, 33, {36, -24, 24, 152, 255}
_SEED = 37
_MARKS = re.compile(r"XX(.*)XX", re.DOTALL)
KINDS = ("noticed", "timeout", "words alone", "not noticed", "in no fast test", "not tried")


def rooms() -> list[str]:
    """The patterns of the files that are changed."""
    patterns: list[str] = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["mutmut"]["only_mutate"]
    return patterns


def found(pattern: str = "*") -> Iterator[tuple[str, str, str]]:
    """The file, the name and the kind of each change."""
    for meta in sorted(MADE.rglob("*.py.meta")):
        codes: Mapping[str, int | None] = json.loads(meta.read_text("utf-8"))["exit_code_by_key"]
        file = str(meta.relative_to(MADE)).removesuffix(".meta")
        if not codes or not fnmatch.fnmatch(file, pattern):
            continue
        texts = _texts(MADE / file)
        for name, code in codes.items():
            yield file, name, _kind(code, texts, name.rpartition(".")[2])


def _kind(code: int | None, texts: Mapping[str, str], function: str) -> str:
    original = re.sub(r"__mutmut_\d+$", "__mutmut_orig", function)
    if texts[function] == texts[original]:
        return "words alone"
    if code is None:
        return "not tried"
    if code in _TIMEOUT:
        return "timeout"
    return {_SURVIVED: "not noticed", _NEVER_RUN: "in no fast test"}.get(code, "noticed")


def _texts(file: Path) -> dict[str, str]:
    """The body of each function, without what is only said: texts that hold a blank are folded."""
    made: dict[str, str] = {}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and "__mutmut_" in node.name:
            for one in ast.walk(node):
                if (
                    isinstance(one, ast.Constant)
                    and isinstance(one.value, str)
                    and " " in one.value
                ):
                    one.value = _MARKS.sub(r"\1", one.value).lower()
            made[node.name] = "\n".join(map(ast.unparse, node.body))
    return made


def sample(size: int) -> list[str]:
    """The names of as many changes of each room, or of all where it has fewer."""
    drawn: list[str] = []
    for room in rooms():
        names = [name for _, name, kind in found(room) if kind != "words alone"]
        drawn += random.Random(_SEED).sample(sorted(names), min(size, len(names)))
    return drawn


def table() -> str:
    """A row for each room in Markdown, and one for all."""
    counts = {room: Counter(kind for _, _, kind in found(room)) for room in rooms()}
    total = sum(counts.values(), Counter[str]())
    lines = [
        f"| room | {' | '.join(KINDS)} | share not noticed | 95 % interval |",
        f"|{'---|' * (len(KINDS) + 3)}",
    ]
    for name, count in [*counts.items(), ("all", total)]:
        cells = " | ".join(str(count[kind]) for kind in KINDS)
        lines.append(f"| {name} | {cells} | {_share(count)} |")
    return "\n".join(lines)


def _share(count: Counter[str]) -> str:
    """Of those that change more than words and came to an end."""
    missed = count["not noticed"] + count["in no fast test"]
    tried = missed + count["noticed"]
    if not tried:
        return " | "
    found_in = binomtest(missed, tried).proportion_ci(method="wilson")
    return f"{missed / tried:.0%} | {found_in.low:.0%} to {found_in.high:.0%}"


def _mutmut(names: list[str]) -> None:
    subprocess.run([Path(sys.executable).parent / "mutmut", "run", *names], check=True)


def main() -> int:
    """Run mutmut, then print the table."""
    match sys.argv[1:]:
        case ["--table"]:
            pass
        case ["--sample", size]:
            # mutmut makes the changes before it looks for names, and ends where it finds none.
            with contextlib.suppress(subprocess.CalledProcessError):
                _mutmut(["none"])
            _mutmut(sample(int(size)))
        case patterns:
            _mutmut(patterns)
    say(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
