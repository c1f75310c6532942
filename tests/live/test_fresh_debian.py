"""A fresh Debian 13: README's first steps in a root of its own, on its rsyslog, Python and Java."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.live.rsyslogs import mirror

pytestmark = [pytest.mark.live, pytest.mark.full]

ROOT = Path(__file__).parents[2]
SUITE, PYTHON, RSYSLOG = "trixie", "3.13", "8.2504"
NEEDS_BYTES = 8 * 1024**3
NEEDS_S = 3600
CORE = (
    "tests/live/test_commands.py",
    "tests/lab/test_sink_live.py",
    "tests/live/test_search_on_the_sink.py",
    "tests/live/test_elasticsearch.py",
)
"""Commands, a lab and searches on the sink, trials on Elasticsearch."""

# How this machine reaches package registries, and whom it trusts.
CARRIED = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/usr/local/share/ca-certificates",
    "~/.config/pip/pip.conf", "~/.m2/settings.xml",
)  # fmt: skip
VARIABLES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "MAVEN_ARGS",
    "MAVEN_OPTS", "JAVA_TOOL_OPTIONS",
)  # fmt: skip
NOT_COPIED = ("dist", "build", "_assets", "rsyslog-tune-runs", "__pycache__")

# A mount namespace whose root is the folder: a plain chroot would have no mount point for
# Elasticsearch, and nsenter would leave it.  What was mounted and started ends with the shell.
ENTER = """
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount --rbind /sys "$0/sys"
mount --rbind /dev "$0/dev"
mkdir -p "$0/old"
cd "$0"
pivot_root . old
umount -l /old
rmdir /old
exec "$@"
"""


def apt_options() -> Iterator[str]:
    """How apt reaches it: proxies, and whether an old release file will do."""
    done = subprocess.run(
        ["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=True
    )
    for line in done.stdout.splitlines():
        if line.startswith(("Acquire::http", "Acquire::Check-")):
            yield f"--aptopt={line}"


def carry(root: Path) -> None:
    """Copy what `CARRIED` names, root's own files below its home."""
    for name in CARRIED:
        here = Path(name).expanduser()
        there = root / name.replace("~", "root").lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_dir():
            shutil.copytree(here, there, dirs_exist_ok=True)
        elif here.exists():
            shutil.copy(here, there)


def environment() -> Mapping[str, str]:
    """Of this machine's variables those that say how registries are reached."""
    told = {
        name: value
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith("PIP_") or name.lower().endswith("_proxy")
    }
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {**told, "PATH": path, "HOME": "/root", "LANG": "C.UTF-8"}


def inside(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command there, with processes of its own that end with it."""
    unshare = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
    return subprocess.run(
        [*unshare, "sh", "-ec", ENTER, root, *command],
        env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=NEEDS_S,
    )  # fmt: skip


@pytest.fixture(scope="module")
def debian() -> Iterator[Path]:
    """A fresh root with git, make and Python, this machine's way to the registries, and the
    project."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        pytest.skip("a fresh Debian needs root and mmdebstrap (make mmdebstrap)")
    if shutil.disk_usage(tempfile.gettempdir()).free < NEEDS_BYTES:
        pytest.skip(f"a fresh Debian needs {NEEDS_BYTES // 1024**3} GiB in {tempfile.gettempdir()}")
    with tempfile.TemporaryDirectory(prefix="rsyslog-tune-debian-") as folder:
        root = Path(folder) / "root"
        made = subprocess.run(
            ["mmdebstrap", "--variant=minbase", "--mode=root", *apt_options(),
             "--include=ca-certificates,git,make,python3", SUITE, root, mirror()],
            capture_output=True, text=True, check=False, timeout=NEEDS_S,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        carry(root)
        assert inside(root, "update-ca-certificates").returncode == 0
        shutil.copytree(ROOT, root / "src", ignore=left_out)
        yield root


def left_out(_folder: str, names: Sequence[str]) -> set[str]:
    """What is not of the source."""
    hidden = {name for name in names if name.startswith(".")} - {".ci", ".pre-commit-hooks.yaml"}
    return hidden | ({*names} & {*NOT_COPIED})


def test_it_is_set_up_by_one_command_and_runs_the_live_core(debian: Path) -> None:
    done = inside(debian, "make", "-C", "/src", "setup")
    assert done.returncode == 0, done.stdout
    said = inside(debian, "/src/.venv/bin/rsyslog-tune", "doctor")
    assert said.returncode == 0, said.stdout
    found = {words[1]: words[2] for line in said.stdout.splitlines() if (words := line.split())}
    assert found["rsyslogd"] == RSYSLOG
    assert found["python"].startswith(f"{PYTHON}.")
    done = inside(debian, "sh", "-ec", f"cd /src && .venv/bin/pytest -q {' '.join(CORE)}")
    assert done.returncode == 0, done.stdout
