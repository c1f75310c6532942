"""Configurations that were changed at random, read and imported with limits on time and memory."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.importer.test_bounds import LISTED, everything

CASES = int(os.environ.get("FUZZ_CASES", "20000"))
_AT_ONCE = 500
_MOST_S, _MOST_BYTES = 20.0, 1 << 30
_WORDS = (
    "{", "}", "(", ")", '"', "'", "`", "/*", "*/", "#", "\\", "\n", "$", "%", "%msg:F,58:2%", "&",
    " if ", " then ", " else ", " and ", " or ", " not ", " stop ", " call r ", "*.* ", "@@h:1;t\n",
    ":msg, contains, ", "$ActionQueueType LinkedList\n", "action(", "ruleset(", "template(", "[",
    "]", "=", ",", ";", "\0", "\xa0", "\U0001f600", "0x", "-", "999999999999999999999",
)  # fmt: skip


def _sources() -> list[str]:
    """Those that are imported in tests, those that are rendered, and those of a folder of public
    ones, which FUZZ_FOLDER names."""
    tests = Path(__file__).parents[1]
    folders = [tests / "importer" / "golden", tests / "golden"]
    folders += map(Path, filter(None, [os.environ.get("FUZZ_FOLDER")]))
    found = sorted(one for folder in folders for one in folder.rglob("*.conf"))
    files = [one.read_text(encoding="utf-8", errors="replace") for one in found]
    return [*files, *(one[:20_000] for one in LISTED.values())]


def mutated(text: str, chance: random.Random) -> str:
    """The text with some of it taken out, doubled, moved, or with words put in."""
    for _ in range(chance.randint(1, 8)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((1, 1, 5, 40, 400)))
        piece = text[start:end]
        made = chance.choice(("", piece * 2, piece[::-1], chance.choice(_WORDS), piece * 50))
        text = text[:start] + made + text[end:]
        text = text[: 1 << 20]
    return text


def _run(seed: int, cases: int) -> None:
    """Limits hold for all of them; a case that takes too long is named."""
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES))
    sources = _sources()
    for number in range(seed, seed + cases):
        chance = random.Random(number)
        text = mutated(chance.choice(sources), chance)
        started = time.process_time()
        try:
            everything(text)
        except Exception as bad:
            raise AssertionError(f"case {number}: {bad!r}") from bad
        took_s = time.process_time() - started
        assert took_s < _MOST_S, f"case {number} took {took_s:.1f} s"


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(0, CASES, _AT_ONCE))
def test_a_changed_configuration_is_read_or_refused(seed: int) -> None:
    code = f"from tests.importer.test_fuzz import _run; _run({seed}, {_AT_ONCE})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stderr[-3000:]
