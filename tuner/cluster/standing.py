"""The cluster that `cluster up` started and `cluster down` ends: its record on this machine, Dask's
scheduler here and a worker on each host, and how these processes of ours are started, looked at and
ended through the door to their host.

Each has a folder that only its user can read.  SIGTERM ends it; a worker also ends when its
scheduler does.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from distributed import Scheduler, Worker
from distributed.utils import get_ip
from pydantic import TypeAdapter, ValidationError

from tuner import __version__
from tuner.cluster.access import (
    Versions,
    configure,
    connected,
    made,
    require_comparable,
    require_same,
    roles,
    taken_from,
)
from tuner.cluster.messages import ClusterCertificate
from tuner.deploy.inventory import InventoryHost, Paths
from tuner.errors import JobFailed, ProgramMissing, Refused, TuneError
from tuner.host.lock import state_folder
from tuner.host.remote import Answer, Host, connect, script_of
from tuner.host.signals import ending_signals
from tuner.reading import packaged
from tuner.writing import write_whole

READY = "ready"
# Where its web server, which cannot be turned off, serves nothing.
_NOWHERE = "127.0.0.1:0"
_PATIENCE_S = 20
_SCRIPT = packaged("cluster/member.sh")
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
        answer = self._host.run(["sh", "-c", "echo ${SSH_CONNECTION%% *}"])
        return answer.out.decode(errors="replace").strip() or None

    def start(self, certificate: ClusterCertificate, arguments: Sequence[str]) -> str:
        """Start it with these arguments of `cluster member`; gives the address at which it answers.
        Raises JobFailed where it does not begin."""
        command = [*self._tune, "cluster", "member", self._folder, *arguments]
        printed = {"certificate": certificate.certificate.encode(), "key": certificate.key.encode()}
        answer = self._call("start", shlex.join(command), printed)
        return answer.out.decode(errors="replace").strip()

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


_SCHEDULER = "this machine"
_AT_ONCE = 16
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class StandingCluster:
    """What is up, or was about to be: the scheduler's address ("" before it answers), who may
    join, and the hosts with a worker.  One that others started has no `run`."""

    run: str
    address: str
    certificate: ClusterCertificate | None
    hosts: tuple[InventoryHost, ...]

    @property
    def is_ours(self) -> bool:
        """Whether we started it."""
        return bool(self.run)

    @property
    def scheduler(self) -> ClusterMember:
        """The process of the scheduler, on this machine."""
        paths = Paths(state=str(state_folder()))
        return ClusterMember(InventoryHost(_SCHEDULER, "local://", paths=paths), self.run)

    @property
    def workers(self) -> tuple[ClusterMember, ...]:
        """The process on each host."""
        return tuple(ClusterMember(host, f"{self.run}-{host.name}") for host in self.hosts)


T = TypeVar("T")
_RECORD = TypeAdapter(StandingCluster)


def read() -> StandingCluster | None:
    """The record, None where no cluster is up; raises JobFailed where it cannot be read."""
    try:
        return _RECORD.validate_json(_path().read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError:
        raise JobFailed(
            f"{_path()} cannot be read: end the processes `rsyslog-tune cluster member` on each "
            "host, and remove it"
        ) from None


def up(
    hosts: Sequence[InventoryHost], listen: str | None, tell: Callable[[str], None]
) -> StandingCluster:
    """Start the scheduler at the address `listen` of this machine, by default the one that all
    hosts see, and a worker on each host; all or nothing.

    Raises Refused where a host has other versions than this machine.
    """
    certificate = made()
    cluster = StandingCluster(secrets.token_hex(4), "", certificate, tuple(hosts))
    _require_same(cluster.workers)
    listen = listen or _one_address(set(_each(ClusterMember.our_address, cluster.workers)))
    _write(cluster)
    try:
        tell("starting the scheduler")
        address = cluster.scheduler.start(certificate, ["--listen", listen])
        cluster = replace(cluster, address=address)
        _write(cluster)

        _join(cluster, certificate, cluster.workers, tell)
    except BaseException:
        down(cluster, tell)
        raise
    return cluster


def bring_back(
    cluster: StandingCluster, hosts: Sequence[InventoryHost], tell: Callable[[str], None]
) -> bool:
    """Start a worker again on each host of a cluster of ours whose worker died; False where none
    did, or where the cluster has other hosts than `hosts`."""
    certificate = cluster.certificate
    if certificate is None or not cluster.is_ours or cluster.hosts != tuple(hosts):
        return False
    present = taking_part(cluster)
    absent = [worker for worker in cluster.workers if worker.machine.name not in present]
    _require_same(absent)
    # What still runs there is cut off.
    _each(ClusterMember.stop, absent)
    _join(cluster, certificate, absent, tell)
    return bool(absent)


def _require_same(workers: Sequence[ClusterMember]) -> None:
    """Raise Refused where a host has other versions than this machine."""
    names = (worker.machine.name for worker in workers)
    require_same(dict(zip(names, _each(ClusterMember.versions, workers), strict=True)))


def _join(
    cluster: StandingCluster,
    certificate: ClusterCertificate,
    workers: Sequence[ClusterMember],
    tell: Callable[[str], None],
) -> None:
    def join(worker: ClusterMember) -> None:
        host = worker.machine
        named = ["--scheduler", cluster.address, "--name", host.name, "--role", host.role.value]
        worker.start(certificate, named)
        tell(f"{host.name} has joined")

    _each(join, workers)


def attach(address: str, certificate: ClusterCertificate | None) -> StandingCluster:
    """Take part in a cluster that others started; raises Unreachable, and Refused where one of its
    machines has other versions than this one."""
    cluster = StandingCluster("", address, certificate, ())
    with connected(address, certificate) as client:
        require_comparable(client)
    _write(cluster)
    return cluster


def down(cluster: StandingCluster, tell: Callable[[str], None]) -> None:
    """End every process of it, the workers' first, and forget it; raises JobFailed where hosts
    could not be reached, and remembers it then, to be ended again.  One that others started is
    only forgotten."""
    members = (*cluster.workers, cluster.scheduler) if cluster.is_ours else ()
    ends = [*_each(_stopped, members[:-1]), *map(_stopped, members[-1:])]
    failures = [failure for failure in ends if failure is not None]
    for failure in failures:
        tell(failure)
    if failures:
        raise JobFailed(
            f"{len(failures)} of {len(members)} machines may still run a process of the cluster: "
            "rsyslog-tune cluster down again when they can be reached"
        )
    _path().unlink(missing_ok=True)


def taking_part(cluster: StandingCluster) -> dict[str, str]:
    """The roles of the machines that take part now, by their names; raises Unreachable without a
    scheduler."""
    with connected(cluster.address, cluster.certificate) as client:
        return roles(client)


def _each(do: Callable[[ClusterMember], T], members: Sequence[ClusterMember]) -> list[T]:
    """What `do` gives of each, several at once; what is under way ends before an error is
    raised."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        futures = [pool.submit(do, member) for member in members]
        try:
            return [future.result() for future in futures]
        finally:
            pool.shutdown(cancel_futures=True)


def _stopped(member: ClusterMember) -> str | None:
    """End it; gives what prevented that."""
    try:
        member.stop()
    except TuneError as error:
        return str(error)
    return None


def _one_address(seen: set[str | None]) -> str:
    """The address of this machine for all of them."""
    addresses = {address for address in seen if address is not None}
    if len(addresses) > 1:
        raise Refused(
            f"the hosts see this machine as {' and '.join(sorted(addresses))}: name the address "
            "that all of them reach, --listen ADDRESS"
        )
    return addresses.pop() if addresses else _LOOPBACK


def _path() -> Path:
    return state_folder() / "cluster.json"


def _write(cluster: StandingCluster) -> None:
    """For its user alone: it holds the key."""
    _path().parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    write_whole(_path(), _RECORD.dump_json(cluster, indent=2).decode(), 0o600)
