"""The process of ours that makes a machine a member of a cluster, Dask's scheduler or a worker:
what it does, and how it is started, looked at and ended through the door to its host.

It has a folder that only its user can read.  SIGTERM ends it; a worker also ends when its scheduler
does.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from distributed import Scheduler, Worker
from distributed.utils import get_ip

from tuner import __version__
from tuner.cluster.access import Versions, configure, taken_from
from tuner.cluster.certificate import ClusterCertificate
from tuner.deploy.inventory import InventoryHost
from tuner.errors import JobFailed, ProgramMissing, Refused
from tuner.host.remote import Answer, Host, connect, script_of
from tuner.host.signals import ending_signals

READY = "ready"
# Where its web server, which cannot be turned off, serves nothing.
_NOWHERE = "127.0.0.1:0"
_PATIENCE_S = 20
_SCRIPT = files("tuner.cluster").joinpath("member.sh").read_text(encoding="utf-8")
_WAIT_S = 30
_LIMIT_S = 3.0 * _WAIT_S
_HERE = [sys.executable, "-P", "-c", "from tuner.cli.main import main; main()"]
_NOT_FOUND = (126, 127)


def schedule(folder: Path, listen: str) -> None:
    """Be the scheduler, at an address of this machine, until SIGTERM."""
    configure()
    asyncio.run(_until_stopped(folder, lambda: Scheduler(
        host=listen, port=0, protocol="tls", security=taken_from(folder).security,
        dashboard=False, dashboard_address=_NOWHERE,
    )))  # fmt: skip


def work(folder: Path, scheduler: str, name: str, role: str) -> None:
    """Be the worker `name`, which does one thing at a time, until SIGTERM."""
    configure()
    address = get_ip(urlsplit(scheduler).hostname)
    asyncio.run(_until_stopped(folder, lambda: Worker(
        scheduler, host=address, name=name, nthreads=1, resources={role: 1}, protocol="tls",
        security=taken_from(folder).security, memory_limit=0, local_directory=str(folder / "work"),
        dashboard=False, dashboard_address=_NOWHERE, death_timeout=_PATIENCE_S,
    )))  # fmt: skip


async def _until_stopped(folder: Path, make: Callable[[], Scheduler | Worker]) -> None:
    """Serve until SIGTERM or until it ends by itself; what it answers at stands in the folder from
    when it does."""
    stopped = asyncio.Event()
    for number in ending_signals():
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with make() as server:
        (folder / READY).write_text(server.address, encoding="ascii")
        ends = [asyncio.ensure_future(end) for end in (stopped.wait(), server.finished())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()


class ClusterMember:
    """What makes one machine a member of a cluster; `member` names its folder there."""

    def __init__(self, machine: InventoryHost, member: str) -> None:
        self.machine = machine
        self._folder = f"{machine.paths.state}/cluster/{member}"
        self._host: Host = connect(machine.name, machine.address)

    def versions(self) -> Versions:
        """Those of that machine; raises ProgramMissing without rsyslog-tune there."""
        answer = self._host.run([*self._tune, "cluster", "versions"])
        if answer.code in _NOT_FOUND:
            raise ProgramMissing(
                f"{self.machine.name}: {self._tune[0]} not found: install rsyslog-tune "
                f"{__version__} there with pip install '.[cluster]' in its checkout, or set "
                "rsyslog_tune in the inventory to the path of the command"
            )
        if answer.code != 0:
            raise JobFailed(f"{self.machine.name}: {answer.err.strip() or 'no reason given'}")
        try:
            return Versions(**json.loads(answer.out))
        except (ValueError, TypeError):
            raise Refused(
                f"{self.machine.name} has other code of rsyslog-tune: install the same"
            ) from None

    def our_address(self) -> str | None:
        """Our address as that machine sees it when we log in; None where it is this machine."""
        if self._host.is_local:
            return None
        seen = (
            self._host.run(["sh", "-c", "echo ${SSH_CONNECTION%% *}"])
            .out.decode(errors="replace")
            .strip()
        )
        return seen or None

    def start(self, certificate: ClusterCertificate, arguments: Sequence[str]) -> str:
        """Start it with these arguments of `cluster member`; gives the address at which it answers.
        Raises JobFailed where it does not begin."""
        command = [*self._tune, "cluster", "member", self._folder, *arguments]
        printed = {"certificate": certificate.certificate.encode(), "key": certificate.key.encode()}
        return (
            self._call("start", shlex.join(command), printed).out.decode(errors="replace").strip()
        )

    def is_alive(self) -> bool:
        """Whether its process still runs."""
        return self._call("look").out.strip() == b"alive"

    def stop(self) -> None:
        """End it with all that it started, and remove its folder; fine where it is gone."""
        self._call("stop")

    @property
    def _tune(self) -> list[str]:
        command = _HERE if self._host.is_local else ["rsyslog-tune"]
        return command if self.machine.rsyslog_tune is None else [self.machine.rsyslog_tune]

    def _call(
        self, call: str, command: str = "", printed: Mapping[str, bytes] | None = None
    ) -> Answer:
        settings = {"folder": self._folder, "command": command, "wait_s": str(_WAIT_S)}
        script = script_of(_SCRIPT, settings, printed or {}, call)
        answer = self._host.run(["sh", "-s"], script, _LIMIT_S)
        if answer.code != 0:
            raise JobFailed(f"{self.machine.name}: {answer.err.strip() or 'no reason given'}")
        return answer
