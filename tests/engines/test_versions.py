"""The table of engine versions, and what people read of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.engines.release import Release
from tuner.engines.versions import DEFAULT, TESTED, VERSIONS, Distribution, distribution_for
from tuner.errors import JobFailed
from tuner.lint.load import parse_profile

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("one", VERSIONS, ids=lambda one: f"{one.engine.value}-{one.version}")
def test_each_version_stands_in_for_its_own_release(one: Distribution) -> None:
    assert distribution_for(one.release) is one


@pytest.mark.parametrize(
    ("engine", "release", "version"),
    [
        ("elasticsearch", "8.12", "8.19.0"),
        ("elasticsearch", "9.4", "9.2.0"),
        ("elasticsearch", "9.6", "9.5.4"),
        ("opensearch", "3.1", "3.2.0"),
        ("opensearch", "3.5", "3.2.0"),
        ("opensearch", "3.6", "3.6.0"),
        ("opensearch", "3.10", "3.8.0"),
    ],
)
def test_the_newest_that_is_not_newer_stands_in_else_the_oldest(
    engine: str, release: str, version: str
) -> None:
    assert distribution_for(Release.model_validate({engine: release})).version == version


def test_there_is_no_lab_for_an_engine_that_is_not_in_the_table() -> None:
    with pytest.raises(JobFailed, match="no lab for opensearch 1: use --elasticsearch URL"):
        distribution_for(Release(opensearch="1.3"))


def test_a_profile_without_a_release_is_for_the_default() -> None:
    text = "".join(line for line in SMALL.splitlines(True) if not line.startswith("release"))
    assert parse_profile(text, "p.yaml").profile.release == DEFAULT.release


def test_what_is_built_and_tested_goes_by_the_table() -> None:
    for name in ("Makefile", "Containerfile", ".ci/run"):
        fixed = [line for line in (ROOT / name).read_text("utf-8").splitlines() if line[:1] != "#"]
        assert not re.search(r"(elasticsearch|opensearch)-\d", "\n".join(fixed)), name
    reference = " ".join((ROOT / "docs/reference.md").read_text("utf-8").split())
    named = re.search(r"with Elasticsearch ([\d., ]+) and OpenSearch ([\d., ]+)\. ", reference)
    assert named is not None
    assert re.findall(r"[\d.]+\d", " ".join(named.groups())) == [one.version for one in TESTED]
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"starting {DEFAULT.engine.value} {DEFAULT.version}" in readme


def test_the_image_has_a_java_for_every_engine() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    (java,) = map(int, re.findall(r"openjdk-(\d+)-jre-headless", text))
    assert f"the Java that is in it, {java}, runs each" in " ".join(text.replace("#", " ").split())
    assert all(one.java_lowest <= java <= one.java_highest for one in VERSIONS)
