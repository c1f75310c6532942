"""Filters as conditions: read back by an independent reader, they say what the profile says."""

from __future__ import annotations

import pytest

from tests.profile.examples import small
from tests.render.tokens import Object, Token, parse
from tuner.render.artefacts import rsyslog_conf


def branch(wanted: dict[str, object]) -> Object:
    """The `if` that a filter becomes."""
    found = parse(rsyslog_conf(small({"outputs[logs].filter": wanted})))
    (ruleset,) = [one for one in found if one.kind == "ruleset"]
    (only,) = [one for one in ruleset.body if one.kind == "if"]
    return only


def shown(wanted: dict[str, object]) -> str:
    return str(branch(wanted).parameters["condition"])


def strings(tokens: list[Token]) -> list[str]:
    return [text for kind, text in tokens if kind == "string"]


def test_a_severity_is_the_named_and_every_more_urgent_one() -> None:
    assert shown({"syslogseverity": "emerg"}) == "$syslogseverity <= 0"
    assert shown({"syslogseverity": "warning"}) == "$syslogseverity <= 4"
    assert shown({"syslogseverity": "debug"}) == "$syslogseverity <= 7"


def test_facilities_and_programs_are_alternatives() -> None:
    assert shown({"syslogfacility": ["kern"]}) == "$syslogfacility == 0"
    facilities = shown({"syslogfacility": ["authpriv", "local0", "local7"]})
    assert facilities == (
        "( $syslogfacility == 10 or $syslogfacility == 16 or $syslogfacility == 23 )"
    )
    programs = shown({"programname": ["sshd", "sudo"]})
    assert programs == '( $programname == "sshd" or $programname == "sudo" )'


@pytest.mark.parametrize(
    ("operation", "wanted"),
    [
        ("isequal", '$msg == "a"'),
        ("startswith", '$msg startswith "a"'),
        ("startswith_i", '$msg startswith_i "a"'),
        ("contains", '$msg contains "a"'),
        ("contains_i", '$msg contains_i "a"'),
        ("ereregex", 're_match ( $msg , "a" )'),
    ],
)
def test_every_operation_has_its_operator(operation: str, wanted: str) -> None:
    match = {"property": "msg", operation: ["a"]}
    assert shown({"match": [match]}) == wanted
    assert shown({"match": [match | {"negate": True}]}) == f"not ( {wanted} )"


def test_all_that_is_written_must_hold() -> None:
    wanted: dict[str, object] = {
        "syslogseverity": "err",
        "programname": ["a", "b"],
        "match": [
            {"property": "hostname", "startswith": ["web"]},
            {"property": "fromhost-ip", "isequal": ["10.0.0.1", "10.0.0.2"], "negate": True},
        ],
    }
    assert shown(wanted) == (
        '$syslogseverity <= 3 and ( $programname == "a" or $programname == "b" ) and '
        '$hostname startswith "web" and '
        'not ( $fromhost-ip == "10.0.0.1" or $fromhost-ip == "10.0.0.2" )'
    )


HOSTILE = [
    'a"b$c\\x', '") or 1 == 1 then { stop } #', "$!all-json", "$(id)", "`id`", "%msg%", "\\101",
    '") or 1 == 1 then stop #', "a\nb", "\t", "it's", "caf\u00e9", "x" * 4000, "\\\\", '\\"',
    " " * 400,
]  # fmt: skip


NO_EXPRESSIONS = {'") or 1 == 1 then { stop } #', "\\101"}


@pytest.mark.parametrize("operation", ["isequal", "contains", "ereregex"])
def test_a_text_stays_a_text(operation: str) -> None:
    refused = NO_EXPRESSIONS if operation == "ereregex" else set()
    texts = [text for text in HOSTILE if text not in refused]
    found = branch({"match": [{"property": "msg", operation: texts}]})
    assert strings(found.expression) == texts
    assert [one.kind for one in found.body] == ["action"]
    assert not any("all-json" in text for kind, text in found.expression if kind == "variable")
