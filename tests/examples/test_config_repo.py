"""The example of a configuration-management repository, used as its README says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.hosts import NEEDS_HOSTS, SshHost, hosts, passed
from tuner.host.process import wait_until

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
FRAGMENT = "/etc/rsyslog.d/prod.conf"
ROLE = "roles/rsyslog_prod"

pytestmark = [pytest.mark.live, NEEDS_HOSTS]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "examples/config-repo", tmp_path / "repository"))


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[SshHost]:
    with hosts(tmp_path / "hosts", "collector") as (one,):
        one.write("/etc/rsyslog-secrets/elasticsearch", "secret", 0o600)
        yield one


def play(collector: SshHost, repository: Path) -> subprocess.CompletedProcess[str]:
    """The playbook as the README runs it, but on this machine, and without a package manager."""
    inventory = "[collectors]\nlocalhost ansible_connection=local\n"
    (repository / "here.ini").write_text(inventory, encoding="utf-8")
    return collector.run(
        "env", f"--chdir={repository}", f"PATH=/usr/local/sbin:{BIN}:{os.environ['PATH']}",
        "LC_ALL=C.UTF-8", f"ANSIBLE_HOME={repository}/.ansible",
        f"ANSIBLE_PYTHON_INTERPRETER={sys.executable}",
        "ansible-playbook", "-i", "here.ini", "-e", '{"rsyslog_tune_packages": []}', "site.yml",
    )  # fmt: skip


def its_tests(collector: SshHost, repository: Path) -> subprocess.CompletedProcess[str]:
    """The repository's own tests, on this machine."""
    return collector.run(
        "env", f"--chdir={repository}", f"PATH=/usr/local/sbin:{BIN}:{os.environ['PATH']}",
        "pytest", "-p", "no:cacheprovider", "--hosts=local://", "tests",
    )  # fmt: skip


@pytest.mark.full
def test_the_ci_job_passes_and_sees_cases_that_fail_and_stale_files(
    repository: Path,
) -> None:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def job() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "ci.sh"],
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    said = passed(job())
    assert "rsyslogd -N1   ok" in said
    assert "2 cases passed" in said
    cases = repository / "cases/prod.yaml"
    right = cases.read_text(encoding="utf-8")
    cases.write_text(right.replace("host.name: web1", "host.name: web2"), encoding="utf-8")
    wrong = job()
    assert wrong.returncode == 2
    assert (
        'cases/prod.yaml:13:22: error: a failed login: logs: host.name should be "web2", is "web1"'
        in (wrong.stdout)
    )
    cases.write_text(right, encoding="utf-8")
    profile = repository / "profiles/prod.yaml"
    text = profile.read_text(encoding="utf-8").replace("threads: 2", "threads: 4")
    profile.write_text(text, encoding="utf-8")
    done = job()
    assert done.returncode == 2
    assert '+module(load="imptcp" threads="4"' in done.stdout


@pytest.mark.full
def test_the_playbook_changes_a_host_once_and_takes_a_bad_profile_back(
    repository: Path, collector: SshHost
) -> None:
    assert "changed=4 " in passed(play(collector, repository))
    assert "changed=0 " in passed(play(collector, repository))
    assert "1 passed" in passed(its_tests(collector, repository))
    rendered = repository / ROLE / "files/rsyslog.d/prod.conf"
    good = rendered.read_bytes()
    assert collector.path(FRAGMENT).read_bytes() == good

    rendered.write_bytes(good.replace(b'port="10514"', b'port="10515"'))
    done = play(collector, repository)
    assert done.returncode != 0
    assert "what was there before is put back" in done.stdout
    assert collector.path(FRAGMENT).read_bytes() == good
    collector.write(FRAGMENT, good.decode() + "# by hand\n")
    done = its_tests(collector, repository)
    assert done.returncode == 1
    assert "-# by hand" in done.stdout

    def listens() -> bool:
        return "LISTEN" in collector.run("ss", "-ltn", "sport = :10514").stdout

    assert wait_until(listens, 60), "the daemon that was put back takes messages"
