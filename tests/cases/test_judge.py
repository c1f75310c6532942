"""What came of a message, held against what its case expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.factory import cases_of, document, line
from tuner.cases.judge import judged
from tuner.cases.run import Arrival, Came


def found(case: str, came: list[Came], folder: Path) -> list[str]:
    """The differences of one case, with line and column."""
    loaded = cases_of(f"cases:\n- name: one\n  line: x\n{case}", folder)
    (done,) = judged(loaded, [came])
    assert done.passed is (not done.problems)
    return [f"{one.line}:{one.column} {one.message.removeprefix('one: ')}" for one in done.problems]


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ('message: "a"', None),
        ('message: "b"', 'message should be "b", is "a"'),
        ("host.name: web1", None),
        ("status: 200", None),
        ('status: "200"', 'status should be "200", is 200'),
        ("is_ok: true", None),
        ("is_ok: 1", "is_ok should be 1, is true"),
        ("tags: [a, 1]", None),
        ("tags: [a, true]", 'tags should be ["a", true], is ["a", 1]'),
        ("tags: [a]", 'tags should be ["a"], is ["a", 1]'),
        ("nothing: null", None),
        ("missing: null", "missing should be null, is not there"),
        ('message: {pattern: "[ab]"}', None),
        ('message: {pattern: "b?"}', 'message should match b?, is "a"'),
        ('status: {pattern: "2.."}', None),
        ('missing: {pattern: ".*"}', "missing should match .*, is not there"),
        ("missing: {absent: true}", None),
        ("message: {absent: true}", 'message should be absent, is "a"'),
        ("host: {absent: true}", 'host should be absent, is {"host.name": "web1"}'),
        ("host: web1", 'host should be "web1", is {"host.name": "web1"}'),
    ],
)
def test_fields(expected: str, said: str | None, tmp_path: Path) -> None:
    came = document(
        {
            "message": "a", "host": {"name": "web1"}, "status": 200, "is_ok": True,
            "tags": ["a", 1], "nothing": None,
        }
    )  # fmt: skip
    made = found(f"  expect: [{{fields: {{{expected}}}}}]\n", [came], tmp_path)
    assert [one.partition(" es: ")[2] for one in made] == ([] if said is None else [said])


def test_a_difference_stands_where_the_value_is_written(tmp_path: Path) -> None:
    text = "  expect:\n  - index: logs\n    id: seven\n    fields:\n      message: b\n"
    came = document({"message": "a"}, "other", "7")
    assert found(text, [came], tmp_path) == [
        '5:12 es: index should be "logs", is "other"',
        '6:9 es: id should be "seven", is "7"',
        '8:16 es: message should be "b", is "a"',
    ]


def test_lines_and_their_files(tmp_path: Path) -> None:
    text = "  expect:\n  - file: /var/log/all\n    line: {pattern: 'a.*z'}\n"
    assert found(text, [line("a to z")], tmp_path) == []
    assert found(text, [line("a to y", "/var/log/other")], tmp_path) == [
        '5:11 file: file should be "/var/log/all", is "/var/log/other"',
        '6:11 file: line should match a.*z, is "a to y"',
    ]


def test_what_does_not_come_is_said_with_what_did(tmp_path: Path) -> None:
    text = "  expect: [{output: es, fields: {a: 1}}]\n"
    assert found(text, [], tmp_path) == ["4:12 no document came by es; nothing else came"]
    assert found(text, [line("x")], tmp_path) == [
        "4:12 no document came by es; what came, came by file"
    ]


def test_all_that_comes_by_an_output_that_is_expected_must_be(tmp_path: Path) -> None:
    text = "  expect: [{fields: {a: 1}}]\n"
    twice = [document({"a": 1}), document({"a": 1}), line("not looked at")]
    assert found(text, twice, tmp_path) == ['4:11 es: one more came: index logs: {"a": 1}']


def test_what_fits_best_is_compared_whatever_came_first(tmp_path: Path) -> None:
    text = "  expect: [{fields: {a: 1}}, {fields: {a: 2}}]\n"
    assert found(text, [document({"a": 2}), document({"a": 1})], tmp_path) == []


def test_each_expectation_gets_what_fits_it_where_that_can_be(tmp_path: Path) -> None:
    bob, eve = (document({"level": "info", "user": name}) for name in ("bob", "eve"))
    any_user, is_bob = "{fields: {level: info}}", "{fields: {level: info, user: bob}}"
    for expected in ([any_user, is_bob], [is_bob, any_user]):
        for came in ([bob, eve], [eve, bob]):
            assert found(f"  expect: [{', '.join(expected)}]\n", came, tmp_path) == []
    (said,) = found(f"  expect: [{any_user}, {is_bob}]\n", [eve, eve], tmp_path)
    assert said.endswith('user should be "bob", is "eve"')


def test_outputs_are_all_that_is_reached(tmp_path: Path) -> None:
    came = [document({}), line("x")]
    assert found("  outputs: [file, es]\n", came, tmp_path) == []
    assert found("  outputs: [es]\n", came, tmp_path) == [
        "4:12 it should reach es, and reaches es, file"
    ]
    assert found("  outputs: []\n", came, tmp_path) == [
        "4:12 it should reach no output, and reaches es, file"
    ]
    assert found("  outputs: []\n", [], tmp_path) == []


@pytest.mark.parametrize("text", ["{broken", '{"a": 1, "a": 1}'])
def test_a_document_is_json_with_each_key_once(text: str, tmp_path: Path) -> None:
    """The engine refuses any other, whatever is expected of it."""
    broken = [Came("es", Arrival("logs", None, text))]
    said = f"es: it is no JSON object with each key once: {text}"
    assert found("  expect: [{fields: {a: 1}}]\n", broken, tmp_path) == [f"4:21 {said}"]
    assert found("  expect: [{index: logs}]\n", broken, tmp_path) == [f"4:12 {said}"]
