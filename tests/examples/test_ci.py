"""CI jobs and pre-commit hooks, run as they are written on a repository of profiles."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.profile.examples import SMALL

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
HOOKS: list[dict[str, Any]] = yaml.safe_load(
    (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
)
# `on` is a switch in YAML 1.1, and means the same to GitHub.
GITHUB = yaml.safe_load((ROOT / "examples/ci/github-actions.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((ROOT / "examples/ci/gitlab-ci.yml").read_text(encoding="utf-8"))
BROKEN = SMALL.replace("dequeueBatchSize: 2000", "dequeueBatchSise: 2000")

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two profiles with their rendered files."""
    (tmp_path / "profiles").mkdir()
    for name in ("berlin", "paris"):
        text = SMALL.replace("name: small", f"name: {name}")
        (tmp_path / f"profiles/{name}.yaml").write_text(text, encoding="utf-8")
        done = run(f"rsyslog-tune render profiles/{name}.yaml -o rendered/{name}", tmp_path)
        assert done.returncode == 0, done.stderr
    return tmp_path


def run(
    script: str, folder: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A script as a CI runner starts it: any command that fails ends it."""
    return subprocess.run(
        ["bash", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", **(more or {})},
    )


def steps() -> dict[str, str]:
    """The scripts of the GitHub job by the name of their step."""
    return {one["name"]: one["run"] for one in GITHUB["jobs"]["profiles"]["steps"] if "run" in one}


@pytest.mark.parametrize(
    ("script", "variables"),
    [
        (steps()["Install"], GITHUB["env"]),
        ("\n".join(GITLAB["profiles"]["before_script"]), GITLAB["variables"]),
    ],
    ids=["github", "gitlab"],
)
def test_nothing_is_installed_until_it_is_said_what(
    script: str, variables: dict[str, str], tmp_path: Path
) -> None:
    """The package is on no index, so that a default would be a name that anybody can register."""
    (tmp_path / "bash").symlink_to(shutil.which("bash") or "/bin/bash")
    done = run(script, tmp_path, {**variables, "PATH": str(tmp_path)})
    assert done.returncode != 0
    assert "say in" in done.stderr
    assert "what pip installs" in done.stderr
    assert "not found" not in done.stderr


@pytest.mark.parametrize(
    "script",
    [steps()["Profiles are valid"], "\n".join(GITLAB["profiles"]["script"])],
    ids=["github", "gitlab"],
)
def test_the_jobs_pass_a_profile_whose_engine_is_elsewhere(script: str) -> None:
    """RT404 cannot be mended before rsyslog 8.2606, so that --strict would never pass."""
    assert "--strict" not in script


@pytest.mark.live
@pytest.mark.full
def test_github_annotates_every_profile_that_is_wrong(repository: Path) -> None:
    script = steps()["Profiles are valid"]
    assert run(script, repository).returncode == 0
    (repository / "profiles/berlin.yaml").write_text(BROKEN, encoding="utf-8")
    done = run(script, repository)
    assert done.returncode == 78
    assert "::error file=profiles/berlin.yaml,line=13,col=7,title=RT001::" in done.stdout
    assert "paris" not in done.stdout


@pytest.mark.full
def test_github_shows_what_a_stale_file_differs_in(repository: Path) -> None:
    script = steps()["Rendered files are those of the profiles"]
    assert run(script, repository).returncode == 0
    stale = repository / "rendered/berlin/rsyslog.conf"
    stale.write_text(stale.read_text(encoding="utf-8") + "# by hand\n", encoding="utf-8")
    done = run(script, repository)
    assert done.returncode == 2
    assert "-# by hand" in done.stdout


@pytest.mark.live
@needs_jq
@pytest.mark.full
def test_gitlab_gets_one_report_of_all_profiles(repository: Path) -> None:
    script = "\n".join(GITLAB["profiles"]["script"])
    report = repository / GITLAB["profiles"]["artifacts"]["reports"]["codequality"]
    assert run(script, repository).returncode == 0
    assert json.loads(report.read_text(encoding="utf-8")) == []
    for name in ("berlin", "paris"):
        (repository / f"profiles/{name}.yaml").write_text(BROKEN, encoding="utf-8")
    assert run(script, repository).returncode == 78
    found = json.loads(report.read_text(encoding="utf-8"))
    assert [one["location"]["path"] for one in found] == [
        "profiles/berlin.yaml", "profiles/paris.yaml"
    ]  # fmt: skip


@needs_git
def test_the_hooks_are_valid_for_pre_commit(tmp_path: Path) -> None:
    manifest = shlex.quote(str(ROOT / ".pre-commit-hooks.yaml"))
    done = run(f"pre-commit validate-manifest {manifest}", tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.full
@needs_git
def test_hooks_stop_a_commit_of_a_broken_profile_and_of_stale_files(repository: Path) -> None:
    """With the hooks taken from the manifest, and the tool that is installed already."""
    arguments: dict[str, dict[str, Any]] = {
        "rsyslog-tune-validate": {"files": "^profiles/", "args": ["--strict"]},
        "rsyslog-tune-render": {"args": ["profiles/berlin.yaml", "-o", "rendered/berlin"]},
    }
    hooks = [hook | arguments[hook["id"]] | {"language": "system"} for hook in HOOKS]
    config = {"repos": [{"repo": "local", "hooks": hooks}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config), encoding="utf-8")
    home = {"PRE_COMMIT_HOME": str(repository / ".cache")}
    check = "git add profiles rendered .pre-commit-config.yaml && pre-commit run --all-files"
    done = run(f"git init -q && {check}", repository, home)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("Passed") == 2

    (repository / "profiles/paris.yaml").write_text(BROKEN, encoding="utf-8")
    done = run(check, repository, home)
    assert done.returncode == 1
    assert "profiles/paris.yaml:13:7: error:" in done.stdout
    assert done.stdout.count("Passed") == 1

    run("git rm -qf profiles/paris.yaml && rm rendered/berlin/rsyslog.conf", repository)
    done = run(check, repository, home)
    assert done.returncode == 1
    assert "files differ: rsyslog.conf" in done.stdout
