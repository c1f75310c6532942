"""A lab: an engine to index into and a folder to run rsyslogd in; and what killed runs left in
engines that outlive them.

A run on such an engine holds a lock on its record for as long as it lives, and removes the record
with all it created.  A record that nobody holds is that of a run which was killed.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from tuner.engine.client import EngineClient
from tuner.engine.delivery import Expectation
from tuner.engine.owned import Owner, created, remove, settle
from tuner.engine.sampled import LearntDocuments
from tuner.engines.release import Release
from tuner.errors import Locked, TuneError, Unreachable
from tuner.host.lock import locked, state_folder
from tuner.host.programs import rsyslog_version
from tuner.lab.bind import Bound, bind, first_ports, port_counts
from tuner.lab.engine import AttachedEngine, LabEngine, LabNodes, SinkEngine
from tuner.lab.entrances import free_ports
from tuner.lab.loads import LoadHost
from tuner.lab.nodes import Nodes, nodes_here, plan_for
from tuner.lab.probe import Probe
from tuner.lab.receiver import RECEIVER_PORTS
from tuner.lab.sink import Fault, Sink
from tuner.lab.text import Site
from tuner.modules.input import LOOPBACK
from tuner.profile.model import Profile
from tuner.render.templates import Templates
from tuner.schema.scalars import is_loopback


@dataclass(frozen=True)
class Learnt:
    """What comes of the messages of a flood, how many documents and which, and what of it
    they do not test; `unsure` is, for each output, the mean number of documents of the messages
    that gave a different number each time, and `shares` how many documents an event gives to each
    output, by its name.  Messages are sent in that `order` of their places, if there is one."""

    expectation: Expectation
    unsure: tuple[float, ...]
    documents: LearntDocuments
    untested: tuple[str, ...]
    shares: Mapping[str, float] = field(default_factory=dict)
    order: tuple[int, ...] = ()


@dataclass(frozen=True)
class Lab:
    """An engine that answers, who owns what is created in it, and a folder for our daemons.

    `probe` does fixed work beside them; None where nothing is measured, or an engine elsewhere is.
    `templates` write what the daemons are given; the shipped ones where it is None.  `loads` are
    the machines that send now what it measures, and reach it at `address`; without any this one
    does.
    """

    engine: LabEngine
    owner: Owner
    folder: Path
    rsyslog: str
    probe: Probe | None = None
    templates: Templates | None = None
    address: str = LOOPBACK
    loads: Callable[[], Sequence[LoadHost]] = tuple
    learnt: dict[Hashable, Learnt] = field(default_factory=dict, compare=False)

    @property
    def client(self) -> EngineClient:
        """The connection to the engine."""
        return self.engine.client

    @property
    def is_here(self) -> bool:
        """Whether the engine runs on this machine, whose cores we can see."""
        return is_loopback(urlsplit(self.client.url).hostname or "")

    @property
    def is_ours(self) -> bool:
        """Whether the engine runs on machines that we know to have no other work: this one, or
        hosts of ours."""
        return self.is_here or self.engine.restarts

    def loss(self) -> str | None:
        """How an engine of ours, or a node of it, exited; None while all of it runs."""
        ending = self.engine.ending()
        return None if ending is None else f"{self.engine.name} died with {ending}"

    def check(self) -> None:
        """Raise Unreachable when an engine of ours, or a node of it, has exited."""
        loss = self.loss()
        if loss is not None:
            raise Unreachable(loss)

    def bind(self, profile: Profile, name: str) -> Bound:
        """Fit `profile` to this lab under fresh ports; its index names begin with our prefix
        followed by `name`."""
        needed = sum(port_counts(profile))
        first = free_ports(needed + RECEIVER_PORTS)
        site = self._site(profile, name, first + needed)
        return bind(profile, site, first_ports(profile, first), self.templates)

    def trial_folder(self, name: str) -> Path:
        """Where the rsyslogd of the trial `name` keeps its files, disk queues among them: what one
        trial leaves there must not reach the next."""
        return self.folder / f"trial-{name}"

    def _site(self, profile: Profile, name: str, receiver_port: int) -> Site:
        facts = self.engine.facts
        version = ".".join(facts.version.split(".")[:2])
        engine = "opensearch" if facts.distribution == "opensearch" else "elasticsearch"
        return Site(
            engine_urls=self.client.urls,
            release=Release.model_validate({"rsyslog": self.rsyslog, engine: version}),
            stand_in=self.engine.stand_in,
            data_nodes=facts.data_nodes,
            heap=self.engine.heap_for(profile),
            index_prefix=f"{self.owner.prefix}{name}-",
            folder=str(self.trial_folder(name)),
            keeps_authentication=self.engine.keeps_credentials,
            receiver_port=receiver_port,
            address=self.address,
        )


def new_run_id() -> str:
    """Eight hexadecimal digits that name a run."""
    return secrets.token_hex(4)


@contextlib.contextmanager
def node_lab(profile: Profile, folder: Path, run_id: str) -> Iterator[Lab]:
    """A lab with a real engine of the profile's release, started now and ended afterwards."""
    rooms = nodes_here(folder / "engine", profile.lab.nodes)
    nodes = Nodes(plan_for(profile, rooms), rooms)
    try:
        with lab_around(LabNodes(nodes), folder, run_id) as lab:
            yield lab
    finally:
        nodes.stop()


@contextlib.contextmanager
def sink_lab(folder: Path, run_id: str, faults: Sequence[Fault] = ()) -> Iterator[Lab]:
    """A lab whose engine is our sink, with faults: it counts every event and stores none."""
    with Sink(faults=faults) as sink, lab_around(SinkEngine(sink), folder, run_id) as lab:
        yield lab


@contextlib.contextmanager
def attached_lab(
    client: EngineClient, folder: Path, run_id: str, heap: str | None
) -> Iterator[Lab]:
    """A lab around an engine that runs already: nothing is touched in it but indices and templates
    of this run, which are gone afterwards."""
    with record_kept(run_id), lab_around(AttachedEngine(client, heap), folder, run_id) as lab:
        yield lab


def lab_of(engine: LabEngine, folder: Path, run_id: str) -> Lab:
    """The lab that an engine makes with the rsyslogd of this machine."""
    return Lab(engine, Owner(run_id), folder, rsyslog_version())


@contextlib.contextmanager
def lab_around(engine: LabEngine, folder: Path, run_id: str) -> Iterator[Lab]:
    """The lab that an engine makes, with a probe; on leaving, everything its run created in the
    engine is removed, unless that is ours, and ends next with all that it holds."""
    lab = lab_of(engine, folder, run_id)
    try:
        with Probe() if lab.is_ours else contextlib.nullcontext() as probe:
            yield replace(lab, probe=probe)
    finally:
        if not engine.restarts:
            with contextlib.suppress(TuneError):
                settle(lab.client)
                remove(lab.client, lab.owner, lab.owner.prefix)
                remove_record(run_id)
        lab.client.close()


_RUN_ID = re.compile("[0-9a-f]{8}")


@contextlib.contextmanager
def record_kept(run_id: str) -> Iterator[None]:
    """Keep the record of a run for as long as it lives."""
    path = _record(run_id)
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    lock = locked(path)
    if lock is None:
        raise Locked(f"another run has the number {run_id}: start again")
    with lock:
        yield


def remove_record(run_id: str) -> None:
    """Remove the record of a run that has removed everything it had created."""
    _record(run_id).unlink(missing_ok=True)


def remove_leftovers(client: EngineClient) -> Iterator[str]:
    """Remove what killed runs of this user, on this machine, left in an engine; a line for each
    run, also for those of others, which may live."""
    for run_id, paths in created(client).items():
        is_dead = _is_dead(run_id)
        if is_dead:
            owner = Owner(run_id)
            remove(client, owner, owner.prefix)
            remove_record(run_id)
            yield f"removed {', '.join(paths)} from {client.url}, left by a killed run"
        elif is_dead is None:
            commands = "; ".join(f"curl -X DELETE {client.url}{path}" for path in paths)
            yield (
                f"{client.url} holds objects of another run, {run_id}, which this machine does not "
                f"know; if it runs nowhere, remove them: {commands}"
            )


def _is_dead(run_id: str) -> bool | None:
    """Whether a run was killed; None for one of another machine or user."""
    if _RUN_ID.fullmatch(run_id) is None or not _record(run_id).exists():
        return None
    lock = locked(_record(run_id))
    if lock is None:
        return False
    lock.close()
    return True


def _record(run_id: str) -> Path:
    return state_folder() / "runs" / run_id
