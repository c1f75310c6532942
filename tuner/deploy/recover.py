"""Everything as it was before an apply that did not end; or the end of one that waits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from tuner.deploy.intents import Intents, Put, Touched
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import bring_back
from tuner.deploy.target import RemoteHost, Tell, Undone
from tuner.engine.access import client_for
from tuner.errors import JobFailed, TuneError
from tuner.lint.load import parse_profile

# What holds of a host that is asked about several changes comes first.
_WORDS = {
    Undone.RESTORED: "restored: it has the configuration from before the change",
    Undone.OTHERS: "it has the new configuration of another apply, which is not confirmed: "
    "recover --inventory undoes that",
    Undone.KEPT: "it has the new configuration, which was confirmed and stays: recover --previous "
    "undoes that",
    Undone.NONE: "nothing is under way there: it stays as it is",
}
_RANKS = tuple(_WORDS)


@dataclass
class EndedApplies:
    """How many applies were ended, what is now on each host by its address, and what went wrong."""

    applies: int = 0
    hosts: dict[str, tuple[str, str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    _found: dict[str, Undone] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """A sentence on each host."""
        return [f"{name}: {what}" for name, what in self.hosts.values()]

    def found(self, machine: InventoryHost, undone: Undone) -> None:
        """What a host answered about one change."""
        before = self._found.get(machine.address, Undone.NONE)
        now = min(before, undone, key=_RANKS.index)
        self._found[machine.address] = now
        name, _ = self.hosts.get(machine.address, (machine.name, ""))
        self.hosts[machine.address] = name, _WORDS[now]

    def require_whole(self, what: str) -> None:
        """Raise JobFailed where something went wrong."""
        if self.failures:
            raise JobFailed(f"not everything is {what}: {'; '.join(self.failures)}")


def recover(left: Sequence[Intents], machines: Sequence[InventoryHost], tell: Tell) -> EndedApplies:
    """Undo each apply that is left, the newest first, and whatever change is under way on these
    hosts, whoever began it; done twice it changes nothing."""
    ended = EndedApplies(len(left))
    for intents in left:
        bad, any_kept = _hosts_restored(intents, ended, tell)
        if not any_kept:
            bad += _objects_restored(intents, tell)
        ended.failures += bad
        if not bad and any_kept:
            intents.finish()
        elif not bad:
            intents.remove()
    for machine in machines:
        try:
            ended.found(machine, RemoteHost(machine).restore(tell))
        except TuneError as error:
            ended.failures.append(str(error))
    return ended


def confirm(left: Sequence[Intents]) -> EndedApplies:
    """End each apply that waits to be confirmed: what it applied stays."""
    waiting = [intents for intents in left if intents.waits]
    ended = EndedApplies(len(waiting))
    for intents in waiting:
        bad = _hosts_kept(intents, ended)
        ended.failures += bad
        if not bad:
            intents.finish()
    return ended


def _hosts_kept(intents: Intents, ended: EndedApplies) -> list[str]:
    """What went wrong."""
    failures = []
    for one in intents.every:
        if isinstance(one, Touched):
            try:
                RemoteHost(one.machine, one.paths).keep(intents.path.stem)
            except TuneError as bad:
                failures.append(str(bad))
            else:
                ended.hosts[one.machine.address] = one.machine.name, "confirmed"
    return failures


def _hosts_restored(intents: Intents, ended: EndedApplies, tell: Tell) -> tuple[list[str], bool]:
    """What went wrong, and whether a host was finished: that one stays, and so does the engine."""
    failures, any_kept = [], False
    for one in intents.every:
        if not isinstance(one, Touched):
            continue
        try:
            undone = RemoteHost(one.machine, one.paths).restore(tell, intents.path.stem)
        except TuneError as bad:
            failures.append(str(bad))
            continue
        any_kept |= undone is Undone.KEPT
        ended.found(one.machine, undone)
    return failures, any_kept


def _objects_restored(intents: Intents, tell: Tell) -> list[str]:
    """What went wrong."""
    puts = [one for one in intents.every if isinstance(one, Put)]
    began = intents.beginning
    if not puts or began is None or began.url is None:
        return []
    try:
        loaded = parse_profile(began.text, began.profile, began.layers, began.beside)
        with contextlib.closing(client_for(began.url, loaded.profile)) as client:
            for one in reversed(puts):
                remark = bring_back(client, one)
                tell(f"engine: {one.path[1:]} as before" if remark is None else remark)
    except TuneError as bad:
        return [str(bad)]
    return []
