"""Engines from Maven: only the very archive that the table names, with its programs runnable."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from pathlib import Path

import pytest

from tuner.engines.release import Engine
from tuner.engines.versions import Distribution
from tuner.errors import Refused
from tuner.lab.distribution import cache_folder, cached, fetch, home_of

MAVEN = """#!/bin/sh
echo "$*" > "{said}"
for word; do
    case $word in -DoutputDirectory=*) cp "{archive}" "${{word#*=}}" ;; esac
done
"""


def archive() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as files:
        program = zipfile.ZipInfo("elasticsearch-0.0.1/bin/elasticsearch")
        program.external_attr = 0o100700 << 16
        files.writestr(program, "#!/bin/sh\n")
        files.writestr("elasticsearch-0.0.1/config/jvm.options", "-Xss1m\n")
    return packed.getvalue()


def distribution(sha256: str) -> Distribution:
    return Distribution(Engine.ELASTICSEARCH, "0.0.1", 17, 21, sha256)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Maven that gives an archive of ours, and the file with what it was asked for."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    said, mvn, packed = tmp_path / "said", tmp_path / "mvn", tmp_path / "elasticsearch-0.0.1.zip"
    packed.write_bytes(archive())
    mvn.write_text(MAVEN.format(said=said, archive=packed), "utf-8")
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return said


def test_the_archive_of_the_table_is_unpacked_for_every_user(said: Path) -> None:
    wanted = distribution(hashlib.sha256(archive()).hexdigest())
    home = fetch(wanted)
    assert home == home_of(wanted)
    modes = {str(path.relative_to(home)): path.stat().st_mode & 0o777 for path in home.rglob("*")}
    assert modes == {
        "bin": 0o755, "bin/elasticsearch": 0o755, "config": 0o755, "config/jvm.options": 0o644
    }  # fmt: skip
    asked = said.read_text("utf-8").split()
    assert any(":maven-dependency-plugin:3." in word for word in asked)
    # Maven Central has no checksums of some versions, and with these Maven gives them up.
    assert not {"-C", "--strict-checksums"} & set(asked)


def test_any_other_archive_is_refused_and_leaves_nothing(said: Path) -> None:
    wanted = distribution("0" * 64)
    with pytest.raises(Refused, match=f"SHA-256 {hashlib.sha256(archive()).hexdigest()}, which"):
        fetch(wanted)
    assert said.exists()
    assert not list(home_of(wanted).parent.iterdir())
    assert cached() == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_too_may_name_a_cache_which_daemons_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache" / "rsyslog-tune"
    wanted = distribution("0" * 64)
    home_of(wanted).mkdir(parents=True)
    (tmp_path / "cache").chmod(0o700)
    with pytest.raises(Refused, match="XDG_CACHE_HOME name one that every user can enter"):
        fetch(wanted)
