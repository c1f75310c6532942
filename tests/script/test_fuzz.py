"""Configurations that were changed at random, read with limits on time and memory.

FUZZ_CASES says how many, FUZZ_FROM from which number on, FUZZ_FOLDER names a folder of public ones.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.script.grammar import Grammar
from tests.script.test_bounds import LISTED, everything, loaded

FROM = int(os.environ.get("FUZZ_FROM", "0"))
CASES = int(os.environ.get("FUZZ_CASES", "20000"))
AT_ONCE = 500
# What is read in 5 s and 500 MB, on a machine that is busy with something else.
MOST_S, MOST_BYTES = 15.0, 500 << 20
_LOADED_EVERY = 5
_WORDS = (
    "{", "}", "(", ")", '"', "'", "`", "/*", "*/", "#", "\\", "\n", "$", "%", "%msg:F,58:2%", "&",
    " if ", " then ", " else ", " and ", " or ", " not ", " stop ", " call r ", "*.* ", "@@h:1;t\n",
    ":msg, contains, ", "$ActionQueueType LinkedList\n", "action(", "ruleset(", "template(", "[",
    "]", "=", ",", ";", "\0", "\xa0", "\U0001f600", "0x", "-", "999999999999999999999",
)  # fmt: skip


@cache
def _written() -> tuple[str, ...]:
    """Those of tests, and those of a folder of public ones."""
    tests = Path(__file__).parents[1]
    folders = [tests / "script" / "golden", tests / "golden"]
    folders += map(Path, filter(None, [os.environ.get("FUZZ_FOLDER")]))
    found = sorted(one for folder in folders for one in folder.rglob("*.conf"))
    files = [one.read_text(encoding="utf-8", errors="replace") for one in found]
    return (*files, *(one[:20_000] for one in LISTED.values()))


def case(number: int) -> str:
    """The configuration of that number: every third is one of the grammar, changed."""
    chance = random.Random(number)
    text = chance.choice(_written()) if number % 3 else Grammar(number).case().text
    return mutated(text, chance)


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


class _TooSlow(Exception):
    """A case took more of the processor than it may."""


@contextlib.contextmanager
def _within(limit_s: float) -> Iterator[None]:
    """Raise _TooSlow in what takes longer."""

    def end(*_: object) -> None:
        raise _TooSlow(f"more than {limit_s:g} s")

    signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def run(first: int, cases: int) -> None:
    """Read so many cases, each within the limits; the first that is not is named.  At the end the
    slowest, and the most memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    slowest = (0.0, first)
    for number in range(first, first + cases):
        text = case(number)
        started = time.process_time()
        try:
            with _within(MOST_S):
                everything(text)
                if number % _LOADED_EVERY == 0:
                    loaded(text)
        except Exception as bad:
            raise AssertionError(f"case {number}: {bad!r}") from bad
        slowest = max(slowest, (time.process_time() - started, number))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sys.stdout.write(f"{first}: slowest {slowest[0]:.1f} s (case {slowest[1]}), {peak} MiB\n")


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(FROM, FROM + CASES, AT_ONCE))
def test_a_changed_configuration_is_read_or_refused(first: int) -> None:
    number = min(AT_ONCE, FROM + CASES - first)
    code = f"from tests.script.test_fuzz import run; run({first}, {number})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=7200
    )
    assert done.returncode == 0, done.stderr[-3000:]
