"""The journal of an apply, on this machine: what it is about to do, written before it does it.

A file for each apply, locked while that runs, gone when nothing is left to undo; the last one that
was finished stays.  With it what did not end is undone, or what waits is confirmed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, TextIO

from pydantic import Field, TypeAdapter, ValidationError

from tuner.deploy.host_profile import PlannedProfile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import EngineChange, bring_all_back
from tuner.deploy.target import RemoteHost, Tell, Undone
from tuner.engine.access import client_for
from tuner.engine.client import EngineClient
from tuner.errors import JobFailed, Locked, TuneError
from tuner.host.lock import locked, state_folder


@dataclass(frozen=True)
class Beginning:
    """What an apply is about: the profile, for its logins, and the engine."""

    profile: PlannedProfile
    url: str | None
    kind: Literal["beginning"] = "beginning"


@dataclass(frozen=True)
class Touched:
    """A host on which these files are about to be changed."""

    machine: InventoryHost
    paths: tuple[str, ...]
    kind: Literal["host"] = "host"


@dataclass(frozen=True)
class Waiting:
    """All is applied, and waits to be confirmed."""

    kind: Literal["waiting"] = "waiting"


Intent = Beginning | Touched | EngineChange | Waiting
_FINISHED = ".finished"
_LINE: TypeAdapter[Intent] = TypeAdapter(Annotated[Intent, Field(discriminator="kind")])


class ApplyJournal:
    """What one apply wrote before it did it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path.stem

    @property
    def entries(self) -> tuple[Intent, ...]:
        """All that is written.  A last line may be cut off: what it says was not begun."""
        whole = self.path.read_text(encoding="utf-8").split("\n")[:-1]
        try:
            return tuple(_LINE.validate_json(line) for line in whole)
        except ValidationError as bad:
            raise JobFailed(
                f"{self.path} is damaged, or another version wrote it "
                f"({bad.errors()[0]['msg']}): restore the hosts with rsyslog-tune recover --host "
                "HOST, then move the file away"
            ) from None

    @property
    def beginning(self) -> Beginning | None:
        """What the apply was about; None when it was killed before it wrote that."""
        return next((entry for entry in self.entries if isinstance(entry, Beginning)), None)

    @property
    def touched(self) -> tuple[Touched, ...]:
        """The hosts that it changed."""
        return tuple(entry for entry in self.entries if isinstance(entry, Touched))

    @property
    def puts(self) -> tuple[EngineChange, ...]:
        """The objects of the engine that it put."""
        return tuple(entry for entry in self.entries if isinstance(entry, EngineChange))

    @property
    def waits(self) -> bool:
        """Whether all is applied and waits to be confirmed."""
        return any(isinstance(entry, Waiting) for entry in self.entries)


class Intents(ApplyJournal):
    """The journal of an apply under way, held until it is closed."""

    def __init__(self, path: Path, file: TextIO) -> None:
        super().__init__(path)
        self._file = file

    def note(self, intent: Intent) -> None:
        """Write what comes next, for good."""
        self._file.write(f"{_LINE.dump_json(intent).decode()}\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def remove(self) -> None:
        """Nothing is left to undo."""
        self.path.unlink(missing_ok=True)

    def finish(self) -> None:
        """What was applied stays: kept as the last one, for `recover --previous`."""
        for older in self.path.parent.glob(f"*{_FINISHED}"):
            older.unlink()
        self.path.replace(self.path.with_suffix(_FINISHED))


@contextlib.contextmanager
def new_intents() -> Iterator[Intents]:
    """A journal of its own for an apply that begins."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}.jsonl"
    file = locked(path)
    if file is None:
        raise Locked(f"another apply begins and holds {path}: try again")
    path.chmod(0o600)
    with file:
        yield Intents(path, file)


@contextlib.contextmanager
def left_intents() -> Iterator[tuple[Intents, ...]]:
    """The journals of applies that ended and left something to undo or to confirm, newest first;
    raises Locked while one is running."""
    with contextlib.ExitStack() as held:
        unended = []
        for path in sorted(_folder().glob("*.jsonl"), reverse=True):
            file = locked(path)
            if file is None:
                raise Locked(f"an apply is running: it holds {path}")
            unended.append(Intents(path, held.enter_context(file)))
        yield tuple(unended)


def last_finished() -> ApplyJournal | None:
    """The last finished apply; None if none was finished here."""
    newest = max(_folder().glob(f"*{_FINISHED}"), default=None)
    return None if newest is None else ApplyJournal(newest)


def _folder() -> Path:
    return state_folder() / "applies"


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
    return client_for(beginning.url, beginning.profile.loaded.profile)
