"""What the cores of this machine did, whoever used them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil

from tuner.host.quota import cpu_quota
from tuner.host.usage import cores

_WATCHED_S = 0.5


@dataclass(frozen=True)
class CoreTime:
    """Core-seconds since the machine started, over the cores this process may run on.

    `busy_s` is what all in the container used where it has a CPU quota; else it is all that anybody
    used, and includes `stolen_s`, what a hypervisor took away.  `idle_s` is what nobody on the
    machine used.  `io_wait_s` is the part of it
    while a thread that last ran on it waited for a disk: an estimate of the kernel, see proc(5).
    """

    busy_s: float
    idle_s: float
    io_wait_s: float
    stolen_s: float = 0.0

    def since(self, before: CoreTime) -> CoreTime:
        """What was added since then."""
        return CoreTime(
            self.busy_s - before.busy_s,
            self.idle_s - before.idle_s,
            self.io_wait_s - before.io_wait_s,
            self.stolen_s - before.stolen_s,
        )

    def taken_s(self, passed_s: float, allowed: float) -> float:
        """How much of so many seconds of the cores that are allowed we could not have: what of a
        quota is left counts only as far as the machine has idle cores for it."""
        return max(self.busy_s, passed_s * allowed - self.idle_s)


def core_time() -> CoreTime:
    """What the cores did so far, from /proc/stat or, under a quota, from its control group."""
    allowed = set(psutil.Process().cpu_affinity())
    every = psutil.cpu_times(percpu=True)
    ours = [times for number, times in enumerate(every) if number in allowed]
    quota = cpu_quota(len(allowed))
    used_s = None if quota is None else quota.used_s()
    busy = (one.user + one.nice + one.system + one.irq + one.softirq + one.steal for one in ours)
    return CoreTime(
        busy_s=sum(busy) if used_s is None else used_s,
        idle_s=sum(one.idle + one.iowait for one in ours),
        io_wait_s=sum(one.iowait for one in ours),
        stolen_s=sum(one.steal for one in ours),
    )


def busy_share() -> float:
    """The share of those cores that is in use, watched for half a second."""
    before, began_s = core_time(), time.monotonic()
    time.sleep(_WATCHED_S)
    passed_s = time.monotonic() - began_s
    taken_s = core_time().since(before).taken_s(passed_s, cores())
    return min(1.0, taken_s / (passed_s * cores()))
