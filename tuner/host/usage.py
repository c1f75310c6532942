"""What a process uses, read from the kernel."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

from tuner.errors import JobFailed
from tuner.host.quota import cpu_quota, memory_limit
from tuner.schema.units import cores_text


@dataclass(frozen=True)
class Usage:
    """CPU seconds (user and system, all threads) and peak resident memory of a process."""

    cpu_s: float
    peak_rss_bytes: int


def usage_of(pid: int) -> Usage:
    """What the process used so far; raises JobFailed when it is gone.

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
    """When the process started: the clock ticks since which boot (`starttime` of proc(5)); None
    when there is no such process, or it has ended.

    With the pid it identifies a process for good: a pid may be used again, and the time of day
    changes when the clock is set.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(")") + 1 :].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None if fields[0] in "ZX" else f"{fields[19]} ticks since boot {boot}"


def memory_kills() -> int | None:
    """How many processes the kernel has ended for lack of memory, the machine's or a control
    group's, since it booted; None where it does not tell (`oom_kill` in /proc/vmstat, from Linux
    4.13)."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


def listener_on(port: int) -> str | None:
    """Who listens on a TCP port of this machine ("rsyslogd, pid 812"), or None when nobody does."""
    for connection in psutil.net_connections(kind="tcp"):
        listens = connection.status == psutil.CONN_LISTEN
        if listens and connection.laddr and connection.laddr.port == port:
            return _who(connection.pid)
    return None


def _who(pid: int | None) -> str:
    if pid is None:
        return "a process of another user"
    try:
        return f"{psutil.Process(pid).name()}, pid {pid}"
    except psutil.NoSuchProcess:
        return f"pid {pid}"


def memory_bytes() -> int:
    """The machine's memory, or the limit of its container where that is less."""
    total, limit = psutil.virtual_memory().total, memory_limit()
    return total if limit is None else min(total, limit)


def cores() -> float:
    """How many processors this process may use, by its affinity and the CPU quota of its container;
    a quota can allow a part of one."""
    processors = len(psutil.Process().cpu_affinity())
    quota = cpu_quota(processors)
    return processors if quota is None else quota.cores


def cpu_model() -> str:
    """What the processors call themselves; the architecture where they have no name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def describe_machine() -> str:
    """Cores, memory and kernel in one line."""
    gib = memory_bytes() / 1024**3
    return f"{cores_text(cores())}, {gib:.1f} GiB, {platform.system()} {platform.release()}"
