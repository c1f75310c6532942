"""Engines as Maven Central publishes them: fetched once, kept in a cache, read-only."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from tuner.engines.versions import VERSIONS, Distribution
from tuner.errors import Refused, Unreachable
from tuner.host.process import UNPRIVILEGED, daemons_can_read, own_environment, run
from tuner.host.programs import java_for, maven

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
# Where Maven is told of proxies and of authorities to trust.
_MAVEN = ("JAVA_HOME", "JAVA_TOOL_OPTIONS", "MAVEN_ARGS", "MAVEN_OPTS")


def cache_folder() -> Path:
    """Where engines are kept: in XDG_CACHE_HOME where it is set, for root else in the system's own
    cache, which the daemons' user can read too."""
    if os.geteuid() == 0 and not os.environ.get("XDG_CACHE_HOME"):
        return Path("/var/cache/rsyslog-tune")
    return platformdirs.user_cache_path("rsyslog-tune")


def home_of(distribution: Distribution) -> Path:
    """The folder of the unpacked engine, there or not."""
    return cache_folder() / f"{distribution.engine.value}-{distribution.version}"


def cached() -> tuple[Distribution, ...]:
    """The engines that are in the cache already."""
    return tuple(distribution for distribution in VERSIONS if home_of(distribution).is_dir())


def fetch(distribution: Distribution) -> Path:
    """The engine's home folder, fetched by Maven when it is not there yet.

    It is unpacked beside its place and renamed, so that an interrupted fetch leaves nothing.
    Raises Unreachable when Maven cannot fetch it, Refused when what it fetched is not the archive
    that the table of versions names, or where daemons cannot read it.
    """
    home = home_of(distribution)
    if not home.is_dir():
        _fetched(distribution, home)
    if not daemons_can_read(str(home)):
        raise Refused(
            f"{home}: the engine runs as {UNPRIVILEGED} when you are root, and that user cannot "
            "read this folder: let XDG_CACHE_HOME name one that every user can enter"
        )
    return home


def _fetched(distribution: Distribution, home: Path) -> None:
    cache_folder().mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=".fetch-") as folder:
        _unpack(_downloaded(distribution, Path(folder)), Path(folder))
        unpacked = next(Path(folder).glob(f"{distribution.engine.value}-*/"))
        _make_readable(unpacked)
        if not home.is_dir():
            shutil.move(unpacked, home)


def provide(distribution: Distribution, tell: Callable[[str], None]) -> float:
    """See that an engine can start here, fetched where it is missing; the seconds that this took.

    Raises ProgramMissing without a Java that it runs on.
    """
    java_for(distribution.java_lowest, distribution.java_highest)
    if home_of(distribution).is_dir():
        fetch(distribution)
        return 0.0
    tell(
        f"downloading {distribution.engine.value} {distribution.version}; it is kept for later runs"
    )
    started = time.monotonic()
    fetch(distribution)
    return time.monotonic() - started


def _downloaded(distribution: Distribution, folder: Path) -> Path:
    """The archive, as Maven put it into `folder`."""
    # Maven's own checksums are not asked for (-C): Maven Central lacks those of some versions, and
    # the table of versions has one of each.
    command = [maven(), "-q", "-B", f"{_PLUGIN}:copy"]
    command += [f"-Dartifact={distribution.artefact}", f"-DoutputDirectory={folder}"]
    # Without a project the plugin keeps its marks in a folder below the current one.
    result = run(command, 900, folder, own_environment(*_MAVEN))
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if "ERROR" in line]
        why = lines[0] if lines else "no reason given"
        raise Unreachable(f"Maven could not fetch {distribution.artefact}: {why}")
    archive = next(folder.glob("*.zip"))
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != distribution.sha256:
        raise Refused(
            f"Maven fetched {distribution.artefact} with SHA-256 {digest}, which should be "
            f"{distribution.sha256}: remove it from ~/.m2/repository, and check which repository "
            "or mirror Maven is set up to use"
        )
    return archive


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a ZIP archive with the right to run programs, which zipfile forgets (CPython issue
    15795)."""
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            path = Path(packed.extract(entry, folder))
            if entry.external_attr >> 16 & 0o100:
                path.chmod(0o700)


def _make_readable(home: Path) -> None:
    """Let every user read the tree and run its programs."""
    for path in (home, *home.rglob("*")):
        runnable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if runnable else 0o644)
