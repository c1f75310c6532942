"""The CPU quota of a container or service: how many cores its control groups allow.

A quota leaves the affinity alone, so that the machine seems to have all its cores.  Version 2 has
it in `cpu.max`, version 1 in `cpu.cfs_quota_us` (kernel documentation: admin-guide/cgroup-v2,
scheduler/sched-bwc); the tightest of a group and those above it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_HERE = Path("/")


@dataclass(frozen=True)
class CpuQuota:
    """So many cores at most, fractions included, and the file with what was used of them."""

    cores: float
    usage: Path

    def used_s(self) -> float | None:
        """The core-seconds that all in the group used so far; None where nobody counts them."""
        try:
            return used_in(self.usage.read_text(encoding="ascii"))
        except OSError:
            return None


def cpu_quota(processors: int, root: Path = _HERE) -> CpuQuota | None:
    """The tightest quota on this process, of the machine whose files are under `root`; None where
    it may use all of so many processors."""
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8")
        mounts = (root / "proc/self/mountinfo").read_text(encoding="utf-8")
    except OSError:
        return None
    quotas = []
    for folder, usage in _levels(groups, mounts):
        texts = [_text(root / str(folder / name).lstrip("/")) for name in _QUOTA_FILES]
        cores = cores_of(*texts)
        if cores is not None and cores < processors:
            quotas.append(CpuQuota(cores, root / str(usage).lstrip("/")))
    return min(quotas, key=lambda one: one.cores, default=None)


_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def cores_of(most: str, quota_us: str, period_us: str) -> float | None:
    """How many cores the files of a group allow: `cpu.max` (`150000 100000`; `max` is no limit), or
    quota and period (-1 is no limit), each empty where there is no such file."""
    quota, period = most.split() or (quota_us.strip(), period_us.strip())
    if not quota or not period or quota == "max" or int(quota) <= 0:
        return None
    return int(quota) / int(period)


def used_in(usage: str) -> float:
    """The core-seconds in `cpu.stat` (version 2) or `cpuacct.usage` (version 1)."""
    words = usage.split()
    if "usage_usec" in words:
        return int(words[words.index("usage_usec") + 1]) / 1e6
    return int(words[0]) / 1e9


@dataclass(frozen=True)
class _Mount:
    """A hierarchy of control groups: its controllers (none: version 2), which of its groups is the
    root of the mount, and where that is."""

    controllers: frozenset[str]
    group: PurePosixPath
    folder: PurePosixPath


def _levels(groups: str, mounts: str) -> Iterator[tuple[PurePosixPath, PurePosixPath]]:
    """The folder of each group that can limit this process, from its own up, with the file that
    counts what the group used."""
    mounted = list(_mounts(mounts))
    for line in groups.splitlines():
        number, names, path = line.split(":", 2)
        controllers = frozenset(filter(None, names.split(",")))
        if number != "0" and "cpu" not in controllers:
            continue
        for mount in mounted:
            if mount.controllers >= controllers and bool(mount.controllers) == bool(controllers):
                below = _below(PurePosixPath(path), mount.group)
                for level in (below, *below.parents):
                    yield mount.folder / level, _usage(mount, mounted) / level / _counter(mount)


def _below(path: PurePosixPath, group: PurePosixPath) -> PurePosixPath:
    """Where a group is below the root of a mount; there itself when it is not below it, as a
    process in a container sees it that has no namespace of its own."""
    return path.relative_to(group) if path.is_relative_to(group) else PurePosixPath()


def _mounts(mountinfo: str) -> Iterator[_Mount]:
    """The hierarchies in /proc/self/mountinfo (proc(5)); version 1 has its controllers in the
    options of the file system."""
    for line in mountinfo.splitlines():
        head, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            group, folder = head.split()[3:5]
            names = frozenset(options.split(",")) if kind == "cgroup" else frozenset[str]()
            yield _Mount(names, PurePosixPath(group), PurePosixPath(folder))


def _usage(mount: _Mount, mounted: list[_Mount]) -> PurePosixPath:
    """Where the same groups are that count what was used."""
    if not mount.controllers:
        return mount.folder
    return next((one.folder for one in mounted if "cpuacct" in one.controllers), mount.folder)


def _counter(mount: _Mount) -> str:
    return "cpuacct.usage" if mount.controllers else "cpu.stat"
