"""findings.toml: each cause has words, and each case of one is used by a rule."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from tuner.diagnose.finding import Cause, Certainty, EventEffect, finding
from tuner.lint.explain import explained_codes

FOLDER = files("tuner.diagnose")
WORDS = tomllib.loads(FOLDER.joinpath("findings.toml").read_text("utf-8"))
EFFECTS = {effect.value for effect in EventEffect}
CERTAINTIES = {certainty.value for certainty in Certainty}
# Modules of outputs, and the origins of counters.
NAMED_BY_RSYSLOG = {"omelasticsearch", "omprog", "omfile", "omfwd"}


def test_every_cause_and_case_has_all_its_words_and_known_codes() -> None:
    assert sorted(WORDS) == sorted(cause.name.lower() for cause in Cause)
    codes = {explained.code for explained in explained_codes()}
    for general in WORDS.values():
        cases = [case for case in general.values() if isinstance(case, dict)]
        for row in (general, *(general | case for case in cases)):
            assert all(row[key] for key in ("why", "meaning", "way_out")), row
            assert row["effect"] in EFFECTS
            assert row.get("certainty", "certain") in CERTAINTIES
            assert not row.get("code") or row["code"] in codes


def test_no_case_is_left_that_no_rule_names() -> None:
    code = "".join(path.read_text("utf-8") for path in Path(str(FOLDER)).glob("*.py"))
    for general in WORDS.values():
        cases = {name for name, case in general.items() if isinstance(case, dict)}
        assert {case for case in cases - NAMED_BY_RSYSLOG if f'"{case}"' not in code} == set()


def test_a_case_says_only_what_is_different() -> None:
    drops = [
        finding(Cause.RATE_LIMIT, "a", (1.0, 2.0), "seen", case=case) for case in ("", "action")
    ]
    assert drops[0].why == drops[1].why
    assert [drop.way_out.parameter for drop in drops] == [
        "rateLimit.burst",
        "action.ratelimit.name",
    ]
