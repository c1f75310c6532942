"""What the threads of a process use, by the names they gave themselves.

rsyslogd names its threads by the stage they serve (`in:imptcp`, `imptcp/w0`, `rs:main Q:Reg`,
`rs:logs queue:R`), so their CPU time says which stage has none left.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import JobFailed

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ThreadTime:
    """What one thread used so far: seconds on a core, and seconds ready to run without one.

    The first has the kernel's resolution of 10 ms.  The second is 0 where the kernel does not say.
    """

    cpu_s: float
    runnable_s: float


@dataclass(frozen=True)
class NamedThreads:
    """The threads that share a name, each by its number."""

    by_number: Mapping[int, ThreadTime]

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.by_number)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all of them together."""
        return sum(time.cpu_s for time in self.by_number.values())


@dataclass(frozen=True)
class Load:
    """What threads did between two looks, in cores: 1.0 is one core all the time.

    `cpu` and `runnable` are sums over `count` threads, `busiest` is the most of any single one.
    """

    count: int
    cpu: float
    busiest: float
    runnable: float


def thread_cpu(pid: int) -> Mapping[str, NamedThreads]:
    """The threads of a process by name, and what each used; raises JobFailed when it is gone.

    Read from /proc/PID/task/TID/stat (name, utime, stime) and schedstat (time in the run queue),
    proc(5).  Names have at most 15 characters: the kernel cuts longer ones.  A thread that ends
    while we look is left out.
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
    return {name: NamedThreads(threads) for name, threads in by_name.items()}


def thread_loads(
    before: Mapping[str, NamedThreads], after: Mapping[str, NamedThreads], passed_s: float
) -> Mapping[str, Load]:
    """What the threads alive at the second look did in the `passed_s` seconds between the two.

    A thread that was not there before counts from zero, and so does one whose number was another
    thread's before.  What threads used that ended in between is lost.
    """
    loads = {}
    for name, threads in after.items():
        earlier = before[name].by_number if name in before else {}
        spent = [_spent(earlier.get(number), now) for number, now in threads.by_number.items()]
        loads[name] = Load(
            count=threads.count,
            cpu=sum(time.cpu_s for time in spent) / passed_s,
            busiest=max((time.cpu_s for time in spent), default=0.0) / passed_s,
            runnable=sum(time.runnable_s for time in spent) / passed_s,
        )
    return loads


def parse_stat(text: str) -> tuple[str, float]:
    """Name and CPU seconds out of a `stat` file; a name may itself hold spaces and parentheses."""
    end = text.rindex(")")
    fields = text[end + 1 :].split()
    ticks = int(fields[11]) + int(fields[12])
    return text[text.index("(") + 1 : end], ticks / _TICKS_PER_SECOND


def parse_schedstat(text: str) -> float:
    """Seconds in the run queue out of a `schedstat` file; 0 when the kernel keeps none."""
    fields = text.split()
    return int(fields[1]) / 1e9 if len(fields) > 1 else 0.0


def _spent(before: ThreadTime | None, now: ThreadTime) -> ThreadTime:
    if before is None or before.cpu_s > now.cpu_s or before.runnable_s > now.runnable_s:
        return now
    return ThreadTime(now.cpu_s - before.cpu_s, now.runnable_s - before.runnable_s)


def _text(path: Path) -> str:
    """The file's text, empty when there is none (any more)."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
