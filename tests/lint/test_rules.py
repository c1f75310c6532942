"""Every rule by its own examples, and the place of each complaint."""

from __future__ import annotations

import pytest

from tests.lint.findings import dotted, findings, with_changes
from tuner.lint.lint import RULES
from tuner.profile.model import Profile
from tuner.profile.paths import resolve_path
from tuner.rule import Rule

EXAMPLES = [pytest.param(rule, id=rule.about.code) for rule in RULES]


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_bad_example_breaks_this_rule_alone(rule: Rule[Profile]) -> None:
    about = rule.about
    at = about.at or next(iter(about.good))
    path = resolve_path(with_changes(about.bad), at) if isinstance(at, str) else at
    assert findings(about.bad) == {f"{about.severity.value} {about.code} {dotted(path)}"}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_good_example_mends_it(rule: Rule[Profile]) -> None:
    reported = findings({**rule.about.bad, **rule.about.good})
    assert not [finding for finding in reported if finding.split()[1:2] == [rule.about.code]]


def test_codes_are_unique() -> None:
    assert len({rule.about.code for rule in RULES}) == len(RULES)
