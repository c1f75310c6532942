"""A host of a trial: the candidate put there with an armed way back, and its counters read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from tuner.deploy.block import BlockFigures, Side, block_figures
from tuner.deploy.block_counters import BlockCounters
from tuner.deploy.host_files import CountersTail, counters_file, udp_ports
from tuner.deploy.host_profile import HostProfile
from tuner.deploy.journal import Intents, Touched
from tuner.deploy.plan import HostChange, digest_of, require_unchanged
from tuner.deploy.production_trial import Clock, EndOfTrial
from tuner.deploy.switchback import TrialRestart
from tuner.deploy.target import Facts, RemoteHost, Tell
from tuner.diagnose.settings import Settings, of_base
from tuner.errors import Refused
from tuner.modules.stats_rounds import StatsRound
from tuner.profile.base import KeptBase
from tuner.schema.numerals import seconds
from tuner.script.objects import module_address
from tuner.writing import raw_of

# What holds events back, keeps them or throws them away, is a promise; ports and files are places
# that others know.
_KEPT = frozenset(
    name.lower()
    for name in (
        "queue.filename", "queue.spoolDirectory", "queue.maxDiskSpace", "queue.maxFileSize",
        "queue.syncQueueFiles", "queue.saveOnShutdown", "queue.checkpointInterval",
        "queue.diskQueueType", "queue.timeoutEnqueue", "queue.timeoutShutdown",
        "queue.discardMark", "queue.discardSeverity", "action.resumeRetryCount", "retryRuleset",
        "retry.ruleset",
        "address", "port", "socket", "file", "server", "serverport", "target", "searchIndex",
        "template",
    )
)  # fmt: skip
_ON_DISK = ("disk", "segmenteddisk")
_FEWEST_ROUNDS = 5
_USUAL_INTERVAL_S = 300


def unfit_for_trial(
    run: HostProfile, block_s: float, burn_in_s: float, *, lossy: bool
) -> Iterator[str]:
    """Why a host is not one for a trial of this profile."""
    name, base = run.machine.name, run.profile.base
    if base is None:
        yield (
            f"{name}: a trial changes parameters of what the host has, and this profile is rendered"
            ": make one on top of its configuration, with import or search --conf"
        )
        return
    kept = base.kept
    if not kept.changes:
        yield f"{name}: the profile changes nothing, so there is nothing to try"
    for address, parameter in kept.changes:
        value = kept.changes[address, parameter]
        is_on_disk = parameter.lower() == "queue.type" and (value or "").lower() in _ON_DISK
        if parameter.lower() in _KEPT or is_on_disk:
            yield (
                f"{name}: {address}.{parameter} is a promise or a place, which a trial does not "
                "change: leave it out of the profile, or bring it there with apply"
            )
    module = kept.written.objects.get(module_address("impstats"))
    if counters_file(kept.written) is None:
        yield (
            f"{name}: its rsyslogd writes no counters to a file: load impstats with log.file and "
            "interval 10 first"
        )
    elif module is not None:
        text = module.text("interval") or ""
        interval_s = int(text) if text.isdecimal() else _USUAL_INTERVAL_S
        if interval_s * _FEWEST_ROUNDS > block_s - burn_in_s:
            yield (
                f"{name}: impstats counts every {interval_s} s, too seldom for blocks of "
                f"{seconds(block_s)}: set its interval to 10, or use longer blocks"
            )
    sources = [source.type for _, source in kept.written.of_kind("input")]
    if udp_ports(kept.written) and not lossy and not {*sources} & {"imtcp", "imptcp", "imrelp"}:
        yield (
            f"{name}: all that comes in is UDP, and each restart loses datagrams: "
            "--lossy-restarts takes that"
        )


@dataclass
class RemoteTrialHost:
    """A host that is reached over SSH: `change` is what the candidate replaces there, and A is
    `due` again when the way back comes by itself."""

    target: RemoteHost
    change: HostChange
    kept: KeptBase
    intents: Intents
    tell: Tell
    clock: Clock
    side: Side = Side.A
    _counters: BlockCounters = field(init=False)
    _settings: Mapping[Side, Settings] = field(init=False)
    _ports: tuple[int, ...] = field(init=False)
    _pid: int = field(init=False, default=0)
    _is_foreign: bool = field(init=False, default=False)
    _waiting: int = field(init=False, default=0)
    due: float = field(init=False, default=math.inf)

    def __post_init__(self) -> None:
        path = PurePath(counters_file(self.kept.written) or "")
        tail = CountersTail(self.target.host, path, lambda _: None)
        self._settings = {Side.A: of_base(self.kept.written), Side.B: self.settings_of_b()}
        self._ports = udp_ports(self.kept.written)
        self._pid = self.target.facts(()).pid
        self._counters = BlockCounters(tail, self._dropped, self.clock.now)

    def settings_of_b(self) -> Settings:
        """The settings that B has."""
        return of_base(self.kept.changed)

    @property
    def name(self) -> str:
        """Its name in the inventory."""
        return self.target.machine.name

    def put_candidate(self, within_s: float) -> TrialRestart | None:
        """Run B, and what that cost; the host restores A by itself after that time."""
        facts = self.target.facts(())
        facts.require_finished(self.name)
        self._require_ours(facts)
        self.intents.note(Touched(self.target.machine, self.change.paths))
        self.side, self.due = Side.B, self.clock.now() + within_s
        self.target.apply(self.change.candidate, self.intents.run, round(within_s))
        return self._began()

    def put_back(self) -> TrialRestart | None:
        """Run A again; files that somebody else changed meanwhile stay as they are."""
        restart = None
        if self.side is Side.A:
            return restart
        if self._is_foreign:
            self.target.keep(self.intents.run)
            state = f"{self.target.machine.paths.state}/deploy/previous"
            self.tell(f"{self.name}: left as it is; what it had before the trial is in {state}")
        else:
            self.target.restore(self.tell, self.intents.run)
            restart = self._began()
        self.side = Side.A
        return restart

    def _began(self) -> TrialRestart | None:
        """Its rsyslogd is a new one; what its restart cost."""
        facts = self.target.facts(())
        self._pid = facts.pid
        self._counters.begin_anew()
        if facts.restart is None:
            return None
        away_ms, datagrams = facts.restart
        return TrialRestart(self.name, away_ms / 1000, datagrams, self._waiting)

    def figures(self, since: float) -> BlockFigures | None:
        """What was counted since the first call at that time or later; raises EndOfTrial where the
        files or the process are not those that the trial left there."""
        self._require_ours(self.target.facts(()))
        self._counters.read_on()
        counted = self._counters.since(since)
        figures = block_figures(counted.rounds, self._settings[self.side], counted.udp_drops)
        self._waiting = 0 if figures is None else figures.waiting
        return figures

    def rounds(self, since: float) -> tuple[StatsRound, ...]:
        """The rounds of impstats read after the first call at that time or later."""
        return self._counters.since(since).rounds

    def _dropped(self) -> int:
        """Datagrams that the kernel dropped since the process began."""
        counts = self.target.kernel_counts(self._ports)
        return 0 if counts is None else sum(counts.udp_drops.values())

    def _require_ours(self, facts: Facts) -> None:
        """Raise EndOfTrial where the files or the process are others than the trial left."""
        if self.side is Side.A:
            try:
                require_unchanged(self.change, facts)
            except Refused:
                raise EndOfTrial(f"somebody changed a file of {self.name}") from None
        else:
            for path, text in self.change.candidate.files:
                if digest_of(facts.live.get(path)) != digest_of((text and raw_of(text)) or None):
                    self._is_foreign = True
                    raise EndOfTrial(f"somebody changed {path} on {self.name}")
        if facts.pid != self._pid:
            raise EndOfTrial(f"somebody restarted the rsyslogd of {self.name}")
