"""A duet: one action of a host runs twice at once, as it is and as the candidate has it, and each
event is drawn for one of them.  Both are compared in the same minute, after one restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.plan import HostChange
from tuner.deploy.production_trial import Clock, EndOfTrial
from tuner.deploy.switchback import Breach, Switchback, TrialBlock, TrialRestart, breach_of
from tuner.deploy.trial_host import RemoteTrialHost
from tuner.diagnose.course import courses
from tuner.errors import Refused
from tuner.profile.base import KeptBase
from tuner.script.counted import queue_of_action, worker_thread
from tuner.script.in_place import halved
from tuner.script.script import ScriptObject
from tuner.script.tokens import SURROGATES

SECOND = "duet-B"
"""The name of the second action."""
_ENGINES = ("omelasticsearch", "omhttp")
# What ties events together, or is shared by all that the action sends.
_TIED = {
    "retryRuleset": "what is sent again comes to its ruleset from both",
    "queue.filename": "what is left in the files of the second one's queue would stay there",
    "dynBulkId": "of two versions of a document the older could come last",
    "bulkId": "of two versions of a document the older could come last",
}


@dataclass(frozen=True)
class Duet:
    """What a host runs in a duet: the name of each side's action, and the file with both."""

    names: Mapping[Side, str]
    path: str
    text: str


def duet_of(kept: KeptBase) -> Duet:
    """A configuration with an action twice, as it is and with the changes; raises Refused where
    that cannot be, or would change what becomes of events."""
    addresses = {address for address, _ in kept.changes}
    if len(addresses) != 1:
        raise Refused(f"--duet is for the changes of one action, not of {_listed(addresses)}")
    (address,) = addresses
    action, turned = kept.written.objects[address], kept.changed.objects[address]
    reasons = [*_in_the_way(kept, action, turned)]
    if reasons:
        raise Refused(f"--duet: {address}: {'; '.join(reasons)}")
    try:
        files = halved(kept.written, address, kept.changes, SECOND)
    except LookupError as bad:
        raise Refused(f"--duet: {bad.args[0]}") from None
    ((path, content),) = files.items()
    names = {Side.A: action.name, Side.B: SECOND}
    return Duet(names, path, content.decode("utf-8", SURROGATES))


def _listed(addresses: set[str]) -> str:
    return ", ".join(sorted(addresses))


def _in_the_way(kept: KeptBase, action: ScriptObject, turned: ScriptObject) -> Iterator[str]:
    if action.kind != "action" or action.type not in _ENGINES:
        yield f"only actions of {' and '.join(_ENGINES)} can run twice"
        return
    if action.get("name") is None:
        yield "give it a name, by which rsyslogd counts it"
    for side in (action, turned):
        if (side.text("queue.type") or "Direct").lower() == "direct":
            yield "it has no queue of its own, so no threads of its own either"
            break
    yield from (f"it has {name}: {why}" for name, why in _TIED.items() if action.get(name))
    others = [item for _, item in kept.written.of_kind("action") if item is not action]
    if any(item.is_on("action.execOnlyWhenPreviousIsSuspended") for item in others):
        yield "another action waits for it to be suspended (execOnlyWhenPreviousIsSuspended)"
    thread = worker_thread(queue_of_action(action.name))
    if thread in {worker_thread(queue_of_action(item.name)) for item in others}:
        yield f"another action has threads of the same name, {thread}: name it otherwise"


def duet_change(change: HostChange, duet: Duet) -> HostChange:
    """The change of a host that brings the duet instead of the candidate."""
    ((path, _),) = change.candidate.files
    return replace(change, candidate=replace(change.candidate, files=((path, duet.text),)))


@dataclass(frozen=True)
class _Part:
    """The CPU seconds that the threads of each side used between two readings."""

    begin: float
    cpu_s: Mapping[Side, float]


@dataclass
class DuetHost:
    """A host of a duet."""

    host: RemoteTrialHost
    duet: Duet
    _seen: Mapping[int, tuple[str, float]] = field(init=False, default_factory=dict)
    _at: float = field(init=False, default=0.0)
    _parts: list[_Part] = field(init=False, default_factory=list)

    @property
    def name(self) -> str:
        """Its name in the inventory."""
        return self.host.name

    def read_on(self) -> None:
        """Read the CPU of the threads since the last time; of one that has ended meanwhile what it
        used since then is not known."""
        at, now = self.host.clock.now(), self.host.target.threads()
        grown: dict[str, float] = {}
        for number, (name, cpu_s) in now.items():
            before = self._seen.get(number, (name, 0.0))[1]
            grown[name] = grown.get(name, 0.0) + max(0.0, cpu_s - before)
        threads = {s: worker_thread(queue_of_action(n)) for s, n in self.duet.names.items()}
        used = {side: grown.get(thread, 0.0) for side, thread in threads.items()}
        self._parts.append(_Part(self._at, used))
        self._seen, self._at = now, at

    def sides(self, since: float) -> Mapping[Side, BlockFigures] | None:
        """What each side did since the first reading at that time or later; None where rsyslogd
        counted too little."""
        self._parts = [part for part in self._parts if part.begin >= since]
        both = courses(self.host.rounds(since), is_since_start=False)
        if len(both) != 1 or both[0].is_single:
            return None
        course = both[0]
        counted = {series.name: series for series in course.objects_of("core.action")}
        if not {*self.duet.names.values()} <= counted.keys():
            return None
        return {
            side: BlockFigures(
                seconds=course.seconds,
                events=counted[name].total("processed"),
                cpu_s=sum(part.cpu_s[side] for part in self._parts),
                memory_bytes=0, queue_share=0.0, discarded=0,
                failed=counted[name].total("failed"), rejected=0, away_s=0.0,
            )
            for side, name in self.duet.names.items()
        }  # fmt: skip


@dataclass(frozen=True)
class DuetTrial:
    """A duet on these hosts; `note` takes the record after each block, and `tell` a sentence."""

    hosts: tuple[DuetHost, ...]
    clock: Clock
    note: Callable[[Switchback], None]
    tell: Callable[[str], None]
    most_bytes: int | None = None

    def run(self, record: Switchback) -> Switchback:
        """Go on with a record until it is over.  Every host has A alone afterwards, unless somebody
        else changed it."""
        design = record.design
        try:
            record = self._alone(record)
            left = design.pairs - record.begun
            for duet in self.hosts:
                within_s = left * design.block_s + design.margin_s
                record = _with(record, duet.host.put_candidate(within_s))
            while not record.is_over:
                record = self._block(record, record.begun)
                self.note(record)
        except EndOfTrial as end:
            record = replace(record, ended=str(end))
        finally:
            for duet in self.hosts:
                record = _with(record, duet.host.put_back())
        self.note(record)
        return record

    def _alone(self, record: Switchback) -> Switchback:
        """Blocks of A alone, which say what it has at its worst."""
        done = len({block.begin for block in record.blocks if block.pair is None})
        for number in range(done, record.design.alone):
            self.tell(f"A alone, block {number + 1} of {record.design.alone}")
            begin = self.clock.now()
            self._watched(record, begin, None)
            since = begin + record.design.burn_in_s
            seen = ((duet.name, duet.host.figures(since)) for duet in self.hosts)
            blocks = [TrialBlock(n, None, Side.A, begin, f) for n, f in seen if f is not None]
            record = replace(record, blocks=(*record.blocks, *blocks))
            self.note(record)
        return record

    def _block(self, record: Switchback, pair: int) -> Switchback:
        """One block, in which both run; where a guard breaks it is the last."""
        self.tell(f"duet, block {pair + 1} of {record.design.pairs}")
        begin = self.clock.now()
        breach = self._watched(record, begin, pair)
        record = replace(record, begun=pair + 1)
        if breach is not None:
            why = f"while both ran, {breach}"
            return replace(record, breaches=(*record.breaches, breach), ended=why)
        since = begin + record.design.burn_in_s
        blocks = [
            TrialBlock(duet.name, pair, side, begin, figures)
            for duet in self.hosts
            for side, figures in (duet.sides(since) or {}).items()
        ]
        return replace(record, blocks=(*record.blocks, *blocks))

    def _watched(self, record: Switchback, begin: float, pair: int | None) -> Breach | None:
        """Let a block pass; the first guard that breaks ends it."""
        design = record.design
        for end in (begin + design.burn_in_s, begin + design.block_s):
            while (left_s := end - self.clock.now()) > 0:
                self.clock.wait(min(design.poll_s, left_s))
                for duet in self.hosts:
                    seen = duet.host.figures(begin)
                    duet.read_on()
                    if pair is None or seen is None:
                        continue
                    before = record.of_a_alone(duet.name)
                    breach = breach_of(duet.name, pair, seen, before, self.most_bytes)
                    if breach is not None:
                        return breach
        return None


def _with(record: Switchback, restart: TrialRestart | None) -> Switchback:
    return record if restart is None else replace(record, restarts=(*record.restarts, restart))
