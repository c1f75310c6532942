"""Problems as annotations of a merge request."""

from __future__ import annotations

from dataclasses import replace

from tuner.cli.console import github, gitlab
from tuner.errors import Problem, Severity

PROBLEM = Problem("profiles/prod.yaml", 12, 7, "80 % of 5: add size", "RT111")


def test_github_gets_a_command_for_each_problem_at_its_place() -> None:
    assert github([PROBLEM, replace(PROBLEM, severity=Severity.WARNING)]).split("\n") == [
        "::error file=profiles/prod.yaml,line=12,col=7,title=RT111::80 %25 of 5: add size",
        "::warning file=profiles/prod.yaml,line=12,col=7,title=RT111::80 %25 of 5: add size",
    ]


def test_nothing_in_a_name_or_a_message_can_become_a_command_of_github() -> None:
    hostile = replace(PROBLEM, file="a,b:c\n::error::x", message="no\r\n::stop-commands::t")
    told = github([hostile])
    assert told.splitlines() == [told]
    assert told.startswith("::error file=a%2Cb%3Ac%0A%3A%3Aerror%3A%3Ax,line=12,")
    assert told.endswith("::no%0D%0A::stop-commands::t")


def test_gitlab_gets_what_its_report_must_hold() -> None:
    (found,) = gitlab([PROBLEM])
    assert found["description"] == PROBLEM.message
    assert found["check_name"] == "RT111"
    assert found["severity"] == "major"
    assert found["location"] == {"path": "profiles/prod.yaml", "lines": {"begin": 12}}


def test_gitlab_knows_a_problem_again_that_moved_and_tells_two_apart() -> None:
    (before,) = gitlab([PROBLEM])
    (moved,) = gitlab([replace(PROBLEM, line=80)])
    assert before["fingerprint"] == moved["fingerprint"]
    problems = [PROBLEM, replace(PROBLEM, line=80), replace(PROBLEM, message="other")]
    assert len({str(one["fingerprint"]) for one in gitlab(problems)}) == 3
