"""Filters: what a profile may say of the events that an output takes."""

from __future__ import annotations

import pytest

from tests.profile.examples import SMALL, small
from tuner.errors import BadProfile
from tuner.lint.load import parse_profile
from tuner.modules.filter import OPERATIONS, Filter
from tuner.profile.edit import edit


def taken(wanted: object) -> Filter | None:
    return small({"outputs[logs].filter": wanted}).outputs[0].filter


def refusal(wanted: object) -> str:
    with pytest.raises(BadProfile) as caught:
        parse_profile(edit(SMALL, {"outputs[logs].filter": wanted}), "p.yaml")
    return str(caught.value)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_takes_texts(operation: str) -> None:
    found = taken({"match": [{"property": "msg", operation: ['a"b', "$x"]}]})
    assert found is not None
    assert found.match is not None
    assert getattr(found.match[0], operation) == ('a"b', "$x")


def test_a_filter_that_says_nothing_is_refused() -> None:
    assert "takes every event" in refusal({})


def test_an_expression_that_regcomp_refuses_is_none() -> None:
    said = refusal({"match": [{"property": "msg", "ereregex": ["^a+(b|c)$", "a("]}]})
    assert "p.yaml:" in said
    assert "not a POSIX extended regular expression: Unmatched ( or" in said


def test_a_match_has_one_operation() -> None:
    assert "exactly one operation" in refusal({"match": [{"property": "msg"}]})
    both = {"property": "msg", "contains": ["a"], "startswith": ["b"]}
    assert "exactly one operation" in refusal({"match": [both]})


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ({"syslogseverity": "warn"}, "did you mean warning"),
        ({"syslogfacility": ["local8"]}, "did you mean local"),
        ({"syslogfacility": []}, "must not be empty"),
        ({"programname": "sshd"}, "must be a list"),
        ({"programname": [""]}, "a text that is not empty"),
        ({"match": [{"property": "message", "contains": ["a"]}]}, "must be msg"),
        ({"match": [{"property": "msg", "contains": ["a"] * 101}]}, "at most 100"),
        ({"severity": "err"}, "there is no key severity"),
        ({"match": [{"property": "msg", "regex": ["a"]}]}, "there is no key regex"),
    ],
)
def test_what_is_wrong_is_said(wanted: object, hint: str) -> None:
    assert hint in refusal(wanted)


def test_a_text_may_not_hold_what_rsyslog_would_end_it_at() -> None:
    assert "NUL" in refusal({"programname": ["a\0b"]})
