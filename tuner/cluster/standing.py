"""The cluster that `cluster up` started and `cluster down` ends: its record on this machine, Dask's
scheduler here and a worker on each host.

Each process has a folder that only its user can read.  SIGTERM ends it; a worker also ends when its
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
    new_certificate,
    require_comparable,
    require_same_versions,
    roles,
    take_certificate,
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
# The address of Dask's web server, which cannot be turned off: on any free port, without pages.
_NOWHERE = "127.0.0.1:0"
_PATIENCE_S = 20
_SCRIPT = packaged("cluster/member.sh")
_WAIT_S = 30
_LIMIT_S = 3.0 * _WAIT_S
_HERE = [sys.executable, "-P", "-c", "from tuner.cli.main import main; main()"]
_NOT_FOUND = (126, 127)


def run_scheduler(folder: Path, listen: str) -> None:
    """Run the scheduler at an address of this machine until SIGTERM."""
    configure()
    asyncio.run(_until_stopped(folder, lambda: Scheduler(
        host=listen, port=0, protocol="tls", security=take_certificate(folder).security,
        dashboard=False, dashboard_address=_NOWHERE,
    )))  # fmt: skip


def run_worker(folder: Path, scheduler: str, name: str, role: str) -> None:
    """Run the worker `name`, with one thread, until SIGTERM or until its scheduler is gone."""
    configure()
    address = get_ip(urlsplit(scheduler).hostname)
    asyncio.run(_until_stopped(folder, lambda: Worker(
        scheduler, host=address, name=name, nthreads=1, resources={role: 1}, protocol="tls",
        security=take_certificate(folder).security, memory_limit=0, dashboard=False,
        local_directory=str(folder / "work"), dashboard_address=_NOWHERE, death_timeout=_PATIENCE_S,
    )))  # fmt: skip


async def _until_stopped(folder: Path, make: Callable[[], Scheduler | Worker]) -> None:
    """Run a server until SIGTERM or until it ends by itself; once it answers, its address is in the
    file READY."""
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
    """The scheduler or a worker on its machine, where `member` is the name of its folder."""

    def __init__(self, machine: InventoryHost, member: str) -> None:
        self.machine = machine
        self._folder = f"{machine.paths.state}/cluster/{member}"
        self._host: Host = connect(machine.name, machine.address)

    def versions(self) -> Versions:
        """The versions of that machine; raises ProgramMissing without rsyslog-tune there, Refused
        with an incompatible one."""
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
        """Our address as that machine sees it when we log in; None if it is this machine."""
        if self._host.is_local:
            return None
        answer = self._host.run(["sh", "-c", "echo ${SSH_CONNECTION%% *}"])
        return answer.out.decode(errors="replace").strip() or None

    def start(self, certificate: ClusterCertificate, arguments: Sequence[str]) -> str:
        """Start it with these arguments of `cluster member`, and return the address at which it
        answers.  Raises JobFailed if it does not start."""
        command = [*self._tune, "cluster", "member", self._folder, *arguments]
        printed = {"certificate": certificate.certificate.encode(), "key": certificate.key.encode()}
        answer = self._call("start", shlex.join(command), printed)
        return answer.out.decode(errors="replace").strip()

    def is_alive(self) -> bool:
        """Whether its process is running."""
        return self._call("look").out.strip() == b"alive"

    def stop(self) -> None:
        """End it and all that it started, and remove its folder; does nothing if it is gone."""
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
    """A cluster that is up or starting: the scheduler's address ("" before it answers), the
    certificate of those who may join, and the hosts with a worker; `run` is "" if others started
    it."""

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
        """The scheduler, on this machine."""
        paths = Paths(state=str(state_folder()))
        return ClusterMember(InventoryHost(_SCHEDULER, "local://", paths=paths), self.run)

    @property
    def workers(self) -> tuple[ClusterMember, ...]:
        """The worker on each host."""
        return tuple(ClusterMember(host, f"{self.run}-{host.name}") for host in self.hosts)


T = TypeVar("T")
_RECORD = TypeAdapter(StandingCluster)


def read() -> StandingCluster | None:
    """Read the record, None if no cluster is up; raises JobFailed if it cannot be read."""
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

    Raises Refused if a host has other versions than this machine.
    """
    certificate = new_certificate()
    cluster = StandingCluster(secrets.token_hex(4), "", certificate, tuple(hosts))
    _require_same_versions(cluster.workers)
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


def restart_workers(
    cluster: StandingCluster, hosts: Sequence[InventoryHost], tell: Callable[[str], None]
) -> bool:
    """Restart the workers that have died in a cluster of ours; False if none has, or if the cluster
    has other hosts than `hosts`."""
    certificate = cluster.certificate
    if certificate is None or not cluster.is_ours or cluster.hosts != tuple(hosts):
        return False
    present = taking_part(cluster)
    absent = [worker for worker in cluster.workers if worker.machine.name not in present]
    _require_same_versions(absent)
    # A worker that still runs there has lost its scheduler.
    _each(ClusterMember.stop, absent)
    _join(cluster, certificate, absent, tell)
    return bool(absent)


def _require_same_versions(workers: Sequence[ClusterMember]) -> None:
    """Raise Refused if a host has other versions than this machine."""
    names = (worker.machine.name for worker in workers)
    require_same_versions(dict(zip(names, _each(ClusterMember.versions, workers), strict=True)))


def _join(
    cluster: StandingCluster,
    certificate: ClusterCertificate,
    workers: Sequence[ClusterMember],
    tell: Callable[[str], None],
) -> None:
    def join(worker: ClusterMember) -> None:
        host = worker.machine
        options = ["--scheduler", cluster.address, "--name", host.name, "--role", host.role.value]
        worker.start(certificate, options)
        tell(f"{host.name} has joined")

    _each(join, workers)


def attach(address: str, certificate: ClusterCertificate | None) -> StandingCluster:
    """Record a cluster that others started as the one to use; raises Unreachable, and Refused if
    one of its machines has other versions than this one."""
    cluster = StandingCluster("", address, certificate, ())
    with connected(address, certificate) as client:
        require_comparable(client)
    _write(cluster)
    return cluster


def down(cluster: StandingCluster, tell: Callable[[str], None]) -> None:
    """End every process of a cluster, the workers first, and remove its record; if a process could
    not be ended, keep the record for another try, and raise JobFailed.  Of a cluster that others
    started, only remove the record."""
    members = (*cluster.workers, cluster.scheduler) if cluster.is_ours else ()
    results = [*_each(_stop, members[:-1]), *map(_stop, members[-1:])]
    failures = [failure for failure in results if failure is not None]
    for failure in failures:
        tell(failure)
    if failures:
        raise JobFailed(
            f"{len(failures)} of {len(members)} machines may still run a process of the cluster: "
            "rsyslog-tune cluster down again when they can be reached"
        )
    _path().unlink(missing_ok=True)


def taking_part(cluster: StandingCluster) -> dict[str, str]:
    """The roles of the machines whose workers are connected now, by name; raises Unreachable if the
    scheduler does not answer."""
    with connected(cluster.address, cluster.certificate) as client:
        return roles(client)


def _each(do: Callable[[ClusterMember], T], members: Sequence[ClusterMember]) -> list[T]:
    """Call `do` for each member, several at once, and return the results; calls under way end
    before an error is raised."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        futures = [pool.submit(do, member) for member in members]
        try:
            return [future.result() for future in futures]
        finally:
            pool.shutdown(cancel_futures=True)


def _stop(member: ClusterMember) -> str | None:
    """End a member; the message of the error that prevented it, else None."""
    try:
        member.stop()
    except TuneError as error:
        return str(error)
    return None


def _one_address(seen: set[str | None]) -> str:
    """The only address at which the hosts see this machine, loopback if all are this machine;
    raises Refused for several."""
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
    """Write the record, which only its user can read because it holds the key."""
    _path().parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    write_whole(_path(), _RECORD.dump_json(cluster, indent=2).decode(), 0o600)
