"""What a lab indexes into: a node that we started, an existing cluster, or our sink."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tuner.engine.client import EngineClient
from tuner.engine.delivery import (
    DeliveryCheck,
    Expectation,
    check_by_identity,
    check_by_sink,
    searchable,
    searchable_by_sink,
)
from tuner.engine.numbering import SentEvents
from tuner.engine.sampled import StoredDocument, sampled, sampled_by_sink
from tuner.engine.status import answers, facts, refreshes
from tuner.engines.node import fitting_heap
from tuner.errors import JobFailed, Unreachable
from tuner.host.process import wait_until
from tuner.lab.nodes import Nodes
from tuner.lab.sink import Sink
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.profile.model import Profile, Tier
from tuner.schema.units import seconds
from tuner.space.knob import Knob
from tuner.space.knobs import of_rsyslog, without_node

SINK = "sink"
"""What our sink is called wherever an engine is named, journals included."""


REVIVE_S = 60.0
"""How long an engine of the user's that fell silent is waited for."""
_POLL_S = 0.5


def stores(engine: str) -> bool:
    """Whether the engine that a record names so stored what it was sent."""
    return engine != SINK


class LabEngine:
    """An Elasticsearch or OpenSearch that answers: what it is, what can be changed of it, and what
    it stored.

    `heap` is that of a node of ours, None where we do not know it; `keeps_credentials` says that
    the engine is the user's, who logs in as the profile says.  `restarts` says that `run_with` can
    give its node other settings, `fixes_node` that it has node settings that nobody here changes.
    """

    keeps_credentials = False
    restarts = False
    fixes_node = False
    stand_in: str | None = None
    """What takes the place of an engine of some version; None for a real one."""

    def __init__(self, client: EngineClient, heap: str | None = None) -> None:
        self.client = client
        self.heap = heap
        self.facts = facts(client)

    @property
    def name(self) -> str:
        """What the engine is, as a reader would write it."""
        return self.stand_in or f"{self.facts.distribution} {self.facts.version}"

    def ending(self) -> str | None:
        """How an engine of ours ended; None while it runs, or when it is not ours."""
        return None

    @property
    def processes(self) -> tuple[int, ...]:
        """The processes of an engine of ours; none of one that is not ours."""
        return ()

    def heap_for(self, _profile: Profile, /) -> str | None:
        """The heap that a run of a profile has, None where we do not know it."""
        return self.heap

    def run_with(self, _profile: Profile, /) -> float:
        """Restart the engine with the node settings of a profile where they differ from those it
        runs with; the seconds that it took, 0 without a restart.

        Raises NodeRefused when the engine does not start with them; it then runs as before.
        """
        return 0.0

    def revive(self) -> None:
        """Have an engine that died or fell silent answer again: one of ours is started as it was
        first, and has as long; a user's may come back.  Raises Unreachable when it does not within
        `REVIVE_S`."""
        if not wait_until(lambda: answers(self.client), REVIVE_S, _POLL_S):
            raise Unreachable(f"{self.name} did not come back within {REVIVE_S:g} s")

    def turns(self, knobs: Sequence[Knob]) -> tuple[Knob, ...]:
        """Those of `knobs` that can be turned here, with the levels that are possible here: not
        those of nodes that nobody here restarts, nor copies that one node does not hold."""
        possible = tuple(knobs) if self.restarts else without_node(knobs)
        if self.facts.data_nodes < 2:
            possible = tuple(
                knob for knob in possible if not knob.path.ends_with("number_of_replicas")
            )
        return possible

    def tells_apart(self, profile: Profile, /) -> bool:
        """Whether the engine can say which events of a profile it has: by the numbers in its
        documents, but those of the ceiling tier hold nothing."""
        return profile.guardrails.tier is not Tier.BERSERK

    def refresh_s(self, output: OmelasticsearchOutput) -> float | None:
        """Seconds from one refresh of the output's index to the next, None where it has none."""
        return seconds(output.index.settings.refresh_interval)

    def refreshes(self, pattern: str, timeout_s: float) -> int | None:
        """How often what is indexed became searchable so far; None where it always is."""
        return refreshes(self.client, pattern, timeout_s)

    def searchable(self, pattern: str, run: str, output: int, width: int, /) -> dict[int, int]:
        """Events of a run that a search finds of an output, by the first number of each block of
        `width`: by an aggregation, which switches on the refresh of a shard that was idle."""
        return searchable(self.client, pattern, run, output, width)

    def check_delivery(
        self, pattern: str, sent: SentEvents, run: str, expectation: Expectation, /
    ) -> DeliveryCheck:
        """What became of the events of a run that were sent, in the indices of a pattern, by the
        numbers in the documents."""
        return check_by_identity(self.client, pattern, sent, run, expectation)

    def sampled(self, pattern: str, seed: int, /) -> tuple[StoredDocument | None, ...]:
        """A few hundred documents of the indices of a pattern, as they are, drawn by a seed; None
        for one that is no JSON object, and none where the engine keeps none."""
        return sampled(self.client, pattern, seed)


class AttachedEngine(LabEngine):
    """An engine that somebody else started: the user's cluster, or that of `lab up`, whose `heap`
    we know."""

    fixes_node = True

    def __init__(self, client: EngineClient, heap: str | None = None) -> None:
        super().__init__(client, heap)
        self.keeps_credentials = heap is None


class LabNodes(LabEngine):
    """Nodes that we started and may restart."""

    restarts = True

    def __init__(self, nodes: Nodes) -> None:
        super().__init__(nodes.client(), nodes.plan.heap)
        self._nodes = nodes

    def ending(self) -> str | None:
        """How the first node that ended did so, None while all run."""
        return self._nodes.ending()

    @property
    def processes(self) -> tuple[int, ...]:
        """One for each node."""
        return tuple(node.pid for node in self._nodes.running)

    def heap_for(self, profile: Profile, /) -> str:
        """The profile's, or as much as there is for each node where that is less."""
        return fitting_heap(profile.node.heap, self._nodes.memory_bytes)

    def turns(self, knobs: Sequence[Knob]) -> tuple[Knob, ...]:
        """Leaves out the heaps that a node has no memory for, too."""
        possible = super().turns(knobs)
        return tuple(self._fitting(knob) if knob.path == "node.heap" else knob for knob in possible)

    def run_with(self, profile: Profile, /) -> float:
        """Restarts the nodes with the heap and the node settings of a profile."""
        return self._nodes.run_with(self.heap_for(profile), profile.node.settings)

    def revive(self) -> None:
        """Starts the nodes as they were started first; each has as long as then."""
        self._nodes.start_again()

    def _fitting(self, knob: Knob) -> Knob:
        levels = (
            level
            for level in knob.levels
            if level == knob.current
            or (isinstance(level, str) and fitting_heap(level, self._nodes.memory_bytes) == level)
        )
        return replace(knob, levels=tuple(levels))


class SinkEngine(LabEngine):
    """Our sink: it reads the number of each event out of its document, and stores nothing."""

    stand_in = SINK

    def __init__(self, sink: Sink) -> None:
        super().__init__(EngineClient(sink.url))
        self._sink = sink

    def ending(self) -> str | None:
        """How the sink's process ended, None while it runs."""
        return self._sink.ending()

    @property
    def processes(self) -> tuple[int, ...]:
        """That of the sink."""
        return (self._sink.pid,)

    def revive(self) -> None:
        """Starts another process of the sink on the same port."""
        try:
            self._sink.start_again()
        except JobFailed as error:
            raise Unreachable(f"the sink did not start again: {error}") from None

    def turns(self, knobs: Sequence[Knob]) -> tuple[Knob, ...]:
        """The knobs of rsyslog: the sink stores nothing."""
        return of_rsyslog(knobs)

    def tells_apart(self, _profile: Profile, /) -> bool:
        """Every event has a number, also in the ceiling tier."""
        return True

    def refresh_s(self, _output: OmelasticsearchOutput) -> float | None:
        """What arrives is found at once."""
        return 0.0

    def refreshes(self, _pattern: str, _timeout_s: float) -> int | None:
        """What arrives is found at once."""
        return None

    def searchable(self, pattern: str, run: str, output: int, width: int, /) -> dict[int, int]:
        """What arrived."""
        return searchable_by_sink(self.client, pattern, run, output, width)

    def check_delivery(
        self, pattern: str, sent: SentEvents, run: str, expectation: Expectation, /
    ) -> DeliveryCheck:
        """Compares what the sink counted with what was sent."""
        return check_by_sink(self.client, pattern, sent, run, expectation)

    def sampled(self, pattern: str, _seed: int, /) -> tuple[StoredDocument | None, ...]:
        """The documents that the sink drew as they came."""
        return sampled_by_sink(self.client, pattern)
