""".ci/packages: what it would install, and what it prints where it may not."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.pages import DOCS, README, ROOT, rows, text_of
from tuner.engines.versions import DEFAULT
from tuner.host.programs import RHEL

DEVELOPMENT = DOCS / "development.md"
SCRIPT = ROOT / ".ci" / "packages"
JAVA = "openjdk-97-jre-headless|openjdk-98-jre-headless|openjdk-99-jre-headless"
"""Nobody has it installed."""


def wanted() -> list[str]:
    makefile = text_of(ROOT / "Makefile").replace("\\\n", " ")
    found = re.search(r"^PACKAGES := (.*)$", makefile, re.MULTILINE)
    assert found is not None
    return found[1].split()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder with the tools that the script uses and nothing of a package manager; a user who is
    not root."""
    for tool in ("sh", "sed", "tr", "grep"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    lay(tmp_path, "id", "echo 1000")
    return tmp_path


def lay(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def run(path: Path, *packages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), *packages],
        env={"PATH": str(path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_without_root_both_families_are_told_what_the_page_says(path: Path) -> None:
    java = [one for one in wanted() if one.startswith("openjdk-")]
    done = run(path, *(JAVA if one in java else one for one in wanted()))
    assert done.returncode == 69
    debian, rhel = re.findall(r"(?:apt-get|dnf) install (.*)", done.stderr)
    first = java[0].partition("|")[0]
    told = {family: names.strip("`") for family, names in rows(DEVELOPMENT, "distribution")}
    assert told["Debian, Ubuntu"] == debian.replace(JAVA.partition("|")[0], first)
    assert told["RHEL family, with EPEL"] == rhel


def test_what_the_first_page_installs_is_among_what_is_installed_for_tests() -> None:
    installed = {row[0]: row[1] for row in rows(DEVELOPMENT, "distribution")}
    told = [line for line in text_of(README).splitlines() if "apt-get" in line or "dnf" in line]
    assert len(told) == len(installed)
    for line in told:
        _, family, command, _ = (cell.strip().strip("`") for cell in line.split("|"))
        packages = command.partition(" install ")[2].split()
        assert len(packages) > 4
        # Debian and Ubuntu name the one Java of each suite so.
        assert set(packages) - {"default-jre-headless"} <= set(installed[family].strip("`").split())


def test_the_family_of_rhel_has_one_table(path: Path) -> None:
    for debian, rhel in RHEL.items():
        assert run(path, debian).stderr.rstrip().endswith(f" dnf install {rhel}")


def test_of_alternatives_the_first_is_taken_that_the_suite_offers(path: Path) -> None:
    policy = (
        "case $2 in openjdk-98-*) echo 'Candidate: 98+1' ;; *) echo 'Candidate: (none)' ;; esac"
    )
    lay(path, "apt-cache", policy)
    assert "apt-get install openjdk-98-jre-headless\n" in run(path, JAVA).stderr


def test_what_the_suite_does_not_offer_can_be_left_out(path: Path) -> None:
    lay(path, "apt-cache", "echo '  Candidate: (none)'")
    assert run(path, "--if-offered", JAVA).returncode == 0
    lay(path, "apt-cache", "echo '  Candidate: 97.0.1+1'")
    done = run(path, "--if-offered", JAVA)
    assert done.returncode == 69
    assert "apt-get install openjdk-97-jre-headless\n" in done.stderr


@pytest.mark.parametrize(("version", "code"), [("96.0.1", 69), ("98", 0), ("100.0.2", 69)])
def test_a_java_that_is_there_serves_if_the_engine_takes_it(
    path: Path, version: str, code: int
) -> None:
    lay(path, "java", f"echo 'openjdk version \"{version}\" 2026-09-15' >&2")
    assert run(path, JAVA).returncode == code


def test_what_is_installed_is_not_missing(path: Path) -> None:
    lay(path, "dpkg-query", 'case $4 in rsyslog|chromium) echo "ii " ;; *) exit 1 ;; esac')
    assert run(path, "rsyslog", "chromium|chromium-browser").returncode == 0
    assert "apt-get install rsyslog-relp\n" in run(path, "rsyslog", "rsyslog-relp").stderr


def test_the_java_that_is_installed_is_one_for_the_default_engine() -> None:
    (java,) = (one for one in wanted() if one.startswith("openjdk-"))
    versions = [int(one) for one in re.findall(r"\d+", java)]
    assert (versions[0], versions[-1]) == (DEFAULT.java_lowest, DEFAULT.java_highest)
    (lowest, highest) = re.findall(r"Java from (\d+) to (\d+) that is there", text_of(DEVELOPMENT))[
        0
    ]
    assert (int(lowest), int(highest)) == (DEFAULT.java_lowest, DEFAULT.java_highest)
