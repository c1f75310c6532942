"""Logs that were changed at random: read, judged and shown without a traceback, each in seconds."""

from __future__ import annotations

import json
import os
import random
import time

import pytest
from pydantic_core import to_jsonable_python

from tests.diagnose.logged import NAMES, settings_of, text_of
from tests.diagnose.public import PUBLIC
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import diagnose
from tuner.modules.stats_rounds import StatsRound, numbered, read_rounds
from tuner.report.diagnosis import (
    FilesDiagnosis,
    diagnosis_blocks,
    diagnosis_json,
    diagnosis_report,
)

CASES = int(os.environ.get("FUZZ_CASES", "5000"))
_AT_ONCE = 250
_FEW = 12
_MOST_S = 5.0
_WORDS = (
    "{", "}", "[", "]", '"', ":", ",", " ", "\n", "\0", "\r", "\x1b[31m", "\u202e", "\\u0000",
    "null", "true", "1e999", "NaN", "-1", "18446744073709551616", "9" * 30, '"origin"',
    '"values": {',
    '"name": "main Q[DA]"', ": BEGIN\n", ": END\n", "Fri Nov 20 23:57:42 2026: ",
    "Feb 29 00:00:00 ",
    "0001-01-01T00:00:00Z h rsyslogd-pstats: ", "9999-12-31T23:59:59Z h rsyslogd-pstats: ",
    '@cee: {"name": "x", "origin": "core.queue", "size": -5}', " size=", "# HELP a b\n", "MESSAGE=",
    "__REALTIME_TIMESTAMP=99999999999999999\n", '{"stats": [{}]}', "[DA]", "!", ".",
)  # fmt: skip


def changed(number: int) -> tuple[str, str]:
    """A log by its name, with some of it taken out, doubled, moved, or with words put in."""
    chance = random.Random(number)
    name = chance.choice([*NAMES, *PUBLIC])
    text = PUBLIC[name].text if name in PUBLIC else text_of(name)
    for _ in range(chance.randint(1, 12)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((1, 1, 8, 80, 800, 8000)))
        piece = text[start:end]
        shuffled = "".join(chance.sample(lines := piece.splitlines(keepends=True), len(lines)))
        made = chance.choice(
            ("", piece * 2, piece[::-1], shuffled, chance.choice(_WORDS), piece[:99] * 50)
        )
        text = (text[:start] + made + text[end:])[: 1 << 20]
    return name, text


def judged(number: int) -> None:
    name, text = changed(number)
    started = time.process_time()
    rounds = (one for one in read_rounds(numbered(text)) if isinstance(one, StatsRound))
    settings = settings_of("healthy" if name in PUBLIC else name)
    hosts = diagnose(courses(rounds), settings)
    made = FilesDiagnosis((name,), hosts, (), ())
    list(diagnosis_blocks(made))
    json.dumps(to_jsonable_python(diagnosis_json(made)), allow_nan=False)
    assert all(one.headline for one in made.findings)
    if hosts:
        diagnosis_report(made)
    took_s = time.process_time() - started
    assert took_s < _MOST_S, f"case {number} took {took_s:.1f} s"


@pytest.mark.parametrize("number", range(_FEW))
def test_a_changed_log_is_judged(number: int) -> None:
    judged(number)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, CASES, _AT_ONCE))
def test_thousands_of_changed_logs_are_judged(first: int) -> None:
    for number in range(first, first + _AT_ONCE):
        try:
            judged(number)
        except Exception as bad:
            raise AssertionError(f"case {number}: {bad!r}") from bad
