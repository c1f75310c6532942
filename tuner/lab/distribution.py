"""Engines as Maven Central publishes them: fetched once, kept in a cache, read-only."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import platformdirs

from tuner.engines.versions import VERSIONS, Distribution
from tuner.errors import Unreachable
from tuner.host.process import run
from tuner.host.programs import maven


def cache_folder() -> Path:
    """Where engines are kept: for root a folder that the daemons' user can read too."""
    if os.geteuid() == 0:
        return Path("/var/cache/rsyslog-tune")
    return platformdirs.user_cache_path("rsyslog-tune")


def home_of(distribution: Distribution) -> Path:
    """Where the unpacked engine is, or would be."""
    return cache_folder() / f"{distribution.engine.value}-{distribution.version}"


def cached() -> tuple[Distribution, ...]:
    """The engines that are in the cache already."""
    return tuple(one for one in VERSIONS if home_of(one).is_dir())


def fetch(distribution: Distribution) -> Path:
    """The engine's home folder, fetched by Maven with strict checksums when it is not there yet.

    It is unpacked beside its place and renamed, so that an interrupted fetch leaves nothing.
    """
    home = home_of(distribution)
    if home.is_dir():
        return home
    cache_folder().mkdir(mode=0o755, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_folder(), prefix=".fetch-") as folder:
        _unpack(distribution, Path(folder))
        unpacked = next(Path(folder).glob(f"{distribution.engine.value}-*"))
        _make_readable(unpacked)
        if not home.is_dir():
            shutil.move(unpacked, home)
    return home


def _unpack(distribution: Distribution, folder: Path) -> None:
    command = [maven(), "-q", "-B", "-C", "dependency:unpack"]
    command += [f"-Dartifact={distribution.artefact}", f"-DoutputDirectory={folder}"]
    # Without a project the plugin keeps its marks in a folder below the current one.
    result = run(command, timeout_s=900, folder=folder)
    if result.returncode != 0:
        lines = [line for line in result.stdout.splitlines() if "ERROR" in line]
        why = lines[0] if lines else "no reason given"
        raise Unreachable(f"Maven could not fetch {distribution.artefact}: {why}")


def _make_readable(home: Path) -> None:
    """Let every user read the tree and run its programs."""
    for path in (home, *home.rglob("*")):
        runnable = path.is_dir() or path.stat().st_mode & 0o100
        path.chmod(0o755 if runnable else 0o644)
