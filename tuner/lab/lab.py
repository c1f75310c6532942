"""A lab: an engine to index into and a folder to run rsyslogd in."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from urllib.parse import urlsplit

from tuner.engine.client import EngineClient
from tuner.engine.owned import Owner, remove, settle
from tuner.engine.probe import EngineFacts, facts
from tuner.engines.heap import fitting_heap
from tuner.engines.release import Engine
from tuner.errors import TuneError, Unreachable
from tuner.host.allow import is_loopback
from tuner.host.programs import rsyslog_version
from tuner.host.usage import memory_bytes
from tuner.lab.bind import Bound, bind
from tuner.lab.distribution import distribution_for
from tuner.lab.node import NodePlan
from tuner.lab.ports import free_ports
from tuner.lab.sink import Sink
from tuner.lab.site import Site
from tuner.lab.turned_node import TurnedNode
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.space.knobs import Knob, Level, of_rsyslog, without_node


@dataclass(frozen=True)
class Lab:
    """An engine that answers, who owns what is created in it, and a folder for our daemons.

    `ending` says how an engine of ours ended, None while it runs or when it is not ours; `node` is
    there where the lab can restart it with other settings.
    """

    client: EngineClient
    facts: EngineFacts
    owner: Owner
    folder: Path
    rsyslog: str
    heap: str | None
    is_sink: bool
    keeps_authentication: bool
    ending: Callable[[], str | None]
    node: TurnedNode | None = None

    @property
    def engine_name(self) -> str:
        """What the engine is, as a reader would write it."""
        return "sink" if self.is_sink else f"{self.facts.distribution} {self.facts.version}"

    @property
    def is_here(self) -> bool:
        """Whether the engine runs on this machine, whose cores we can see."""
        return is_loopback(urlsplit(self.client.url).hostname or "")

    def check(self) -> None:
        """Raise Unreachable when an engine of ours is no more."""
        ending = self.ending()
        if ending is not None:
            raise Unreachable(f"{self.engine_name} died with {ending}")

    def turns(self, knobs: Sequence[Knob]) -> tuple[Knob, ...]:
        """Those of `knobs` that this lab can turn: a sink stores nothing, somebody else's engine
        keeps its nodes as they are, one node holds no copies, and half of this machine's memory
        is all that a heap gets."""
        if self.is_sink:
            return of_rsyslog(knobs)
        kept = tuple(knobs) if self.node is not None else without_node(knobs)
        if self.facts.data_nodes < 2:
            kept = tuple(knob for knob in kept if not knob.path.endswith("number_of_replicas"))
        return tuple(_fitting(knob) if knob.path == "node.heap" else knob for knob in kept)

    def run_with(self, profile: Profile) -> float:
        """Restart the engine with the node settings of `profile` where they differ from those it
        runs with; the seconds that it took, 0 where there is nothing to do or to turn.

        Raises NodeRefused when the engine does not start with them; it then runs as before.
        """
        if self.node is None:
            return 0.0
        heap = fitting_heap(profile.node.heap, memory_bytes())
        return self.node.run_with(heap, profile.node.settings)

    def bind(self, profile: Profile, name: str) -> Bound:
        """Fit `profile` to this lab under fresh ports; its index names begin with our prefix
        followed by `name`."""
        wanted = [max(1, len(ports_of(profile, source))) for source in profile.inputs]
        first = free_ports(sum(wanted))
        ports = tuple(accumulate(wanted[:-1], initial=first))
        return bind(profile, self._site(profile, name), ports)

    def trial_folder(self, name: str) -> Path:
        """Where the rsyslogd of the trial `name` keeps its files, disk queues among them: what one
        trial leaves there must not reach the next."""
        return self.folder / f"trial-{name}"

    def _site(self, profile: Profile, name: str) -> Site:
        heap = self.heap
        if self.node is not None:
            heap = fitting_heap(profile.node.heap, memory_bytes())
        major, minor = self.facts.version.split(".")[:2]
        open_search = self.facts.distribution == Engine.OPENSEARCH.value
        return Site(
            engine_url=self.client.url,
            engine=Engine.OPENSEARCH if open_search else Engine.ELASTICSEARCH,
            engine_version=(int(major), int(minor)),
            stand_in="sink" if self.is_sink else None,
            data_nodes=self.facts.data_nodes,
            heap=heap,
            rsyslog=self.rsyslog,
            index_prefix=f"{self.owner.prefix}{name}-",
            spool=str(self.trial_folder(name)),
            keeps_authentication=self.keeps_authentication,
        )


def new_run_id() -> str:
    """Eight hexadecimal digits that name a run."""
    return secrets.token_hex(4)


@contextlib.contextmanager
def node_lab(profile: Profile, folder: Path, run_id: str) -> Iterator[Lab]:
    """A lab with a real engine of the profile's release, started now and ended afterwards."""
    heap = fitting_heap(profile.node.heap, memory_bytes())
    plan = NodePlan(distribution_for(profile.release), heap, profile.node.settings)
    node = TurnedNode(plan, folder / "engine")
    try:
        with _cleaned(around(EngineClient(node.url), folder, run_id, heap)) as lab:
            yield replace(lab, ending=node.ending, node=node)
    finally:
        node.stop()


@contextlib.contextmanager
def sink_lab(folder: Path, run_id: str) -> Iterator[Lab]:
    """A lab whose engine is our sink: it counts every event and stores none."""
    with Sink() as sink:
        lab = around(EngineClient(sink.url), folder, run_id, heap=None)
        sunk = replace(lab, is_sink=True, keeps_authentication=False, ending=sink.ending)
        with _cleaned(sunk) as ours:
            yield ours


@contextlib.contextmanager
def attached_lab(
    client: EngineClient, folder: Path, run_id: str, heap: str | None
) -> Iterator[Lab]:
    """A lab around an engine that runs already: nothing is touched in it but indices and templates
    of this run, which are gone afterwards."""
    with _cleaned(around(client, folder, run_id, heap)) as lab:
        yield lab


def around(client: EngineClient, folder: Path, run_id: str, heap: str | None) -> Lab:
    """The lab that an engine makes: one of ours, whose `heap` we know, or the user's cluster,
    which keeps the profile's authentication and heap."""
    return Lab(
        client=client,
        facts=facts(client),
        owner=Owner(run_id),
        folder=folder,
        rsyslog=rsyslog_version(),
        heap=heap,
        is_sink=False,
        keeps_authentication=heap is None,
        ending=lambda: None,
    )


def _fitting(knob: Knob) -> Knob:
    """The knob with the heaps that this machine has the memory for."""
    memory = memory_bytes()
    levels = (one for one in knob.levels if one == knob.current or _fits(one, memory))
    return replace(knob, levels=tuple(levels))


def _fits(heap: Level, memory: int) -> bool:
    return isinstance(heap, str) and fitting_heap(heap, memory) == heap


@contextlib.contextmanager
def _cleaned(lab: Lab) -> Iterator[Lab]:
    """The lab; on leaving, everything its run created in the engine is removed."""
    try:
        yield lab
    finally:
        with contextlib.suppress(TuneError):
            settle(lab.client)
            remove(lab.client, lab.owner, lab.owner.prefix)
        lab.client.close()
