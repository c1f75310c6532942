"""Warnings for people: ranked, grouped, advice folded; programs get them all."""

from __future__ import annotations

from tests.profile.examples import SMALL
from tuner.errors import Problem, Severity
from tuner.lint.lint import summary
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.rule import Rank


def warned(code: str, line: int) -> Problem:
    return Problem("p.yaml", line, 1, f"says {code}", code, Severity.WARNING)


MIXED = [warned(*one) for one in [("RT112", 1), ("RT213", 2), ("RT240", 3), ("RT240", 9),
                                  ("RT267", 4), ("RT505", 5)]]  # fmt: skip


def test_what_loses_events_comes_first_and_a_rule_once() -> None:
    lines = summary(MIXED)
    assert lines == [
        "p.yaml:3:1: warning: says RT240 [RT240] also at 9:1",
        "p.yaml:2:1: warning: says RT213 [RT213]",
        "p.yaml:5:1: warning: says RT505 [RT505]",
        "2 pieces of advice: RT112, RT267; rsyslog-tune validate --verbose shows them, "
        "rsyslog-tune explain RT112 says why",
    ]
    assert summary([]) == []


def test_of_hundreds_of_places_the_first_are_said_and_how_many_more() -> None:
    (line,) = summary([warned("RT240", number) for number in range(1, 3002)])
    assert "also at 2:1, 3:1, " in line
    assert line.endswith(" 21:1 and 2,980 more places")


def test_of_what_loses_no_event_there_is_a_count_where_only_loss_is_shown() -> None:
    assert summary(MIXED, Rank.LOSS) == [
        "p.yaml:3:1: warning: says RT240 [RT240] also at 9:1",
        "4 other warnings: RT213, RT505, RT112, RT267; rsyslog-tune validate --verbose shows them, "
        "rsyslog-tune explain RT213 says why",
    ]
    assert summary(MIXED[1:2], Rank.LOSS)[0].startswith("1 other warning: RT213; ")


def test_advice_is_printed_on_demand() -> None:
    lines = summary(MIXED, Rank.ADVICE)
    assert lines[:3] == summary(MIXED)[:3]
    assert lines[3:] == [str(MIXED[0]), str(MIXED[4])]


def test_two_outputs_with_one_fault_are_one_line() -> None:
    output = {
        "name": "audit", "type": "omelasticsearch", "servers": ["http://10.0.0.1:9200"],
        "document": [{"property": "msg", "name": "m"}], "index": {"name": "audit"},
    }  # fmt: skip
    both = [output, {**output, "name": "b", "index": {"name": "b"}}]
    loaded = parse_profile(edit(SMALL, {"outputs": both}), "p.yaml")
    lines = summary(loaded.warnings)
    assert len(lines) < len(loaded.warnings)
    assert len({one.code for one in loaded.warnings}) >= len(lines)
