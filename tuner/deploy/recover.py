"""Everything as it was before an apply that did not end; or the end of one that waits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tuner.deploy.intents import Intents, Put, Touched
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import bring_back
from tuner.deploy.target import RemoteHost, Tell, Undone
from tuner.engine.access import client_for
from tuner.errors import JobFailed, TuneError
from tuner.lint.load import parse_profile

_WORDS = {
    Undone.RESTORED: "restored: it has the configuration from before the change",
    Undone.KEPT: "it has the new configuration, which was confirmed and stays",
    Undone.OTHERS: "it has the new configuration of another apply, which is not confirmed: "
    "recover --inventory undoes that",
    Undone.NONE: "as it was before: no change is under way",
}


def recover(left: Sequence[Intents], tell: Tell) -> int:
    """Undo each apply that is left, the newest first, and say how many there were; done twice it
    changes nothing.  Raises JobFailed where something cannot be undone now."""
    failures: list[str] = []
    for intents in left:
        bad, any_kept = _hosts_restored(intents, tell)
        if not any_kept:
            bad += _objects_restored(intents, tell)
        failures += bad
        if not bad:
            intents.remove()
    if failures:
        raise JobFailed(f"not everything is as before: {'; '.join(failures)}")
    return len(left)


def recover_hosts(machines: Sequence[InventoryHost], tell: Tell) -> None:
    """Undo whatever change is under way on these hosts, whoever began it."""
    for machine in machines:
        tell(f"{machine.name}: {_WORDS[RemoteHost(machine).restore(tell)]}")


def confirm(left: Sequence[Intents], tell: Tell) -> int:
    """End each apply that waits to be confirmed: what it applied stays.  Gives how many there
    were; raises JobFailed where a host was restored before, or cannot be asked now."""
    waiting = [intents for intents in left if intents.waits]
    failures: list[str] = []
    for intents in waiting:
        bad = _hosts_kept(intents, tell)
        failures += bad
        if not bad:
            intents.remove()
    if failures:
        raise JobFailed(f"not everything is confirmed: {'; '.join(failures)}")
    return len(waiting)


def _hosts_kept(intents: Intents, tell: Tell) -> list[str]:
    """What went wrong."""
    failures = []
    for one in intents.every:
        if isinstance(one, Touched):
            try:
                RemoteHost(one.machine, one.paths).keep(intents.path.stem)
            except TuneError as bad:
                failures.append(str(bad))
            else:
                tell(f"{one.machine.name}: confirmed")
    return failures


def _hosts_restored(intents: Intents, tell: Tell) -> tuple[list[str], bool]:
    """What went wrong, and whether a host was finished: that one stays, and so does the engine."""
    failures, any_kept = [], False
    for one in intents.every:
        if not isinstance(one, Touched):
            continue
        name = one.machine.name
        try:
            undone = RemoteHost(one.machine, one.paths).restore(tell, intents.path.stem)
        except TuneError as bad:
            failures.append(str(bad))
            continue
        any_kept |= undone is Undone.KEPT
        tell(f"{name}: {_WORDS[undone]}")
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
