"""What control groups allow a container or a service: so many cores, and so much memory.

A quota of cores leaves the affinity alone, so that the machine seems to have all its cores.
Version 2 has it in `cpu.max`, version 1 in `cpu.cfs_quota_us`, and memory in `memory.max` and
`memory.limit_in_bytes` (kernel documentation: admin-guide/cgroup-v2, scheduler/sched-bwc,
admin-guide/cgroup-v1/memory); the tightest of a group and those above it counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

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
    quotas = []
    for group in _groups("cpu", root):
        cores = cores_of(*(_text(group.folder / name) for name in _QUOTA_FILES))
        if cores is not None and cores < processors:
            quotas.append(CpuQuota(cores, group.usage))
    return min(quotas, key=lambda quota: quota.cores, default=None)


def memory_limit(root: Path = _HERE) -> int | None:
    """The bytes of memory that this process and those that share its limit may have; None where
    there is no limit.  Without one version 1 writes a number above any machine's memory."""
    texts = (_text(group.folder / name) for group in _groups("memory", root) for name in _LIMITS)
    return min((int(text) for text in texts if text.strip().isdigit()), default=None)


_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
_LIMITS = ("memory.max", "memory.limit_in_bytes")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
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
    group: Path
    folder: Path


@dataclass(frozen=True)
class _Group:
    """The folder of a control group, and the file that counts what it used of the cores."""

    folder: Path
    usage: Path


def _groups(controller: str, root: Path) -> Iterator[_Group]:
    """Each group that can limit what this process has of `controller`, from its own up."""
    mounts = list(_mounts(_text(root / "proc/self/mountinfo"), root))
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, names, path = line.split(":", 2)
        controllers = frozenset(filter(None, names.split(",")))
        if number != "0" and controller not in controllers:
            continue
        for mount in mounts:
            if mount.controllers >= controllers and bool(mount.controllers) == bool(controllers):
                below = _below(Path(path), mount.group)
                for level in (below, *below.parents):
                    usage = _usage(mount, mounts) / level / _counter(mount)
                    yield _Group(mount.folder / level, usage)


def _below(path: Path, group: Path) -> Path:
    """Where a group is below the root of a mount; there itself when it is not below it, as a
    process in a container sees it that has no namespace of its own."""
    return path.relative_to(group) if path.is_relative_to(group) else Path()


def _mounts(mountinfo: str, root: Path) -> Iterator[_Mount]:
    """The hierarchies in /proc/self/mountinfo (proc(5)); version 1 has its controllers in the
    options of the file system."""
    for line in mountinfo.splitlines():
        head, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            group, folder = head.split()[3:5]
            names = frozenset(options.split(",")) if kind == "cgroup" else frozenset[str]()
            yield _Mount(names, Path(group), root / folder.lstrip("/"))


def _usage(mount: _Mount, mounted: list[_Mount]) -> Path:
    """Where the same groups are that count what was used."""
    if not mount.controllers:
        return mount.folder
    return next((mount.folder for mount in mounted if "cpuacct" in mount.controllers), mount.folder)


def _counter(mount: _Mount) -> str:
    return "cpuacct.usage" if mount.controllers else "cpu.stat"
