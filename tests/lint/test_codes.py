"""Codes: every one that a message can end with is explained, and is found as people type it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuner.errors import BadUsage
from tuner.lint.explain import explain_code, explained_codes, is_code
from tuner.lint.lint import RULES

PACKAGE = Path(__file__).parents[2] / "tuner"


def test_every_code_is_explained_once_and_every_explanation_is_of_a_code() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    codes = [explanation.code for explanation in explained_codes()]
    assert sorted(codes) == sorted(set(re.findall(r'"(RT[0-9]{3})"', source)))


def test_an_explanation_is_a_few_sentences_with_a_source() -> None:
    for explanation in explained_codes():
        assert explanation.why.endswith("."), explanation.code
        assert 20 <= len(explanation.why) <= 260, explanation.code
        assert explanation.source, explanation.code
    for rule in RULES:
        assert explain_code(rule.code).bad
        assert explain_code(rule.code).good


def test_a_rule_shows_its_examples_as_lines_of_a_profile() -> None:
    rule = explain_code("RT107")
    assert rule.bad == ('outputs[logs].queue: {"type": "Direct", "size": 50000}',)
    assert rule.good == ("outputs[logs].queue.size: (left out)",)
    assert (explain_code("RT404").severity, explain_code("RT103").severity) == ("warning", "error")


def test_a_code_of_another_layer_is_explained_too() -> None:
    assert explain_code("RT013").layer == "schema"
    assert (explain_code("RT508").layer, explain_code("RT508").severity) == ("lint", "warning")


def test_a_code_is_found_in_small_letters_too() -> None:
    assert is_code("rt112")
    assert explain_code("rt112") == explain_code("RT112")
    assert "F11" in explain_code("RT112").why


@pytest.mark.parametrize("key", ["port", "RT", "RT1", "RT1012", "outputs[].RT112"])
def test_keys_are_no_codes(key: str) -> None:
    assert not is_code(key)


def test_a_code_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadUsage, match="no rule or finding RT999"):
        explain_code("RT999")
