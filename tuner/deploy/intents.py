"""The journal of an apply, on this machine: what it is about to do, written before it does it.

A file for each apply, locked while that runs, gone when nothing is left to undo; the last one that
was finished stays.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TextIO

from pydantic import Field, TypeAdapter, ValidationError

from tuner.deploy.inventory import InventoryHost
from tuner.engine.client import JSON
from tuner.errors import JobFailed, Locked
from tuner.host.lock import locked, state_folder


@dataclass(frozen=True)
class Beginning:
    """What an apply is about: the profile, for its logins, with the files beside it, and the
    engine."""

    what: str
    profile: str
    text: str
    layers: tuple[tuple[str, str], ...]
    url: str | None
    beside: tuple[tuple[str, str], ...] | None = None
    kind: Literal["beginning"] = "beginning"


@dataclass(frozen=True)
class Touched:
    """A host on which these files are about to be changed."""

    machine: InventoryHost
    paths: tuple[str, ...]
    kind: Literal["host"] = "host"


@dataclass(frozen=True)
class Put:
    """An object of the engine, what is there now, and what is about to be put."""

    path: str
    before: JSON | None
    body: JSON
    kind: Literal["put"] = "put"


@dataclass(frozen=True)
class Waiting:
    """All is applied, and waits to be confirmed."""

    kind: Literal["waiting"] = "waiting"


Intent = Beginning | Touched | Put | Waiting
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
                f"{self.path} is damaged: {bad.errors()[0]['msg']}: restore the hosts with "
                "rsyslog-tune recover --host HOST, then move the file away"
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
    def puts(self) -> tuple[Put, ...]:
        """The objects of the engine that it put."""
        return tuple(entry for entry in self.entries if isinstance(entry, Put))

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
