"""The process of ours that makes a machine a member of a cluster: Dask's scheduler, or a worker.

It has a folder that only its user can read.  SIGTERM ends it; a worker also ends when its scheduler
does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from distributed import Scheduler, Worker
from distributed.utils import get_ip

from tuner.cluster.certificate import configure, taken_from
from tuner.host.signals import ending_signals

READY = "ready"
# Where its web server, which cannot be turned off, serves nothing.
_NOWHERE = "127.0.0.1:0"
_PATIENCE_S = 20


def schedule(folder: Path, listen: str) -> None:
    """Be the scheduler, at an address of this machine, until SIGTERM."""
    configure()
    asyncio.run(_until_told(folder, lambda: Scheduler(
        host=listen, port=0, protocol="tls", security=taken_from(folder).security,
        dashboard=False, dashboard_address=_NOWHERE,
    )))  # fmt: skip


def work(folder: Path, scheduler: str, name: str, role: str) -> None:
    """Be the worker `name`, which does one thing at a time, until SIGTERM."""
    configure()
    address = get_ip(urlsplit(scheduler).hostname)
    asyncio.run(_until_told(folder, lambda: Worker(
        scheduler, host=address, name=name, nthreads=1, resources={role: 1}, protocol="tls",
        security=taken_from(folder).security, memory_limit=0, local_directory=str(folder / "work"),
        dashboard=False, dashboard_address=_NOWHERE, death_timeout=_PATIENCE_S,
    )))  # fmt: skip


async def _until_told(folder: Path, make: Callable[[], Scheduler | Worker]) -> None:
    """Serve until SIGTERM or until it ends by itself; what it answers at stands in the folder from
    when it does."""
    told = asyncio.Event()
    for number in ending_signals():
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    async with make() as server:
        (folder / READY).write_text(server.address, encoding="ascii")
        ends = [asyncio.ensure_future(one) for one in (told.wait(), server.finished())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for one in ends:
            one.cancel()
