"""What lint reports about a small profile after some changes, each finding as one line of text."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from tests.profile.examples import SMALL
from tuner.errors import BadProfile, KeyPath, Severity
from tuner.lint.lint import lint
from tuner.lint.load import parse_profile
from tuner.profile.edit import changed, edit, plain
from tuner.profile.model import Profile
from tuner.profile.schema import resolve_path
from tuner.profile.source import read


def findings(changes: Mapping[str, object]) -> set[str]:
    """Severity, code and path of each finding, such as `error RT101 main_queue.size`.

    Where there are errors, warnings do not count, as in a file that is loaded; what the schema
    refuses has a code only.
    """
    try:
        profile = Profile.model_validate(with_changes(changes), by_alias=True, by_name=False)
    except ValidationError:
        return _refusals(edit(SMALL, changes))
    reported = lint(profile)
    errors = [finding for finding in reported if finding.severity is Severity.ERROR]
    return {
        f"{finding.severity.value} {finding.code} {dotted(finding.path)}"
        for finding in errors or reported
    }


def with_changes(changes: Mapping[str, object]) -> object:
    """The data of the small profile with these changes."""
    data = read(SMALL, "small.yaml").data
    for path, value in changes.items():
        data = changed(data, resolve_path(data, path), plain(value))
    return data


def dotted(path: KeyPath) -> str:
    """A path as people write it, list items by their number."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _refusals(text: str) -> set[str]:
    try:
        parse_profile(text, "small.yaml")
    except BadProfile as bad:
        return {problem.code for problem in bad.problems}
    raise AssertionError("the schema takes it after all")
