"""A duet: one action of a host runs twice at once, as it is and as the candidate has it, and each
event is drawn for one of them.  Both are compared in the same minute, after one restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tuner.deploy.block import BlockFigures, Side
from tuner.deploy.plan import HostChange
from tuner.deploy.production_trial import ProductionTrial
from tuner.deploy.switchback import Switchback, TrialBlock
from tuner.deploy.target import ThreadSeconds
from tuner.deploy.trial_host import RemoteTrialHost
from tuner.diagnose.course import courses
from tuner.diagnose.settings import Settings, of_base
from tuner.errors import Refused
from tuner.profile.base import KeptBase
from tuner.script.counted import queue_of_action, worker_thread
from tuner.script.in_place import halved
from tuner.script.tokens import SURROGATES

SECOND = "duet-B"
"""The name of the second action."""
_ENGINES = ("omelasticsearch", "omhttp")
# What ties events together, or is shared by all that the action sends.
_TIED = {
    "retryRuleset": "what is sent again comes to its ruleset from both",
    "retry.ruleset": "what is sent again comes to its ruleset from both",
    "queue.filename": "what is left in the files of the second one's queue would stay there",
    "bulkId": "of two versions of a document the older could come last",
    "action.execOnlyOnceEveryInterval": "two of them let twice as many events through",
    "action.execOnlyEveryNthTime": "each of them counts its own events",
}
_WAITS = "action.execOnlyWhenPreviousIsSuspended"


@dataclass(frozen=True)
class Duet:
    """What a host runs in a duet: the name of each side's action, the text of the file that has
    both, and the settings of all queues then."""

    names: Mapping[Side, str]
    text: str
    settings: Settings

    @property
    def threads(self) -> Mapping[Side, str]:
        """The names of the threads of each side."""
        return {side: _thread(name) for side, name in self.names.items()}


def _thread(action: str) -> str:
    return worker_thread(queue_of_action(action))


def duet_of(kept: KeptBase) -> Duet:
    """A configuration with an action twice, as it is and with the changes; raises Refused where
    that cannot be, or would change what becomes of events."""
    addresses = {address for address, _ in kept.changes}
    if len(addresses) != 1:
        names = ", ".join(sorted(addresses))
        raise Refused(f"--duet is for the changes of one action, not of {names}")
    (address,) = addresses
    reasons = [*_in_the_way(kept, address)]
    if reasons:
        raise Refused(f"--duet: {address}: {'; '.join(reasons)}")
    name = kept.written.objects[address].name
    try:
        (content,) = halved(kept.written, address, kept.changes, SECOND).values()
    except LookupError as bad:
        raise Refused(f"--duet: {bad.args[0]}") from None
    before, after = of_base(kept.written), of_base(kept.changed)
    queue = after.queues[queue_of_action(name)]
    settings = Settings(
        {**before.queues, queue_of_action(SECOND): queue},
        {**before.outputs, SECOND: after.outputs[name]},
        before.release,
    )
    return Duet({Side.A: name, Side.B: SECOND}, content.decode("utf-8", SURROGATES), settings)


def _in_the_way(kept: KeptBase, address: str) -> Iterator[str]:
    both = (kept.written.objects[address], kept.changed.objects[address])
    action = both[0]
    if action.kind != "action" or action.type not in _ENGINES:
        yield f"only actions of {' and '.join(_ENGINES)} can run twice"
        return
    if action.get("name") is None:
        yield "give it a name, by which rsyslogd counts it"
        return
    if any((side.text("queue.type") or "Direct").lower() == "direct" for side in both):
        yield "it has no queue of its own, so no threads of its own either"
    for name, why in _TIED.items():
        if any(side.get(name) for side in both):
            yield f"it has {name}: {why}"
    if any(item.is_on(_WAITS) for _, item in kept.written.of_kind("action")):
        yield f"an action waits for another one to be suspended ({_WAITS})"
    own = queue_of_action(action.name)
    others = {worker_thread(name) for name in of_base(kept.written).queues if name != own}
    for name in (action.name, SECOND):
        if _thread(name) in others or (name == SECOND and _thread(action.name) == _thread(name)):
            yield f"another queue has threads of the same name, {_thread(name)}: name it otherwise"


def duet_change(change: HostChange, duet: Duet) -> HostChange:
    """The change of a host that brings the duet instead of the candidate."""
    ((path, _),) = change.candidate.files
    return replace(change, candidate=replace(change.candidate, files=((path, duet.text),)))


@dataclass(frozen=True)
class _ThreadUse:
    """The CPU seconds that the threads of each side used from one reading to the next."""

    begin: float
    end: float
    cpu_s: Mapping[Side, float]


@dataclass
class DuetHost(RemoteTrialHost):
    """A host of a duet; side B is the configuration with both."""

    duet: Duet = field(kw_only=True)
    _seen: ThreadSeconds = field(init=False, default_factory=dict)
    _read_at: float = field(init=False, default=0.0)
    _parts: list[_ThreadUse] = field(init=False, default_factory=list)

    def settings_of_b(self) -> Settings:
        """Those of the queues of both."""
        return self.duet.settings

    def figures(self, since: float) -> BlockFigures | None:
        """What was counted of all of rsyslogd; the CPU of the threads is read, too."""
        self._read_threads()
        return super().figures(since)

    def _read_threads(self) -> None:
        """Of a thread that has ended since the last time what it used meanwhile is not known."""
        at, now = self.clock.now(), self.target.threads()
        used = dict.fromkeys(self.duet.names, 0.0)
        sides = {thread: side for side, thread in self.duet.threads.items()}
        for number, (name, cpu_s) in now.items():
            if name in sides:
                before = self._seen.get(number, (name, 0.0))[1]
                used[sides[name]] += max(0.0, cpu_s - before)
        self._parts.append(_ThreadUse(self._read_at, at, used))
        self._seen, self._read_at = now, at

    def sides(self, since: float) -> Mapping[Side, BlockFigures]:
        """What each side did since the first reading at that time or later, with queues, memory
        and what was lost of rsyslogd as a whole; none where it counted too little."""
        whole = super().figures(since)
        self._parts = [part for part in self._parts if part.begin >= since]
        both = courses(self.rounds(since), is_since_start=False)
        if whole is None or len(both) != 1 or not self._parts:
            return {}
        counted = {series.name: series for series in both[0].objects_of("core.action")}
        if not {*self.duet.names.values()} <= counted.keys():
            return {}
        # Rounds of impstats and our readings do not begin and end together.
        share = whole.seconds / (self._parts[-1].end - self._parts[0].begin)
        return {
            side: replace(
                whole,
                events=counted[name].total("processed"),
                cpu_s=share * sum(part.cpu_s[side] for part in self._parts),
            )
            for side, name in self.duet.names.items()
        }


@dataclass(frozen=True)
class DuetTrial(ProductionTrial):
    """A duet on hosts of a duet: what is a pair elsewhere is a block here, in which both run."""

    hosts: tuple[DuetHost, ...]

    def _pair(self, record: Switchback) -> Switchback:
        """One block; the first one begins with the restart.  A guard that breaks makes it the
        last."""
        design, pair = record.design, record.begun
        if any(host.side is Side.A for host in self.hosts):
            record = self._begun(record)
        begin = self.clock.now()
        if min(host.due for host in self.hosts) < begin + design.block_s:
            return replace(record, ended="the time was over for which the way back was armed")
        self.tell(f"both at once, block {pair + 1} of {design.pairs}")
        sides = {host.name: Side.B for host in self.hosts}
        breach = self._watched(record, pair, sides, begin).breach
        record = replace(record, begun=pair + 1)
        if breach is not None:
            why = f"while both ran, {breach}"
            return replace(record, breaches=(*record.breaches, breach), ended=why)
        since = begin + design.burn_in_s
        blocks = [
            TrialBlock(host.name, pair, side, begin, figures)
            for host in self.hosts
            for side, figures in host.sides(since).items()
        ]
        return replace(record, blocks=(*record.blocks, *blocks))

    def _begun(self, record: Switchback) -> Switchback:
        """Both run on every host, for as long as all that is left takes."""
        design = record.design
        left_s = (design.pairs - record.begun) * design.pair_s
        within_s = left_s + len(self.hosts) * design.margin_s
        return self._put(record, self.hosts, self._since(record), within_s)
