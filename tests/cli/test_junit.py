"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from tuner.cases.judge import JudgedCase
from tuner.cli.cases import junit_xml
from tuner.errors import Problem

WRONG = Problem("tests.yaml", 4, 25, 'm should be "\x1b[31m<a>", is "&"', "RT022")


def test_each_case_is_there_and_what_failed_is_said_in_full() -> None:
    cases = (JudgedCase("one", (WRONG, WRONG), ()), JudgedCase('"two" <b>\x00', (), ()))
    suites = ElementTree.fromstring(junit_xml([("tests.yaml", cases, 1.25)]))  # noqa: S314
    (suite,) = suites
    assert suite.attrib == {
        "name": "tests.yaml", "tests": "2", "failures": "1", "time": "1.250",
    }  # fmt: skip
    first, second = suite
    assert (first.get("classname"), first.get("name")) == ("tests.yaml", "one")
    failure = first.find("failure")
    assert failure is not None
    said = 'tests.yaml:4:25: error: m should be "?[31m<a>", is "&" [RT022]'
    assert failure.get("message") == said
    assert (failure.text or "").splitlines() == [said, said]
    assert second.get("name") == '"two" <b>?'
    assert second.find("failure") is None
