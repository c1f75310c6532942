"""The rsyslogds that are out there: one table of Debian's suites, each unpacked beside the system's
own and run through its own loader and libraries, without root or chroot.

    python -m tests.live.rsyslogs           fetches those that are not in the cache
    python -m tests.live.rsyslogs --run     runs the tests marked `each_rsyslogd` under each
    python -m tests.live.rsyslogs --others  the same, but not under the release of this machine
    python -m tests.live.rsyslogs --write   writes what --run gave last into docs/reference.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.live.tested import OPTION, read, table, with_table
from tuner.host.programs import CHOSEN_RSYSLOGD, rsyslog_version
from tuner.lab.distribution import cache_folder

REFERENCE = Path(__file__).parents[2] / "docs/reference.md"
_PACKAGES = ("rsyslog", "rsyslog-elasticsearch", "rsyslog-relp", "rsyslog-gnutls", "rsyslog-kafka")


@dataclass(frozen=True)
class Suite:
    """A suite of Debian's: the release of its rsyslog, and what it packages beyond what all do."""

    name: str
    release: str
    packages: tuple[str, ...] = ()

    @property
    def rsyslogd(self) -> Path:
        """The script that starts its rsyslogd, once it is fetched."""
        return cache_folder() / "rsyslogs" / self.release / "rsyslogd"


# Unstable moves on: where its release is another one by now, its row is to be changed.
SUITES = (
    Suite("bullseye", "8.2102"),
    Suite("bookworm", "8.2302"),
    Suite("trixie", "8.2504"),
    Suite("sid", "8.2610", ("rsyslog-http",)),
)

# glibc's loader passes the name on since 2.33; before that the program sees its own path.
_STARTS = """\
#!/bin/sh
here=$(dirname "$(readlink -f "$0")")/root
exec "$here{loader}" --library-path "$here/lib/{triplet}:$here/usr/lib/{triplet}" {name}\\
    "$here/usr/sbin/rsyslogd" -M "$here/usr/lib/{triplet}/rsyslog" "$@"
"""


def fetch(suite: Suite) -> Path:
    """The rsyslogd of a suite, from the mirror that this machine's apt uses; kept in the cache."""
    if suite.rsyslogd.is_file():
        return suite.rsyslogd
    home = suite.rsyslogd.parent
    home.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".fetch-") as text:
        folder = Path(text)
        made = folder / "made"
        made.mkdir()
        unpack(suite.name, [*_PACKAGES, *suite.packages], folder / "apt", made / "root")
        script = made / "rsyslogd"
        script.write_text(_script(made / "root"), encoding="utf-8")
        for each in (made, script):
            each.chmod(0o755)
        said = _run(script, "-v").split()[1]
        if not said.startswith(f"{suite.release}."):
            raise SystemExit(f"{suite.name} has rsyslog {said} by now: change its row in SUITES")
        shutil.move(made, home)
    return suite.rsyslogd


def unpack(suite: str, packages: Sequence[str], folder: Path, root: Path) -> None:
    """Unpack packages of a suite and all that they need below `root`, by an apt in `folder` that
    knows of nothing that is installed."""
    for each in ("state/lists/partial", "cache/archives/partial"):
        (folder / each).mkdir(parents=True)
    (folder / "status").touch()
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    source = f"deb [signed-by={keys}] {mirror()} {suite} main\n"
    (folder / "sources.list").write_text(source, encoding="utf-8")
    settings = {
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Acquire::Check-Valid-Until": "false",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items())]
    _run(*apt, "update")
    _run(*apt, "install", "--yes", "--download-only", "--no-install-recommends", *packages)
    for archive in sorted((folder / "cache/archives").glob("*.deb")):
        _run("dpkg", "-x", archive, root)


def mirror() -> str:
    """Where this machine has Debian's packages from."""
    for line in _run("apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN)").splitlines():
        uri, _, origin = line.partition(" ")
        if origin == "Debian" and "security" not in uri:
            return uri
    raise SystemExit("apt knows no mirror of Debian's on this machine: run apt-get update first")


def _script(root: Path) -> str:
    """What starts the rsyslogd that is unpacked there."""
    libraries = next(root.glob("usr/lib/*-linux-gnu/rsyslog")).parent
    loader = next(one for one in root.rglob("ld-*.so*") if not one.is_symlink())
    names = b"--argv0" in loader.read_bytes()
    return _STARTS.format(
        loader=f"/{loader.relative_to(root)}",
        triplet=libraries.name,
        name="--argv0 rsyslogd " if names else "",
    )


def _run(*command: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _tested(suite: Suite, pytest: Sequence[str], results: Path) -> None:
    """Run the tests marked `each_rsyslogd` with the rsyslogd of a suite, and add to the results; a
    test that fails beside the others is tried once more by itself."""
    command = [sys.executable, "-m", "pytest", "-m", "each_rsyslogd", f"{OPTION}={results}"]
    environment = {**os.environ, CHOSEN_RSYSLOGD: str(suite.rsyslogd)}
    if subprocess.run([*command, *pytest], env=environment, check=False).returncode:
        again = [*command, "--last-failed", "--last-failed-no-failures", "none"]
        subprocess.run(again, env=environment, check=False)


def main() -> int:
    """Fetch every rsyslogd; with --run or --others test them, with the arguments that follow for
    pytest: `-k` runs some of the tests again, and keeps what the others gave.  With --write write
    the table of docs/reference.md."""
    is_others = sys.argv[1:2] == ["--others"]
    results = cache_folder() / "rsyslogs" / ("others.json" if is_others else "results.json")
    if sys.argv[1:2] == ["--write"]:
        REFERENCE.write_text(with_table(REFERENCE.read_text("utf-8"), read(results)), "utf-8")
        return 0
    for suite in SUITES:
        say(f"rsyslog {suite.release} of {suite.name}: {fetch(suite)}")
    if not is_others and sys.argv[1:2] != ["--run"]:
        return 0
    here = rsyslog_version() if is_others else None
    if "-k" not in sys.argv:
        results.unlink(missing_ok=True)
    for suite in SUITES:
        if suite.release == here:
            say(f"no tests with rsyslog {here}: all others ran with it")
            continue
        say(f"tests with rsyslog {suite.release}")
        _tested(suite, sys.argv[2:], results)
    found = read(results)
    say(table(found))
    return 1 if any(cell.failed for row in found.values() for cell in row.values()) else 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
