"""What an engine takes, by what Elasticsearch 8.19 was seen to answer."""

from __future__ import annotations

import pytest

from tuner.engines.refusals import document_refusal, name_refusal

NAMES = {
    "logs": None, "logs-%$year%": None, "<logs-{now/d}>": None, ".logs": None, "logsä": None,
    "l" * 255: None, "l" * 256: "index name is too long, (256 > 255)",
    "ä" * 128: "index name is too long, (256 > 255)",
    "Logs": "must be lowercase", "syslog-%$YEAR%": "must be lowercase",
    "logsÄ": "must be lowercase", "": "must not be empty", ".": "must not be '.' or '..'",
    "..": "must not be '.' or '..'", "a#": "must not contain '#'", "a:b": "must not contain ':'",
    "_a": "must not start with '_', '-', or '+'", "-a": "must not start with '_', '-', or '+'",
    "+a": "must not start with '_', '-', or '+'",
    **{
        f"a{one}b": "must not contain the following characters "
        r"""[' ','"','*',',','/','<','>','?','\','|']"""
        for one in ' "*,/<>?\\|'
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_an_index(name: str) -> None:
    assert name_refusal(name) == NAMES[name]


@pytest.mark.parametrize("text", ['{"a":1}', "{}", '{"a.":1}', '{"a":{"b":1},"b":1} '])
def test_a_document_that_is_taken(text: str) -> None:
    assert document_refusal(text) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1}}', '{"a":1,"a":2}', '{"a":{"b":1,"b":2}}', '{"a":"x\ty"}', '{"a":NaN}',
        '{"a":1} x', "[1]", "1", "", '{"a":1,}', "{'a':1}", '{"a":"\\x"}', '{"a":1', '{"a":01}',
        '{"a":1}{"b":2}', '{"":1}', '{" ":1}',
    ],
)  # fmt: skip
def test_a_document_that_is_refused(text: str) -> None:
    assert document_refusal(text)
