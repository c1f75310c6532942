"""Everything as it was before an apply: of one that did not end, of one that waits to be confirmed,
or, as a plan, of the last one that was finished."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tuner.deploy.difference import unified_json
from tuner.deploy.intents import ApplyJournal, Beginning, Intents, Put
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import bring_all_back, form_of, means_same
from tuner.deploy.plan import EngineChange, HostChange, digest_of, object_there
from tuner.deploy.target import Candidate, RemoteHost, ReplacedFile, Tell, Undone, file_diff
from tuner.engine import normal
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.errors import JobFailed, Locked, Refused, TuneError
from tuner.lint.load import parse_profile
from tuner.script.secrets import hidden
from tuner.script.tokens import SURROGATES

# What holds of a host that is asked about several changes comes first.
_WORDS = {
    Undone.RESTORED: "restored: it has the configuration from before the change",
    Undone.OTHERS: "it has the new configuration of another apply, which is not confirmed: "
    "recover --inventory undoes that",
    Undone.KEPT: "it has the new configuration, which was confirmed and stays: recover --previous "
    "undoes that",
    Undone.NONE: "nothing is under way there: it stays as it is",
}
_BY_RANK = tuple(_WORDS.values())


@dataclass
class EndedApplies:
    """How many applies were ended, by the address of each host its name and what is on it now, and
    what went wrong."""

    applies: int = 0
    hosts: dict[str, tuple[str, str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """A sentence on each host."""
        return [f"{name}: {state}" for name, state in self.hosts.values()]

    def note(self, machine: InventoryHost, undone: Undone) -> None:
        """What a host answered about one change."""
        name, state = self.hosts.get(machine.address, (machine.name, _BY_RANK[-1]))
        self.hosts[machine.address] = name, min(state, _WORDS[undone], key=_BY_RANK.index)

    def require_whole(self, state: str) -> None:
        """Raise JobFailed where something went wrong."""
        if self.failures:
            raise JobFailed(f"not everything is {state}: {'; '.join(self.failures)}")


def recover(
    unended: Sequence[Intents], machines: Sequence[InventoryHost], tell: Tell
) -> EndedApplies:
    """Undo each apply that did not end, the newest first, and whatever change is under way on these
    hosts, whoever began it; done twice it changes nothing."""
    ended = EndedApplies(len(unended))
    for intents in unended:
        failures, any_kept = _hosts_restored(intents, ended, tell)
        if not any_kept:
            failures += _objects_restored(intents, tell)
        ended.failures += failures
        if not failures and any_kept:
            intents.finish()
        elif not failures:
            intents.remove()
    for machine in machines:
        try:
            ended.note(machine, RemoteHost(machine).restore(tell))
        except TuneError as error:
            ended.failures.append(str(error))
    return ended


def confirm(unended: Sequence[Intents]) -> EndedApplies:
    """End each apply that waits to be confirmed: what it applied stays."""
    waiting = [intents for intents in unended if intents.waits]
    ended = EndedApplies(len(waiting))
    for intents in waiting:
        failures = []
        for touched in intents.touched:
            machine = touched.machine
            try:
                RemoteHost(machine, touched.paths).keep(intents.run)
            except TuneError as bad:
                failures.append(str(bad))
            else:
                ended.hosts[machine.address] = machine.name, "confirmed"
        ended.failures += failures
        if not failures:
            intents.finish()
    return ended


def _hosts_restored(
    journal: ApplyJournal, ended: EndedApplies, tell: Tell
) -> tuple[list[str], bool]:
    """What went wrong, and whether a host was finished: that one stays, and so does the engine."""
    failures, any_kept = [], False
    for touched in journal.touched:
        try:
            undone = RemoteHost(touched.machine, touched.paths).restore(tell, journal.run)
        except TuneError as bad:
            failures.append(str(bad))
            continue
        any_kept |= undone is Undone.KEPT
        ended.note(touched.machine, undone)
    return failures, any_kept


def _objects_restored(journal: ApplyJournal, tell: Tell) -> list[str]:
    """What went wrong."""
    if not journal.puts or journal.beginning is None:
        return []
    try:
        client = engine_of(journal.beginning)
        if client is None:
            return []
        with contextlib.closing(client):
            return bring_all_back(client, journal.puts, tell)
    except TuneError as bad:
        return [str(bad)]


def engine_of(beginning: Beginning) -> EngineClient | None:
    """A client for the engine of an apply; None where it had none."""
    if beginning.url is None:
        return None
    texts = (beginning.text, beginning.profile, beginning.layers, beginning.beside)
    return client_for(beginning.url, parse_profile(*texts).profile)


def hosts_before(
    machines: Iterable[InventoryHost], run: str | None, tell: Tell
) -> Iterator[HostChange]:
    """What each host had before the change that it kept last, or before that by `run`; `tell` takes
    a sentence on a host without one.  Raises Refused where somebody changed a file since, and
    Locked where a change is under way."""
    for machine in machines:
        previous = RemoteHost(machine).previous()
        if previous is None:
            tell(f"{machine.name}: left alone: it keeps nothing from before an apply")
        elif run not in (None, previous.run):
            tell(f"{machine.name}: left alone: the last apply that it kept is another one")
        else:
            yield _before(machine, previous.files)


def _before(machine: InventoryHost, files: Sequence[ReplacedFile]) -> HostChange:
    name = machine.name
    facts = RemoteHost(machine, [file.path for file in files]).facts(())
    if facts.pending is not None:
        raise Locked(
            f"{name} has an unfinished change by {facts.pending}: rsyslog-tune confirm or recover "
            "ends it"
        )
    live = {file.path: facts.live.get(file.path) for file in files}
    changed = [file.path for file in files if digest_of(live[file.path]) != file.put]
    if changed:
        raise Refused(
            f"{name}: {', '.join(changed)} changed since that apply: what was there before it is "
            f"in {machine.paths.state}/deploy/previous; put back by hand what you need of it"
        )
    texts = [
        (file.path, None if file.content is None else file.content.decode("utf-8", SURROGATES))
        for file in files
    ]
    diffs = (file_diff(machine, file.path, live[file.path], file.content) for file in files)
    is_private = any(text and hidden(text) != text for _, text in texts)
    candidate = Candidate(tuple(texts), "600" if is_private else "644", ())
    return HostChange(machine, candidate, tuple(file.put for file in files), "".join(diffs))


def objects_before(
    puts: Sequence[Put], client: EngineClient, tell: Tell
) -> tuple[EngineChange, ...]:
    """What the engine had before; `tell` takes a sentence on what was new, and stays.  Raises
    Refused where somebody changed an object since."""
    changes = []
    for put in reversed(puts):
        name, live = put.path[1:], object_there(client, put.path, put.body)
        if put.before is None:
            tell(f"engine: {name} was new, and stays: delete it when no index needs it")
        elif live is None or not means_same(put.path, live, put.body):
            raise Refused(f"the engine's {name} changed since that apply: put it back by hand")
        else:
            form, body = form_of(put.path), normal.puttable(put.before)
            diff = unified_json(name, form(live), form(body), "before")
            changes.append(EngineChange(name, put.path, body, live, diff))
    return tuple(changes)
