"""What `doctor` says before it does anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.cli.doctor import (
    doctor,
    engine_finding,
    maven_finding,
    python_finding,
    rsyslogd_finding,
)
from tuner.cli.usage.hosts import DoctorArguments
from tuner.engines.release import NEWEST_READ, OLDEST, Engine, Release
from tuner.engines.versions import Distribution, distribution_for
from tuner.errors import BadUsage
from tuner.lab.distribution import cached, home_of


@pytest.mark.parametrize("wrong", ["elastic8", "elasticsearch", "elasticsearch-8", "sink-1.0"])
def test_an_engine_that_cannot_be_fetched_is_a_usage_error(wrong: str) -> None:
    with pytest.raises(BadUsage, match=f"--fetch {wrong}: use elasticsearch-8.19"):
        doctor(DoctorArguments(fetch_engines=[wrong]))


def test_maven_is_missed_only_where_no_engine_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container's last stage has an engine and no Maven; `doctor` in it exits with 0."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    missed = maven_finding(cached())
    assert missed.missing
    assert missed.found.endswith("not installed: install what Debian calls maven")
    home_of(distribution_for(Release(opensearch="2.19"))).mkdir(parents=True)
    found = maven_finding(cached())
    assert not found.missing
    assert found.found == "not installed; not needed for opensearch 2.19.1"


def test_a_release_that_another_version_stands_in_for_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for release in (Release(elasticsearch="9.2"), Release(elasticsearch="9.4")):
        home_of(distribution_for(release)).mkdir(parents=True, exist_ok=True)
    doctor(DoctorArguments(fetch_engines=["elasticsearch-9.2"]))
    assert "in its place" not in capsys.readouterr().err
    doctor(DoctorArguments(fetch_engines=["elasticsearch-9.4"]))
    assert "elasticsearch-9.4: labs run elasticsearch 9.2.0 in its place" in capsys.readouterr().err


def test_an_rsyslogd_that_profiles_are_not_rendered_for_is_told() -> None:
    assert str(rsyslogd_finding("8.2302")).startswith("ok ")
    older, newer = rsyslogd_finding(f"8.{OLDEST - 1}"), rsyslogd_finding(f"8.{NEWEST_READ + 1}")
    assert str(older).startswith("limits")
    assert f"older than 8.{OLDEST}" in older.found
    assert f"newer than 8.{NEWEST_READ}" in newer.found
    assert not older.missing
    assert not newer.missing


def test_a_python_that_no_test_ran_on_is_told() -> None:
    assert not python_finding((3, 14)).limits
    assert "newer than 3.14" in python_finding((3, 15)).found


def test_an_engine_that_no_java_here_runs_is_told_with_what_to_do() -> None:
    finding = engine_finding(Distribution(Engine.OPENSEARCH, "9.0.0", 98, 99, "0" * 64))
    assert finding.limits
    assert not finding.missing
    assert finding.found.startswith("opensearch 9.0.0 does not run here: no Java from 98 to 99 is ")
