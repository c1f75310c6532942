"""CPU and memory use of processes, threads and the whole machine, and the limits that control
groups set; read from the kernel."""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import psutil

from tuner.errors import JobFailed
from tuner.schema.units import cores_text


@dataclass(frozen=True)
class Usage:
    """CPU seconds (user and system, all threads) and peak resident memory of a process."""

    cpu_s: float
    peak_rss_bytes: int


def usage_of(pid: int) -> Usage:
    """CPU and peak memory of a process so far; raises JobFailed if it has ended.

    Peak memory is VmHWM of /proc/PID/status (proc(5)).
    """
    try:
        times = psutil.Process(pid).cpu_times()
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        raise JobFailed(f"process {pid} is gone") from None
    high_water = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "")
    kib = int(high_water.split()[1]) if high_water else 0
    return Usage(cpu_s=times.user + times.system, peak_rss_bytes=kib * 1024)


def started_at(pid: int) -> str | None:
    """When the process started: the boot and the clock ticks since then (`starttime` of proc(5));
    None if there is no such process, or it has ended.

    With the pid it identifies a process for good: a pid may be used again, and the time of day
    changes when the clock is set.
    """
    stat = _text(Path(f"/proc/{pid}/stat"))
    if not stat:
        return None
    _, fields = _name_and_fields(stat)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None if fields[0] in "ZX" else f"{fields[19]} ticks since boot {boot}"


def memory_kills() -> int | None:
    """How many processes the OOM killer has killed since boot, for lack of memory of the machine or
    of a control group; None before Linux 4.13 (`oom_kill` in /proc/vmstat)."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


def sockets_at(protocol: str, port: int) -> list[list[str]]:
    """The fields of the sockets of this machine that are bound to a port, of IPv4 and IPv6, as
    /proc/net/tcp and /proc/net/udp say them (proc(5)): at no cost for who listens."""
    local, lines = f":{port:04X}", list[str]()
    for table in (Path(f"/proc/net/{protocol}"), Path(f"/proc/net/{protocol}6")):
        lines += table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else []
    rows = (line.split() for line in lines if local in line)
    return [row for row in rows if row[1].endswith(local)]


def listener_on(port: int) -> str | None:
    """The process that listens on a TCP port here ("rsyslogd, pid 812"), or None."""
    for connection in psutil.net_connections(kind="tcp"):
        listens = connection.status == psutil.CONN_LISTEN
        if listens and connection.laddr and connection.laddr.port == port:
            return _process_name(connection.pid)
    return None


def _process_name(pid: int | None) -> str:
    if pid is None:
        return "a process of another user"
    try:
        return f"{psutil.Process(pid).name()}, pid {pid}"
    except psutil.NoSuchProcess:
        return f"pid {pid}"


def position_in(path: str, pid: int) -> int | None:
    """A process' read position in a file, in bytes; None if it has not opened the file.  The
    furthest counts: rsyslogd 8.2302 opens a file twice and reads it once."""
    try:
        files = psutil.Process(pid).open_files()
    except psutil.Error:
        return None
    return max((file.position for file in files if file.path == path), default=None)


def memory_bytes() -> int:
    """The machine's memory, or the limit of its container where that is less."""
    total, limit = psutil.virtual_memory().total, memory_limit()
    return total if limit is None else min(total, limit)


def cores() -> float:
    """How many cores this process may use, by its affinity and the CPU quota of its container; a
    quota can be a fraction of a core."""
    processors = len(psutil.Process().cpu_affinity())
    quota = cpu_quota(processors)
    return processors if quota is None else quota.cores


def cpu_model() -> str:
    """The model name of the CPU, or the architecture if it has none."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def describe_machine() -> str:
    """Cores, memory and kernel in one line."""
    gib = memory_bytes() / 1024**3
    return f"{cores_text(cores())}, {gib:.1f} GiB, {platform.system()} {platform.release()}"


@dataclass(frozen=True)
class GrowingCounts:
    """A set of counters that only grow."""

    def since(self, before: Self) -> Self:
        """The increase of each counter since `before`."""
        return replace(self, **growth(vars(self), vars(before)))


def growth(counts: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The increase of each counter by name; a counter can be a number or a nested set.  None if
    either value is unknown; counters missing in `before` are left out."""
    return {name: _delta(count, before[name]) for name, count in counts.items() if name in before}


def _delta(count: Any, before: Any) -> Any:
    if count is None or before is None:
        return None
    if isinstance(count, Mapping):
        return growth(count, before)
    return count.since(before) if isinstance(count, GrowingCounts) else count - before


_SAMPLE_S = 0.5
_STAT = Path("/proc/stat")


@dataclass(frozen=True)
class CoreTime(GrowingCounts):
    """Core-seconds since the machine started, over the cores this process may run on.

    Under a CPU quota `busy_s` is the use of the whole container; without one it is that of all
    processes, plus `stolen_s`, which the hypervisor took.  `idle_s` is the machine's idle time.
    `io_wait_s` is the part of the idle time in which a thread waited for a disk: an estimate of the
    kernel, see proc(5).
    """

    busy_s: float
    idle_s: float
    io_wait_s: float
    stolen_s: float = 0.0

    def taken_s(self, passed_s: float, allowed: float) -> float:
        """The core-seconds, of `passed_s` seconds on `allowed` cores, that were not available to
        us.  What is left of a quota is available only while the machine has idle cores."""
        return max(self.busy_s, passed_s * allowed - self.idle_s)


def core_time() -> CoreTime:
    """Core time so far, from /proc/stat or, under a quota, from the control group."""
    allowed = set(psutil.Process().cpu_affinity())
    # Offline CPUs have no line.  A container may list only its own CPUs, renumbered (lxcfs), while
    # the affinity has the machine's numbers.
    processors = list(zip(_cpu_numbers(), psutil.cpu_times(percpu=True), strict=False))
    is_own = len(processors) <= len(allowed)
    own_times = [times for number, times in processors if is_own or number in allowed]
    quota = cpu_quota(len(allowed))
    used_s = None if quota is None else quota.used_s()
    busy = (
        times.user + times.nice + times.system + times.irq + times.softirq + times.steal
        for times in own_times
    )
    return CoreTime(
        busy_s=sum(busy) if used_s is None else used_s,
        idle_s=sum(times.idle + times.iowait for times in own_times),
        io_wait_s=sum(times.iowait for times in own_times),
        stolen_s=sum(times.steal for times in own_times),
    )


def _cpu_numbers() -> list[int]:
    """The numbers of the CPUs listed in /proc/stat, in its order."""
    lines = _STAT.read_text(encoding="ascii").splitlines()
    return [int(number) for line in lines if (number := line.split(" ")[0][3:]).isdecimal()]


def busy_share() -> float:
    """The share of our cores that is in use, sampled over half a second."""
    before, began_s = core_time(), time.monotonic()
    time.sleep(_SAMPLE_S)
    passed_s = time.monotonic() - began_s
    taken_s = core_time().since(before).taken_s(passed_s, cores())
    return min(1.0, taken_s / (passed_s * cores()))


@dataclass(frozen=True)
class ThreadTime(GrowingCounts):
    """The time of one thread so far: seconds on a core, and seconds runnable but without a core.

    `cpu_s` has the kernel's resolution of 10 ms.  `runnable_s` is 0 if it is not counted.
    """

    cpu_s: float
    runnable_s: float


Threads = Mapping[str, Mapping[int, ThreadTime]]
"""The threads of a process by name, then by thread id.

rsyslogd names its threads by the stage they serve (`in:imptcp`, `imptcp/w0`, `rs:main Q:Reg`,
`rs:logs queue:R`), so their CPU time shows which stage is saturated.
"""
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Load:
    """The load of threads between two samples, in cores: 1.0 is one core all the time.

    `cpu` and `runnable` are sums over `count` threads; `busiest` is `cpu` of the busiest one.
    """

    count: int
    cpu: float
    busiest: float
    runnable: float


def thread_cpu(pid: int) -> Threads:
    """The threads of a process with their times; raises JobFailed if it has ended.

    Read from /proc/PID/task/TID/stat (name, utime, stime) and schedstat (time in the run queue),
    proc(5).  Names have at most 15 characters: the kernel cuts longer ones.  A thread that ends
    during the sample is left out.
    """
    try:
        numbers = [int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        raise JobFailed(f"process {pid} is gone") from None
    by_name: defaultdict[str, dict[int, ThreadTime]] = defaultdict(dict)
    for number in numbers:
        folder = Path(f"/proc/{pid}/task/{number}")
        stat, schedstat = _text(folder / "stat"), _text(folder / "schedstat")
        if stat:
            name, cpu_s = parse_stat(stat)
            by_name[name][number] = ThreadTime(cpu_s, parse_schedstat(schedstat))
    return by_name


def thread_loads(before: Threads, after: Threads, passed_s: float) -> Mapping[str, Load]:
    """The load of the threads alive at the second sample, over `passed_s` seconds between both.

    A new thread counts from zero, also if it reuses the id of an ended one.  Threads that ended in
    between are not counted.
    """
    loads = {}
    for name, threads in after.items():
        earlier = before.get(name, {})
        spent = [_time_since(earlier.get(number), now) for number, now in threads.items()]
        loads[name] = Load(
            count=len(threads),
            cpu=sum(time.cpu_s for time in spent) / passed_s,
            busiest=max((time.cpu_s for time in spent), default=0.0) / passed_s,
            runnable=sum(time.runnable_s for time in spent) / passed_s,
        )
    return loads


def parse_stat(text: str) -> tuple[str, float]:
    """Thread name and CPU seconds from a `stat` file."""
    name, fields = _name_and_fields(text)
    return name, (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def parse_schedstat(text: str) -> float:
    """Seconds in the run queue from a `schedstat` file; 0 if the kernel does not count them."""
    fields = text.split()
    return int(fields[1]) / 1e9 if len(fields) > 1 else 0.0


def _name_and_fields(stat: str) -> tuple[str, list[str]]:
    """The name in a `stat` file, which can contain spaces and parentheses, and the fields after
    it."""
    begin, end = stat.index("("), stat.rindex(")")
    return stat[begin + 1 : end], stat[end + 1 :].split()


def _time_since(before: ThreadTime | None, now: ThreadTime) -> ThreadTime:
    if before is None or before.cpu_s > now.cpu_s or before.runnable_s > now.runnable_s:
        return now
    return now.since(before)


def _text(path: Path) -> str:
    """The text of a file, empty if it does not exist or has just gone."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# Limits of control groups.  A CPU quota does not change the affinity, so the machine seems to have
# all its cores.  Version 2 has limits in `cpu.max` and `memory.max`, version 1 in
# `cpu.cfs_quota_us` and `memory.limit_in_bytes` (kernel documentation: admin-guide/cgroup-v2,
# scheduler/sched-bwc, admin-guide/cgroup-v1/memory).  The tightest limit of a group and its parents
# applies.
_ROOT = Path("/")


@dataclass(frozen=True)
class CpuQuota:
    """A CPU quota: the number of cores, fractions included, and the file that counts their use."""

    cores: float
    usage: Path

    def used_s(self) -> float | None:
        """The core-seconds that the whole group has used; None if they are not counted."""
        try:
            return used_in(self.usage.read_text(encoding="ascii"))
        except OSError:
            return None


def cpu_quota(processors: int, root: Path = _ROOT) -> CpuQuota | None:
    """The tightest CPU quota on this process, None if it may use all `processors`.  `root` is the
    folder that holds the machine's file systems."""
    quotas = []
    for folder, usage in _groups("cpu", root):
        cores = cores_of(*(_text(folder / name) for name in _QUOTA_FILES))
        if cores is not None and cores < processors:
            quotas.append(CpuQuota(cores, usage))
    return min(quotas, key=lambda quota: quota.cores, default=None)


def memory_limit(root: Path = _ROOT) -> int | None:
    """The memory limit of this process' control group in bytes, None if there is none.  Version 1
    writes a number above any machine's memory for no limit."""
    texts = (_text(folder / name) for folder, _ in _groups("memory", root) for name in _LIMITS)
    return min((int(text) for text in texts if text.strip().isdigit()), default=None)


_QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
_LIMITS = ("memory.max", "memory.limit_in_bytes")


def cores_of(most: str, quota_us: str, period_us: str) -> float | None:
    """How many cores a group may use, by the texts of its files, empty for a missing one: `cpu.max`
    (`150000 100000`; `max` is no limit), or quota and period (-1 is no limit)."""
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
    """A mounted hierarchy of control groups: its controllers (none in version 2), the group that is
    mounted, and the folder where."""

    controllers: frozenset[str]
    group: Path
    folder: Path


def _groups(controller: str, root: Path) -> Iterator[tuple[Path, Path]]:
    """Each group that can limit `controller` for this process, from its own group up: its folder,
    and the file that counts its CPU use."""
    mounts = list(_mounts(_text(root / "proc/self/mountinfo"), root))
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, names, path = line.split(":", 2)
        controllers = frozenset(filter(None, names.split(",")))
        if number != "0" and controller not in controllers:
            continue
        for mount in mounts:
            if mount.controllers >= controllers and bool(mount.controllers) == bool(controllers):
                # A container without a cgroup namespace sees a path outside the mounted group.
                is_below = Path(path).is_relative_to(mount.group)
                below = Path(path).relative_to(mount.group) if is_below else Path()
                for level in (below, *below.parents):
                    yield mount.folder / level, _usage(mount, mounts, level)


def _mounts(mountinfo: str, root: Path) -> Iterator[_Mount]:
    """The hierarchies in /proc/self/mountinfo (proc(5)); version 1 lists its controllers in the
    file system's options."""
    for line in mountinfo.splitlines():
        head, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        if kind in {"cgroup", "cgroup2"}:
            group, folder = head.split()[3:5]
            names = frozenset(options.split(",")) if kind == "cgroup" else frozenset[str]()
            yield _Mount(names, Path(group), root / folder.lstrip("/"))


def _usage(mount: _Mount, mounts: list[_Mount], level: Path) -> Path:
    """The file that counts the CPU use of the group at `level`."""
    if not mount.controllers:
        return mount.folder / level / "cpu.stat"
    counting = (other.folder for other in mounts if "cpuacct" in other.controllers)
    return next(counting, mount.folder) / level / "cpuacct.usage"
