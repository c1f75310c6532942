"""Conducts a switchback: puts a side on each host, watches its guards, and goes on until something
is shown, the time is over, or another hand changes a host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.switchback import (
    OF_THE_ENGINE,
    Breach,
    EngineBlock,
    Switchback,
    TrialBlock,
    TrialDesign,
    TrialRestart,
    breach_of,
)
from tuner.schema.numerals import seconds


class EndOfTrial(Exception):
    """Why a trial cannot go on: another hand changed a host, or its counters do not come."""


class TrialHost(Protocol):
    """A host as a trial sees it."""

    @property
    def name(self) -> str:
        """Its name."""

    def put_candidate(self, within_s: float) -> TrialRestart | None:
        """Run B, armed: A comes back by itself after that time; what the restart cost, None where
        that is not known.  Raises JobFailed where it is not taken, and EndOfTrial."""

    def put_back(self) -> TrialRestart | None:
        """Run A, as the host had it, and what that cost; nothing to do is fine."""

    def figures(self, since: float) -> BlockFigures | None:
        """What was counted since the first call at that time or later; None where that is too
        little.  Raises EndOfTrial where files or the process are not those that were put there."""


class Clock(Protocol):
    """Time as a trial knows it, in seconds since 1970."""

    def now(self) -> float:
        """The time."""

    def wait(self, seconds: float) -> None:
        """Let so many seconds pass."""


class EngineUse(NamedTuple):
    """What the nodes of an engine have used so far: CPU seconds, bulk operations, and the seconds
    that these took."""

    cpu_s: float
    bulks: int
    bulk_s: float

    def since(self, before: EngineUse) -> EngineUse:
        """What they have used more than before."""
        return EngineUse(
            self.cpu_s - before.cpu_s, self.bulks - before.bulks, self.bulk_s - before.bulk_s
        )


AskEngine = Callable[[], EngineUse | None]
"""What the nodes of the engine have used; None where they do not say."""
Quiet = Callable[[float, float], float]
"""For a time and a length, how many seconds to wait until so long a time is free of quiet hours."""


_LEAST_PATIENCE_S = 60.0


def _at_risk(figures: BlockFigures | None) -> int:
    """How many events a restart would lose beyond those that come in within a second."""
    return 0 if figures is None else max(0, figures.waiting - round(figures.per_second))


class _Watched(NamedTuple):
    """What a block came to: the guard that B broke, and what the engine used."""

    breach: Breach | None
    engine: EngineUse | None


@dataclass(frozen=True)
class ProductionTrial:
    """A trial on these hosts; `note` takes the record after each step, and `tell` a sentence.  The
    `engine` is asked while all hosts have one side."""

    hosts: tuple[TrialHost, ...]
    clock: Clock
    note: Callable[[Switchback], None]
    tell: Callable[[str], None]
    most_bytes: int | None = None
    quiet: Quiet = lambda _at, _for_s: 0.0
    engine: AskEngine = lambda: None

    def run(self, record: Switchback) -> Switchback:
        """Go on with a record until it is over.  Every host has A afterwards, unless somebody else
        changed it."""
        try:
            record = self._alone(record)
            while not record.is_over:
                record = self._pair(record)
                self.note(record)
        except EndOfTrial as end:
            record = replace(record, ended=str(end))
            self.note(record)
        finally:
            restarts = self._put_back()
        return replace(record, restarts=(*record.restarts, *restarts))

    def _put_back(self) -> tuple[TrialRestart, ...]:
        """A on every host, and what that cost; one that cannot be reached restores itself."""
        failures: list[Exception] = []
        restarts: list[TrialRestart | None] = []
        for host in self.hosts:
            try:
                restarts.append(host.put_back())
            except Exception as error:  # noqa: BLE001 - the others must get it all the same
                failures.append(error)
        if failures:
            raise failures[0]
        return tuple(restart for restart in restarts if restart is not None)

    def _alone(self, record: Switchback) -> Switchback:
        """Blocks of A before B ever runs, which show how noisy it is."""
        design = record.design
        done = len({block.begin for block in record.blocks if block.pair is None})
        for number in range(done, design.alone):
            self.tell(f"A alone, block {number + 1} of {design.alone}")
            begin = self.clock.now()
            sides = dict.fromkeys(self._names, Side.A)
            self._watched(record, 0, sides, begin)
            blocks = self._blocks(record, None, sides, begin)
            record = replace(record, blocks=(*record.blocks, *blocks))
            self.note(record)
        return record

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(host.name for host in self.hosts)

    def _pair(self, record: Switchback) -> Switchback:
        """One pair: both sides on each host, in the order that was drawn."""
        design, pair = record.design, record.begun
        wait_s = self.quiet(self.clock.now(), 2 * design.block_s)
        if wait_s > 0:
            self.tell(f"quiet hours: A runs on for {wait_s:.0f} s")
            self.clock.wait(wait_s)
        record = replace(record, begun=pair + 1)
        since = self._since(record)
        orders = design.order(pair, self._names)
        blocks: list[TrialBlock] = []
        engine: list[EngineBlock] = []
        for half in (0, 1):
            sides = {name: sides[half] for name, sides in orders.items()}
            order = ", ".join(f"{name} {side.value}" for name, side in sides.items())
            self.tell(f"pair {pair + 1} of {design.pairs}: {order}")
            turned = [host for host in self.hosts if sides[host.name] is Side.B]
            record = self._put(record, turned, since, design.block_s + design.margin_s)
            begin = since = self.clock.now()
            breach, used = self._watched(record, pair, sides, begin)
            if breach is None:
                counted = self._blocks(record, pair, sides, begin)
                blocks += counted
                engine += self._spent(pair, counted, used)
                self._emptied(turned, begin, design, design.margin_s / 2)
            record = replace(record, restarts=(*record.restarts, *self._put_back()))
            if breach is not None:
                return self._after(record, breach)
        return replace(record, blocks=(*record.blocks, *blocks), engine=(*record.engine, *engine))

    def _since(self, record: Switchback) -> float:
        """From when on counters tell what waits in queues now: the block that ended last."""
        return record.blocks[-1].begin if record.blocks else self.clock.now()

    def _put(
        self, record: Switchback, hosts: Sequence[TrialHost], since: float, within_s: float
    ) -> Switchback:
        """B on these hosts, armed for that time, and the record with what the restarts cost.  Waits
        for what they would lose as long as a block, or a minute; raises EndOfTrial where that is
        not enough."""
        patience_s = max(record.design.block_s, _LEAST_PATIENCE_S)
        waiting = self._emptied(hosts, since, record.design, patience_s)
        if waiting:
            raise EndOfTrial(f"{waiting}, and did for {seconds(patience_s)}: B was not put there")
        restarts = [host.put_candidate(within_s) for host in hosts]
        known = (restart for restart in restarts if restart is not None)
        return replace(record, restarts=(*record.restarts, *known))

    def _emptied(
        self, hosts: Sequence[TrialHost], since: float, design: TrialDesign, patience_s: float
    ) -> str:
        """Let hosts that are to be restarted pass on what that would lose, by the counters since a
        time; what waits in which of them after that all the same, "" for nothing."""
        until = self.clock.now() + patience_s
        for host in hosts:
            while risk := _at_risk(host.figures(since)):
                if self.clock.now() >= until:
                    return f"{host.name}: {risk:,} events wait in queues that a restart empties"
                self.clock.wait(min(design.poll_s, patience_s))
        return ""

    def _after(self, record: Switchback, breach: Breach) -> Switchback:
        """The record with the breach, unless A has the same just afterwards, which is the engine's
        doing."""
        self.tell(f"A is back: {breach}")
        host = next(host for host in self.hosts if host.name == breach.host)
        begin = self.clock.now()
        host.figures(begin)
        self.clock.wait(record.design.burn_in_s)
        seen = host.figures(begin) if breach.guard in OF_THE_ENGINE else None
        if seen is not None:
            again = breach_of(breach.host, breach.pair, seen, (), None)
            if again is not None and again.guard in OF_THE_ENGINE:
                why = f"pair {breach.pair + 1} does not count: {breach.guard.value} on both sides"
                self.tell(why)
                return replace(record, void=(*record.void, why))
        return replace(record, breaches=(*record.breaches, breach))

    def _watched(
        self, record: Switchback, pair: int, sides: Mapping[str, Side], begin: float
    ) -> _Watched:
        """Let a block pass; the first guard that B breaks ends it.  Raises EndOfTrial where a host
        counts nothing any more, which blinds the guards."""
        design, engine = record.design, list[EngineUse | None]()
        heard = {host.name: (begin, host.figures(begin)) for host in self.hosts}
        # What is read at the end of the burn-in begins what counts.
        for end in (begin + design.burn_in_s, begin + design.block_s):
            while (left_s := end - self.clock.now()) > 0:
                self.clock.wait(min(design.poll_s, left_s))
                breach = self._look(record, pair, sides, begin, heard)
                if breach is not None:
                    return _Watched(breach, None)
            engine.append(self.engine())
        before, after = engine
        if before is None or after is None:
            return _Watched(None, None)
        return _Watched(None, after.since(before))

    def _look(
        self,
        record: Switchback,
        pair: int,
        sides: Mapping[str, Side],
        begin: float,
        heard: dict[str, tuple[float, BlockFigures | None]],
    ) -> Breach | None:
        """The first guard that B has broken so far.  `heard` holds, for each host, when its
        counters last changed, and what they were."""
        for host in self.hosts:
            seen, now = host.figures(begin), self.clock.now()
            at, last = heard[host.name]
            if seen != last:
                heard[host.name] = (now, seen)
            elif now - at > record.design.silence_s:
                raise EndOfTrial(f"{host.name} has counted nothing for {now - at:.0f} s")
            if seen is None or sides[host.name] is Side.A:
                continue
            before = record.of_a(host.name)
            breach = breach_of(host.name, pair, seen, before, self.most_bytes)
            if breach is not None:
                return breach
        return None

    def _spent(
        self, pair: int, counted: Sequence[TrialBlock], used: EngineUse | None
    ) -> Iterator[EngineBlock]:
        """What the engine spent in a block, where all hosts had one side and counted."""
        are_alike = len({block.side for block in counted}) == 1
        if used is not None and are_alike and len(counted) == len(self.hosts):
            first = counted[0]
            events = sum(block.figures.events for block in counted)
            yield EngineBlock(
                pair, first.side, used.cpu_s, events, first.figures.seconds, used.bulks, used.bulk_s
            )

    def _blocks(
        self, record: Switchback, pair: int | None, sides: Mapping[str, Side], begin: float
    ) -> Sequence[TrialBlock]:
        """The blocks that ended now, of each host that counted something."""
        since = begin + record.design.burn_in_s
        seen = ((host.name, host.figures(since)) for host in self.hosts)
        return [
            TrialBlock(name, pair, sides[name], begin, figures)
            for name, figures in seen
            if figures is not None
        ]
