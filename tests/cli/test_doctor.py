"""What `doctor` says before it does anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.cli.doctor import doctor, maven_finding
from tuner.engines.release import Release
from tuner.engines.versions import distribution_for
from tuner.errors import BadUsage
from tuner.lab.distribution import cached, home_of


@pytest.mark.parametrize("wrong", ["elastic8", "elasticsearch", "elasticsearch-8", "sink-1.0"])
def test_an_engine_that_cannot_be_fetched_is_a_usage_error(wrong: str) -> None:
    with pytest.raises(BadUsage, match=f"--fetch {wrong}: use elasticsearch-8.19"):
        doctor([wrong])


def test_maven_is_missed_only_where_no_engine_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The container's last stage has an engine and no Maven; `doctor` in it exits with 0."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "no-programs"))
    missed = maven_finding(cached())
    assert missed.missing
    assert "apt-get install maven" in missed.found
    home_of(distribution_for(Release(opensearch="2.19"))).mkdir(parents=True)
    found = maven_finding(cached())
    assert not found.missing
    assert found.found == "not installed; not needed for opensearch 2.19.1"
