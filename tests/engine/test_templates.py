"""Which template of a cluster is ours, and which would be taken instead."""

from __future__ import annotations

import pytest

from tuner.engine.installed import InstalledTemplate, overriding_templates, same_template


def template(name: str, pattern: str, priority: int = 200) -> InstalledTemplate:
    return InstalledTemplate(name, {"index_patterns": [pattern], "priority": priority})


OURS = template("syslog", "syslog-*")
ALIKE = template("by-hand", "syslog-*")
OTHER = template("metrics", "metrics-*")


def test_ours_is_the_one_of_that_name() -> None:
    assert same_template([ALIKE, OTHER, OURS], "syslog", ["syslog-*"]) == OURS


def test_else_the_one_for_the_same_indices() -> None:
    assert same_template([ALIKE, OTHER], "syslog", ["syslog-*"]) == ALIKE
    assert same_template([OTHER], "syslog", ["syslog-*"]) is None


@pytest.mark.parametrize(
    ("pattern", "priority", "wins"),
    [
        ("*", 201, True),
        ("sys*", 500, True),
        ("*", 200, False),
        ("logs-*", 500, False),
    ],
)
def test_of_all_that_match_the_highest_priority_wins(
    pattern: str, priority: int, wins: bool
) -> None:
    one = template("one", pattern, priority)
    assert overriding_templates([one, OURS], "syslog-000001", 200) == ((one,) if wins else ())
