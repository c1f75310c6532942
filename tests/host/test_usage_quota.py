"""Limits of containers, as the kernel shows them in files, and as a real one has them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tuner.host.usage import cores_of, cpu_quota, memory_limit, used_in

VERSION_2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
# Docker without a namespace of its own for control groups: the mount shows the container's group.
VERSION_1 = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 /docker/4f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 /docker/4f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
)
APART = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
    "40 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)


def machine(root: Path, groups: str, mounts: str, files: Mapping[str, str]) -> Path:
    """A machine's files below `root`."""
    proc = {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts}
    for name, text in {**proc, **{f"sys/fs/cgroup/{path}": t for path, t in files.items()}}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return root


def test_version_2_in_a_container_with_a_namespace(tmp_path: Path) -> None:
    files = {"cpu.max": "150000 100000\n", "cpu.stat": "usage_usec 2500000\nuser_usec 1\n"}
    quota = cpu_quota(8, machine(tmp_path, "0::/\n", VERSION_2, files))
    assert quota is not None
    assert quota.cores == 1.5
    assert quota.used_s() == 2.5


def test_the_tightest_of_a_group_and_those_above_it_counts(tmp_path: Path) -> None:
    files = {
        "system.slice/a.service/cpu.max": "300000 100000\n",
        "system.slice/a.service/cpu.stat": "usage_usec 1\n",
        "system.slice/cpu.max": "200000 100000\n",
        "system.slice/cpu.stat": "usage_usec 7000000\n",
    }
    quota = cpu_quota(8, machine(tmp_path, "0::/system.slice/a.service\n", VERSION_2, files))
    assert quota is not None
    assert (quota.cores, quota.used_s()) == (2.0, 7.0)


def test_version_1_in_a_container_without_a_namespace(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
        "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        "cpu,cpuacct/cpuacct.usage": "3000000000\n",
    }
    groups = "5:memory:/docker/4f\n4:cpu,cpuacct:/docker/4f\n1:name=systemd:/docker/4f\n"
    quota = cpu_quota(2, machine(tmp_path, groups, VERSION_1, files))
    assert quota is not None
    assert (quota.cores, quota.used_s()) == (0.5, 3.0)


def test_version_1_may_count_in_a_hierarchy_of_its_own(tmp_path: Path) -> None:
    files = {
        "cpu/job/cpu.cfs_quota_us": "120000\n",
        "cpu/job/cpu.cfs_period_us": "100000\n",
        "cpuacct/job/cpuacct.usage": "4000000000\n",
    }
    quota = cpu_quota(2, machine(tmp_path, "2:cpuacct:/job\n1:cpu:/job\n0::/\n", APART, files))
    assert quota is not None
    assert (quota.cores, quota.used_s()) == (1.2, 4.0)


def test_a_quota_whose_use_nobody_counts_is_a_quota(tmp_path: Path) -> None:
    quota = cpu_quota(8, machine(tmp_path, "0::/\n", VERSION_2, {"cpu.max": "100000 100000"}))
    assert quota is not None
    assert (quota.cores, quota.used_s()) == (1.0, None)


@pytest.mark.parametrize("most", ["max 100000\n", "800000 100000\n"])
def test_where_every_processor_may_be_used_there_is_no_quota(tmp_path: Path, most: str) -> None:
    assert cpu_quota(8, machine(tmp_path, "0::/\n", VERSION_2, {"cpu.max": most})) is None


def test_a_machine_without_control_groups_has_no_quota(tmp_path: Path) -> None:
    assert cpu_quota(8, tmp_path) is None
    assert cpu_quota(8, machine(tmp_path, "0::/\n", "", {})) is None


def test_the_files_of_either_version_are_read() -> None:
    assert cores_of("50000 100000\n", "", "") == 0.5
    assert cores_of("", "-1\n", "100000\n") is None
    assert cores_of("", "250000\n", "100000\n") == 2.5
    assert cores_of("", "", "") is None
    assert used_in("usage_usec 1500000\nuser_usec 9\n") == 1.5
    assert used_in("1500000000\n") == 1.5


def test_the_smallest_memory_of_a_group_and_those_above_it_counts(tmp_path: Path) -> None:
    files = {
        "pod/a/memory.max": "4294967296\n",
        "pod/memory.max": "1073741824\n",
        "memory.max": "max\n",
    }
    assert memory_limit(machine(tmp_path, "0::/pod/a\n", VERSION_2, files)) == 1 << 30


def test_the_memory_of_version_1_is_that_of_its_own_hierarchy(tmp_path: Path) -> None:
    files = {"memory/memory.limit_in_bytes": "536870912\n"}
    groups = "5:memory:/docker/4f\n4:cpu,cpuacct:/docker/4f\n"
    root = machine(tmp_path, groups, VERSION_1, files)
    assert memory_limit(root) == 512 << 20
    assert cpu_quota(8, root) is None


def test_without_a_limit_all_memory_may_be_used(tmp_path: Path) -> None:
    assert memory_limit(tmp_path) is None
    assert memory_limit(machine(tmp_path, "0::/\n", VERSION_2, {"memory.max": "max\n"})) is None


CONTROL_GROUPS = Path("/sys/fs/cgroup")
HALF_A_CORE = {
    "cpu.max": "50000 100000",
    "cpu.cfs_quota_us": "50000",
    "memory.max": str(512 << 20),
    "memory.limit_in_bytes": str(512 << 20),
}


@pytest.fixture
def groups() -> Iterator[list[Path]]:
    """A control group of half a core and 512 MiB, in each hierarchy that there is."""
    if os.geteuid() != 0:
        pytest.skip("only root makes control groups")
    is_version_2 = (CONTROL_GROUPS / "cgroup.controllers").exists()
    hierarchies = [""] if is_version_2 else ["cpu", "cpuacct", "memory"]
    name = f"rsyslog-tune-tests-{os.getpid()}"
    folders = [CONTROL_GROUPS / hierarchy / name for hierarchy in hierarchies]
    made = []
    try:
        for folder in folders:
            folder.mkdir()
            made.append(folder)
        limited = [folder / file for folder in folders for file in HALF_A_CORE]
        limited = [file for file in limited if file.exists()]
        for file in limited:
            file.write_text(HALF_A_CORE[file.name], encoding="ascii")
        if len(limited) != 2:
            pytest.skip("no control group can have limits here")
        yield folders
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    finally:
        for folder in made:
            folder.rmdir()


ENTER = 'for group; do echo $$ > "$group/cgroup.procs"; done; exec "$PYTHON" -c "$PROGRAM"'
PROGRAM = """
import json, time
from tuner.host.usage import core_time
from tuner.host.usage import cores, memory_bytes
print(json.dumps([cores(), memory_bytes(), core_time().busy_s - time.process_time()]))
"""


def test_a_real_control_group_is_the_machine(groups: list[Path]) -> None:
    """Its cores, its memory, and of the time that cores were busy its own."""
    environment = {**os.environ, "PYTHON": sys.executable, "PROGRAM": PROGRAM}
    done = subprocess.run(
        ["sh", "-c", ENTER, "sh", *map(str, groups)],
        env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    cores, memory, busy_of_others_s = json.loads(done.stdout)
    assert (cores, memory) == (0.5, 512 << 20)
    assert abs(busy_of_others_s) < 1
