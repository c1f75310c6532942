"""The profiles that we ship: valid, explained, and with no warning but those they must carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.lint.load import load_profile

SHIPPED = sorted((Path(__file__).parents[2] / "profiles").glob("*.yaml"))
# What rsyslog 8.2302 is known to lose cannot be configured away.
WARNINGS = {"durable": ["RT404"]}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_is_named_as_its_file_and_warns_of_nothing_else(path: Path) -> None:
    loaded = load_profile(path)
    assert loaded.profile.name == path.stem
    assert [warning.code for warning in loaded.warnings] == WARNINGS.get(path.stem, [])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_says_where_its_values_come_from(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    explained = sum("#" in line for line in lines)
    assert explained >= 0.4 * len([line for line in lines if line.strip()])
