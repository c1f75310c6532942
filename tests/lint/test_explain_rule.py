"""Codes: every one that a message can end with is explained, and is found as people type it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tuner.errors import BadUsage
from tuner.lint.explain_rule import explain_rule, explained_codes, is_code
from tuner.lint.lint import RULES

PACKAGE = Path(__file__).parents[2] / "tuner"


def test_every_code_is_explained_and_every_explanation_is_of_a_code() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    codes = set(re.findall(r'"(RT[0-9]{3})"', source))
    assert codes - explained_codes().keys() == set(), "explain them in rules.yaml"
    assert explained_codes().keys() - codes == set(), "gone: take them out of rules.yaml"


def test_an_explanation_is_a_few_sentences_with_a_source() -> None:
    for code, entry in explained_codes().items():
        assert entry.keys() <= {"why", "source", "layer", "severity"}, code
        assert entry["why"].endswith("."), code
        assert 20 <= len(entry["why"]) <= 260, code
        assert entry["source"], code


def test_a_rule_says_how_severe_it_is() -> None:
    for rule in RULES:
        assert explain_rule(rule.about.code).severity == rule.about.severity.value
        assert explain_rule(rule.about.code).layer == "lint"
    assert explain_rule("RT013").layer == "schema"


def test_a_code_is_found_in_small_letters_too() -> None:
    assert is_code("rt112")
    assert explain_rule("rt112") == explain_rule("RT112")
    assert "F11" in explain_rule("RT112").why


@pytest.mark.parametrize("key", ["port", "RT", "RT1", "RT1012", "outputs[].RT112"])
def test_keys_are_no_codes(key: str) -> None:
    assert not is_code(key)


def test_a_code_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadUsage, match="no rule RT999"):
        explain_rule("RT999")
