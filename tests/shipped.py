"""The profiles that come with the project, also as they are for the rsyslog at hand;
`examples/` has other YAML files too."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from tuner.engines.release import NEWEST_READ, Release
from tuner.errors import BadProfile, Problem
from tuner.host.programs import rsyslog_version
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile

ROOT = Path(__file__).parents[1]


def _is_profile(path: Path) -> bool:
    """The one of config-repo/ needs a secret of its host's; tests/examples has tests of it."""
    is_profile = "\ninputs:" in path.read_text(encoding="utf-8")
    return is_profile and "config-repo" not in path.parts


PROFILES = sorted((ROOT / "profiles").glob("*.yaml"))
EXAMPLES = sorted(filter(_is_profile, (ROOT / "examples").rglob("*.yaml")))


@cache
def release_at_hand() -> int:
    """The release of the rsyslogd that tests run, such as 2302."""
    return int(rsyslog_version().removeprefix("8."))


@cache
def text_at_hand(text: str, engine: Release | None = None) -> str:
    """A profile's text for the rsyslog at hand and that engine, or its own; 8.2102 takes it without
    `indexTimeout`, and with an engine of its time."""
    number = min(release_at_hand(), NEWEST_READ)
    data = yaml.safe_load(text)
    release = {**data["release"], "rsyslog": f"8.{number}"}
    changes: dict[str, object] = {}
    if number < 2204:
        release.update({"elasticsearch": "7.17"} if "elasticsearch" in release else {})
        release.update({"opensearch": "1.3"} if "opensearch" in release else {})
        for place, output in enumerate(data["outputs"]):
            if "indexTimeout" in output:
                changes[f"outputs[{place}].indexTimeout"] = None
    if engine is not None:
        version = ".".join(map(str, engine.engine_version))
        release = {"rsyslog": release["rsyslog"], engine.engine.value: version}
    return edit(text, {**changes, "release": release})


def at_hand(text: str, name: str = "the profile", engine: Release | None = None) -> Profile:
    """The profile of `text_at_hand`, where it is possible."""
    return possible(text_at_hand(text, engine), name)


def possible(text: str, name: str) -> Profile:
    """The profile of a text; skips the test where rsyslog or engine are too old for the profile or
    for each other."""
    try:
        return parse_profile(text, name).profile
    except BadProfile as bad:
        needed = [one.message for one in bad.problems if _asks_for_a_newer_rsyslog(one)]
        if len(needed) < len(bad.problems):
            raise
        pytest.skip(f"not possible: {needed[0].partition(',')[0].partition(':')[0]}")


def _asks_for_a_newer_rsyslog(problem: Problem) -> bool:
    return problem.code == "RT401" or " since rsyslog " in problem.message
