"""What the fast tests notice of small changes to the modules that carry promises: mutation testing
with mutmut, whose settings are in pyproject.toml.

    python -m tests.mutants [PATTERN ...]   makes and tries those that were not tried yet
    python -m tests.mutants --table         prints what was found so far

A change of a text of words alone, such as of a message, is counted by itself: tests ask for a few
words of each.
"""

from __future__ import annotations

import ast
import fnmatch
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.live.rsyslogs import say

MADE = Path("mutants")
_NOTICED, _SURVIVED, _NEVER_RUN = 1, 0, 33
_MARKS = re.compile(r"XX(.*)XX", re.DOTALL)
KINDS = ("noticed", "words alone", "not noticed", "in no fast test", "not tried")


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
    if code is None:
        return "not tried"
    if code not in {_SURVIVED, _NEVER_RUN}:
        return "noticed"
    original = re.sub(r"__mutmut_\d+$", "__mutmut_orig", function)
    if texts[function] == texts[original]:
        return "words alone"
    return "not noticed" if code == _SURVIVED else "in no fast test"


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


def table() -> str:
    """A row for each file in Markdown, those with the most that was not noticed first."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for file, _, kind in found():
        counts[file][kind] += 1
    total = sum(counts.values(), Counter[str]())
    lines = [f"| file | {' | '.join(KINDS)} | share not noticed |", f"|{'---|' * (len(KINDS) + 2)}"]
    rows = sorted(counts.items(), key=lambda row: -_share(row[1]))
    for name, count in [*rows, ("all", total)]:
        cells = " | ".join(str(count[kind]) for kind in KINDS)
        lines.append(f"| {name} | {cells} | {_share(count):.0%} |")
    return "\n".join(lines)


def _share(count: Counter[str]) -> float:
    """Of those that change more than words."""
    missed = count["not noticed"] + count["in no fast test"]
    return missed / max(1, missed + count["noticed"])


def main() -> int:
    """Run mutmut, then print the table."""
    if sys.argv[1:] != ["--table"]:
        subprocess.run([Path(sys.executable).parent / "mutmut", "run", *sys.argv[1:]], check=True)
    say(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
