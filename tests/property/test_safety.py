"""No text of a profile becomes syntax: it is refused, or it arrives as the value that it is."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings

from tests.property.hostile_profiles import Case, Json, cases, yaml_of
from tests.property.intended import (
    differences,
    wrong_documents,
    wrong_json,
    wrong_parameters,
    wrong_settings,
)
from tests.render.test_rsyslogd_accepts import verdict
from tests.render.tokens import parse
from tests.shipped import release_at_hand
from tuner.errors import BadProfile
from tuner.lint.load import parse_profile
from tuner.profile.model import Profile
from tuner.render.artefacts import RSYSLOG, render

CASES = 500
READ_BY_RSYSLOGD = 60
FUZZED = int(os.environ.get("FUZZ_CASES", "10000"))
# A secret or a lookup table, which must be one.
EMPTY_TABLE = '{"version":1,"type":"string","table":[{"index":"a","value":"b"}]}'
# rsyslogd looks them up when it reads its configuration.
NAMES_OF_THE_MACHINE = {"fileOwner", "dirOwner", "fileGroup", "dirGroup"}


def files_of(profile: Profile) -> dict[str, str]:
    return {artefact.path: artefact.text for artefact in render(profile)}


def accepted(case: Case) -> Profile | None:
    """The profile of a case; None when it is refused, in words that any terminal can show."""
    try:
        return parse_profile(yaml_of(case.data), "p.yaml").profile
    except BadProfile as bad:
        problems = bad.problems
    messages = [problem.message.encode("utf-8") for problem in problems]
    assert messages
    assert max(map(len, messages)) < 5000, messages
    return None


def faults(case: Case, profile: Profile) -> list[str]:
    """Everything in the rendered files that the profile does not say."""
    ours, twin = files_of(profile), files_of(Profile.model_validate(case.benign))
    objects = parse(ours[RSYSLOG])
    return [
        *differences(case, objects, parse(twin[RSYSLOG])),
        *wrong_documents(profile, objects),
        *wrong_parameters(case, objects),
        *wrong_json(case, ours, twin),
        *wrong_settings(case, ours),
    ]


def check(examples: int, known: bool, phases: Sequence[Phase] = tuple(Phase)) -> Counter[str]:
    """Run that many cases; the same every time when `known`."""
    tally: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        derandomize=known,
        database=None,
        phases=phases,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def holds(case: Case) -> None:
        tally["all"] += 1
        profile = accepted(case)
        if profile is None:
            return
        tally["accepted"] += 1
        tally["bent"] += len(case.canaries)
        note(yaml_of(case.data))
        assert faults(case, profile) == []

    run: Callable[[], None] = holds
    run()
    return tally


@pytest.mark.parametrize("count", [60, pytest.param(CASES, marks=pytest.mark.full)])
def test_hostile_profiles_are_refused_or_rendered_as_they_mean(count: int) -> None:
    tally = check(count, known=True)
    assert tally["accepted"] >= count / 4, "too few profiles get through for this to say much"
    assert tally["bent"] >= count / 3


@pytest.mark.fuzz
def test_many_more_hostile_profiles() -> None:
    check(FUZZED, known=False)


def _type_of(value: object) -> str:
    return str(value.get("type")) if isinstance(value, dict) else ""


def on_this_machine(value: Any, key: str, folder: Path) -> Any:
    """The same profile with paths, users and groups that are there: rsyslogd opens some of the
    paths when it reads."""
    if isinstance(value, dict):
        return {name: on_this_machine(inner, name, folder) for name, inner in value.items()}
    if isinstance(value, list):
        # Debian has a package of it only since 8.2512.
        there = [one for one in value if _type_of(one) != "omhttp"]
        return [on_this_machine(inner, key, folder) for inner in there]
    if key in NAMES_OF_THE_MACHINE:
        return "root"
    if not isinstance(value, str) or not value.startswith("/"):
        return value
    name = value.replace("/", "").encode("utf-8")[:200].decode("utf-8", "ignore").strip(". ") or "x"
    path = folder / key.replace(".", "") / name
    path.parent.mkdir(exist_ok=True)
    if key in {"workDirectory", "spoolDirectory"}:
        path.mkdir(exist_ok=True)
    elif not path.exists():
        path.write_text(EMPTY_TABLE, encoding="utf-8")
    return str(path)


@pytest.mark.full
@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_rsyslogd_accepts_hostile_profiles(tmp_path: Path) -> None:
    installed = release_at_hand()
    refused: list[tuple[str, Json]] = []
    read = 0

    @settings(
        max_examples=CASES,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def reads(case: Case) -> None:
        nonlocal read
        if read == READ_BY_RSYSLOGD:
            return
        here = Case(on_this_machine(case.data, "", tmp_path))
        profile = accepted(here)
        if profile is None or profile.release.rsyslog_number > installed:
            return
        read += 1
        config = tmp_path / RSYSLOG
        config.write_text(files_of(profile)[RSYSLOG], encoding="utf-8")
        said = verdict(config)
        if said:
            refused.append((said, here.data))

    run: Callable[[], None] = reads
    run()
    assert read == READ_BY_RSYSLOGD
    assert refused == [], "\n".join(said for said, _ in refused)
