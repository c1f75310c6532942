"""The wheel carries everything, and works away from the checkout."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.cli.test_base_install import commands

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the checkout by the environment's own hatchling."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(target.glob("*.whl"))


def test_the_wheel_holds_every_template_and_profile(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("templates", "profiles"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                assert f"tuner/_assets/{path.relative_to(ROOT)}" in inside


@pytest.mark.full
@pytest.mark.live
def test_the_installed_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Into an empty environment, its dependencies installed as a user's pip would: without those of
    the extras."""
    home = tmp_path / "environment"
    venv.create(home, with_pip=True)
    tool = home / "bin"
    install = [str(tool / "pip"), "install", "-q", "--no-compile", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    profile = next(home.rglob("_assets/profiles/default.yaml"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(tool / "rsyslog-tune"), *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("render", str(profile), "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "omelasticsearch" in (tmp_path / "out" / "rsyslog.conf").read_text(encoding="utf-8")
    for name, words in commands(tmp_path).items():
        done = run(name, *words)
        assert done.returncode == 0, done.stderr
    case = {"name": "any", "message": "hello", "expect": [{"fields": {}}]}
    cases = {"profile": str(profile), "cases": [case]}
    (tmp_path / "tests.yaml").write_text(json.dumps(cases), encoding="utf-8")
    done = run("test", "tests.yaml")
    assert done.returncode == 0, done.stderr
    done = run("search", str(profile), "--budget", "10m")
    assert (done.returncode, done.stderr.count("\n")) == (69, 1)
    assert "search needs matplotlib, scipy" in done.stderr


def test_each_version_that_make_installs_lies_within_what_the_project_takes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = [*project["dependencies"]]
    for extra, lines in project["optional-dependencies"].items():
        declared += lines if extra != "arena" else []
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {
        canonicalize_name(one.name): one.specifier
        for one in (Requirement(line) for line in lines if not line.startswith("#"))
    }
    for wanted in map(Requirement, declared):
        name = canonicalize_name(wanted.name)
        if name != project["name"]:
            (version,) = (one.version for one in pinned[name])
            assert wanted.specifier.contains(version), wanted
