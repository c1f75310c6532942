"""Every rule by its own examples, and the place of each complaint."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.profile.examples import SMALL
from tuner.lint.lint import RULES, lint
from tuner.profile.edit import changed, plain
from tuner.profile.model import Profile
from tuner.profile.paths import resolve_path
from tuner.profile.source import read
from tuner.rule import Rule

EXAMPLES = [pytest.param(rule, id=rule.about.code) for rule in RULES]


def with_changes(changes: Mapping[str, object]) -> object:
    """The data of the small profile with these changes."""
    data = read(SMALL, "small.yaml").data
    for path, value in changes.items():
        data = changed(data, resolve_path(data, path), plain(value))
    return data


def findings(data: object) -> set[tuple[str, str, tuple[str | int, ...]]]:
    """Code, severity and path of everything that lint reports about a profile."""
    profile = Profile.model_validate(data, by_alias=True, by_name=False)
    return {(one.code, one.severity.value, one.path) for one in lint(profile)}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_bad_example_breaks_this_rule_alone(rule: Rule[Profile]) -> None:
    about, data = rule.about, with_changes(rule.about.bad)
    at = about.at or next(iter(about.good))
    path = resolve_path(data, at) if isinstance(at, str) else at
    assert findings(data) == {(about.code, about.severity.value, path)}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_good_example_mends_it(rule: Rule[Profile]) -> None:
    data = with_changes({**rule.about.bad, **rule.about.good})
    assert rule.about.code not in {code for code, _, _ in findings(data)}


def test_codes_are_unique() -> None:
    assert len({rule.about.code for rule in RULES}) == len(RULES)
