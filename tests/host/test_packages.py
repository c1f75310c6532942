"""What to install, in the words of the distribution: its programs are laid into PATH."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.errors import ProgramMissing
from tuner.host.programs import java_for, java_to_install, to_install
from tuner.host.remote import connect


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH, empty."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def lay(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        program = folder / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        program.chmod(0o755)


def offering(*versions: int) -> str:
    """apt-cache of a suite that has these versions of OpenJDK."""
    cases = "".join(f"openjdk-{one}-*) echo '  Candidate: {one}.0.1+1' ;; " for one in versions)
    return f"echo \"$2:\"; case $2 in {cases} *) echo '  Candidate: (none)' ;; esac"


def test_a_package_has_the_name_that_the_distribution_gives_it(programs: Path) -> None:
    assert to_install("rsyslog-kubernetes") == "install what Debian calls rsyslog-kubernetes"
    lay(programs, dnf="")
    assert to_install("rsyslog-kubernetes") == "dnf install rsyslog-mmkubernetes"
    assert to_install("rsyslog-relp") == "dnf install rsyslog-relp"
    lay(programs, apt_get="")
    assert to_install("rsyslog-kubernetes") == "apt-get install rsyslog-kubernetes"


@pytest.mark.parametrize(
    ("offered", "lowest", "highest", "package"),
    [
        ((17,), 17, 25, "openjdk-17-jre-headless"),
        ((21, 25), 17, 25, "openjdk-21-jre-headless"),
        ((17, 21, 25), 21, 25, "openjdk-21-jre-headless"),
        ((17, 25), 11, 17, "openjdk-17-jre-headless"),
    ],
)
def test_the_java_to_install_is_one_that_the_suite_offers(
    programs: Path, offered: tuple[int, ...], lowest: int, highest: int, package: str
) -> None:
    lay(programs, apt_get="", apt_cache=offering(*offered))
    assert java_to_install(lowest, highest) == f"apt-get install {package}"


def test_a_java_that_the_suite_does_not_offer_is_not_promised(programs: Path) -> None:
    """Debian 12 and an engine that needs Java 21."""
    lay(programs, apt_get="", apt_cache=offering(17))
    with pytest.raises(ProgramMissing, match=r"apt offers none .* below /usr/lib/jvm or on PATH"):
        java_for(98, 99)
    assert "openjdk" not in java_to_install(21, 25)


def test_a_host_over_ssh_needs_ssh(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.host.programs._SBIN", str(programs))
    lay(programs, apt_get="")
    with pytest.raises(ProgramMissing, match=r"ssh .* apt-get install openssh-client"):
        connect("collector1", "ssh://collector1")
    assert connect("here", "local://").is_local
