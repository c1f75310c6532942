"""A real engine of a release, for tests that need more than one kind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.shipped import release_at_hand
from tuner.engine.client import EngineClient
from tuner.engines.release import Engine, Release
from tuner.engines.versions import DEFAULT, TESTED, distribution_for
from tuner.errors import ProgramMissing
from tuner.host.programs import java_for
from tuner.lab.distribution import fetch
from tuner.lab.engine import AttachedEngine
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch

RELEASES = tuple(one.release for one in TESTED)
EACH_RELEASE = [
    one if one == DEFAULT.release else pytest.param(one, marks=pytest.mark.full) for one in RELEASES
]


def require_taken(release: Release) -> None:
    """Skip the test where the rsyslogd at hand sends _type, which this engine refuses (RT401)."""
    newer = release.engine_version[0] > (7 if release.engine is Engine.ELASTICSEARCH else 1)
    if newer and release_at_hand() < 2206:
        pytest.skip("not possible: rsyslog sends _type before 8.2206, which this engine refuses")


class WatchedNode(AttachedEngine):
    """Nodes of ours that a lab does not restart, and whose end it sees."""

    def __init__(self, nodes: Nodes) -> None:
        super().__init__(nodes.client(), nodes.plan.heap)
        self._nodes = nodes

    def ending(self) -> str | None:
        """How it ended, None while it runs."""
        return self._nodes.ending()


def release_text(release: Release) -> str:
    """Engine and version, to tell tests apart."""
    return f"{release.engine.value}-{'.'.join(map(str, release.engine_version))}"


@contextlib.contextmanager
def running(
    release: Release,
    folder: Path,
    settings: Mapping[str, str | int | bool] | None = None,
    files: Mapping[str, str] | None = None,
) -> Iterator[EngineClient]:
    """That engine with a small heap, these node settings and these files beside them, its data
    thrown away afterwards; the test is skipped where no Java for it is installed."""
    distribution = distribution_for(release)
    try:
        java_for(distribution.java_lowest, distribution.java_highest)
    except ProgramMissing as missing:
        pytest.skip(f"{release_text(release)}: {missing}")
    fetch(distribution)
    with scratch(folder) as below:
        node = Nodes(NodePlan(distribution, "512m", settings or {}), nodes_here(below / "engine"))
        client = node.client()
        for written in below.rglob(f"{release.engine.value}.yml"):
            for name, text in (files or {}).items():
                (written.parent / name).write_text(text)
        try:
            yield client
        finally:
            client.close()
            node.stop()
