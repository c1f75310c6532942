"""A process that makes a machine a member of a cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tuner.cluster.standing import ClusterMember
from tuner.deploy.inventory import InventoryHost, Paths


def since(pid: int) -> str:
    """When the kernel says that it started."""
    return Path(f"/proc/{pid}/stat").read_text("ascii").split()[21]


def status(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text("ascii").split()[2]


@pytest.mark.parametrize("ends", [False, True])
def test_one_that_ended_is_not_alive_though_nobody_has_waited_for_it(
    tmp_path: Path, ends: bool
) -> None:
    """As in a container without an init, where the dead stay zombies."""
    folder = tmp_path / "cluster/run"
    folder.mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            (folder / "pid").write_text(f"{process.pid} {since(process.pid)}\n", encoding="ascii")
            if ends:
                process.kill()
                while status(process.pid) != "Z":
                    pass
            paths = Paths(state=str(tmp_path))
            member = ClusterMember(InventoryHost("north", "local://", paths=paths), "run")
            assert member.is_alive() is not ends
        finally:
            process.kill()
